"""Plackett-Luce lotteries: rankings drawn item by item, each in proportion to exp(score)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from spofr_core.errors import DataError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PlackettLucePolicies:
    """Plackett-Luce policies of a batch of lists, known through samples.

    Expectations are means over `samples` rankings per list, always the same ones for the same seed.

    Attributes
    ----------
    scores : (N,) float
        Flat; list q is `offsets[q]:offsets[q + 1]`.
    offsets : (Q + 1,) int
    samples : int
        Rankings drawn per list.
    seed : int
    """

    scores: FloatArray
    offsets: IntArray
    samples: int = 256
    seed: int = 0

    def __post_init__(self) -> None:
        if self.samples < 2:
            raise DataError(f"samples is {self.samples}: a mean and its error need 2 rankings per list or more.")

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def expectation(self, vector: FloatArray) -> FloatArray:
        """(N,): estimate of the expected vector[position] of every item, for any vector over positions."""
        return self._moments(vector)[0]

    def standard_error(self, vector: FloatArray) -> FloatArray:
        """(N,): Monte Carlo standard error of `expectation`."""
        mean, square = self._moments(vector)
        return np.sqrt(np.maximum(square - mean**2, 0.0) / (self.samples - 1))

    def rankings(self, query: int, count: int, *, seed: int = 0) -> NDArray[np.int64]:
        """(count, n): drawn rankings of one list, item indices from the top down."""
        rows = slice(int(self.offsets[query]), int(self.offsets[query + 1]))
        gumbel = np.random.default_rng(seed).gumbel(size=(count, rows.stop - rows.start))
        return np.argsort(-(self.scores[rows] + gumbel), axis=1)

    def _moments(self, vector: FloatArray) -> tuple[FloatArray, FloatArray]:
        longest = int(np.diff(self.offsets).max(initial=0))
        if len(vector) < longest:
            raise DataError(f"The vector has {len(vector)} values but the longest list has {longest} items.")
        scores, offsets, values = (
            np.require(array, kind, ["C", "W"])
            for array, kind in ((self.scores, np.float64), (self.offsets, np.int64), (vector, np.float64))
        )
        mean, square = _sampled_moments(scores, offsets, values, self.samples, np.uint64(self.seed))
        return np.asarray(mean), np.asarray(square)


@njit(cache=True, nogil=True)
def _exponential(seed: Any, query: Any, sample: Any, item: Any) -> Any:  # pragma: no cover
    """Standard exponential number that depends on nothing but its arguments (splitmix64 on a mix of them)."""
    x = seed ^ (np.uint64(query) * np.uint64(0xD1342543DE82EF95))
    for salt in (np.uint64(sample), np.uint64(item)):
        x = (x + salt) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x2545F4914F6CDD1D)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        x ^= x >> np.uint64(31)
    return -np.log((np.float64(x >> np.uint64(11)) + 0.5) * 2.0**-53)


@njit(cache=True, nogil=True)
def _draw(decay: Any, key: Any, order: Any, seed: Any, query: Any, sample: Any) -> None:  # pragma: no cover
    """Draw a ranking into `order`: items in the order of exponential times exp(-score), which is Plackett-Luce.

    (Exponential clocks: the first of those still running is item i with probability exp(score_i) / sum. Adding Gumbel
    noise to the scores and sorting is the same on a logarithmic scale.)
    """
    n = len(decay)
    if n > 48:
        for i in range(n):
            key[i] = _exponential(seed, query, sample, i) * decay[i]
        order[:] = np.argsort(key)
        return
    for i in range(n):
        x = _exponential(seed, query, sample, i) * decay[i]
        j = i
        while j > 0 and key[j - 1] > x:
            key[j], order[j] = key[j - 1], order[j - 1]
            j -= 1
        key[j], order[j] = x, i


@njit(cache=True, nogil=True)
def _decay(scores: Any, decay: Any, power: Any) -> None:  # pragma: no cover
    """exp(-score) and exp(score), relative to the greatest score; spreads beyond 600 are cut off."""
    top = scores.max()
    for i in range(len(scores)):
        gap = min(top - scores[i], 600.0)
        power[i] = np.exp(-gap)
        decay[i] = 1.0 / power[i]


@njit(parallel=True, cache=True)
def _sampled_moments(
    scores: Any, offsets: Any, vector: Any, samples: Any, seed: Any
) -> tuple[Any, Any]:  # pragma: no cover
    mean, square = np.zeros(len(scores)), np.zeros(len(scores))
    for q in prange(len(offsets) - 1):
        start, n = offsets[q], offsets[q + 1] - offsets[q]
        decay, power, key, order = np.empty(n), np.empty(n), np.empty(n), np.empty(n, np.int64)
        _decay(scores[start : start + n], decay, power)
        for s in range(samples):
            _draw(decay, key, order, seed, q, s)
            for j in range(n):
                mean[start + order[j]] += vector[j] / samples
                square[start + order[j]] += vector[j] ** 2 / samples
    return mean, square


@njit(parallel=True, cache=True)
def reinforce(
    scores: Any,
    gains: Any,
    costs: Any,
    codes: Any,
    offsets: Any,
    v: Any,
    w: Any,
    n_groups: Any,
    samples: Any,
    seed: Any,
) -> tuple[Any, Any, Any]:  # pragma: no cover
    """REINFORCE estimate for linear rewards of Plackett-Luce rankings.

    The reward of a ranking is sum over items of gain_i w_pos(i) - cost_i v_pos(i). With r_s the rewards of the samples and
    b_s the mean of the others (an unbiased baseline), the gradient of the expected reward is estimated by the mean of
    (r_s - b_s) d log P(ranking_s), where

        d log P / d score_i = 1 - sum over places k <= pos(i) of exp(score_i) / Z_k,   Z_k = sum of exp over places k and below.

    Returns
    -------
    gradient : (N,) of the expected reward, summed over lists
    reward : (Q,) mean over samples
    exposure : (Q, G) mean over samples of each group's total exposure
    """
    n_lists = len(offsets) - 1
    gradient, reward, exposure = np.zeros(len(scores)), np.zeros(n_lists), np.zeros((n_lists, n_groups))
    for q in prange(n_lists):
        start, n = offsets[q], offsets[q + 1] - offsets[q]
        decay, power, key, order = np.empty(n), np.empty(n), np.empty(n), np.empty(n, np.int64)
        slope, slopes, weighted = np.empty(n), np.zeros(n), np.zeros(n)
        tail = np.empty(n + 1)
        _decay(scores[start : start + n], decay, power)
        total = 0.0
        for s in range(samples):
            _draw(decay, key, order, seed, q, s)
            r = 0.0
            tail[n] = 0.0
            for j in range(n - 1, -1, -1):
                i = order[j]
                tail[j] = tail[j + 1] + power[i]
                r += gains[start + i] * w[j] - costs[start + i] * v[j]
                exposure[q, codes[start + i]] += v[j] / samples
            passed = 0.0
            for j in range(n):
                i = order[j]
                passed += 1.0 / tail[j]
                slope[i] = 1.0 - power[i] * passed
            for i in range(n):
                slopes[i] += slope[i]
                weighted[i] += r * slope[i]
            total += r
        reward[q] = total / samples
        for i in range(n):
            gradient[start + i] = (weighted[i] - reward[q] * slopes[i]) / (samples - 1)
    return gradient, reward, exposure
