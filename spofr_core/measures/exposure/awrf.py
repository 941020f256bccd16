"""Attention-weighted rank fairness: how close the groups' shares of exposure are to a target."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange

from spofr_core.data.rows import list_sums
from spofr_core.measures import MEASURES, Measure, RankingView, Target, Values
from spofr_core.measures.measure import FloatArray
from spofr_core.measures.ranking_view import NO_TARGET, NOTHING_RELEVANT, ONE_GROUP, Patterns
from spofr_core.policy import tied_expectation

_FORMULA = "1 - JSD2(shares of exposure of the groups, target)"


def awrf(view: RankingView, *, target: Target | None) -> Values:
    """1 - JSD2(exposure shares, target), base 2: of each ranking, and expected over the rankings of a lottery."""
    vector = view.position_bias.vector(view.longest)
    shares = view.target_shares(target)
    values = _of_rankings(view.patterns, vector, shares)
    return view.expected(values, {ONE_GROUP: view.one_group, NO_TARGET: _silent(view, shares)})


def awrf_times_ndcg(view: RankingView, *, target: Target | None) -> Values:
    """AWRF times nDCG of each ranking, both with the attention 1/log2(max(j, 2)) of the track."""
    vector = 1 / np.log2(np.maximum(np.arange(1, view.longest + 1), 2))
    shares, drawn, patterns = view.target_shares(target), view.relevant_lotteries, view.relevant_patterns
    offsets, nothing = view.data.offsets, view.list_gains <= 0
    ideal = list_sums(view.gains * tied_expectation(view.gains, offsets, vector), offsets)
    worth = vector[np.arange(len(patterns.rows)) - np.repeat(patterns.starts[:-1], np.diff(patterns.starts))]
    dcg = np.add.reduceat(view.gains[patterns.rows] * worth, patterns.starts[:-1])
    values = _of_rankings(patterns, vector, shares) * dcg / np.where(nothing, 1.0, ideal)[patterns.lists]
    why = {ONE_GROUP: view.one_group, NOTHING_RELEVANT: nothing, NO_TARGET: _silent(view, shares) & ~nothing}
    return view.expected(values, why, lotteries=drawn)


def _silent(view: RankingView, shares: FloatArray) -> Any:
    return ~view.one_group & np.isnan(shares).any(axis=1)


def _of_rankings(patterns: Patterns, vector: FloatArray, shares: FloatArray) -> FloatArray:
    return np.asarray(_one_minus_jsd(patterns.groups, patterns.starts, patterns.lists, vector, shares))


@njit(parallel=True, cache=True)
def _one_minus_jsd(groups: Any, starts: Any, lists: Any, vector: Any, target: Any) -> Any:  # pragma: no cover
    """JSD2(p, q) = (KL(p, m) + KL(q, m)) / 2 with m = (p + q)/2 and logarithms to base 2; terms of share 0 are 0."""
    values = np.empty(len(lists))
    for r in prange(len(lists)):
        exposure = np.zeros(target.shape[1])
        total = 0.0
        for j in range(starts[r + 1] - starts[r]):
            if groups[starts[r] + j] >= 0:
                exposure[groups[starts[r] + j]] += vector[j]
                total += vector[j]
        divergence = 0.0
        for g in range(target.shape[1]):
            p, q = exposure[g] / total if total > 0 else 0.0, target[lists[r], g]
            if p > 0:
                divergence += 0.5 * p * np.log2(2 * p / (p + q))
            if q > 0:
                divergence += 0.5 * q * np.log2(2 * q / (p + q))
        values[r] = 1.0 - divergence
    return values


MEASURES.register(
    Measure(
        name="AWRF",
        of_groups=True,
        label="AWRF",
        better="higher",
        ideal=1.0,
        limits=(0.0, 1.0),
        parameters={"target": None},
        description="Attention-weighted rank fairness: how close the groups' shares of exposure are to the target, by "
        "the Jensen-Shannon divergence to base 2.",
        formula=_FORMULA,
        source="Sapiezynski et al. 2019; Raj, Ekstrand 2022",
        in_audit=False,
        per_query=awrf,
    )
)
MEASURES.register(
    Measure(
        name="AWRFxnDCG",
        of_groups=True,
        label="AWRF x nDCG",
        better="higher",
        ideal=1.0,
        limits=(0.0, 1.0),
        needs=("relevance",),
        of_gains=True,
        parameters={"target": None},
        description="AWRF times nDCG, with the attention 1/log2(max(j, 2)) in both: one number for both aims.",
        formula=f"({_FORMULA}) * nDCG, v_j = 1/log2(max(j, 2))",
        source="TREC Fair Ranking 2022",
        in_audit=False,
        per_query=awrf_times_ndcg,
    )
)
