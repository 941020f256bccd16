"""A permutation test of the difference between two samples: what would chance alone do to the same values?"""

from __future__ import annotations

import math
from itertools import combinations
from typing import Literal

import numpy as np
from numba import njit
from numpy.typing import NDArray

from spofr_core.evaluation.slicing.spreads import normal_p
from spofr_core.sizes import unit_of
from spofr_core.splitmix import GOLDEN, splitmix64

FloatArray = NDArray[np.float64]
How = Literal["exact", "drawn", "normal"]

MOST_ARRANGEMENTS = 20_000
"""Up to so many ways to share out the values, all of them are looked at."""
DRAWS = 9_999
MANY = 2_000
"""From so many values in the smaller sample on, the test is normal to more digits than are shown."""


def permutation_test(first: FloatArray, last: FloatArray, *, seed: int) -> tuple[float, How]:
    """Two-sided p-value of the difference in means, and how it was found.

    p is the share of the ways to share out all values into two samples of these sizes whose means differ by as much or
    more: over all ways where there are at most `MOST_ARRANGEMENTS`; over `DRAWS` seeded ones otherwise, the ways seen
    counted among them, (1 + hits) / (1 + draws); and for large samples by the normal limit, whose variance is
    S^2 (1/n + 1/m), S^2 being the variance of all values.
    """
    n, m = len(first), len(last)
    if not n or not m:
        return 1.0, "exact"
    values = np.concatenate([first, last])
    values = values / unit_of(values)  # p does not depend on it
    values = values - values.mean()
    small = min(n, m)
    seen = abs(float(values[:n].mean() - values[n:].mean()))
    # The means differ by sum (1/n + 1/m) where sum is that of either sample, all values being around 0.
    scale = 1 / n + 1 / m
    least = seen / scale - 1e-12 * float(np.abs(values).max())
    if math.comb(n + m, small) <= MOST_ARRANGEMENTS:
        chosen = np.array(list(combinations(range(n + m), small)))
        return float(np.mean(np.abs(values[chosen].sum(axis=1)) >= least)), "exact"
    if small >= MANY:
        return normal_p(seen, float(np.sqrt(values.var(ddof=1) * scale))), "normal"
    hits = _drawn_hits(values, small, least, DRAWS, np.uint64(seed))
    return (1 + hits) / (1 + DRAWS), "drawn"


@njit(cache=True)
def _drawn_hits(
    values: FloatArray, size: int, least: float, draws: int, seed: np.uint64
) -> int:  # pragma: no cover  # compiled
    """How often `size` values drawn without return have a sum of this size or more, without its sign."""
    n = len(values)
    pool = values.copy()
    state = splitmix64(seed + GOLDEN)
    hits = 0
    for _ in range(draws):
        total = 0.0
        for k in range(size):
            state += GOLDEN
            random = splitmix64(state) >> np.uint64(32)
            place = k + np.int64((random * np.uint64(n - k)) >> np.uint64(32))
            value = pool[place]
            pool[place] = pool[k]
            pool[k] = value
            total += value
        if abs(total) >= least:
            hits += 1
    return hits
