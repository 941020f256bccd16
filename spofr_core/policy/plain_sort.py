"""The plain sort by score, as a lottery over its ties."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from spofr_core.errors import DataError
from spofr_core.policy.compiled_threads import threads_for
from spofr_core.policy.lotteries import Lotteries, sorted_lotteries

FloatArray = NDArray[np.float64]


def tied_expectation(scores: FloatArray, offsets: NDArray[np.int64], vector: FloatArray) -> FloatArray:
    """Expected vector[position] of every item when each list is sorted by score and ties are drawn at random.

    Items of equal score share a block of positions a..b and every order of them is equally likely, so each of them
    expects the mean of vector[a..b]. With the position bias as the vector this is the exposure of the sort, with the
    discount its worth.

    Parameters
    ----------
    scores : (N,) float
        Flat scores, higher stands further up.
    offsets : (Q + 1,) int
        List q is `offsets[q]:offsets[q + 1]`.
    vector : (n_max,) or (K, n_max) float
        One value per position of the longest list; several vectors share one sort.

    Returns
    -------
    (N,) or (K, N) float
    """
    scores = np.require(scores, np.float64, ["C", "W"])  # one compiled signature, read-only input or not
    offsets = np.require(offsets, np.int64, ["C", "W"])
    vectors = np.require(np.atleast_2d(vector), np.float64, ["C", "W"])
    longest = int(np.diff(offsets).max(initial=0))
    if vectors.shape[1] < longest:
        raise DataError(
            f"The vector has {vectors.shape[1]} values but the longest list has {longest} items; "
            "give one value per position."
        )
    with threads_for(len(scores), enough=5_000):
        expected = _tied_expectation(scores, offsets, vectors)
    return np.asarray(expected if np.ndim(vector) == 2 else expected[0])


@dataclass(frozen=True, eq=False)
class SortedPolicies:
    """Each list sorted by score; items of equal score stand in every order with the same probability.

    Attributes
    ----------
    scores : (N,) float
        Flat; list q is `offsets[q]:offsets[q + 1]`.
    offsets : (Q + 1,) int
    """

    scores: FloatArray
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def expectation(self, vector: FloatArray) -> FloatArray:
        """(N,): expected vector[position] of every item, exactly."""
        return tied_expectation(self.scores, self.offsets, vector)

    def lotteries(self, kinds: NDArray[np.int64]) -> Lotteries:
        """The orders of the ties, each as likely as the others."""
        return sorted_lotteries(self.scores, self.offsets, kinds)


SHORT = 48
"""Up to this length an insertion sort beats the general one."""


@njit(cache=True)
def _descending(scores: FloatArray) -> NDArray[np.int64]:  # pragma: no cover
    """Item indices from the highest score down."""
    n = len(scores)
    if n > SHORT:
        return np.argsort(-scores)
    order = np.empty(n, dtype=np.int64)
    for i in range(n):
        place = i
        while place > 0 and scores[order[place - 1]] < scores[i]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = i
    return order


@njit(parallel=True, cache=True)
def _tied_expectation(
    scores: FloatArray, offsets: NDArray[np.int64], vectors: FloatArray
) -> FloatArray:  # pragma: no cover
    expected = np.empty((len(vectors), len(scores)))
    for q in prange(len(offsets) - 1):
        start, n = offsets[q], offsets[q + 1] - offsets[q]
        order = _descending(scores[start : start + n])
        top = 0
        while top < n:
            score = scores[start + order[top]]
            end = top + 1
            while end < n and scores[start + order[end]] == score:
                end += 1
            for k in range(len(vectors)):
                mean = vectors[k, top:end].mean() if end > top + 1 else vectors[k, top]
                for place in range(top, end):
                    expected[k, start + order[place]] = mean
            top = end
    return expected
