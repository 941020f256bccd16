"""LambdaRank: pairs of items, weighed by what it would cost to swap them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from spofr_core.fairness import Discount
from spofr_core.learning.lists import Batch
from spofr_core.learning.losses import LOSSES, RelevanceLoss
from spofr_core.learning.losses.relevance import OnePassLoss

FloatArray = NDArray[np.float64]


class LambdaRank(OnePassLoss):
    """Logistic loss of each pair, times the DCG that swapping the two would cost (Burges, Ragno, Le, NIPS 2006).

    With r the ranks by score and w the worth of positions, a list costs

        sum over y_i > y_j of d_ij log(1 + exp(-(s_i - s_j))),    d_ij = (y_i - y_j) abs(w_r(i) - w_r(j)) / ideal DCG,

    d_ij taken as constant in the gradient; ranks are, almost everywhere. It learns an order and no scale: what goes
    into the programme has to be calibrated.

    Parameters
    ----------
    discount : Discount
        Worth of positions.
    """

    def __init__(self, discount: Discount) -> None:
        self._discount = discount

    def derivatives(self, scores: FloatArray, batch: Batch) -> tuple[float, FloatArray, FloatArray]:
        """The curvature is the sum over pairs of d_ij p (1 - p), p the logistic function of the difference."""
        labels = batch.labels.numpy().astype(np.float64)
        worth = self._discount.vector(int(np.diff(batch.offsets).max()))
        gradient, curvature = np.zeros(len(scores)), np.zeros(len(scores))
        offsets = np.require(batch.offsets, requirements=["C", "W"])
        value = _pairs(np.ascontiguousarray(scores), labels, offsets, np.array(worth), gradient, curvature)
        return float(value), gradient, curvature


@njit(cache=True, nogil=True)
def _pairs(  # pragma: no cover
    scores: Any, labels: Any, offsets: Any, worth: Any, gradient: Any, curvature: Any
) -> float:
    total = 0.0
    for q in range(len(offsets) - 1):
        start, end = offsets[q], offsets[q + 1]
        n = end - start
        place = np.empty(n)
        place[np.argsort(-scores[start:end], kind="mergesort")] = worth[:n]
        ideal = np.sum(np.sort(labels[start:end])[::-1] * worth[:n])
        if ideal <= 0:
            continue
        for i in range(n):
            for j in range(n):
                if labels[start + i] <= labels[start + j]:
                    continue
                cost = (labels[start + i] - labels[start + j]) * abs(place[i] - place[j]) / ideal
                apart = scores[start + i] - scores[start + j]
                p = 1.0 / (1.0 + np.exp(min(apart, 700.0)))
                total += cost * (max(0.0, -apart) + np.log1p(np.exp(-abs(apart))))
                gradient[start + i] -= cost * p
                gradient[start + j] += cost * p
                curvature[start + i] += cost * p * (1.0 - p)
                curvature[start + j] += cost * p * (1.0 - p)
    return total


LOSSES.register(
    RelevanceLoss(
        "lambdarank",
        "Over pairs (LambdaRank)",
        lambda lists, discount, per_list: LambdaRank(discount),
        learns="order",
        pairs=True,
    )
)
