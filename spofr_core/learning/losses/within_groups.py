"""ListNet within groups: each list is split by group, and items compete with those of their own group alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from spofr_core.errors import DataError
from spofr_core.learning.lists import Batch, Lists
from spofr_core.learning.losses import LOSSES, RelevanceLoss
from spofr_core.learning.losses.relevance import OnePassLoss
from spofr_core.learning.losses.through_programme import RowsOfBatch

FloatArray = NDArray[np.float64]


class ListNetWithinGroups(OnePassLoss):
    """Cross-entropy between labels and the softmax of the scores over the items of the same group and list.

    With g(i) the items of the list that are of the group of i,

        loss = - sum_i y_i log(exp(s_i) / sum of exp(s_j) over j in g(i)).

    A small delta leaves the exposure of the groups to the programme, and the scores decide the order within them: this
    loss learns that order and gains nothing from guessing the group. It does not learn how the groups compare, so what
    goes into the programme has to be calibrated.

    Parameters
    ----------
    lists : Lists
        The training lists that the batches are made of.
    per_list : bool
        Divide by the sum of the list's labels, so that all lists weigh the same, whatever their labels.

    Raises
    ------
    DataError
        When no list has two items of one group: there is no order to learn within groups of one.
    """

    def __init__(self, lists: Lists, *, per_list: bool = False) -> None:
        if int(lists.group_counts.max(initial=0)) < 2:
            raise DataError(
                "The loss 'listnet-within-groups' learns the order of items of the same group, but no training list "
                "has two of them. Take the loss 'listnet', or groups of several items.",
                column="group",
            )
        blocks = lists.composition  # items without a group keep an order among themselves, too
        self._codes, self._rows = blocks.block_codes(lists.codes).astype(np.int64), RowsOfBatch(lists)
        self._n_groups, self._per_list = blocks.blocks.shape[1], per_list

    def derivatives(self, scores: FloatArray, batch: Batch) -> tuple[float, FloatArray, FloatArray]:
        """The curvature is p_i (1 - p_i) times the group's labels in the list summed, p the softmax over the group."""
        labels = batch.labels.numpy().astype(np.float64)
        if self._per_list:
            lengths = np.diff(batch.offsets)
            labels /= np.repeat(np.add.reduceat(labels, batch.offsets[:-1]), lengths)
        codes = self._rows.take(self._codes, batch)
        gradient, curvature = np.empty(len(scores)), np.empty(len(scores))
        offsets = np.require(batch.offsets, requirements=["C", "W"])
        value = _within(np.ascontiguousarray(scores), labels, codes, offsets, self._n_groups, gradient, curvature)
        return float(value), gradient, curvature


@njit(cache=True, nogil=True)
def _within(  # pragma: no cover
    scores: Any, labels: Any, codes: Any, offsets: Any, n_groups: int, gradient: Any, curvature: Any
) -> float:
    value = 0.0
    top, powers, wanted = np.empty(n_groups), np.empty(n_groups), np.empty(n_groups)
    for q in range(len(offsets) - 1):
        start, end = offsets[q], offsets[q + 1]
        top[:], powers[:], wanted[:] = -np.inf, 0.0, 0.0
        for i in range(start, end):
            top[codes[i]] = max(top[codes[i]], scores[i])
        for i in range(start, end):
            powers[codes[i]] += np.exp(scores[i] - top[codes[i]])
            wanted[codes[i]] += labels[i]
        for i in range(start, end):
            g = codes[i]
            p = np.exp(scores[i] - top[g]) / powers[g]
            value -= labels[i] * (scores[i] - top[g] - np.log(powers[g]))
            gradient[i] = wanted[g] * p - labels[i]
            curvature[i] = wanted[g] * p * (1.0 - p)
    return value


LOSSES.register(
    RelevanceLoss(
        "listnet-within-groups",
        "Over each group of the list (ListNet within groups)",
        lambda lists, discount, per_list: ListNetWithinGroups(lists, per_list=per_list),
        learns="order",
    )
)
