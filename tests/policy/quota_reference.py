"""The programme with quotas, solved the slow way: all rankings, or all patterns of groups, in a linear programme."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

import numpy as np
from scipy.optimize import linprog

from spofr_core import Discount, Fairness, Quota


def within(quota: Quota, shown: Sequence[str]) -> bool:
    """Whether a ranking, given as the groups from the top down, keeps within the quota in every prefix."""
    n, names = len(shown), sorted(set(shown))
    if len(names) < 2:
        return True
    for name in names:
        size = shown.count(name)
        for k in range(1, n + 1):
            count = shown[:k].count(name)
            if quota.slack is not None and k <= (quota.top or n):
                low, high = k * size // n - quota.slack, -(-k * size // n) + quota.slack
                if not low <= count <= high:
                    return False
            for depth, least in (quota.minimum or {}).get(name, {}).items():
                if min(depth, n) == k and count < least:
                    return False
    return True


def patterns(sizes: dict[str, int]) -> Iterator[tuple[str, ...]]:
    """All ways to give the positions to groups of these sizes."""
    if not any(sizes.values()):
        yield ()
        return
    for name, size in sizes.items():
        if size:
            for rest in patterns({**sizes, name: size - 1}):
                yield (name, *rest)


def optimum(
    scores: Sequence[float],
    groups: Sequence[str],
    fairness: Fairness,
    discount: Discount | None = None,
    *,
    by_pattern: bool = False,
) -> float | str:
    """Largest expected utility of a lottery over permitted rankings within delta, "no ranking" or "no policy".

    `by_pattern` takes one ranking for each pattern of groups, the best one: each group in the order of its scores.
    """
    n, names = len(scores), sorted(set(groups))
    v, w = fairness.position_bias.vector(n), (discount or Discount()).vector(n)
    quota = fairness.every_ranking
    assert quota is not None
    if by_pattern:
        rankings = [
            seated(pattern, scores, groups)
            for pattern in patterns({name: list(groups).count(name) for name in names})
            if within(quota, pattern)
        ]
    else:
        rankings = [r for r in permutations(range(n)) if within(quota, [groups[i] for i in r])]
    if not rankings:
        return "no ranking"
    orders = np.array(rankings)
    utility = np.asarray(scores)[orders] @ w
    labels = np.asarray(groups)[orders]
    rows, limits = [], []
    mean = float(v.mean())
    unit = mean if fairness.unit == "share" else 1.0
    if len(names) > 1:
        for name in names:
            exposure = ((labels == name) @ v) / list(groups).count(name)
            rows += [exposure, -exposure]
            limits += [mean + fairness.delta * unit, fairness.delta * unit - mean]
    solved = linprog(
        -utility,
        A_ub=np.array(rows) if rows else None,
        b_ub=np.array(limits) if rows else None,
        A_eq=np.ones((1, len(rankings))),
        b_eq=[1.0],
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    return float(-solved.fun) if solved.status == 0 else "no policy"


def seated(pattern: Sequence[str], scores: Sequence[float], groups: Sequence[str]) -> tuple[int, ...]:
    """The ranking of a pattern: each group's items from the best down."""
    queue = {
        name: sorted((i for i, g in enumerate(groups) if g == name), key=lambda i: -scores[i]) for name in set(groups)
    }
    return tuple(queue[name].pop(0) for name in pattern)
