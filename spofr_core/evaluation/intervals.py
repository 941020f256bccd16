"""Confidence intervals: Wilson for shares, bootstrap for means, order statistics for quantiles.

scipy.stats would do for the two percentiles needed here, but importing it takes longer than an audit.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from spofr_core.splitmix import GOLDEN, splitmix64

FloatArray = NDArray[np.float64]
Interval = tuple[float, float]

CONFIDENCE = 0.95
RESAMPLES = 1000
MANY = 20_000
"""From this many queries on the bootstrap of a mean is the normal interval, to more digits than are shown."""


def wilson(successes: int, trials: int, *, confidence: float = CONFIDENCE) -> Interval | None:
    """Wilson score interval of a share; None without a trial.

    (p + z^2/2n -+ z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n), which stays inside [0, 1] and is honest at 0 % and 100 %.
    """
    if trials == 0:
        return None
    lower, upper = wilson_many(np.array([successes]), trials, confidence=confidence)
    return float(lower[0]), float(upper[0])


def wilson_many(
    successes: NDArray[np.int64], trials: int, *, confidence: float = CONFIDENCE
) -> tuple[FloatArray, FloatArray]:
    """`wilson` for many shares out of the same number of trials."""
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    share = successes / trials
    centre = share + z * z / (2 * trials)
    half = z * np.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    return np.maximum((centre - half) / scale, 0.0), np.minimum((centre + half) / scale, 1.0)


def bootstrap_mean(
    values: FloatArray, *, seed: int, confidence: float = CONFIDENCE, resamples: int = RESAMPLES
) -> Interval | None:
    """Percentile bootstrap interval of the mean over queries; None without a value.

    With `MANY` queries or more, the normal interval mean -+ z std / sqrt(n), to which the bootstrap has converged.
    """
    n = len(values)
    if n == 0:
        return None
    if n >= MANY:
        centre, half = values.mean(), NormalDist().inv_cdf(0.5 + confidence / 2) * values.std(ddof=1) / np.sqrt(n)
        return float(centre - half), float(centre + half)
    means = _resampled_means(np.ascontiguousarray(values), resamples, np.uint64(seed))
    tail = (1 - confidence) / 2
    lower, upper = np.quantile(means, [tail, 1 - tail])
    return float(lower), float(upper)


def quantile_interval(ordered: FloatArray, level: float, *, confidence: float = CONFIDENCE) -> Interval | None:
    """Bootstrap percentile interval of a quantile, exact: no resampling is needed.

    The number of draws below the level-quantile in a resample of size n is Binomial(n, level), so the percentiles of
    the resampled quantile are order statistics at that distribution's percentiles. `ordered` is sorted ascending.
    """
    n = len(ordered)
    if n == 0:
        return None
    tail = (1 - confidence) / 2
    low, high = binomial_quantiles(np.array([tail, 1 - tail]), n, level)
    return float(ordered[max(low - 1, 0)]), float(ordered[min(high, n - 1)])


def binomial_quantiles(shares: FloatArray, n: int, p: float) -> NDArray[np.int64]:
    """The smallest k with P(Binomial(n, p) <= k) >= share, for each share in 0..1 that is not nearly 0 or 1.

    The probabilities come from their ratios, P(k + 1) / P(k) = (n - k) p / ((k + 1)(1 - p)), over twelve standard
    deviations to both sides of the mean and a little more, outside of which there is less than rounding.
    """
    if not 0.0 < p < 1.0:
        return np.full(len(shares), n if p >= 1.0 else 0, dtype=np.int64)
    reach = 12 * np.sqrt(n * p * (1 - p)) + 40
    first, last = max(int(n * p - reach), 0), min(int(n * p + reach) + 1, n)
    k = np.arange(first, last)
    logs = np.concatenate([[0.0], np.cumsum(np.log((n - k) / (k + 1)) + np.log(p / (1 - p)))])
    masses = np.exp(logs - logs.max())
    # A share that is met exactly must not be missed by a rounding error.
    reached = np.searchsorted(np.cumsum(masses), shares * masses.sum() * (1 - 1e-12))
    return np.asarray(first + np.minimum(reached, last - first), dtype=np.int64)


@njit(parallel=True, cache=True)
def _resampled_means(values: FloatArray, resamples: int, seed: np.uint64) -> FloatArray:  # pragma: no cover
    """Means of resamples, each with a stream of its own, so that threads do not change the result."""
    n = len(values)
    means = np.empty(resamples)
    for r in prange(resamples):
        state = splitmix64(seed + GOLDEN * np.uint64(r + 1))
        total = 0.0
        for _ in range((n + 1) // 2):
            state += GOLDEN
            random = splitmix64(state)
            # The two halves of a 64-bit number, each scaled to 0..n-1 by multiply and shift.
            total += values[np.int64(((random >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))]
            total += values[np.int64(((random & np.uint64(0xFFFFFFFF)) * np.uint64(n)) >> np.uint64(32))]
        if n % 2:
            total -= values[np.int64(((random & np.uint64(0xFFFFFFFF)) * np.uint64(n)) >> np.uint64(32))]
        means[r] = total / n
    return means
