"""Means of many parts of the data and their differences, with intervals that hold for all parts at once.

Of K parts that are judged, each interval has the level 1 - (1 - confidence) / K (Bonferroni), so that with probability
`confidence` or more all of them hold. Values of queries are skewed and parts may be small, where Student's t alone
misses far more often than it says. An interval here is therefore the wider, on each side, of two:

- Student's t with the spread of the part itself (Welch's for a difference): right where parts differ in spread;
- the spread and the skewness of all parts pooled, with the quantile z + a (z^2 - 1) / 6 of Cornish and Fisher, where
  a = k_3 / n^2 / var^(3/2) is the skewness of the mean: right where a small part looks less spread out than it is.

Where all values are 0 or 1 the means are shares: Wilson's score interval, and Newcombe's for a difference.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spofr_core.evaluation.intervals import quotients, wilson_many
from spofr_core.evaluation.query_table import FloatArray
from spofr_core.sizes import unit_of

Bounds = tuple[FloatArray, FloatArray]
IntArray = NDArray[np.int64]


class Spreads:
    """Count, mean and spread of each part, and intervals made of them.

    Parameters
    ----------
    values : (N,) float
        No NaN among them.
    codes : (N,) int
        The part of each value.
    parts : int
        Number of parts; a part may be empty.
    shares : bool
        Whether each value is 0 or 1, and a mean a share.
    """

    def __init__(self, values: FloatArray, codes: IntArray, parts: int, *, shares: bool = False) -> None:
        self.n = np.bincount(codes, minlength=parts).astype(np.int64)
        self.rounding = 1e-12 * float(np.abs(values).max(initial=0.0))
        """What floating point may leave of a difference of nothing."""
        self.shares = shares
        self._unit = unit_of(values)  # everything with an underscore is in it
        values = values / self._unit
        self._centre = float(values.mean()) if len(values) else np.nan
        around = values - (self._centre if len(values) else 0.0)
        shift = quotients(np.bincount(codes, weights=around, minlength=parts), self.n)
        off = around - shift[codes]
        squares = np.bincount(codes, weights=off**2, minlength=parts)
        self._mean = self._centre + shift
        self._variance = quotients(squares, np.where(self.n > 1, self.n - 1, 0))
        self._around = np.bincount(codes, weights=around**2, minlength=parts)
        self._spare = int(np.maximum(self.n - 1, 0).sum())
        self._pooled = float(squares.sum() / self._spare) if self._spare else 0.0
        self._third = float((off**3).sum() / self._spare) if self._spare else 0.0

    @property
    def mean(self) -> FloatArray:
        """(K,): of each part; NaN where it is empty."""
        return self._mean * self._unit

    def of_means(self, parts: NDArray[np.bool_], confidence: float) -> Bounds:
        """(K,) lower and upper ends of the means of these parts, all at once; NaN for the others."""
        level = _level(confidence, parts)
        n = np.maximum(self.n, 1)
        if self.shares:
            return self._only(parts, *wilson_many(np.rint(np.nan_to_num(self.mean) * n), n, confidence=level))
        own = _student(self._mean, self._variance / n, n - 1, level)
        pooled = self._corrected(self._mean, 1 / n, 1 / n**2, level)
        return self._only(parts, *_wider(own, pooled))

    def of_rest(self) -> FloatArray:
        """(K,): mean of all values that are not in each part; NaN where there are none."""
        return self._rest()[1] * self._unit

    def _rest(self) -> tuple[IntArray, FloatArray, FloatArray]:
        n = self.n.sum() - self.n
        # With no other values the sum below is what rounding leaves, and dividing it by 0 would make an infinite mean.
        shift = quotients(-np.where(self.n > 0, self.n * (self._mean - self._centre), 0.0), n)
        squares = np.maximum(self._around.sum() - self._around - n * shift**2, 0.0)
        return n, self._centre + shift, quotients(squares, np.where(n > 1, n - 1, 0))

    def against_rest(self, parts: NDArray[np.bool_], confidence: float) -> tuple[FloatArray, Bounds, FloatArray]:
        """Difference of each part from the rest, its interval, and its standard error; NaN where not judged."""
        return self._differences((self.n, self._mean, self._variance), self._rest(), parts, confidence)

    def between(self, first: int, last: int, confidence: float) -> tuple[float, float, float]:
        """Mean of part `last` less that of part `first`, with its interval; NaN where one has a single value."""
        one, other = ((self.n[[k]], self._mean[[k]], self._variance[[k]]) for k in (last, first))
        enough = np.array([min(self.n[first], self.n[last]) > 1])
        _, (lower, upper), _ = self._differences(one, other, enough, confidence)
        return float(self.mean[last] - self.mean[first]), float(lower[0]), float(upper[0])

    def _differences(
        self,
        one: tuple[IntArray, FloatArray, FloatArray],
        other: tuple[IntArray, FloatArray, FloatArray],
        parts: NDArray[np.bool_],
        confidence: float,
    ) -> tuple[FloatArray, Bounds, FloatArray]:
        level = _level(confidence, parts)
        (n, mean, variance), (m, mean_of_other, variance_of_other) = one, other
        n, m = np.maximum(n, 1), np.maximum(m, 1)
        difference = mean - mean_of_other
        if self.shares:
            bounds = _newcombe(n, mean, m, mean_of_other, level)
            together = (n * np.nan_to_num(mean) + m * np.nan_to_num(mean_of_other)) / (n + m)
            error = np.sqrt(np.maximum(together * (1 - together), 0.0) * (1 / n + 1 / m))
        else:
            mine, theirs = variance / n, variance_of_other / m
            fourth = mine**2 / np.maximum(n - 1, 1) + theirs**2 / np.maximum(m - 1, 1)
            freedom = quotients((mine + theirs) ** 2, fourth)
            own = _student(difference, mine + theirs, np.nan_to_num(freedom, nan=1.0), level)
            bounds = _wider(own, self._corrected(difference, 1 / n + 1 / m, 1 / n**2 - 1 / m**2, level))
            error = np.sqrt(np.maximum(mine + theirs, self._pooled * (1 / n + 1 / m)))
        difference, error = (np.where(parts, values, np.nan) * self._unit for values in (difference, error))
        return difference, self._only(parts, *bounds), error

    def _only(self, parts: NDArray[np.bool_], lower: FloatArray, upper: FloatArray) -> Bounds:
        return np.where(parts, lower, np.nan) * self._unit, np.where(parts, upper, np.nan) * self._unit

    def _corrected(self, centre: FloatArray, weight: FloatArray, third: FloatArray, level: float) -> Bounds:
        """The interval with the pooled spread, corrected for the pooled skewness."""
        if self._pooled <= 0:
            return centre, centre
        variance = self._pooled * weight
        z = student_quantile(level, np.array([self._spare]))
        skew = self._third * third / variance**1.5 * (z**2 - 1) / 6
        error = np.sqrt(variance)
        return centre - error * (z + skew), centre - error * (skew - z)


def _level(confidence: float, parts: NDArray[np.bool_]) -> float:
    """Of each interval, so that all hold together."""
    return 1 - (1 - confidence) / max(int(parts.sum()), 1)


def _student(centre: FloatArray, variance: FloatArray, freedom: ArrayLike, level: float) -> Bounds:
    half = student_quantile(level, np.maximum(np.asarray(freedom, dtype=np.float64), 1.0)) * np.sqrt(variance)
    return centre - half, centre + half


def student_quantile(level: float, freedom: ArrayLike) -> FloatArray:
    """How many standard errors lie on each side in an interval of this level, by degrees of freedom."""
    from scipy.special import stdtrit  # nobody who slices nothing waits for it

    return np.asarray(stdtrit(np.asarray(freedom, dtype=np.float64), 0.5 + level / 2))


def _wider(one: Bounds, other: Bounds) -> Bounds:
    return np.fmin(one[0], other[0]), np.fmax(one[1], other[1])


def _newcombe(n: IntArray, share: FloatArray, m: IntArray, other: FloatArray, level: float) -> Bounds:
    """Newcombe's interval of a difference of shares, from Wilson's of each."""
    mine, theirs = (
        wilson_many(np.rint(np.nan_to_num(mean) * count), count, confidence=level)
        for count, mean in ((n, share), (m, other))
    )
    difference = share - other
    lower = difference - np.hypot(share - mine[0], theirs[1] - other)
    return lower, difference + np.hypot(mine[1] - share, other - theirs[0])


def normal_p(difference: float, error: float) -> float:
    """Two-sided p of a normal difference."""
    return 2 * NormalDist().cdf(-abs(difference) / error) if error > 0 else float(difference == 0)
