"""Infeasible index: in how many prefixes a group has fewer items than its share, rounded down."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange

from spofr_core.measures import MEASURES, Measure, RankingView, Target, Values
from spofr_core.measures.ranking_view import NO_TARGET, ONE_GROUP


def _per_query(view: RankingView, *, k: int | None, target: Target | None) -> Values:
    shares, patterns = view.target_shares(target), view.patterns
    depth = view.longest if k is None else k
    values = np.asarray(_infeasible(patterns.groups, patterns.starts, patterns.lists, np.nan_to_num(shares), depth))
    silent = ~view.one_group & np.isnan(shares).any(axis=1)
    return view.expected(values, {ONE_GROUP: view.one_group, NO_TARGET: silent})


@njit(parallel=True, cache=True)
def _infeasible(groups: Any, starts: Any, lists: Any, target: Any, depth: int) -> Any:  # pragma: no cover
    """Number of k with some count_g(k) < floor(target_g k), the last prefix included.

    k counts the items that are of a group. A share times k that is a whole number but for rounding is that number.
    """
    values = np.zeros(len(lists))
    for r in prange(len(lists)):
        counts = np.zeros(target.shape[1])
        grouped = 0
        for j in range(min(starts[r + 1] - starts[r], depth)):
            if groups[starts[r] + j] < 0:
                continue
            grouped += 1
            counts[groups[starts[r] + j]] += 1
            for g in range(target.shape[1]):
                if counts[g] < np.floor(target[lists[r], g] * grouped + 1e-9):
                    values[r] += 1
                    break
    return values


MEASURES.register(
    Measure(
        name="infeasible_index",
        of_groups=True,
        label="Infeasible index",
        unit="prefixes",
        better="lower",
        ideal=0.0,
        limits=(0.0, np.inf),
        depth=None,
        parameters={"target": None},
        description="In how many of the prefixes (the first item, the first two, ...) some group has fewer items than "
        "its share of them, rounded down.",
        formula="number of k with count_g(k) < floor(target_g k) for some g",
        source="Yang, Gkatzelis, Stoyanovich 2019",
        in_audit=False,
        per_query=_per_query,
    )
)
