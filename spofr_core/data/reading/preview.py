"""What a table looks like before it is read: first rows, kinds of columns, guessed roles."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
import pyarrow as pa

from spofr_core.data.formats import letor
from spofr_core.data.formats.opening import AnySource, Format, open_table
from spofr_core.data.formats.source import Raw
from spofr_core.data.limits import Limits
from spofr_core.data.reading.columns import guess_columns


@dataclass(frozen=True, eq=False)
class TablePreview:
    """What a table looks like, before it is read.

    Attributes
    ----------
    head : DataFrame
        Its first rows.
    mapping : dict
        Guessed roles: role to column (query, item, group, relevance, score, rank, click, position, propensity).
    kinds : dict
        Column to "number", "text", "flag" or "empty".
    notes : tuple of str
        The guesses in words.
    format : str
        "csv", "parquet", "letor", "trec" or "frame".
    """

    head: pd.DataFrame
    mapping: dict[str, str]
    kinds: dict[str, str]
    notes: tuple[str, ...]
    format: str


def preview_table(
    source: AnySource,
    *,
    rows: int = 100,
    format: Format | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str = ".",
    limits: Limits | None = None,
) -> TablePreview:
    """The first rows of a table, the kind of each column, and which role each column seems to have."""
    limits = limits or Limits()
    opened = open_table(source, limits, format, delimiter, encoding, decimal)
    if isinstance(opened, Raw):
        lines = letor.parse_letor(_first_lines(opened, rows), encoding=encoding)
        frame = pd.DataFrame(lines.features, columns=list(lines.feature_names))
        frame.insert(0, "qid", lines.query_ids)
        frame.insert(0, "label", lines.labels)
        kinds = {name: _kind(frame[name]) for name in frame.columns}
        return TablePreview(frame, {"query": "qid", "relevance": "label"}, kinds, (), "letor")
    head = opened.head(rows)
    mapping, notes = guess_columns([name for name in opened.names if name])
    kinds = {name: _kind(head.iloc[:, k]) for k, name in enumerate(opened.names)}
    kind = {"CsvTable": "csv", "ArrowTable": "parquet", "RunTable": "trec"}.get(type(opened).__name__, "frame")
    return TablePreview(head, mapping, kinds, (*opened.notes, *notes), kind)


def _first_lines(raw: Raw, rows: int) -> Raw:
    lines = raw.head.splitlines(keepends=True)
    whole = lines if len(raw.head) == raw.data.size else lines[:-1]
    return Raw(raw.name, raw.suffix, pa.py_buffer(b"".join((whole or lines)[:rows])))


def _kind(column: pd.Series) -> str:
    if column.isna().all():
        return "empty"
    if pd.api.types.is_bool_dtype(column):
        return "flag"
    return "number" if pd.api.types.is_numeric_dtype(column) else "text"
