"""Parquet folders larger than memory, cut into parts that hold whole queries."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from spofr_core.data.dataset import RankingDataset
from spofr_core.data.formats.decimal_signs import plain_number
from spofr_core.data.formats.parquet_folder import ParquetFolder
from spofr_core.data.formats.tables import (
    MISSING_TEXT,
    MISSING_VALUES,
    ArrowTable,
    FrameTable,
    Table,
    agreed_sign,
    exact_numbers,
    is_text,
    to_float,
)
from spofr_core.data.group_spec import GroupSpec
from spofr_core.data.ids import factorize, to_ids
from spofr_core.data.limits import Limits
from spofr_core.data.reading.assemble import NO_ITEM_COLUMN, PartContents, group_sizes
from spofr_core.data.reading.columns import ROLES, guess_columns, missing_column, unknown_roles
from spofr_core.data.reading.grouping import SaidNames, names_in_spec
from spofr_core.data.reading.proposals import propose_rank, ranking_looks
from spofr_core.data.reading.query_columns import QueryColumns
from spofr_core.data.reading.reader import read_dataset
from spofr_core.data.reading.spelling import Spelling, alike_keys
from spofr_core.data.reading.time_column import time_notes
from spofr_core.data.score_array import (
    clip_note,
    exact_places,
    label_note,
    order_only,
    places_from_the_top,
    places_in_lists,
)
from spofr_core.errors import DataError

_OF_GROUPS = ("missing", "leave_out_groups", "drop_rows")
"""Arguments about the groups besides those that begin with "group": the spec of the whole folder says them."""
ROW = "row of the folder"
ROWS_PER_PART = 1_000_000
ROWS_PER_BATCH = 250_000
_LOOKED_ROWS = 5000
MAX_PARTS = 256
"""All parts are open for writing at the same time, and a process may have only so many open files."""


@dataclass(frozen=True)
class Part:
    """All rows of some queries as the bytes of a Parquet file: what a worker needs, on whatever machine it is.

    Attributes
    ----------
    name : str
        How messages call it.
    content : bytes
    mapping : dict
        Arguments of `read_dataset`.
    text_ids : tuple of str
        Of "query" and "item", those whose ids are text in the folder, though this part may hold whole numbers only.
    label_shift : float
        What the lowest label of the folder asks for, as in `RankingDataset`.
    order_only : bool
        Whether scores become places, since doubles would tie those of some list of the folder.
    """

    name: str
    content: bytes
    mapping: Mapping[str, Any]
    text_ids: tuple[str, ...] = ()
    label_shift: float = 0.0
    order_only: bool = False

    def read(self) -> RankingDataset:
        """The lists of this part.

        Raises
        ------
        NothingLeft
            When all its items were left out for want of a group.
        """
        file = io.BytesIO(self.content)
        file.name = self.name
        data = read_dataset(file, **self.mapping)
        ids = {f"{role}_ids": getattr(data, f"{role}_ids") for role in self.text_ids}
        as_text = {name: values.astype(np.str_) for name, values in ids.items() if values.dtype.kind == "i"}
        rows = pq.read_table(io.BytesIO(self.content), columns=[ROW])[ROW].to_numpy()[data.rows] - 1
        if self.order_only and data.score is not None:
            codes = data.query_of_item
            data = replace(data, score=places_from_the_top(places_in_lists(codes, data.score), codes), ranks=True)
        return replace(data, **as_text, label_shift=max(self.label_shift, data.label_shift), rows=rows)

    def about(self, data: RankingDataset) -> PartContents:
        """What the notes of the folder are made of, from `data`, which `read` returned."""
        return PartContents(
            items=data.n_items,
            unknown=int(data.unknown.sum()),
            groups={} if data.each_item else group_sizes(data.groups, data.group_names),
            excluded=dict(data.excluded),
            time_notes=tuple(note for note in data.notes if note in time_notes(str(self.mapping.get("time")))),
        )

    def first_rows(self, data: RankingDataset) -> npt.NDArray[np.int64]:
        """For each query of `data`, which `read` returned, the number of its first row in the folder."""
        column = self.mapping["query"]
        table = pq.read_table(io.BytesIO(self.content), columns=[column, ROW])
        encoded = table[column].combine_chunks().dictionary_encode()
        codes = encoded.indices.to_numpy(zero_copy_only=False)
        first = np.sort(np.unique(codes, return_index=True)[1])
        rows = np.asarray(table[ROW].to_numpy()[first], dtype=np.int64)
        if len(rows) == len(data):
            return rows
        # Queries that lost all their items are not in the data.
        names = encoded.dictionary.to_pylist()
        row_of = {str(names[code]): row for code, row in zip(codes[first].tolist(), rows.tolist(), strict=True)}
        return np.array([row_of[str(query)] for query in data.query_ids.tolist()], dtype=np.int64)


@dataclass(frozen=True)
class PartitionedFolder:
    """Parts of a folder in files, loaded one at a time by iterating.

    Attributes
    ----------
    files : tuple of Path
    mapping : dict
        Arguments of `read_dataset`, with the groups of the whole folder written out.
    text_ids, label_shift, order_only
        As in `Part`.
    notes : tuple of str
        What was guessed about the columns, and becomes of their numbers.
    """

    files: tuple[Path, ...]
    mapping: Mapping[str, Any]
    text_ids: tuple[str, ...]
    notes: tuple[str, ...]
    label_shift: float = 0.0
    order_only: bool = False

    def __len__(self) -> int:
        """Number of parts."""
        return len(self.files)

    def __iter__(self) -> Iterator[Part]:
        for number, file in enumerate(self.files, start=1):
            whole = self.text_ids, self.label_shift, self.order_only
            yield Part(f"part {number} of the folder", file.read_bytes(), self.mapping, *whole)


def partition_folder(
    folder: Path,
    scratch: Path,
    mapping: Mapping[str, Any],
    *,
    rows_per_part: int = ROWS_PER_PART,
    min_parts: int = 1,
) -> PartitionedFolder:
    """Distribute the rows of a Parquet folder over files by the hash of their query.

    Only the columns that are needed are read, batch by batch. Every part keeps the number of its rows in the folder
    (from 1) in the column `ROW`, so that the order of queries can be restored.

    Parameters
    ----------
    folder : Path
        With Parquet files, also in subfolders.
    scratch : Path
        An empty folder for the parts.
    mapping : mapping
        Arguments for `read_dataset`; columns that are not named are guessed.
    rows_per_part : int
        Rows of a part, about: a query is never cut, and there are at most `MAX_PARTS` parts.
    min_parts : int
        Parts that are wanted however few rows there are.

    Raises
    ------
    DataError
        When the folder has no rows, or a column is missing.
    """
    source = ParquetFolder(folder)
    n_rows = source.count_rows()
    if not n_rows:
        raise DataError(f"The Parquet files in {str(folder)!r} have no rows. Check that the export finished.")
    first = FrameTable(source.head(_LOOKED_ROWS).to_pandas(), Limits(), "the folder")
    about = QueryColumns.named(mapping.get("slices") or (), mapping.get("time"))
    about.check(source.schema.names, "The folder")
    roles, notes = _roles(first, mapping, about)
    spelling = Spelling("The folder", mapping.get("join_alike"))
    texts = _texts(source, mapping, roles, about, spelling)
    groups = _groups(source, mapping, roles, texts)
    wanted = {*roles.values(), *groups.columns, *(mapping.get("features") or ()), *about.names}
    columns = sorted(wanted & {*source.schema.names})
    notes += source.notes(columns)
    n_parts = min(MAX_PARTS, max(min_parts, -(-n_rows // rows_per_part)))
    first.decimal = mapping.get("decimal")
    sign = _decimal(source, roles, first) or first.decimal
    files, text_columns = _distribute(source, columns, roles, scratch, n_parts, texts, spelling)
    notes += [*first.notes, *spelling.notes()]
    ranked_exactly = _rank_exactly(files, roles, sign)
    notes += ranked_exactly
    settings = {role: column for role, column in roles.items() if role != "group"}
    if "item" not in settings:
        settings["item"] = ROW
        notes.append(NO_ITEM_COLUMN)
    shift, told = _label_shift(source, roles.get("relevance"), mapping, sign)
    others = {
        k: v for k, v in mapping.items() if k not in settings and not k.startswith("group") and k not in _OF_GROUPS
    }
    return PartitionedFolder(
        files=tuple(files),
        mapping={**others, **settings, "group": groups, "guess": False, **({"decimal": sign} if sign else {})},
        text_ids=tuple(role for role in ("query", "item") if settings[role] in text_columns),
        notes=(*notes, *told),
        label_shift=shift,
        order_only=bool(ranked_exactly),
    )


def _roles(first: Table, mapping: Mapping[str, Any], about: QueryColumns) -> tuple[dict[str, str], list[str]]:
    """Which column of the folder is what, by names and by its first rows."""
    given = {role: mapping[role] for role in ROLES if isinstance(mapping.get(role), str)}
    for role, column in given.items():
        if column not in first.names:
            raise missing_column(column, first.names, role, "The folder")
    told = mapping.get("group") is not None or mapping.get("each_item")
    guessed = {"group": ""} if told and "group" not in given else {}
    guessable = [name for name in first.names if name not in about.no_roles]
    guess = mapping.get("guess", True)
    roles, notes = guess_columns(guessable, given | guessed) if guess else (given | guessed, [])
    unknown = [role for role in ("query", "group") if role not in roles]
    if unknown:
        raise unknown_roles(unknown, first)
    roles = {role: column for role, column in roles.items() if column}
    notes += propose_rank(roles, ranking_looks(first, roles)) if guess else []
    return roles, notes


def _decimal(source: ParquetFolder, roles: Mapping[str, str], first: Table) -> str | None:
    """The decimal sign of numbers that are text, since one part may not tell."""
    signs: dict[str, str] = {}
    for role, name in roles.items():
        if role in ("query", "item", "group") or not _is_text(source.schema.field(name).type):
            continue
        source.refuse_commas(name)
        batches = (batch.column(0).cast(pa.large_string()) for batch in source.batches([name], ROWS_PER_BATCH))
        texts = (pc.unique(pc.utf8_trim_whitespace(batch)).drop_null().to_pylist() for batch in batches)
        sign = agreed_sign(
            ([text for text in piece if text.lower() not in MISSING_TEXT] for piece in texts), name, first
        )
        if sign is not None:
            signs[name] = sign
    if len({*signs.values()}) > 1:
        (one, other) = (next(name for name, sign in signs.items() if sign == each) for each in ".,")
        raise DataError(
            f"Column {one!r} of the folder has decimal points and column {other!r} decimal commas, both as text: write "
            "them as numbers.",
            column=other,
        )
    return next(iter(signs.values()), None)


def _rank_exactly(files: list[Path], roles: Mapping[str, str], sign: str | None) -> list[str]:
    """The note of the folder where doubles would tie what a list of some part is ranked by."""
    column = roles.get("score", roles.get("rank", ""))
    if not column or pa.types.is_floating(pq.read_schema(files[0]).field(column).type):
        return []
    for number, path in enumerate(files, start=1):
        rows = pq.read_table(path, columns=list({roles["query"], column}))
        table = ArrowTable(rows, f"part {number} of the folder", Limits())
        table.decimal = sign
        numbers, (codes, _) = to_float(table.read({column: "number"})[column]), factorize(rows[roles["query"]])
        if exact_places(numbers, codes, partial(exact_numbers, table, column)) is not None:
            return [order_only(f"Column {column!r}")]
    return []


def _label_shift(
    source: ParquetFolder, column: str | None, mapping: Mapping[str, Any], sign: str | None
) -> tuple[float, list[str]]:
    """What the labels of the whole folder are shifted by, and what is said of those below 0."""
    if column is None:
        return 0.0, []
    lowest, below = 0.0, 0
    for batch in source.batches([column], ROWS_PER_BATCH):
        written = batch.to_pandas()[column]
        if _is_text(source.schema.field(column).type):
            written = written.astype(object).map(
                lambda text: plain_number(text.strip(), sign or "."), na_action="ignore"
            )
        labels = pd.to_numeric(written, errors="coerce").to_numpy(dtype=np.float64)
        lowest, below = min(lowest, float(np.nanmin(labels, initial=0.0))), below + int(np.sum(labels < 0))
    if not below:
        return 0.0, []
    if mapping.get("negative_labels") == "clip":
        return 0.0, [clip_note(below, source.count_rows())]
    return -lowest, [label_note(-lowest)]


def _texts(
    source: ParquetFolder,
    mapping: Mapping[str, Any],
    roles: Mapping[str, str],
    about: QueryColumns,
    spelling: Spelling,
) -> dict[str, dict[str, str]]:
    """For columns of groups and slices, how each text of the folder is written in its parts."""
    group = mapping.get("group") if mapping.get("group") is not None else roles.get("group")
    spec = group if isinstance(group, GroupSpec) else None
    if spec is None and group:
        said = {"renamed": mapping.get("group_names") or {}, "left_out": mapping.get("leave_out_groups") or ()}
        names = (group,) if isinstance(group, str) else tuple(group)
        against_rest = mapping.get("group_against_rest") if len(names) == 1 else None
        spec = GroupSpec(columns=names, against_rest=against_rest, **said)
    grouped = () if spec is None or spec.numeric or mapping.get("group_quantiles") is not None else spec.columns
    texts: dict[str, dict[str, str]] = {}
    for name in dict.fromkeys((*grouped, *about.slices)):
        if name not in source.schema.names or name == roles["query"] or not _is_text(source.schema.field(name).type):
            continue
        counts: Counter[str] = Counter()
        for batch in source.batches([name], ROWS_PER_BATCH):
            for each in pc.value_counts(batch.column(0).cast(pa.large_string())).to_pylist():
                counts[each["values"]] += each["counts"]
        del counts[None]  # missing ones name nothing
        known: SaidNames = names_in_spec(spec, name) if spec is not None and name in grouped else {}
        missing = mapping.get("missing_values", MISSING_VALUES)
        rows = np.array([*counts.values()], dtype=np.int64)
        written = spelling.texts(pa.array([*counts], pa.large_string()), rows, name, missing=missing, **known)
        texts[name] = dict(zip(counts, written.to_pylist(), strict=True))
    return texts


def _groups(
    source: ParquetFolder, mapping: Mapping[str, Any], roles: Mapping[str, str], texts: Mapping[str, Mapping[str, str]]
) -> GroupSpec:
    """The groups of the whole folder: names and thresholds, from its group columns alone."""
    if mapping.get("each_item"):
        return GroupSpec(each_item=True)
    group = mapping["group"] if mapping.get("group") is not None else roles["group"]
    if isinstance(group, GroupSpec) and group.each_item:
        return group
    if isinstance(group, GroupSpec):
        columns = list(group.columns)
    else:
        columns = [group] if isinstance(group, str) else list(group)
    for column in columns:
        if column not in source.schema.names:
            raise missing_column(column, source.schema.names, "group", "The folder")
    settings = {name: mapping[name] for name in mapping if name.startswith("group_") or name in _OF_GROUPS}
    settings |= {"missing_values": mapping.get("missing_values", MISSING_VALUES)}
    settings |= {"join_alike": bool(mapping.get("join_alike"))}  # what is open is asked about for the whole folder
    numeric = settings.get("group_quantiles") is not None
    seen = pd.concat(
        [_distinct(batch.to_pandas(), keep_all=numeric) for batch in source.batches(columns, ROWS_PER_BATCH)],
        ignore_index=True,
    )
    for name in {*columns} & {*texts}:
        seen[name] = seen[name].astype(object).map(texts[name])
    seen = _distinct(seen, keep_all=numeric)
    # One list that holds every value once: reading it completes names and thresholds by the one path there is.
    whole = read_dataset(seen.assign(**{ROW: 0}), query=ROW, group=group, guess=False, **settings, limits=None)
    if whole.group_spec is None:
        raise DataError("The groups of the folder could not be told; name a group column.")
    return whole.group_spec


def _written(
    column: pa.ChunkedArray, name: str, texts: Mapping[str, Mapping[str, str]], spelling: Spelling
) -> pa.ChunkedArray:
    """A column of ids without blanks, or one of groups or slices as it is written in all parts."""
    if name not in texts:
        return spelling.bare(column, name).cast(column.type)
    if all(raw == text for raw, text in texts[name].items()):
        return column
    codes, values = factorize(column)
    written = pa.array([texts[name][raw] for raw in values.to_pylist()], values.type)
    return pa.chunked_array([written.take(pa.array(codes, mask=codes < 0))]).cast(column.type)


def _distinct(frame: pd.DataFrame, *, keep_all: bool) -> pd.DataFrame:
    return frame if keep_all else frame.drop_duplicates()


def _distribute(
    source: ParquetFolder,
    columns: list[str],
    roles: Mapping[str, str],
    scratch: Path,
    n_parts: int,
    texts: Mapping[str, Mapping[str, str]],
    spelling: Spelling,
) -> tuple[list[Path], set[str]]:
    """Write the parts; also name the id columns that hold text other than whole numbers somewhere.

    Queries that are written alike come into one part, and are asked about when all parts are there.
    """
    paths = [scratch / f"part-{k:05d}.parquet" for k in range(n_parts)]
    schema = pa.schema([*(source.schema.field(name) for name in columns), pa.field(ROW, pa.int64())])
    ids = {roles[role] for role in ("query", "item") if role in roles}
    text: set[str] = set()
    writers = [pq.ParquetWriter(path, schema) for path in paths]
    try:
        for part, rows in _pieces(source, columns, roles, n_parts, texts, spelling):
            writers[part].write_table(rows.cast(schema))
            text |= {column for column in ids - text if _stays_text(rows[column])}
    finally:
        for writer in writers:
            writer.close()
    files = [path for path in paths if pq.read_metadata(path).num_rows]
    if _is_text(schema.field(roles["query"]).type):
        _spell_queries(files, roles["query"], spelling)
    return files, text


def _spell_queries(files: list[Path], query: str, spelling: Spelling) -> None:
    """Write those that are alike in one way, where they are the same."""
    for path in files:
        raw = pq.read_table(path, columns=[query])[query]
        alike = len(spelling.alike.get(query, ()))
        written = spelling.named(raw, query)
        if spelling.join and len(spelling.alike.get(query, ())) > alike:
            whole = pq.read_table(path)
            place = whole.schema.get_field_index(query)
            pq.write_table(whole.set_column(place, whole.schema.field(place), written.cast(raw.type)), path)


def _is_text(kind: pa.DataType) -> bool:
    return is_text(kind.value_type if pa.types.is_dictionary(kind) else kind)


def _stays_text(ids: pa.ChunkedArray) -> bool:
    """Whether `to_ids` keeps these ids as text."""
    if not _is_text(ids.type):
        return False
    known = ids.cast(pa.large_string()).drop_null()
    return len(known) > 0 and to_ids(known).dtype.kind != "i"


def _pieces(
    source: ParquetFolder,
    columns: list[str],
    roles: Mapping[str, str],
    n_parts: int,
    texts: Mapping[str, Mapping[str, str]],
    spelling: Spelling,
) -> Iterator[tuple[int, pa.Table]]:
    start, query = 0, roles["query"]
    for batch in source.batches(columns, ROWS_PER_BATCH):
        rows = pa.Table.from_batches([batch])
        rows = rows.append_column(ROW, pa.array(np.arange(start + 1, start + 1 + len(rows), dtype=np.int64)))
        start += len(rows)
        for name in {*columns} & {*texts, query, roles.get("item", query)}:
            place = rows.schema.get_field_index(name)
            rows = rows.set_column(place, rows.schema.field(place), _written(rows[name], name, texts, spelling))
        encoded = rows[query].combine_chunks().dictionary_encode()
        hashed = alike_keys(encoded.dictionary) if _is_text(encoded.type) else encoded.dictionary
        hashes = pd.util.hash_array(hashed.to_numpy(zero_copy_only=False), categorize=False)
        codes = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
        part_of = (hashes % np.uint64(n_parts))[codes] if len(hashes) else np.zeros(len(rows), dtype=np.uint64)
        for part in range(n_parts):
            chosen = np.flatnonzero(part_of == part)
            if len(chosen):
                yield part, rows.take(pa.array(chosen))
