"""Pairwise disparity: what FULTR penalises."""

from __future__ import annotations

import numpy as np

from spofr_core.measures import MEASURES, Measure, RankingView, Values
from spofr_core.measures.measure import FloatArray
from spofr_core.measures.ranking_view import ONE_GROUP


def pairwise_disparity(exposure: FloatArray) -> FloatArray:
    """Sum over pairs of groups of abs(e_g - e_h) in each list; `exposure` is (Q, G), NaN where a group is absent.

    One group's gap can hide behind the others': read it beside the violation of each group.
    """
    total = np.zeros(len(exposure))
    for g in range(exposure.shape[1]):
        for h in range(g + 1, exposure.shape[1]):
            total += np.nan_to_num(np.abs(exposure[:, g] - exposure[:, h]))
    return total


def _per_query(view: RankingView) -> Values:
    disparity = pairwise_disparity(view.group_exposure)
    return Values(np.where(view.one_group, np.nan, disparity), {ONE_GROUP: view.one_group})


MEASURES.register(
    Measure(
        name="pairwise",
        of_groups=True,
        label="Pairwise disparity",
        unit="exposure",
        better="lower",
        ideal=0.0,
        limits=(0.0, np.inf),
        description="Sum over pairs of groups of the difference between their mean exposures; queries with a single "
        "group have none.",
        formula="sum over pairs g < h of |e_g - e_h|",
        source="Yadav, Du, Joachims 2021",
        per_query=_per_query,
    )
)
