"""TREC files: runs (``qid Q0 docno rank score tag``) and qrels (``qid 0 docno relevance``)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from spofr_core.data.formats import FORMATS, Format, TextOptions
from spofr_core.data.formats.source import Raw, Source, as_utf8, open_raw
from spofr_core.data.formats.tables import FrameTable, Table
from spofr_core.data.ids import bare, id_texts
from spofr_core.data.limits import Limits
from spofr_core.errors import DataError

_RUN = ("query", "Q0", "item", "rank", "score", "tag")
_QRELS = ("query", "iteration", "item", "relevance")
_RUN_LINE = re.compile(rb"^\s*\S+\s+[Qq]0\s+\S+\s+\d+\s+\S+\s+\S+\s*$")


class RunTable(FrameTable):
    """A run as a table with the columns query, item, rank and score."""

    def __init__(self, raw: Raw, limits: Limits, *, encoding: str | None = None) -> None:
        frame, self._lines = _read_fields(raw, _RUN, "a run line reads: qid Q0 docno rank score tag", encoding)
        super().__init__(frame[["query", "item", "rank", "score"]], limits, raw.name)

    def line_of(self, row: int) -> int:
        return int(self._lines[row])


def relevance_from_qrels(
    source: Source, query_of_row: npt.NDArray[Any], item_ids: npt.NDArray[Any], limits: Limits
) -> tuple[npt.NDArray[np.float64], float, list[str]]:
    """Relevance of each row by its query and item id, and the lowest judgment of the file.

    An item without a judgment has 0, and that is told.
    """
    raw = open_raw(source, limits)
    frame, lines = _read_fields(raw, _QRELS, "a qrels line reads: qid 0 docno relevance", None)
    relevance = pd.to_numeric(frame["relevance"], errors="coerce")
    bad = (relevance.isna() | np.isinf(relevance)).to_numpy()
    if bad.any():
        row = int(np.argmax(bad))
        raise DataError(
            f"The relevance in {raw.name} is {frame['relevance'].iloc[row]!r} at line {lines[row]}: it must be a "
            "finite number.",
            column="relevance",
            row=int(lines[row]),
        )
    judged = pd.MultiIndex.from_frame(frame[["query", "item"]])
    if judged.has_duplicates:
        row = int(np.argmax(judged.duplicated()))
        query, item = judged[row]
        raise DataError(
            f"{raw.name} judges item {item!r} of query {query!r} twice, again at line {lines[row]}: keep one judgment.",
            row=int(lines[row]),
        )
    wanted = pd.MultiIndex.from_arrays([id_texts(query_of_row), id_texts(item_ids)])
    found = judged.get_indexer(wanted)
    values = np.where(found >= 0, relevance.to_numpy(dtype=np.float64)[found], 0.0)
    return values, float(relevance.min()), _judgment_notes(raw.name, found, judged, wanted)


def _judgment_notes(name: str, found: npt.NDArray[np.intp], judged: pd.MultiIndex, wanted: pd.MultiIndex) -> list[str]:
    notes = []
    unjudged = int(np.sum(found < 0))
    if unjudged == len(found):
        raise DataError(f"No item of the data is judged in {name}: are the query and item ids the same in both?")
    if unjudged:
        notes.append(f"{unjudged:,} of {len(found):,} items have no judgment in {name} and count as relevance 0.")
    queries = judged.get_level_values(0).unique().difference(wanted.get_level_values(0).unique())
    if len(queries):
        notes.append(f"{len(queries):,} queries of {name} do not occur in the data.")
    return notes


def _read_fields(
    raw: Raw, names: Sequence[str], rule: str, encoding: str | None
) -> tuple[pd.DataFrame, npt.NDArray[np.int64]]:
    """Fields separated by blanks or tabs, all as text, and the line number of each row."""
    text, _ = as_utf8(raw, encoding)
    filled: list[int] = []
    columns: tuple[list[str], ...] = tuple([] for _ in names)
    # Bytes, not text: characters such as U+2028 or U+00A0 end no line and part no fields, they belong to an id.
    for number, line in enumerate(bytes(text).splitlines(), 1):
        fields = line.split()
        if fields and len(fields) != len(names):
            shown = line.strip().decode()
            raise DataError(f"Line {number} of {raw.name} has {len(fields)} fields: {shown!r}; {rule}.", row=number)
        if fields:
            filled.append(number)
            for column, field in zip(columns, fields, strict=True):
                column.append(bare(field.decode()))
    if not filled:
        raise DataError(f"{raw.name} has no rows.")
    return pd.DataFrame(dict(zip(names, columns, strict=True)), dtype=object), np.array(filled, dtype=np.int64)


class TrecRun(Format):
    """What rankers of the TREC evaluations write. Files have no usual ending: they are known by their first line."""

    name = "trec"
    label = "TREC run"

    def sniff(self, raw: Raw) -> bool:
        """Whether the first line has the six fields of a run."""
        line = next((line for line in raw.head.splitlines() if line.strip()), b"")
        return _RUN_LINE.match(line) is not None

    def open(self, raw: Raw, limits: Limits, options: TextOptions) -> Table:
        """The run with its four columns that tell something."""
        return RunTable(raw, limits, encoding=options.encoding)


FORMATS.register(TrecRun())
