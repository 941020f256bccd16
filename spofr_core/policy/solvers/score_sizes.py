"""Which scores can be computed with: finite, one per item, and of a size whose products are numbers too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from spofr_core.data.score_array import EXACT, score_array
from spofr_core.errors import DataError
from spofr_core.sizes import LARGEST, outside

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_ROOM = 1e3
"""By how much products of scores, discounts and exposures may leave the range of scores."""


def score_range(v: FloatArray, w: FloatArray) -> tuple[float, float]:
    """What the largest score of a list may be in size, unless it is 0.

    Utilities are sums of y w, and prices of exposure are such sums over v: all of them must stay numbers, with digits
    enough to compare them.
    """
    most_v, most_w = float(v.max(initial=0.0)) or 1.0, float(w.max(initial=0.0)) or 1.0
    lowest, highest = min(1.0, most_w, most_w / most_v), max(1.0, most_w, most_w / most_v)
    return (1 / LARGEST) * max(1.0, 1 / lowest / _ROOM), LARGEST / max(1.0, highest / _ROOM)


def require_scale(
    scores: FloatArray,
    offsets: IntArray,
    v: FloatArray,
    w: FloatArray,
    name_of: Callable[[int], Any] = lambda query: query,
) -> None:
    """See to it that the scores of every list are of a size that can be computed with.

    Raises
    ------
    DataError
        When they are not, with the range.
    """
    least, most = score_range(v, w)
    found = outside(scores, offsets, least, most)
    if found:
        q, size = found
        raise DataError(
            f"The largest score of query {name_of(q)!r} is {size:.3g} in size; with this position bias and "
            f"discount it must be 0, or lie from {least:.3g} to {most:.3g}: multiply the scores by a constant, which "
            "changes no order.",
            column="scores",
        )


def checked_scores(
    scores: npt.ArrayLike, offsets: IntArray, name_of: Callable[[int], Any] = lambda query: query
) -> FloatArray:
    """Finite scores, one per item, as a contiguous writeable vector of doubles."""
    given = score_array(scores)
    try:
        if given.dtype.kind == "c":
            raise TypeError("complex numbers have no order")
        if given.dtype.kind in "mM":
            raise TypeError("dates and durations are in no unit of relevance")
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"'scores' holds something that is not a number ({error}).", column="scores") from error
    n_items = int(offsets[-1])
    if values.ndim != 1 or len(values) != n_items:
        raise DataError(
            f"'scores' has shape {values.shape}, but there are {n_items} items; give one score per item.",
            column="scores",
        )
    _require_exact(given, values)
    usable = np.abs(values) <= LARGEST
    if not usable.all():
        row = int(np.argmin(usable))
        q = int(np.searchsorted(offsets, row, side="right")) - 1
        limit = f"scores beyond {LARGEST:g} overflow: divide them all by a constant"
        raise DataError(
            f"The score of query {name_of(q)!r}, item {row - int(offsets[q])} is {values[row]}; "
            f"{limit if np.isfinite(values[row]) else 'only finite numbers can be ranked'}.",
            column="scores",
            row=row + 1,
        )
    return np.require(values, np.float64, ["C", "W"])


def _require_exact(given: npt.NDArray[Any], values: FloatArray) -> None:
    """Refuse whole numbers of which doubles would make ties."""
    if given.dtype.kind not in "iuO" or not np.any(np.abs(values) >= EXACT):
        return
    doubles = values.tolist()  # Python compares its own numbers exactly
    row = next((row for row, number in enumerate(given.tolist()) if number != doubles[row]), None)
    if row is not None:
        raise DataError(
            f"The score of item {row} is {given[row]}; whole numbers beyond 2^53 are not all doubles, and would become "
            "ties: subtract the same number from all scores of a list, or give ranks with their sign changed.",
            column="scores",
            row=row + 1,
        )
