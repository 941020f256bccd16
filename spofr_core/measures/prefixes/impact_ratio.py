"""Impact ratio at k: the selection rate of the group that is selected least, over that of the one selected most."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange

from spofr_core.measures import MEASURES, Measure, RankingView, Values
from spofr_core.measures.measure import FloatArray
from spofr_core.measures.prefixes.top_counts import top_counts
from spofr_core.measures.ranking_view import ONE_GROUP


def _per_query(view: RankingView, *, k: int) -> Values:
    """min over groups of (items in the first k / items), over the largest of the groups."""
    sizes, counts = view.composition.sizes.astype(np.float64), top_counts(view, k)
    values = np.asarray(_ratios(counts, view.patterns.lists, sizes))
    return view.expected(values, {ONE_GROUP: view.one_group}, overall=_overall(view, counts, sizes))


def _overall(view: RankingView, counts: FloatArray, sizes: FloatArray) -> float | None:
    """The same of the whole data: items in some list's first k, of all items of the group."""
    selected, items = view.lotteries.weights @ counts, sizes.sum(axis=0)
    rates = selected[items > 0] / items[items > 0]
    return float(rates.min() / rates.max()) if len(rates) > 1 and rates.max() > 0 else None


@njit(parallel=True, cache=True)
def _ratios(counts: Any, lists: Any, sizes: Any) -> Any:  # pragma: no cover
    values = np.empty(len(lists))
    for r in prange(len(lists)):
        least, most = np.inf, 0.0
        for g in range(sizes.shape[1]):
            if sizes[lists[r], g] > 0:
                rate = counts[r, g] / sizes[lists[r], g]
                least, most = min(least, rate), max(most, rate)
        values[r] = least / most if most > 0 else np.nan
    return values


MEASURES.register(
    Measure(
        name="impact_ratio",
        of_groups=True,
        label="Impact ratio@k",
        better="higher",
        ideal=1.0,
        limits=(0.0, 1.0),
        flag_below=0.8,
        depth=10,
        description="Selection rate (items among the first k, of all items of the group) of the group selected least, "
        "over that of the group selected most; the four-fifths rule flags what is below 0.8.",
        formula="min_g rate_g / max_g rate_g, rate_g = items of g among the first k / n_g",
        source="29 CFR 1607.4 D; New York City Local Law 144",
        in_audit=False,
        per_query=_per_query,
    )
)
