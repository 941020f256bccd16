"""Impact ratio at k: the selection rate of the group that is selected least, over that of the one selected most."""

from __future__ import annotations

import numpy as np

from spofr_core.measures import MEASURES, Measure, RankingView, Values
from spofr_core.measures.prefixes.top_counts import top_counts
from spofr_core.measures.ranking_view import ONE_GROUP


def _per_query(view: RankingView, *, k: int) -> Values:
    """min over groups of (items in the first k / items), over the largest of the groups."""
    sizes = view.composition.sizes.astype(np.float64)
    own = sizes[view.patterns.lists]
    rates = np.divide(top_counts(view, k), own, out=np.full(own.shape, np.nan), where=own > 0)
    least, most = np.fmin.reduce(rates, axis=1), np.fmax.reduce(rates, axis=1)
    return view.expected(least / most, {ONE_GROUP: view.one_group}, overall=_overall(view, k, sizes))


def _overall(view: RankingView, k: int, sizes: np.ndarray) -> float | None:
    """The same of the whole data: items in some list's first k, of all items of the group."""
    first = (np.arange(view.longest) < k).astype(np.float64)
    selected = (np.nan_to_num(view.group_means(view.expectation(first))) * sizes).sum(axis=0)
    items = sizes.sum(axis=0)
    rates = selected[items > 0] / items[items > 0]
    return float(rates.min() / rates.max()) if len(rates) > 1 and rates.max() > 0 else None


MEASURES.register(
    Measure(
        name="impact_ratio",
        label="Impact ratio@k",
        better="higher",
        ideal=1.0,
        limits=(0.0, 1.0),
        depth=10,
        description="Selection rate (items among the first k, of all items of the group) of the group selected least, "
        "over that of the group selected most; the four-fifths rule flags what is below 0.8.",
        formula="min_g rate_g / max_g rate_g, rate_g = items of g among the first k / n_g",
        source="29 CFR 1607.4 D; New York City Local Law 144",
        in_audit=False,
        per_query=_per_query,
    )
)
