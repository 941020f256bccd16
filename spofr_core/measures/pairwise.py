"""Pairwise disparity: what FULTR penalises."""

from __future__ import annotations

import numpy as np

from spofr_core.measures import MEASURES, Measure, Measured
from spofr_core.measures.dcg import FloatArray


def pairwise_disparity(exposure: FloatArray) -> FloatArray:
    """Sum over pairs of groups of abs(e_g - e_h) in each list; `exposure` is (Q, G), NaN where a group is absent.

    One group's gap can hide behind the others': read it beside the violation of each group.
    """
    total = np.zeros(len(exposure))
    for g in range(exposure.shape[1]):
        for h in range(g + 1, exposure.shape[1]):
            total += np.nan_to_num(np.abs(exposure[:, g] - exposure[:, h]))
    return total


def _per_query(measured: Measured) -> FloatArray:
    disparity = pairwise_disparity(measured.group_exposure)
    return np.where(measured.composition.applicable, disparity, np.nan)


MEASURES.register(
    Measure(
        name="pairwise",
        label="Pairwise disparity",
        unit="exposure",
        better="lower",
        description="Sum over pairs of groups of the difference between their mean exposures; queries with a single "
        "group have none.",
        per_query=_per_query,
    )
)
