"""Confidence intervals: Wilson for shares, bootstrap for means, order statistics for quantiles.

scipy.stats would do for the two percentiles needed here, but importing it takes longer than an audit.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from spofr_core.sizes import unit_of
from spofr_core.splitmix import GOLDEN, splitmix64

FloatArray = NDArray[np.float64]
Interval = tuple[float, float]

CONFIDENCE = 0.95
RESAMPLES = 1000
MANY = 5_000
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
    successes: NDArray[np.int64] | FloatArray, trials: NDArray[np.int64] | int, *, confidence: float = CONFIDENCE
) -> tuple[FloatArray, FloatArray]:
    """`wilson` for many shares, each out of one trial or more."""
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
        return _normal(float(values.mean()), standard_deviation(values) / math.sqrt(n), confidence)
    means = _resampled_sums(np.ascontiguousarray(values)[:, None], resamples, np.uint64(seed))[:, 0] / n
    return _percentiles(means, confidence)


class RatiosOfSums:
    """Means of the form (sum over queries of a_q) / (sum over queries of b_q), K of them, with intervals over queries.

    A group's mean exposure per item is one: a query brings the exposure of its items, and their number. The intervals
    are percentiles of what resampled queries give, all means from the same resamples. Where that would take more than
    `MOST_CELLS` numbers a resample, they are normal, with the standard error of the linearised ratio.

    Parameters
    ----------
    numerators, denominators : (Q, K) float
    seed : int
    resamples : int

    Attributes
    ----------
    values : (K,) float
        NaN where the denominators are 0.
    """

    MOST_CELLS = 20_000

    def __init__(
        self, numerators: FloatArray, denominators: FloatArray, *, seed: int, resamples: int = RESAMPLES
    ) -> None:
        self.values = quotients(numerators.sum(axis=0), denominators.sum(axis=0))
        self._queries = np.count_nonzero(denominators, axis=0)
        self._draws, self._pulls = np.zeros((0, len(self.values))), np.zeros((0, len(self.values)))
        if len(numerators) * len(self.values) > self.MOST_CELLS:
            # How far one query moves the ratio, to first order.
            self._pulls = quotients(numerators - self.values * denominators, denominators.sum(axis=0))
        elif len(numerators):
            columns = np.concatenate([numerators, denominators], axis=1)
            sums = _resampled_sums(np.ascontiguousarray(columns, dtype=np.float64), resamples, np.uint64(seed))
            self._draws = quotients(sums[:, : len(self.values)], sums[:, len(self.values) :])

    def interval(self, k: int, *, confidence: float = CONFIDENCE) -> Interval | None:
        """Of mean k; None where fewer than two queries say something about it."""
        if self._queries[k] < 2:
            return None
        if len(self._pulls):
            return _normal(float(self.values[k]), standard_error(self._pulls[:, k]), confidence)
        return _percentiles(self._draws[:, k], confidence)

    def quotient_interval(self, k: int, other: int, *, confidence: float = CONFIDENCE) -> Interval | None:
        """Of mean k divided by another mean."""
        if min(self._queries[k], self._queries[other]) < 2 or not self.values[other] > 0:
            return None
        if len(self._pulls):
            value = self.values[k] / self.values[other]
            pulls = (self._pulls[:, k] - value * self._pulls[:, other]) / self.values[other]
            return _normal(float(value), standard_error(pulls), confidence)
        return _percentiles(quotients(self._draws[:, k], self._draws[:, other]), confidence)

    def contrast_interval(
        self, first: tuple[int, int], second: tuple[int, int], *, confidence: float = CONFIDENCE
    ) -> Interval | None:
        """Of one mean divided by another, less the same of a second pair of means."""
        places = (*first, *second)
        if min(self._queries[k] for k in places) < 2 or not min(self.values[first[1]], self.values[second[1]]) > 0:
            return None
        if len(self._pulls):
            return _normal(*self.contrast(first, second), confidence)
        draws = (quotients(self._draws[:, k], self._draws[:, other]) for k, other in (first, second))
        return _percentiles(np.subtract(*draws), confidence)

    def contrast(self, first: tuple[int, int], second: tuple[int, int]) -> tuple[float, float]:
        """That difference of two quotients, and its standard error."""
        values = [float(self.values[k] / self.values[other]) for k, other in (first, second)]
        if not len(self._pulls):
            draws = (quotients(self._draws[:, k], self._draws[:, other]) for k, other in (first, second))
            return values[0] - values[1], float(np.nanstd(np.subtract(*draws)))
        pulls = (
            (self._pulls[:, k] - value * self._pulls[:, other]) / self.values[other]
            for value, (k, other) in zip(values, (first, second), strict=True)
        )
        return values[0] - values[1], standard_error(np.subtract(*pulls))


def quotients(numerators: NDArray[Any], denominators: NDArray[Any]) -> FloatArray:
    """NaN where the denominator is 0."""
    known = denominators != 0
    return np.where(known, numerators / np.where(known, denominators, 1), np.nan)


def standard_deviation(values: FloatArray) -> float:
    """Of two values or more, of any size, as an estimate from a sample."""
    unit = unit_of(values)
    return float((values / unit).std(ddof=1)) * unit


def standard_error(pulls: FloatArray) -> float:
    """Of a linearised mean, from what each query moves it by; numbers of any size."""
    n, unit = len(pulls), unit_of(pulls)
    return unit * math.sqrt(np.sum((pulls / unit) ** 2) * n / max(n - 1, 1))


def _percentiles(draws: FloatArray, confidence: float) -> Interval | None:
    """Of the resamples in which the mean exists: a rare group is missing from some."""
    defined = draws[~np.isnan(draws)]
    if not len(defined):
        return None
    tail = (1 - confidence) / 2
    lower, upper = np.quantile(defined, [tail, 1 - tail])
    return float(lower), float(upper)


def _normal(centre: float, standard_error: float, confidence: float) -> Interval:
    half = NormalDist().inv_cdf(0.5 + confidence / 2) * standard_error
    return centre - half, centre + half


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
def _resampled_sums(columns: FloatArray, resamples: int, seed: np.uint64) -> FloatArray:  # pragma: no cover
    """(resamples, K): column sums of resampled rows, each with a stream of its own, so that threads change nothing."""
    n, width = columns.shape
    sums = np.zeros((resamples, width))
    for r in prange(resamples):
        # How often each row is drawn first: going through the rows once, in their order, is what memory likes.
        drawn = np.zeros(n)
        state = splitmix64(seed + GOLDEN * np.uint64(r + 1))
        for k in range(0, n, 2):
            state += GOLDEN
            random = splitmix64(state)
            # The two halves of a 64-bit number, each scaled to 0..n-1 by multiply and shift.
            drawn[np.int64(((random >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))] += 1.0
            if k + 1 < n:
                drawn[np.int64(((random & np.uint64(0xFFFFFFFF)) * np.uint64(n)) >> np.uint64(32))] += 1.0
        for row in range(n):
            for column in range(width):
                sums[r, column] += drawn[row] * columns[row, column]
    return sums
