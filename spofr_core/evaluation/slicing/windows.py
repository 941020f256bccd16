"""Windows of time: days, weeks from Monday, months, years, or equal parts of the whole; in UTC."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spofr_core.errors import ConfigError, DataError

Times = NDArray[np.datetime64]
Window = str | int

CALENDAR = ("day", "week", "month", "year")
AUTO = "auto"
MOST_WINDOWS = 1_000
_SINCE_MONDAY = 3
"""1 January 1970 was a Thursday."""
_FEW_WINDOWS = 60
_ENOUGH = 10


@dataclass(frozen=True, eq=False)
class Windows:
    """Windows that follow each other without a gap.

    Attributes
    ----------
    kind : str
        "day", "week", "month", "year", or "6 equal parts".
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
    """A window as it may be asked for: "auto", "day", "week", "month", "year", or a number of equal parts as any text.

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
    window : {"auto", "day", "week", "month", "year"} or int
        "auto" takes the finest of which there are at most 60 with 10 queries or more each on average, or else the
        longest that makes two; a number makes so many parts of equal length.

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
    """The finest calendar window that makes few enough of them, with queries enough; or the longest that makes two."""
    counts = {kind: int(np.ptp(_places(moments, kind))) + 1 for kind in CALENDAR}
    for kind, count in counts.items():
        if count <= _FEW_WINDOWS and len(moments) >= _ENOUGH * count:
            return kind
    return next((kind for kind in reversed(CALENDAR) if counts[kind] > 1), "day")


def _places(moments: Times, kind: str) -> NDArray[np.int64]:
    """The window of each moment, counted from that of 1970."""
    if kind in ("month", "year"):
        return moments.astype(f"datetime64[{kind[0].upper()}]").astype(np.int64)
    days = moments.astype("datetime64[D]").astype(np.int64)
    return days if kind == "day" else (days + _SINCE_MONDAY) // 7


def _calendar(moments: Times, kind: str) -> tuple[Times, Times, NDArray[np.int64]]:
    places = _places(moments, kind)
    first, last = int(places.min()), int(places.max())
    if last - first >= MOST_WINDOWS:
        raise ConfigError(
            f"From {moments.min().astype('datetime64[D]')} to {moments.max().astype('datetime64[D]')} there are "
            f"{last - first + 1:,} windows of a {kind}, more than {MOST_WINDOWS:,}: take longer windows, or a number "
            "of equal parts. Is a date out of place?"
        )
    edges = np.arange(first, last + 2)
    if kind == "week":
        edges = edges * 7 - _SINCE_MONDAY
    unit = {"month": "M", "year": "Y"}.get(kind, "D")
    moments_of = edges.astype(f"datetime64[{unit}]").astype("datetime64[us]")
    return moments_of[:-1], moments_of[1:], places - first


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
