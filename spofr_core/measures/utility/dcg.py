"""Expected DCG: the utility that the programme maximises, with relevance in place of scores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spofr_core.data.rows import list_sums
from spofr_core.fairness import Discount
from spofr_core.measures import MEASURES, Measure, RankingView
from spofr_core.policy import tied_expectation

FloatArray = NDArray[np.float64]


def expected_dcg(relevance: FloatArray, item_discount: FloatArray, offsets: NDArray[np.int64]) -> FloatArray:
    """Expected DCG of each list, y' Pi w with linear gains; `item_discount` is Pi w."""
    return list_sums(relevance * item_discount, offsets)


def ideal_dcg(relevance: FloatArray, offsets: NDArray[np.int64], discount: Discount) -> FloatArray:
    """DCG of each list when it is sorted by relevance."""
    vector = discount.vector(int(np.diff(offsets).max(initial=0)))
    return expected_dcg(relevance, tied_expectation(relevance, offsets, vector), offsets)


def dcg(view: RankingView, *, k: int | None) -> FloatArray:
    """DCG of the first k positions, of all without a depth."""
    worth = view.expectation(view.discount_at(k).vector(view.longest))
    return expected_dcg(view.relevance, worth, view.data.offsets)


MEASURES.register(
    Measure(
        name="dcg",
        label="DCG",
        better="higher",
        limits=(0.0, np.inf),
        needs=("relevance",),
        depth=None,
        description="Expected discounted cumulative gain, with linear gains: the worth of positions times relevance.",
        formula="sum over items of relevance * w[position], w_j = 1/log2(1 + j)",
        source="Järvelin, Kekäläinen 2002",
        per_query=dcg,
    )
)
