"""From one unit of delta to the other."""

from __future__ import annotations

import math

import numpy as np

from spofr_core.evaluation.measurement import Measurement

_DIGITS = 6
"""Most significant digits of a delta that is carried over."""


def carried_delta(before: Measurement, delta: float, after: Measurement) -> float:
    """The delta that asks as much of the same lists in another unit: as many of them hold it.

    As many lists hold every delta between two steps of `Measurement.fair_share`. Of those, the one is taken that is
    nearest to `delta` times what one unit is worth in the other (the median over the lists), as round as it can be.
    Where no delta is held by exactly as many lists, because several are equally far off, it is the nearest number.

    Parameters
    ----------
    before, after : Measurement
        The same rankings, measured in the two units.
    delta : float
        In the unit of `before`.
    """
    judged = after.table.applicable
    worth = before.table.largest_delta[judged]
    ratios = after.table.largest_delta[judged][worth > 0] / worth[worth > 0]
    wanted = delta * float(np.median(ratios)) if len(ratios) else delta
    if wanted == 0:
        return 0.0
    held = int(np.sum(np.abs(before.table.worst_violation[judged]) <= delta + before.table.rounding[judged]))
    rounding = after.table.rounding[judged]
    slack = float(rounding.max(initial=0.0))
    # Violations that differ by rounding alone are one step: whatever delta one of these lists holds, all of them do.
    violations = np.sort(np.abs(after.table.worst_violation[judged]))
    first = np.flatnonzero(np.diff(violations, prepend=-np.inf) > slack)
    last = np.append(first, len(violations))[1:] - 1
    place = int(np.argmin(np.abs(np.append(0, last + 1) - held)))
    low = np.append(0.0, violations[last] - rounding.min(initial=np.inf) / 2)
    high = np.append(violations[first] - slack, math.inf)
    return _roundest(wanted, float(low[place]), float(high[place]))


def _roundest(wanted: float, low: float, high: float) -> float:
    """A number from `low` to below `high`, near the wanted one, with two digits or as many as that takes."""
    middle = low * 1.05 if math.isinf(high) else (low + high) / 2
    near = wanted if low <= wanted < high else middle
    rounded = (float(f"{near:.{digits}g}") for digits in range(2, _DIGITS + 1))
    return next((number for number in rounded if low <= number < high), near)
