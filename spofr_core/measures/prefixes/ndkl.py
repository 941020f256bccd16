"""Normalised discounted Kullback-Leibler divergence: how far the first k are from the target, for every k."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange

from spofr_core.measures import MEASURES, Measure, RankingView, Target, Values
from spofr_core.measures.ranking_view import NO_TARGET, ONE_GROUP


def _per_query(view: RankingView, *, k: int | None, target: Target | None) -> Values:
    shares = view.target_shares(target)
    with np.errstate(divide="ignore"):
        logs = np.log(shares)
    patterns, depth = view.patterns, view.longest if k is None else k
    values = np.asarray(_ndkl(patterns.groups, patterns.starts, patterns.lists, logs, depth))
    silent = ~view.one_group & np.isnan(shares).any(axis=1)
    unwanted = ~view.one_group & ~silent & view.any_ranking(np.isnan(values))
    return view.expected(
        values,
        {ONE_GROUP: view.one_group, NO_TARGET: silent, "infinite: a group is shown whose target is 0": unwanted},
    )


@njit(parallel=True, cache=True)
def _ndkl(groups: Any, starts: Any, lists: Any, logs: Any, depth: int) -> Any:  # pragma: no cover
    """(1/Z) sum_k KL(shares in the first k, target) / log2(k + 1), Z = sum_k 1/log2(k + 1); natural logarithms in KL.

    With counts c_g among the first k, KL = (sum_g c_g ln c_g - sum_g c_g ln target_g) / k - ln k: one more item changes
    one term of either sum.
    """
    values = np.empty(len(lists))
    for r in prange(len(lists)):
        counts = np.zeros(logs.shape[1])
        own = wanted = total = weights = 0.0
        for j in range(min(starts[r + 1] - starts[r], depth)):
            g, k = groups[starts[r] + j], j + 1
            before = counts[g]
            counts[g] = before + 1
            own += (before + 1) * np.log(before + 1) - (before * np.log(before) if before > 0 else 0.0)
            wanted += logs[lists[r], g]
            weight = 1.0 / np.log2(k + 1.0)
            total += weight * max((own - wanted) / k - np.log(float(k)), 0.0)
            weights += weight
        values[r] = total / weights if np.isfinite(total) else np.nan
    return values


MEASURES.register(
    Measure(
        name="NDKL",
        label="NDKL",
        better="lower",
        ideal=0.0,
        limits=(0.0, np.inf),
        depth=None,
        parameters={"target": None},
        description="How far the groups' shares among the first k items are from the target, for every k, the first "
        "places counting most.",
        formula="(1/Z) sum_k KL(shares in the first k, target) / log2(k + 1), Z = sum_k 1/log2(k + 1)",
        source="Geyik, Ambler, Kenthapadi 2019",
        in_audit=False,
        per_query=_per_query,
    )
)
