"""Windows of time: days, weeks from Monday, months, or equal parts of the whole; in UTC."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spofr_core.errors import ConfigError, DataError

Times = NDArray[np.datetime64]
Window = str | int

CALENDAR = ("day", "week", "month")
AUTO = "auto"
MOST_WINDOWS = 1_000
_DAY = np.timedelta64(1, "D")
_SINCE_MONDAY = 3
"""1 January 1970 was a Thursday."""
_DAYS_IN_DAYS = 45
_DAYS_IN_WEEKS = 270


@dataclass(frozen=True, eq=False)
class Windows:
    """Windows that follow each other without a gap.

    Attributes
    ----------
    kind : str
        "day", "week", "month", or "6 equal parts".
    starts, ends : (W,) datetime64
        A window holds start <= time < end; the last of equal parts holds its end too.
    codes : (Q,) int
        The window of each query; -1 without a time.
    """

    kind: str
    starts: Times
    ends: Times
    codes: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts)


def checked_window(window: Window) -> Window:
    """A window as it may be asked for: "auto", "day", "week", "month", or a number of equal parts, be it as text.

    Raises
    ------
    ConfigError
        For anything else.
    """
    text = str(window).strip().lower()
    if text in (AUTO, *CALENDAR):
        return text
    if not isinstance(window, bool) and text.isdecimal() and 2 <= int(text) <= MOST_WINDOWS:
        return int(text)
    raise ConfigError(
        f"'window' must be one of {', '.join(map(repr, (AUTO, *CALENDAR)))} or a number of equal parts from 2 to "
        f"{MOST_WINDOWS:,}, got {window!r}."
    )


def windows_of(times: Times | None, window: Window = AUTO) -> Windows:
    """The windows between the first and the last time, those without a query among them.

    Parameters
    ----------
    times : (Q,) datetime64, optional
        In UTC; NaT where unknown.
    window : {"auto", "day", "week", "month"} or int
        "auto" takes days up to six weeks, weeks up to nine months, months beyond; a number makes so many parts of
        equal length.

    Raises
    ------
    DataError
        When no query has a time.
    ConfigError
        When the window is none, or there would be more than `MOST_WINDOWS`.
    """
    asked = checked_window(window)
    if times is None or np.isnat(times).all():
        raise DataError(
            "No query has a time: there is nothing to show over time.",
            fields=("time",),
            mend="Name the column where the data is read: time='...'.",
            on_page="Choose the column of the time where the data is read.",
        )
    known = ~np.isnat(times)
    moments = times[known].astype("datetime64[us]")
    if asked == AUTO:
        asked = _usual(moments)
    if isinstance(asked, int):
        kind, starts, ends, found = _equal_parts(moments, asked)
    else:
        kind, (starts, ends, found) = asked, _calendar(moments, asked)
    codes = np.full(len(times), -1, dtype=np.int64)
    codes[known] = found
    return Windows(kind, starts, ends, codes)


def _usual(moments: Times) -> str:
    days = int((moments.max() - moments.min()) / _DAY)
    return "day" if days < _DAYS_IN_DAYS else "week" if days < _DAYS_IN_WEEKS else "month"


def _calendar(moments: Times, kind: str) -> tuple[Times, Times, NDArray[np.int64]]:
    if kind == "month":
        unit, places = "M", moments.astype("datetime64[M]").astype(np.int64)
        per, shift = 1, 0
    else:
        unit, days = "D", moments.astype("datetime64[D]").astype(np.int64)
        per, shift = (1, 0) if kind == "day" else (7, _SINCE_MONDAY)
        places = (days + shift) // per
    first, last = int(places.min()), int(places.max())
    if last - first >= MOST_WINDOWS:
        raise ConfigError(
            f"From {moments.min().astype('datetime64[D]')} to {moments.max().astype('datetime64[D]')} there are "
            f"{last - first + 1:,} windows of a {kind}, more than {MOST_WINDOWS:,}: take longer windows, or a number "
            "of equal parts. Is a date out of place?"
        )
    edges = (np.arange(first, last + 2) * per - shift).astype(f"datetime64[{unit}]").astype("datetime64[us]")
    return edges[:-1], edges[1:], places - first


def _equal_parts(moments: Times, parts: int) -> tuple[str, Times, Times, NDArray[np.int64]]:
    first, last = (int(moment.astype(np.int64)) for moment in (moments.min(), moments.max()))
    if last - first < parts:
        raise ConfigError(
            f"All queries have about the same time, {moments.min()}: it cannot be cut into {parts} parts."
        )
    edges = np.array([first + (last - first) * k // parts for k in range(parts + 1)], dtype=np.int64)
    codes = np.searchsorted(edges[1:-1], moments.astype(np.int64), side="right")
    starts, ends = (part.astype("datetime64[us]") for part in (edges[:-1], edges[1:]))
    return f"{parts} equal parts", starts, ends, codes.astype(np.int64)
