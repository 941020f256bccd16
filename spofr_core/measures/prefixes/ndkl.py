"""Normalised discounted Kullback-Leibler divergence: how far the first k are from the target, for every k."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange

from spofr_core.measures import MEASURES, Measure, RankingView, Target, Values
from spofr_core.measures.measure import FloatArray
from spofr_core.measures.ranking_view import NO_TARGET, ONE_GROUP


def _per_query(view: RankingView, *, k: int | None, target: Target | None) -> Values:
    shares = view.target_shares(target)
    with np.errstate(divide="ignore"):
        logs = np.log(shares)
    patterns, depth = view.patterns, view.longest if k is None else k
    values = np.asarray(_ndkl(patterns.groups, patterns.starts, patterns.lists, logs, _logs(view.longest), depth))
    silent = ~view.one_group & np.isnan(shares).any(axis=1)
    unwanted = ~view.one_group & ~silent & view.any_ranking(np.isnan(values))
    return view.expected(
        values,
        {ONE_GROUP: view.one_group, NO_TARGET: silent, "infinite: a group is shown whose target is 0": unwanted},
    )


def _logs(n: int) -> FloatArray:
    """(n + 1, 3): ln x, x ln x and 1/log2(x + 1) for x = 0..n."""
    x = np.arange(n + 1, dtype=np.float64)
    ln = np.log(np.maximum(x, 1.0))
    return np.ascontiguousarray(np.stack([ln, x * ln, 1 / np.log2(np.maximum(x, 1.0) + 1)], axis=1))


@njit(parallel=True, cache=True)
def _ndkl(groups: Any, starts: Any, lists: Any, wanted_logs: Any, logs: Any, depth: int) -> Any:  # pragma: no cover
    """(1/Z) sum_k KL(shares in the first k, target) / log2(k + 1), Z = sum_k 1/log2(k + 1); natural logarithms in KL.

    With counts c_g among the first k, KL = (sum_g c_g ln c_g - sum_g c_g ln target_g) / k - ln k: one more item changes
    one term of either sum. Shares are of the items that are of a group; prefixes without one count for nothing.
    """
    values = np.empty(len(lists))
    for r in prange(len(lists)):
        counts = np.zeros(wanted_logs.shape[1], dtype=np.int64)
        own = wanted = total = weights = 0.0
        k = 0
        for j in range(min(starts[r + 1] - starts[r], depth)):
            g = groups[starts[r] + j]
            if g >= 0:
                k += 1
                own += logs[counts[g] + 1, 1] - logs[counts[g], 1]
                counts[g] += 1
                wanted += wanted_logs[lists[r], g]
            if k:
                total += logs[j + 1, 2] * max((own - wanted) / k - logs[k, 0], 0.0)
                weights += logs[j + 1, 2]
        values[r] = total / weights if weights > 0 and np.isfinite(total) else np.nan
    return values


MEASURES.register(
    Measure(
        name="NDKL",
        of_groups=True,
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
