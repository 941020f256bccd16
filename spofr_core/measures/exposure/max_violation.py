"""The largest violation of the chosen notion in each list: what delta is compared with."""

from __future__ import annotations

import numpy as np

from spofr_core.measures import MEASURES, Measure, RankingView, Values
from spofr_core.measures.measure import UNKNOWN_GROUP
from spofr_core.measures.ranking_view import ONE_GROUP


def _per_query(view: RankingView) -> Values:
    """max over groups of the absolute violation, in the unit of delta."""
    violations = np.nan_to_num(np.abs(view.terms.violations(view.group_exposure)))
    unknown, alone = view.unknown_group, view.one_group & ~view.unknown_group
    why = {ONE_GROUP: alone, UNKNOWN_GROUP: unknown}
    return Values(np.where(alone | unknown, np.nan, violations.max(axis=1)), why)


MEASURES.register(
    Measure(
        name="max_violation",
        label="Largest violation",
        better="lower",
        ideal=0.0,
        limits=(0.0, np.inf),
        description="The furthest that a group of the list is from what the notion asks for, either way: what delta "
        "is compared with.",
        formula="max over groups of |violation of the notion|",
        source="Kotary et al. 2022",
        in_audit=False,
        aliases=("violation",),
        per_query=_per_query,
    )
)
