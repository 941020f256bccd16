"""Tables written for spreadsheets: text from the data stays text."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pandas as pd

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
"""A spreadsheet runs a cell that starts with one of these."""


def write_csv(frame: pd.DataFrame, path: str | Path) -> None:
    """Write `frame` as UTF-8 CSV, whole or not at all; an apostrophe neutralises formula prefixes in text cells."""
    safe = frame.copy(deep=False)
    safe.columns = [neutralise(str(name)) for name in frame.columns]
    for name in safe.columns:
        if not pd.api.types.is_numeric_dtype(safe[name]) and not pd.api.types.is_bool_dtype(safe[name]):
            safe[name] = [neutralise(cell) if isinstance(cell, str) else cell for cell in safe[name]]
    write_whole(path, safe.to_csv(index=False, lineterminator="\n").encode("utf-8"))


def neutralise(cell: str) -> str:
    """The cell with an apostrophe before a formula prefix; an apostrophe that stands there is doubled."""
    return "'" + cell if cell.startswith((*FORMULA_STARTS, "'")) else cell


def original(cell: str) -> str:
    """The text that `neutralise` was given."""
    return cell.removeprefix("'")


def write_whole(path: str | Path, content: bytes) -> None:
    """Write a file so that it is there whole or not at all, whenever the process may die."""
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        error.filename = str(target)  # what was asked for, not the temporary file beside it
        raise
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
