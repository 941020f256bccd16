"""Tables written for spreadsheets: text from the data stays text."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Literal

import pandas as pd

from spofr_core.files import write_whole

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")
"""A spreadsheet runs a cell that starts with one of these."""
_SKIPPED = " \t\r\n\v\f\0\ufeff\u00a0"
"""What spreadsheets pass over at the start of a cell."""


def write_csv(frame: pd.DataFrame, path: str | Path) -> None:
    """Write `frame` as UTF-8 CSV, whole or not at all; an apostrophe neutralises formula prefixes in text cells."""
    safe = frame.copy(deep=False)
    safe.columns = [neutralise(str(name)) for name in frame.columns]
    for name in safe.columns:
        if not pd.api.types.is_numeric_dtype(safe[name]) and not pd.api.types.is_bool_dtype(safe[name]):
            safe[name] = [neutralise(cell) if isinstance(cell, str) else cell for cell in safe[name]]
    texts = (cell for name in safe.columns for cell in (name, *safe[name]) if isinstance(cell, str))
    # pandas does not quote a carriage return by itself, and spreadsheets begin a row there.
    quoting: Literal[0, 2] = csv.QUOTE_NONNUMERIC if any("\r" in cell for cell in texts) else csv.QUOTE_MINIMAL
    content = safe.to_csv(index=False, lineterminator="\n", quoting=quoting)
    write_whole(path, content.encode("utf-8", "replace"))


def neutralise(cell: str) -> str:
    """The cell with an apostrophe before a formula prefix; an apostrophe that stands there is doubled."""
    return "'" + cell if cell.startswith("'") or cell.lstrip(_SKIPPED).startswith(FORMULA_STARTS) else cell


def original(cell: str) -> str:
    """The text that `neutralise` was given."""
    return cell.removeprefix("'")
