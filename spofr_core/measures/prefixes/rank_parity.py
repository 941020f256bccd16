"""Attribute rank parity: in how many pairs of items of different groups each group stands above."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange

from spofr_core.measures import MEASURES, Measure, RankingView, Values
from spofr_core.measures.ranking_view import ONE_GROUP


def _per_query(view: RankingView) -> Values:
    patterns = view.patterns
    sizes = np.ascontiguousarray(view.composition.sizes, dtype=np.int64)
    values = np.asarray(_parity(patterns.groups, patterns.starts, patterns.lists, sizes))
    return view.expected(values, {ONE_GROUP: view.one_group})


@njit(parallel=True, cache=True)
def _parity(groups: Any, starts: Any, lists: Any, sizes: Any) -> Any:  # pragma: no cover
    """max - min over groups of (mixed pairs that g wins) / (n_g (n - n_g)).

    An item wins against everybody below it, less those of its own group below it; n counts the items of a group.
    """
    values = np.empty(len(lists))
    for r in prange(len(lists)):
        q, above = lists[r], 0
        n = sizes[q].sum()
        seen, wins = np.zeros(sizes.shape[1]), np.zeros(sizes.shape[1])
        for place in range(starts[r], starts[r + 1]):
            g = groups[place]
            if g < 0:
                continue
            above += 1
            seen[g] += 1
            wins[g] += (n - above) - (sizes[q, g] - seen[g])
        most, least = -np.inf, np.inf
        for g in range(sizes.shape[1]):
            if 0 < sizes[q, g] < n:
                share = wins[g] / (float(sizes[q, g]) * (n - sizes[q, g]))
                most, least = max(most, share), min(least, share)
        values[r] = most - least if most >= least else np.nan
    return values


MEASURES.register(
    Measure(
        name="ARP",
        of_groups=True,
        label="Attribute rank parity (ARP)",
        better="lower",
        ideal=0.0,
        limits=(0.0, 1.0),
        description="Of the pairs of items of different groups, the share in which a group stands above: the largest "
        "of the groups less the smallest.",
        formula="max_g - min_g of (mixed pairs that g wins) / (n_g (n - n_g))",
        source="Cachel, Rundensteiner, Harrison 2022",
        in_audit=False,
        per_query=_per_query,
    )
)
