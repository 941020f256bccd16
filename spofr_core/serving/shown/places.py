"""Where shown items stood: positions as a log has them, from 0 or 1, with gaps, and several items on one.

Exposure is that of the position that was logged: a page that begins with position 11 is seen as position 11 is. Items
of one impression that share a position take up that and the following ones, and share their exposure evenly; whoever
comes after them stands below. In an impression with positions p_1 <= p_2 <= .. item k hence stands at

    place_k = k + max over j <= k of (p_j - j),

which is p_k where no two are equal.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from spofr_core.errors import DataError

MOST = 1_000_000
"""The lowest position that is believed to be one."""


def checked_positions(
    positions: NDArray[np.float64], column: str, source: str, line_of: Callable[[int], int]
) -> tuple[NDArray[np.int64], list[str]]:
    """Whole positions that count from 1, and a note where they counted from 0.

    Raises
    ------
    DataError
        With the row and the value of the first that is none.
    """
    with np.errstate(invalid="ignore"):
        bad = ~((positions >= 0) & (positions <= MOST) & (positions == np.floor(positions)))
    if bad.any():
        row = int(bad.argmax())
        value, line = positions[row], line_of(row)
        seen = "missing (or not a number)" if np.isnan(value) else f"{value:g}"
        more = f" ({int(bad.sum()):,} such rows)" if bad.sum() > 1 else ""
        raise DataError(
            f"The position in column {column!r} of {source} is {seen} at row {line}{more}: an item that was shown has "
            f"a whole position, counted from 1 or from 0 and at most {MOST:,}. Leave out the rows of items that were "
            "not shown, or choose the column of the positions.",
            column=column,
            row=line,
            fields=("position",),
        )
    whole = positions.astype(np.int64)
    if len(whole) and whole.min() == 0:
        return whole + 1, [f"Positions in column {column!r} count from 0: 0 is taken as the top."]
    return whole, []


def places_of(positions: NDArray[np.int64], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """(N,): where each item stands, its impression from the top down; see the module."""
    lists = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    within = np.arange(len(positions)) - offsets[:-1][lists]
    apart = 2 * (int(positions.max(initial=0)) + len(positions) + 1)  # no list reaches the one before it
    return np.asarray(np.maximum.accumulate(positions - within + apart * lists) - apart * lists + within)


def shared_exposure(
    positions: NDArray[np.int64],
    places: NDArray[np.int64],
    offsets: NDArray[np.int64],
    vector: NDArray[np.float64],
) -> NDArray[np.float64]:
    """(N,): exposure of each item; those of one impression and one position have the mean of their places."""
    exposure = vector[places - 1]
    begins = np.ones(len(positions), dtype=np.bool_)
    begins[1:] = positions[1:] != positions[:-1]
    begins[offsets[:-1]] = True
    if begins.all():
        return exposure
    starts = np.flatnonzero(begins)
    sizes = np.diff(np.append(starts, len(positions)))
    return np.asarray(np.repeat(np.add.reduceat(exposure, starts) / sizes, sizes))


def place_notes(positions: NDArray[np.int64], offsets: NDArray[np.int64]) -> list[str]:
    """What a reader should know of impressions that are no lists 1, 2, 3, .. without a gap."""
    impressions = len(offsets) - 1
    if not impressions:
        return []
    lists = np.repeat(np.arange(impressions), np.diff(offsets))
    steps, same = np.diff(positions), lists[1:] == lists[:-1]
    equal = np.unique(lists[1:][same & (steps == 0)])
    gaps = np.unique(lists[1:][same & (steps > 1)])
    lower = int(np.count_nonzero(positions[offsets[:-1]] > 1))
    of_all = f"of {impressions:,} impressions"
    notes = []
    if len(equal):
        notes.append(
            f"{len(equal):,} {of_all} have several items on one position: these share the exposure of the positions "
            "that they take up."
        )
    if len(gaps):
        notes.append(f"{len(gaps):,} {of_all} leave positions out: exposure is that of the position as logged.")
    if lower:
        notes.append(f"{lower:,} {of_all} begin below position 1, as further pages do: so does their exposure.")
    return notes
