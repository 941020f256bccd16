"""The ranked group fairness test of FA*IR: enough protected items in every prefix, as a fair coin would give."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numba import njit, prange

from spofr_core.errors import ConfigError
from spofr_core.measures import MEASURES, Measure, RankingView, Target, Values
from spofr_core.measures.measure import FloatArray
from spofr_core.measures.ranking_view import NO_GROUP, NO_TARGET, ONE_GROUP


def _per_query(view: RankingView, *, k: int | None, group: str | None, target: Target | None, alpha: float) -> Values:
    """Probability that a ranking of the list passes: 1 or 0 without a lottery."""
    if not isinstance(alpha, int | float) or not 0 < alpha < 0.5:
        raise ConfigError(f"The level alpha of FA*IR must be a number between 0 and 0.5, got {alpha!r}.")
    chosen, patterns = view.group_code(group), view.patterns
    shares = view.target_shares(target)[:, chosen]
    depths = view.composition.lengths.astype(np.int64)
    depths = depths if k is None else np.minimum(depths, k)
    apart = view.no_group & ~view.one_group
    silent = ~view.one_group & ~apart & np.isnan(shares)
    levels, level = np.unique(np.round(np.nan_to_num(shares), 12), return_inverse=True)
    kinds, which = np.unique(depths * len(levels) + level, return_inverse=True)
    asked = (divmod(int(kind), len(levels)) for kind in kinds)
    tables = [minimum_counts(n, float(levels[place]), float(alpha)) for n, place in asked]
    begins = np.concatenate([[0], np.cumsum([len(table) for table in tables])])[:-1]
    needed = np.concatenate([*tables, np.zeros(0)])
    passed = _passes(
        patterns.groups, patterns.starts, patterns.lists, chosen, needed, begins[which].astype(np.int64), depths
    )
    return view.expected(np.asarray(passed), {ONE_GROUP: view.one_group, NO_GROUP: apart, NO_TARGET: silent})


@lru_cache(maxsize=4096)
def minimum_counts(n: int, p: float, alpha: float, *, adjusted: bool = True) -> FloatArray:
    """(n,): how many protected items the first 1, 2, ..., n must have at least.

    m(k) is the least m with P(Binomial(k, p) <= m) >= alpha_c. A fair ranking (every place protected with probability
    p, independently) is looked at n times and may fail at each, so alpha_c is below alpha: the largest level at which
    it fails anywhere with probability alpha at most. Unadjusted, alpha_c = alpha.
    """
    table = _quantiles(n, p, alpha)
    if adjusted and _failure(table, p) > alpha:
        low, high, table = 0.0, alpha, np.zeros(n)
        while high - low > 1e-12 * alpha:
            middle = (low + high) / 2
            tried = _quantiles(n, p, middle)
            if _failure(tried, p) <= alpha:
                low, table = middle, tried
            else:
                high = middle
    table.flags.writeable = False
    return np.asarray(table)


def failure_probability(table: FloatArray, p: float) -> float:
    """Probability that a fair ranking has too few protected items in some prefix."""
    return float(_failure(np.array(table, dtype=np.float64), p))


@njit(cache=True)
def _quantiles(n: int, p: float, alpha: float) -> Any:  # pragma: no cover
    """The least m with P(Binomial(k, p) <= m) >= alpha, for k = 1..n."""
    table = np.zeros(n)
    mass = np.zeros(n + 1)
    mass[0] = 1.0
    for k in range(1, n + 1):
        for c in range(k, 0, -1):
            mass[c] = mass[c] * (1 - p) + mass[c - 1] * p
        mass[0] *= 1 - p
        m, below = 0, mass[0]
        while below < alpha and m < k:
            m += 1
            below += mass[m]
        table[k - 1] = m
    return table


@njit(cache=True)
def _failure(table: Any, p: float) -> Any:  # pragma: no cover
    """1 less the mass of the counts that were enough at every prefix so far."""
    n = len(table)
    mass = np.zeros(n + 1)
    mass[0] = 1.0
    for k in range(1, n + 1):
        for c in range(k, 0, -1):
            mass[c] = mass[c] * (1 - p) + mass[c - 1] * p if c >= table[k - 1] else 0.0
        mass[0] = mass[0] * (1 - p) if table[k - 1] <= 0 else 0.0
    return 1.0 - mass.sum()


@njit(parallel=True, cache=True)
def _passes(
    groups: Any, starts: Any, lists: Any, chosen: int, needed: Any, begins: Any, depths: Any
) -> Any:  # pragma: no cover
    passed = np.ones(len(lists))
    for r in prange(len(lists)):
        q, count = lists[r], 0
        for j in range(depths[q]):
            count += groups[starts[r] + j] == chosen
            if count < needed[begins[q] + j]:
                passed[r] = 0.0
                break
    return passed


MEASURES.register(
    Measure(
        name="FA*IR",
        of_groups=True,
        label="FA*IR test",
        unit="share passed",
        better="higher",
        ideal=1.0,
        limits=(0.0, 1.0),
        depth=None,
        parameters={"group": None, "target": None, "alpha": 0.1},
        description="Whether every prefix has as many items of the protected group as a fair draw of places would have "
        "at the level alpha, allowing for looking at every prefix; of a lottery, how probably.",
        formula="count(k) >= m(k, target, adjusted alpha) for all k",
        source="Zehlike et al. 2017",
        in_audit=False,
        per_query=_per_query,
    )
)
