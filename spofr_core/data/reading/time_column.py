"""Times of queries from a column: ISO dates and times, and epochs whose unit their size tells."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from spofr_core.data.formats.tables import MISSING_TEXT, Table
from spofr_core.data.ids import factorize, label_text, plain
from spofr_core.data.query_attributes import TIME_TYPE
from spofr_core.errors import DataError

Times = npt.NDArray[np.datetime64]

EPOCHS = ("seconds", "milliseconds", "microseconds", "nanoseconds")
_LIMITS = (1e8, 1e11, 1e14, 1e17, 1e20)
"""Between two of them lies a unit: each covers the years from 1973 to 5138, so that no epoch of today is in doubt."""
_MICROSECONDS = (1e6, 1e3, 1.0, 1e-3)
_DAYS = (19_000_101, 29_991_231)
_YEARS = (1900, 2100)
_DAY_FIRST = r"\d{1,2}[./ -]\d{1,2}[./ -]\d{2,4}\b.*"
_ZONE = r".+[T ].*\d(Z|[+-]\d\d(:?\d\d)?)"
_NEVER = np.iinfo(np.int64).max


def query_times(
    column: pa.ChunkedArray, query_codes: npt.NDArray[np.integer[Any]], n_queries: int, name: str, table: Table
) -> tuple[Times, list[str]]:
    """The earliest time of each query in UTC, and what there is to say about it.

    Read are ISO dates and times, those with a zone brought to UTC and those without one taken as UTC; whole days
    written as 20240115 and years from 1900 to 2100, which count from their first day; and numbers since 1970 in
    seconds, milliseconds, microseconds or nanoseconds, told by their size value by value. A date with the day or the
    month first is refused: nobody can tell which it is.

    Parameters
    ----------
    column : ChunkedArray
        Read as "time": timestamps, numbers or text; missing values give NaT.
    query_codes : array of shape (N,)
        Query of each row.
    n_queries : int
    name, table
        The column and its table, for messages.

    Raises
    ------
    DataError
        With the row and the value of the first time that cannot be read.
    """
    notes: list[str] = []
    if pa.types.is_timestamp(column.type):
        rows = np.asarray(column.to_numpy(), dtype=TIME_TYPE)
    else:
        codes, values = factorize(column)
        parsed, bad, notes = _parsed(values, name)
        if bad.any():
            row = int(np.argmax(np.append(bad, False)[codes]))
            raise _unreadable(plain(values[codes[row]].as_py()), name, table.line_of(row), table.name)
        rows = np.append(parsed, np.datetime64("NaT", "us"))[codes]
    moments = np.where(np.isnat(rows), _NEVER, rows.view(np.int64))
    earliest = np.full(n_queries, _NEVER, dtype=np.int64)
    np.minimum.at(earliest, query_codes, moments)
    if np.any((moments != earliest[query_codes]) & (moments != _NEVER)):
        notes.append(different_times(name))
    times = np.where(earliest == _NEVER, np.datetime64("NaT", "us").view(np.int64), earliest).view(TIME_TYPE)
    return times, notes


def different_times(name: str) -> str:
    """The note about queries whose rows have several times."""
    return f"In some queries the rows have different times in column {name!r}: the earliest is taken."


def with_zones(name: str) -> str:
    """The note about times with a zone."""
    return f"Times with a zone in column {name!r} were brought to UTC; those without one count as UTC."


def in_epochs(name: str, unit: str) -> str:
    """The note about numbers since 1970."""
    return f"Column {name!r} holds {unit} since 1970."


def in_years(name: str) -> str:
    """The note about years."""
    return f"Column {name!r} holds years: each counts from its first day."


def time_notes(name: str) -> set[str]:
    """All notes about a time column; each holds for the whole of a table as soon as it holds for a part."""
    return {different_times(name), with_zones(name), in_years(name), *(in_epochs(name, unit) for unit in EPOCHS)}


def _parsed(values: pa.Array, name: str) -> tuple[Times, npt.NDArray[np.bool_], list[str]]:
    """Distinct values as times, which of them cannot be read, and notes."""
    if pa.types.is_integer(values.type) or pa.types.is_floating(values.type):
        numbers = np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)
        missing = np.isnan(numbers)
        years, days = (_between(numbers, *limits) & (numbers == np.floor(numbers)) for limits in (_YEARS, _DAYS))
        days |= years
        texts = pd.Series(numbers[days].astype(np.int64).astype(str), index=np.flatnonzero(days), dtype=object)
    else:
        every = pd.Series([(label_text(value) or "").strip() for value in values.to_pylist()], dtype=object)
        missing = every.str.lower().isin(MISSING_TEXT).to_numpy(dtype=bool)
        numbers = pd.to_numeric(every.where(~missing), errors="coerce").to_numpy(dtype=np.float64)
        digits = every.str.fullmatch(r"\d+").to_numpy(dtype=bool)
        years, days = (_between(numbers, *limits) & digits for limits in (_YEARS, _DAYS))
        days |= years
        texts = every[~missing & (days | np.isnan(numbers))]
    epochs, size = _epochs(np.where(days, np.nan, numbers))
    written, zoned = _written(texts)
    out = epochs
    out[texts.index.to_numpy()] = written
    notes = [in_epochs(name, unit) for k, unit in enumerate(EPOCHS) if np.any(size == k)]
    notes += [note for note, found in ((in_years(name), years.any()), (with_zones(name), zoned)) if found]
    return out, ~missing & np.isnat(out), notes


def _between(numbers: npt.NDArray[np.float64], low: float, high: float) -> npt.NDArray[np.bool_]:
    return np.asarray((numbers >= low) & (numbers <= high))


def _epochs(numbers: npt.NDArray[np.float64]) -> tuple[Times, npt.NDArray[np.intp]]:
    """Numbers since 1970 as times, and the place of their unit in `EPOCHS`; NaT and -1 where the size is of none."""
    size = np.searchsorted(_LIMITS, np.abs(numbers), side="right") - 1
    size[np.isnan(numbers) | (size >= len(EPOCHS))] = -1
    known = size >= 0
    out = np.full(len(numbers), np.datetime64("NaT", "us"))
    out[known] = np.rint(numbers[known] * np.array(_MICROSECONDS)[size[known]]).astype(np.int64).view(TIME_TYPE)
    return out, size


def _written(texts: pd.Series) -> tuple[Times, bool]:
    """Texts as times, NaT where they are no ISO ones, and whether one of them has a zone."""
    iso = texts.str.replace(r"(\.\d{6})\d+", r"\1", regex=True)  # beyond microseconds nobody looks
    read = pd.to_datetime(iso, format="ISO8601", utc=True, errors="coerce")
    return read.dt.tz_localize(None).to_numpy(dtype=TIME_TYPE), bool(iso.str.fullmatch(_ZONE).any())


def _unreadable(value: object, name: str, line: int, source: str) -> DataError:
    text = str(value).strip()
    if pd.Series([text]).str.fullmatch(_DAY_FIRST).any():
        why = "which begins with the day or with the month: nobody can tell with which"
    elif text.lstrip("+-").replace(".", "", 1).isdecimal():
        why = "which is no number of seconds or milliseconds since 1970"
    else:
        why = "which is no ISO date or time"
    return DataError(
        f"Column {name!r} of {source} holds {value!r} at row {line}, {why}. Write the year first, as 2024-01-31 or "
        "2024-01-31T18:30:00Z, or choose another column for the time.",
        column=name,
        row=line,
        fields=("time",),
    )
