"""The plain sort by score, as a lottery over its ties."""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from spofr_core.errors import DataError

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
    vector : (n_max,) float
        One value per position of the longest list.

    Returns
    -------
    (N,) float
    """
    scores = np.require(scores, np.float64, ["C", "W"])  # one compiled signature, read-only input or not
    offsets = np.require(offsets, np.int64, ["C", "W"])
    vector = np.require(vector, np.float64, ["C", "W"])
    longest = int(np.diff(offsets).max(initial=0))
    if len(vector) < longest:
        raise DataError(
            f"The vector has {len(vector)} values but the longest list has {longest} items; "
            "give one value per position."
        )
    return np.asarray(_tied_expectation(scores, offsets, vector))


@njit(parallel=True, cache=True)
def _tied_expectation(
    scores: FloatArray, offsets: NDArray[np.int64], vector: FloatArray
) -> FloatArray:  # pragma: no cover
    expected = np.empty(len(scores))
    for q in prange(len(offsets) - 1):
        start, n = offsets[q], offsets[q + 1] - offsets[q]
        order = np.argsort(-scores[start : start + n])
        top = 0
        while top < n:
            score = scores[start + order[top]]
            end = top
            total = 0.0
            while end < n and scores[start + order[end]] == score:
                total += vector[end]
                end += 1
            if end == top:  # a score that does not equal itself (NaN) stands alone
                total = vector[end]
                end += 1
            for place in range(top, end):
                expected[start + order[place]] = total / (end - top)
            top = end
    return expected
