"""Measures of a batch of policies, per list first: group exposures, DCG, nDCG."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spofr_core.data.rows import list_sums
from spofr_core.fairness import Composition, Discount
from spofr_core.policy import tied_expectation

FloatArray = NDArray[np.float64]


def group_exposure(
    item_exposure: FloatArray, codes: NDArray[np.int32], offsets: NDArray[np.int64], composition: Composition
) -> FloatArray:
    """Mean exposure e_g of each group in each list, (Q, G); NaN where the group is absent."""
    return composition.group_means(item_exposure, codes, offsets)


def dcg(relevance: FloatArray, item_discount: FloatArray, offsets: NDArray[np.int64]) -> FloatArray:
    """Expected DCG of each list, y' Pi w with linear gains; `item_discount` is Pi w."""
    return list_sums(relevance * item_discount, offsets)


def ideal_dcg(relevance: FloatArray, offsets: NDArray[np.int64], discount: Discount) -> FloatArray:
    """DCG of each list when it is sorted by relevance."""
    vector = discount.vector(int(np.diff(offsets).max(initial=0)))
    return dcg(relevance, tied_expectation(relevance, offsets, vector), offsets)


def ndcg(
    relevance: FloatArray, item_discount: FloatArray, offsets: NDArray[np.int64], discount: Discount
) -> FloatArray:
    """DCG over ideal DCG of each list; NaN for a list without a relevant item, where it is undefined."""
    ideal = ideal_dcg(relevance, offsets, discount)
    reached = dcg(relevance, item_discount, offsets)
    return np.asarray(np.divide(reached, ideal, out=np.full(len(ideal), np.nan), where=ideal > 0))


def pairwise_disparity(exposure: FloatArray) -> FloatArray:
    """Sum over pairs of groups of abs(e_g - e_h) in each list.

    What FULTR penalises. One group's gap can hide behind the others': read it beside the violation of each group.
    """
    total = np.zeros(len(exposure))
    for g in range(exposure.shape[1]):
        for h in range(g + 1, exposure.shape[1]):
            total += np.nan_to_num(np.abs(exposure[:, g] - exposure[:, h]))
    return total
