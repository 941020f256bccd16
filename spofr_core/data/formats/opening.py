"""From any source to a table: the format found out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import pandas as pd

from spofr_core.data.formats import letor
from spofr_core.data.formats.csv_text import CsvTable
from spofr_core.data.formats.source import Raw, Source, open_raw
from spofr_core.data.formats.tables import FrameTable, Table, open_parquet, open_parquet_folder
from spofr_core.data.formats.trec import RunTable, looks_like_run
from spofr_core.data.limits import Limits
from spofr_core.errors import ConfigError

Format = Literal["csv", "parquet", "letor", "trec"]
AnySource = Source | pd.DataFrame


def open_table(
    source: AnySource, limits: Limits, format: Format | None, delimiter: str | None, encoding: str | None, decimal: str
) -> Table | Raw:
    """The source as a table, or the raw bytes of LETOR lines."""
    if isinstance(source, pd.DataFrame):
        return FrameTable(source, limits)
    if isinstance(source, (str, os.PathLike)) and Path(source).is_dir() and any(Path(source).rglob("*.parquet")):
        return open_parquet_folder(Path(source), limits)
    raw = open_raw(source, limits)
    found = format or _format_of(raw)
    if found == "parquet":
        return open_parquet(raw, limits)
    if found == "letor":
        return raw
    if found == "trec":
        return RunTable(raw, limits, encoding=encoding)
    if found == "csv":
        return CsvTable(raw, limits, delimiter=delimiter, encoding=encoding, decimal=decimal)
    raise ConfigError(f"'format' must be one of ['csv', 'parquet', 'letor', 'trec'], got {format!r}.")


def _format_of(raw: Raw) -> Format:
    head = raw.head
    if head.startswith(b"PAR1") or raw.suffix in (".parquet", ".pq"):
        return "parquet"
    if letor.looks_like_letor(head):
        return "letor"
    if looks_like_run(head):
        return "trec"
    if raw.suffix in (".svm", ".svmlight", ".letor"):
        return "letor"
    return "csv"
