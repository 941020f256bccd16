"""Which of the rankings that may be shown break a quota."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spofr_core.fairness import Quota
from spofr_core.measures.measure import FloatArray
from spofr_core.measures.ranking_view import RankingView
from spofr_core.policy import draws_within, sorts_within


def quota_breaks(
    view: RankingView, quota: Quota, *, sorted_by: FloatArray | None = None
) -> dict[str, NDArray[np.generic]]:
    """How often what is shown breaks a quota, list by list.

    Parameters
    ----------
    view : RankingView
    quota : Quota
    sorted_by : (N,) float, optional
        Scores by which the lists are sorted, if that is how they are shown. Whether some order of the ties breaks the
        quota is then known for certain, even where only some of the orders were looked at.

    Returns
    -------
    dict
        Arrays with an entry per list. "chance": the probability that a ranking that is shown breaks the quota, NaN
        where there is nothing to keep (one group only, or no ranking that could); "error": its standard error where
        rankings were drawn, 0 elsewhere; "broken": whether some ranking that may be shown breaks it, among those that
        were looked at; "impossible": the first prefix that no ranking can meet, 0 where there is none.
    """
    composition = view.composition
    codes, sizes = composition.block_codes(view.data.groups), composition.blocks
    windows = quota.windows(composition)
    drawn = view.lotteries
    broken = (~draws_within(drawn, codes, sizes, windows)).astype(np.float64)
    seen = np.logical_or.reduceat(broken > 0, drawn.first[:-1])
    if sorted_by is not None:
        seen = np.where(drawn.sampled, ~sorts_within(sorted_by, codes, sizes, windows), seen)
    applies = ~view.one_group & (windows.impossible == 0)
    return {
        "chance": np.where(applies, drawn.expectation(broken), np.nan),
        "error": np.where(applies, drawn.standard_error(broken), 0.0),
        "broken": np.asarray(applies & seen),
        "impossible": windows.impossible,
    }
