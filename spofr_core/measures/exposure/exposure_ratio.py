"""Exposure ratio: the group that gets least over the one that gets most."""

from __future__ import annotations

import numpy as np

from spofr_core.measures import MEASURES, Measure, RankingView, Values
from spofr_core.measures.ranking_view import ONE_GROUP


def _per_query(view: RankingView) -> Values:
    """min over groups of e_g, over max over groups of e_g."""
    present = view.composition.sizes > 0
    least = np.where(present, view.group_exposure, np.inf).min(axis=1, initial=np.inf)
    most = np.where(present, view.group_exposure, 0.0).max(axis=1, initial=0.0)
    unseen = ~view.one_group & (most <= 0)
    ratio = np.divide(least, most, out=np.full(len(most), np.nan), where=~view.one_group & (most > 0))
    return Values(ratio, {ONE_GROUP: view.one_group, "nobody gets any exposure": unseen})


MEASURES.register(
    Measure(
        name="exposure_ratio",
        of_groups=True,
        label="Exposure ratio",
        better="higher",
        ideal=1.0,
        limits=(0.0, 1.0),
        description="Mean exposure of the group that gets least in the list, over that of the group that gets most.",
        formula="min_g e_g / max_g e_g",
        source="Singh, Joachims 2018",
        in_audit=False,
        per_query=_per_query,
    )
)
