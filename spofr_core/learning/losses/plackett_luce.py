"""Plackett-Luce lotteries: rankings drawn item by item, each in proportion to exp(score)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from spofr_core.errors import DataError
from spofr_core.policy.compiled_threads import threads_for
from spofr_core.policy.lotteries import MOST_ORDERS, Lotteries
from spofr_core.splitmix import GOLDEN, splitmix64

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_SHORT = 48
"""Lists up to this length are sorted by insertion."""


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
        return np.asarray(self.expectations(vector)[0])

    def expectations(self, *vectors: FloatArray) -> FloatArray:
        """(K, N): the same for several vectors at once, from the same rankings."""
        longest = int(np.diff(self.offsets).max(initial=0))
        for vector in vectors:
            if len(vector) < longest:
                raise DataError(f"The vector has {len(vector)} values but the longest list has {longest} items.")
        scores, offsets, values = (
            np.require(array, kind, ["C", "W"])
            for array, kind in (
                (self.scores, np.float64),
                (self.offsets, np.int64),
                (np.stack([vector[:longest] for vector in vectors], axis=1), np.float64),
            )
        )
        means = np.zeros((len(scores), len(vectors)))
        _sampled_means(scores, offsets, values, self.samples, np.uint64(self.seed), means)
        return means.T

    def standard_error(self, vector: FloatArray) -> FloatArray:
        """(N,): Monte Carlo standard error of `expectation`."""
        mean, square = self.expectations(vector, vector**2)
        variance = np.maximum(square - mean**2, 0.0)
        variance[variance < 1e-12 * square] = 0.0  # what rounding leaves of an item that never moves
        return np.asarray(np.sqrt(variance / (self.samples - 1)))

    def rankings(self, query: int, count: int, *, seed: int = 0) -> NDArray[np.int64]:
        """(count, n): drawn rankings of one list, item indices from the top down."""
        rows = slice(int(self.offsets[query]), int(self.offsets[query + 1]))
        gumbel = np.random.default_rng(seed).gumbel(size=(count, rows.stop - rows.start))
        return np.argsort(-(self.scores[rows] + gumbel), axis=1)

    def lotteries(self, kinds: IntArray) -> Lotteries:
        """As many drawn rankings of each list as ties would get, whatever their kinds."""
        lengths, queries = np.diff(self.offsets), len(self)
        drawn = np.repeat(lengths, MOST_ORDERS)
        starts = np.concatenate([[0], np.cumsum(drawn)])
        rows = np.empty(starts[-1], dtype=np.int32)
        scores, offsets = (
            np.require(array, kind, ["C", "W"]) for array, kind in ((self.scores, np.float64), (self.offsets, np.int64))
        )
        _sampled_rankings(scores, offsets, MOST_ORDERS, np.uint64(self.seed), rows)
        first = np.arange(queries + 1) * MOST_ORDERS
        weights = np.full(queries * MOST_ORDERS, 1.0 / MOST_ORDERS)
        return Lotteries(rows, starts, first, weights, np.ones(queries, dtype=bool))


@njit(cache=True, nogil=True)
def _stream(seed: Any, query: Any, sample: Any) -> Any:  # pragma: no cover
    """State of a splitmix64 generator that depends on nothing but its arguments, whichever thread runs it."""
    x = splitmix64(np.uint64(seed) + GOLDEN)
    x = splitmix64((x ^ np.uint64(query)) + GOLDEN)
    return splitmix64((x ^ np.uint64(sample)) + GOLDEN)


@njit(cache=True, nogil=True)
def _draw(decay: Any, key: Any, order: Any, n: Any, state: Any) -> None:  # pragma: no cover
    """Draw a ranking into `order`: items in the order of exponential times exp(-score), which is Plackett-Luce.

    (Exponential clocks: the first of those still running is item i with probability exp(score_i) / sum. Adding Gumbel
    noise to the scores and sorting is the same on a logarithmic scale.)
    """
    for i in range(n):
        state += GOLDEN
        uniform = (np.float64(splitmix64(state) >> np.uint64(11)) + 0.5) * 2.0**-53
        x = -np.log(uniform) * decay[i]
        if n > _SHORT:
            key[i] = x
            continue
        j = i
        while j > 0 and key[j - 1] > x:
            key[j], order[j] = key[j - 1], order[j - 1]
            j -= 1
        key[j], order[j] = x, i
    if n > _SHORT:
        sorted_items = np.argsort(key[:n])
        for j in range(n):
            order[j] = sorted_items[j]


@njit(cache=True, nogil=True)
def _powers(scores: Any, start: Any, n: Any, power: Any, decay: Any) -> None:  # pragma: no cover
    """exp(score) and its inverse, relative to the greatest score; gaps beyond 600 are cut off."""
    top = scores[start]
    for i in range(n):
        top = max(top, scores[start + i])
    for i in range(n):
        power[i] = np.exp(-min(top - scores[start + i], 600.0))
        decay[i] = 1.0 / power[i]


@njit(cache=True, nogil=True)
def _means_of_list(
    q: Any, scores: Any, offsets: Any, vectors: Any, samples: Any, seed: Any, means: Any
) -> None:  # pragma: no cover
    start, n = offsets[q], offsets[q + 1] - offsets[q]
    power, decay, key, order = np.empty(n), np.empty(n), np.empty(n), np.empty(n, np.int64)
    _powers(scores, start, n, power, decay)
    for s in range(samples):
        _draw(decay, key, order, n, _stream(seed, q, s))
        for j in range(n):
            for k in range(vectors.shape[1]):
                means[start + order[j], k] += vectors[j, k] / samples


@njit(parallel=True, cache=True)
def _sampled_rankings(scores: Any, offsets: Any, samples: Any, seed: Any, rows: Any) -> None:  # pragma: no cover
    """`samples` rankings of each list, one after the other, as flat rows."""
    for q in prange(len(offsets) - 1):
        start, n = offsets[q], offsets[q + 1] - offsets[q]
        power, decay, key, order = np.empty(n), np.empty(n), np.empty(n), np.empty(n, np.int64)
        _powers(scores, start, n, power, decay)
        for s in range(samples):
            _draw(decay, key, order, n, _stream(seed, q, s))
            for j in range(n):
                rows[samples * start + s * n + j] = start + order[j]


@njit(parallel=True, cache=True)
def _sampled_means(
    scores: Any, offsets: Any, vectors: Any, samples: Any, seed: Any, means: Any
) -> None:  # pragma: no cover
    for q in prange(len(offsets) - 1):
        _means_of_list(q, scores, offsets, vectors, samples, seed, means)


@njit(cache=True, nogil=True)
def _reinforce_list(
    q: Any,
    scores: Any,
    gains: Any,
    costs: Any,
    codes: Any,
    offsets: Any,
    v: Any,
    w: Any,
    samples: Any,
    seed: Any,
    gradient: Any,
    reward: Any,
    exposure: Any,
) -> None:  # pragma: no cover
    start, n = offsets[q], offsets[q + 1] - offsets[q]
    power, decay, key, order = np.empty(n), np.empty(n), np.empty(n), np.empty(n, np.int64)
    slopes, weighted, tail = np.zeros(n), np.zeros(n), np.zeros(n + 1)
    _powers(scores, start, n, power, decay)
    total = 0.0
    for s in range(samples):
        _draw(decay, key, order, n, _stream(seed, q, s))
        r = 0.0
        for j in range(n - 1, -1, -1):
            i = order[j]
            tail[j] = tail[j + 1] + power[i]
            r += gains[start + i] * w[j] - costs[start + i] * v[j]
            exposure[q, codes[start + i]] += v[j] / samples
        passed = 0.0
        for j in range(n):
            i = order[j]
            passed += 1.0 / tail[j]
            slope = 1.0 - power[i] * passed
            slopes[i] += slope
            weighted[i] += r * slope
        total += r
    reward[q] = total / samples
    for i in range(n):
        gradient[start + i] = (weighted[i] - reward[q] * slopes[i]) / (samples - 1)


@njit(parallel=True, cache=True)
def _reinforce_lists(
    scores: Any,
    gains: Any,
    costs: Any,
    codes: Any,
    offsets: Any,
    v: Any,
    w: Any,
    samples: Any,
    seed: Any,
    gradient: Any,
    reward: Any,
    exposure: Any,
) -> None:  # pragma: no cover
    for q in prange(len(offsets) - 1):
        _reinforce_list(q, scores, gains, costs, codes, offsets, v, w, samples, seed, gradient, reward, exposure)


def reinforce(
    scores: FloatArray,
    gains: FloatArray,
    costs: FloatArray,
    codes: IntArray,
    offsets: IntArray,
    v: FloatArray,
    w: FloatArray,
    *,
    n_groups: int,
    samples: int,
    seed: int,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """REINFORCE estimate for linear rewards of Plackett-Luce rankings.

    The reward of a ranking is sum over items of gain_i w_pos(i) - cost_i v_pos(i). With r_s the rewards of the samples
    and b_s the mean of the others (an unbiased baseline), the gradient of the expected reward is estimated by the mean
    of (r_s - b_s) d log P(ranking_s), where

        d log P / d score_i = 1 - sum over places k <= pos(i) of exp(score_i) / Z_k,

    and Z_k is the sum of exp(score) over places k and below.

    Returns
    -------
    gradient : (N,) float
        Of the expected reward of each item's list.
    reward : (Q,) float
        Mean over samples.
    exposure : (Q, G) float
        Mean over samples of each group's total exposure.
    """
    n_lists = len(offsets) - 1
    gradient, reward, exposure = np.zeros(len(scores)), np.zeros(n_lists), np.zeros((n_lists, n_groups))
    with threads_for(len(scores) * samples, enough=20_000):
        _reinforce_lists(
            scores, gains, costs, codes, offsets, v, w, samples, np.uint64(seed), gradient, reward, exposure
        )
    return gradient, reward, exposure
