"""LETOR / SVMlight text as a table: lines such as ``2 qid:10 1:0.5 3:2 # docid``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from spofr_core.data.formats import FORMATS, Format, TextOptions
from spofr_core.data.formats.letor_lines import parse_each, parse_letor
from spofr_core.data.formats.source import Raw, as_utf8
from spofr_core.data.formats.tables import ArrowTable, Kind, Table
from spofr_core.data.ids import factorize, to_ids
from spofr_core.data.limits import Limits
from spofr_core.data.score_array import EXACT

LABEL, QUERY, COMMENT = "label", "qid", "comment"
_LINE = re.compile(rb"^\s*[^\s#:,;|]+[ \t]+qid:\S+(\s|$)")
_PREVIEW_BYTES = 1 << 20
_PREVIEW_FEATURES = 1000


class LetorTable(Table):
    """LETOR lines as a table: label, qid, a column for every feature number, and comment where every line has one.

    The comment is the item id in it: what follows "docid =", or its first word.

    Parameters
    ----------
    raw : Raw
        The bytes.
    limits : Limits
        Caps on rows.
    encoding : str, optional
        UTF-8 unless a byte order mark says otherwise.
    widest : int, optional
        For a preview: with feature numbers above it, only features that occur get a column, and only so many.
    """

    def __init__(self, raw: Raw, limits: Limits, *, encoding: str | None = None, widest: int | None = None) -> None:
        self.name = raw.name
        self.notes: list[str] = []
        self._limits = limits
        text, _ = as_utf8(raw, encoding)
        self._text = _with_line_feeds(text)  # not all of the parsers end a line at a carriage return
        if widest is None:
            self._lines = parse_letor(self._text, raw.name, limits)
        else:
            self._lines = parse_each(bytes(self._text), raw.name, limits, widest)
        self.feature_names = self._lines.feature_names
        if widest is not None and self.feature_names and int(self.feature_names[-1]) > widest:
            self.notes.append(
                f"Feature numbers go beyond {widest:,}: only features that occur in the first lines are shown here. "
                "Every other number can be named too."
            )
        self._position = {name: k for k, name in enumerate(self.feature_names)}
        has_items = self._lines.item_ids is not None
        self.names = [LABEL, QUERY, *self.feature_names, *([COMMENT] if has_items else [])]
        self.roles = {"query": QUERY, "relevance": LABEL} | ({"item": COMMENT} if has_items else {})
        self.absent = {
            "group": f"{raw.name} is LETOR text, which has no group column: cut a feature at its quantiles, or "
            "give a table from item to group.",
            "item": f"{raw.name} has no item ids: not every line ends with one (# docid).",
        }

    def read(self, kinds: Mapping[str, Kind]) -> dict[str, pa.ChunkedArray]:
        direct = {QUERY: self._lines.query_ids} if kinds.get(QUERY) == "coded" else {}
        others = {name: kind for name, kind in kinds.items() if name not in direct}
        columns = pa.table({name: self._column(name, kind) for name, kind in others.items()})
        return direct | (ArrowTable(columns, self.name, self._limits).read(others) if others else {})

    def _column(self, name: str, kind: Kind) -> pa.Array | pa.ChunkedArray:
        if name in self._position:
            values = self._lines.features[:, self._position[name]]
            return pa.array(values if kind != "plain" or np.abs(values).max() < EXACT else self._written(name))
        return {LABEL: pa.array(self._lines.labels), QUERY: self._lines.query_ids, COMMENT: self._lines.item_ids}[name]

    def _written(self, name: str) -> list[str]:
        """A feature as the lines have it, which doubles may have rounded."""
        listed = re.compile(rb"[ \t]0*%s:(\S+)" % name.encode())
        lines = (line.split(b"#", 1)[0] for line in bytes(self._text).splitlines())
        found = (listed.search(line) for line in lines if line.strip())
        return ["0" if value is None else value[1].decode() for value in found]

    def matrix(self, names: Sequence[str]) -> npt.NDArray[np.float64] | None:
        if tuple(names) == self.feature_names:
            return self._lines.features
        if not all(name in self._position for name in names):
            return None
        return self._lines.features[:, [self._position[name] for name in names]]

    def head(self, rows: int) -> pd.DataFrame:
        frame = pd.DataFrame(self._lines.features[:rows], columns=list(self.feature_names))
        codes, queries = factorize(self._lines.query_ids[:rows])
        frame.insert(0, QUERY, to_ids(pa.chunked_array([queries]))[codes])
        frame.insert(0, LABEL, self._lines.labels[:rows])
        if self._lines.item_ids is not None:
            frame[COMMENT] = self._lines.item_ids[:rows].to_pylist()
        return frame

    def line_of(self, row: int) -> int:
        """Line number (from 1) of a row: blank lines and comment lines are no rows."""
        lines = bytes(self._text).splitlines()
        return [number for number, line in enumerate(lines, 1) if line.split(b"#", 1)[0].strip()][row]


def _with_line_feeds(text: pa.Buffer) -> pa.Buffer:
    if re.search(rb"\r", memoryview(text)) is None:
        return text
    return pa.py_buffer(bytes(text).replace(b"\r\n", b"\n").replace(b"\r", b"\n"))


class Letor(Format):
    """LETOR and SVMlight text with query ids."""

    name = "letor"
    label = "LETOR/SVMlight"
    suffixes = (".svm", ".svmlight", ".letor")

    def sniff(self, raw: Raw) -> bool:
        """Whether the first line that is no comment has a label and a ``qid:``."""
        lines = raw.head.splitlines()
        line = next((line for line in lines if line.strip() and not line.lstrip().startswith(b"#")), b"")
        return _LINE.match(line) is not None

    def open(self, raw: Raw, limits: Limits, options: TextOptions) -> Table:
        """All lines, parsed."""
        return LetorTable(raw, limits, encoding=options.encoding)

    def preview(self, raw: Raw, limits: Limits, options: TextOptions, rows: int) -> Table:
        """The first lines, parsed."""
        text, _ = as_utf8(raw, options.encoding)
        head = bytes(text.slice(0, min(text.size, _PREVIEW_BYTES)))
        lines = head.splitlines(keepends=True)
        whole = lines if len(head) == text.size else lines[:-1] or lines
        first = Raw(raw.name, raw.suffix, pa.py_buffer(b"".join(whole[:rows])))
        return LetorTable(first, limits, widest=_PREVIEW_FEATURES)


FORMATS.register(Letor())
