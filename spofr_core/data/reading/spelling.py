"""How ids and names are written: blanks around them mean nothing, and those that look alike are asked about."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from spofr_core.data.formats.tables import is_text
from spofr_core.data.ids import BLANKS, factorize
from spofr_core.errors import DataError

_LISTED = 5
_NUMBER = r"^[+-]?[0-9]+(\.[0-9]*)?$"
_LETTERS = dict.fromkeys([*map(ord, BLANKS), *range(0xFE00, 0xFE10)], None)
_LETTERS |= dict.fromkeys((ord(c) for c in BLANKS if c.isspace()), " ")
"""Of what has no width, and of what chooses a form of the letter before it, nothing is left; every blank is a space."""


@dataclass
class Spelling:
    """Takes blanks from ids and names, and joins, keeps apart or asks about those that are written alike.

    Alike are texts that differ only by case, by the Unicode form of their letters, by blanks within, or as "1", "01"
    and "1.0" do.

    Parameters
    ----------
    source : str
        How messages call the table.
    join : bool, optional
        Whether what is written alike is the same; None to ask, as soon as there is any.
    """

    source: str
    join: bool | None = None
    trimmed: dict[str, int] = field(default_factory=dict)
    alike: dict[str, list[dict[str, int]]] = field(default_factory=dict)

    def bare(self, column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
        """A column without the blanks around its texts."""
        if pa.types.is_dictionary(column.type) and is_text(column.type.value_type):
            return self.named(column, name, ask=False)
        if not is_text(column.type):
            return column
        bare = pc.utf8_trim(column, characters=BLANKS)
        self._count(name, pc.sum(pc.not_equal(bare, column)).as_py() or 0)
        return bare

    def named(
        self,
        column: pa.ChunkedArray,
        name: str,
        *,
        missing: Collection[str] = (),
        known: Collection[str] = (),
        settled: Collection[str] = (),
        ask: bool = True,
    ) -> pa.ChunkedArray:
        """A column of few texts, as a dictionary of what they name.

        Parameters
        ----------
        missing
            Texts that name nothing, and are like no other.
        known
            Names that are there already: what is like one of them is called as it.
        settled
            Names that are known to be different, or to be the same.
        """
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if not is_text(kind):
            return column
        codes, values = factorize(column)
        rows = np.bincount(codes[codes >= 0], minlength=len(values))
        texts = self.texts(values, rows, name, missing=missing, known=known, settled=settled, ask=ask)
        encoded = texts.dictionary_encode()
        codes = np.append(np.asarray(encoded.indices, dtype=np.int32), np.int32(-1))[codes]
        indices = pa.array(codes, mask=codes < 0) if (codes < 0).any() else pa.array(codes)
        return pa.chunked_array([pa.DictionaryArray.from_arrays(indices, encoded.dictionary)])

    def texts(
        self,
        values: pa.Array,
        rows: npt.NDArray[np.integer[Any]],
        name: str,
        *,
        missing: Collection[str] = (),
        known: Collection[str] = (),
        settled: Collection[str] = (),
        ask: bool = True,
    ) -> pa.Array:
        """For each of these distinct texts, which so many rows have, the one that it stands for."""
        bare = pc.utf8_trim(values, characters=BLANKS)
        self._count(name, int(rows[np.asarray(pc.not_equal(bare, values))].sum()))
        if not ask:
            return bare
        distinct = bare.dictionary_encode()
        absent = sorted({*known} - {*distinct.dictionary.to_pylist()}) if known else []
        names = pa.concat_arrays([distinct.dictionary, pa.array(absent, distinct.dictionary.type)])
        place = np.arange(len(names))
        nothing = {*missing, ""}
        clusters = _clusters(names)
        if clusters:
            rows = np.bincount(np.asarray(distinct.indices), weights=rows, minlength=len(names)).astype(np.int64)
        for members in clusters:
            alike = {text: k for k in members if (text := names[k].as_py()) not in nothing}
            here = {text: int(rows[k]) for text, k in alike.items() if rows[k]}
            if len(alike) < 2 or not here or {*settled} >= {*alike}:
                continue
            self.alike.setdefault(name, []).append({text: int(rows[k]) for text, k in alike.items()})
            chosen = next((text for text in known if text in alike), max(here, key=lambda text: here[text]))
            place[[*alike.values()]] = alike[chosen] if self.join else [*alike.values()]
        return names.take(pa.array(place[np.asarray(distinct.indices)]))

    def notes(self) -> list[str]:
        """What was done, for the reader of the result.

        Raises
        ------
        DataError
            When nobody has said whether what is written alike is the same.
        """
        notes = []
        if self.trimmed:
            where = ", ".join(f"{count:,} in column {name!r}" for name, count in self.trimmed.items())
            notes.append(f"Blanks around ids and names were left out: {where}.")
        if not self.alike:
            return notes
        pairs = [(name, counts) for name, clusters in self.alike.items() for counts in clusters]
        listed = "; ".join(f"{_counted(counts)} in column {name!r}" for name, counts in pairs[:_LISTED])
        more = f"; and {len(pairs) - _LISTED:,} more" if len(pairs) > _LISTED else ""
        if self.join is not None:
            done = "are one each" if self.join else "were kept apart"
            return [*notes, f"Names that are written alike {done}: {listed}{more}."]
        raise DataError(
            f"{self.source} has names that differ only by case or by how letters and numbers are written: "
            f"{listed}{more}.",
            column=pairs[0][0],
            fields=("join_alike",),
            mend="Say whether they are the same: join_alike=True makes them one each, join_alike=False keeps them "
            "apart; or write them alike.",
            on_page="Say whether they are the same.",
            question="alike",
        )

    def _count(self, name: str, rows: int) -> None:
        if rows:
            self.trimmed[name] = self.trimmed.get(name, 0) + rows


def _counted(counts: dict[str, int]) -> str:
    """Names with their rows, the most first; letters that are put together of several show that they are."""
    shown = {text: (repr if unicodedata.is_normalized("NFC", text) else ascii)(text) for text in counts}
    most = sorted(counts.items(), key=lambda each: -each[1])
    return " and ".join(f"{shown[text]} ({rows:,} {'row' if rows == 1 else 'rows'})" for text, rows in most)


def alike_keys(values: pa.Array) -> pa.Array:
    """A text for each text: the same for those that are written alike."""
    texts = pc.ascii_lower(values)
    odd = ~np.asarray(pc.string_is_ascii(texts))
    if odd.any():
        folded = [_folded(text) for text in values.filter(pa.array(odd)).to_pylist()]
        texts = pc.replace_with_mask(texts, pa.array(odd), pa.array(folded, texts.type))
    if pc.any(pc.match_substring_regex(texts, r"\s\s|[\t-\r]")).as_py():
        texts = pc.replace_substring_regex(texts, r"\s+", " ")
    number = pc.match_substring_regex(texts, _NUMBER)
    if pc.any(number).as_py():
        digits = texts.filter(number)
        digits = pc.replace_substring_regex(digits, r"^(-?)[+]?0*([0-9])", r"\1\2")
        fractions = pc.match_substring(digits, ".")
        short = pc.replace_substring_regex(digits.filter(fractions), r"\.?0*$", "")
        digits = pc.replace_with_mask(digits, fractions, short)
        texts = pc.replace_with_mask(texts, number, digits)
    return texts


def written_alike(names: Sequence[str], others: Sequence[str]) -> list[tuple[str, str]]:
    """Each of the other names that none of these is, but that is written like one of them, with that one."""
    new = sorted({*others} - {*names})
    if not new or not names:
        return []
    keys = alike_keys(pa.array(names, pa.large_string())).to_pylist()
    name_of = dict(zip(keys, names, strict=True))
    alike = zip(alike_keys(pa.array(new, pa.large_string())).to_pylist(), new, strict=True)
    return [(name_of[key], other) for key, other in alike if key in name_of]


def _folded(text: str) -> str:
    """Without case, in the one form that all ways to write its letters have."""
    for _ in range(2):  # what is compatible may have case again, and without case have another form
        text = unicodedata.normalize("NFKC", text).casefold()
    return unicodedata.normalize("NFKC", text.translate(_LETTERS)).strip(BLANKS)


def _clusters(values: pa.Array) -> list[list[int]]:
    """Places of the texts that are alike, for each two or more of them; in the order in which they come."""
    keys = alike_keys(values)
    if not pc.any(pc.not_equal(keys, values)).as_py():  # they differ from each other, and nothing was changed
        return []
    codes = np.asarray(keys.dictionary_encode().indices)
    several = np.flatnonzero((np.bincount(codes, minlength=1) > 1)[codes])
    members: dict[int, list[int]] = {}
    for k in several.tolist():
        members.setdefault(int(codes[k]), []).append(k)
    return list(members.values())
