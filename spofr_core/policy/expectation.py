"""Expected value, per item, of a vector over positions under a batch of lotteries."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit, prange

from spofr_core.policy.compiled_threads import threads_for

FloatArray = npt.NDArray[np.float64]


def expectation(
    rankings: npt.NDArray[np.int32],
    probabilities: FloatArray,
    counts: npt.NDArray[np.int32],
    offsets: npt.NDArray[np.int64],
    vector: FloatArray,
) -> FloatArray:
    """(Pi x)_i = sum over rankings r of probability_r * x[position of i in r], without forming Pi.

    NaN for the items of a list without a lottery: no ranking, or a probability that is not a number.
    """
    with threads_for(rankings.size, enough=50_000):
        return np.asarray(_expectation(rankings, probabilities, counts, offsets, vector))


@njit(parallel=True, cache=True)
def _expectation(
    rankings: npt.NDArray[np.int32],
    probabilities: FloatArray,
    counts: npt.NDArray[np.int32],
    offsets: npt.NDArray[np.int64],
    vector: FloatArray,
) -> FloatArray:  # pragma: no cover
    expected = np.zeros(rankings.shape[1])
    for q in prange(len(offsets) - 1):
        start, end = offsets[q], offsets[q + 1]
        if counts[q] == 0 or np.isnan(probabilities[q, : counts[q]].sum()):
            expected[start:end] = np.nan
            continue
        for r in range(counts[q]):
            for j in range(end - start):
                expected[start + rankings[r, start + j]] += probabilities[q, r] * vector[j]
    return expected
