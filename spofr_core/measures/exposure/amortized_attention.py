"""Inequity of amortized attention: how far each item's share of attention is from its share of relevance."""

from __future__ import annotations

import numpy as np
import pandas as pd

from spofr_core.data.rows import list_sums
from spofr_core.measures import MEASURES, Measure, RankingView, Values
from spofr_core.measures.measure import FloatArray
from spofr_core.measures.ranking_view import NOTHING_RELEVANT


def _per_query(view: RankingView) -> Values:
    """sum_i |a_i - r_i|, a_i and r_i the item's shares of the list's exposure and relevance.

    The period of one list are the rankings that it is shown by. Over the whole data an item may be in many lists, and
    what it lacks in one may be made up for in another: `overall` sums the shares of each item over all lists first, per
    list, so that it is at most the mean over the queries.
    """
    offsets = view.data.offsets
    nothing = view.list_gains <= 0
    exposure = list_sums(view.item_exposure, offsets)
    lengths = view.data.list_lengths
    attention = view.item_exposure / np.repeat(exposure, lengths)
    merit = view.gains / np.repeat(np.where(nothing, 1.0, view.list_gains), lengths)
    gaps = np.where(np.repeat(nothing, lengths), 0.0, attention - merit)
    values = np.where(nothing, np.nan, list_sums(np.abs(gaps), offsets))
    return Values(values, {NOTHING_RELEVANT: nothing}, overall=_amortized(view, gaps, int((~nothing).sum())))


def _amortized(view: RankingView, gaps: FloatArray, lists: int) -> float | None:
    if not lists:
        return None
    codes, items = pd.factorize(view.data.item_ids)
    return float(np.abs(np.bincount(codes, weights=gaps, minlength=len(items))).sum() / lists)


MEASURES.register(
    Measure(
        name="IAA",
        label="Inequity of amortized attention (IAA)",
        better="lower",
        ideal=0.0,
        limits=(0.0, 2.0),
        needs=("relevance",),
        of_gains=True,
        description="How far the items' shares of exposure are from their shares of relevance, summed over the list; "
        "overall, with what one list lacks made up for by others.",
        formula="sum_i |share of exposure_i - share of relevance_i|",
        source="Biega, Gummadi, Weikum 2018",
        in_audit=False,
        per_query=_per_query,
    )
)
