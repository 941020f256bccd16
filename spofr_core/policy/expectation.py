"""Expected value, per item, of a vector over positions under a batch of lotteries."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit, prange

FloatArray = npt.NDArray[np.float64]


@njit(parallel=True, cache=True)
def expectation(
    rankings: npt.NDArray[np.int32],
    probabilities: FloatArray,
    counts: npt.NDArray[np.int32],
    offsets: npt.NDArray[np.int64],
    vector: FloatArray,
) -> FloatArray:  # pragma: no cover
    """(Pi x)_i = sum over rankings r of probability_r * x[position of i in r], without forming Pi."""
    expected = np.zeros(rankings.shape[1])
    for q in prange(len(offsets) - 1):
        start, end = offsets[q], offsets[q + 1]
        for r in range(counts[q]):
            for j in range(end - start):
                expected[start + rankings[r, start + j]] += probabilities[q, r] * vector[j]
    return expected
