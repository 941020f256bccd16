"""The programme solved the slow way: all rankings, or all patterns of groups, in a linear programme."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog

from spofr_core import Discount, Fairness, Quota
from spofr_core.policy import LinearConstraint

_SLACK = 1e-11
"""Bounds closer together than this are contradictory to a linear programme."""


def named(groups: Sequence[str | None]) -> list[str]:
    """The groups of a list; an item of None has none, and no bound."""
    return sorted({name for name in groups if name is not None})


def within(quota: Quota, shown: Sequence[str | None]) -> bool:
    """Whether a ranking, given as the groups from the top down, keeps within the quota in every prefix."""
    n, names = len(shown), named(shown)
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


def patterns(sizes: dict[str | None, int]) -> Iterator[tuple[str | None, ...]]:
    """All ways to give the positions to groups of these sizes."""
    if not any(sizes.values()):
        yield ()
        return
    for name, size in sizes.items():
        if size:
            for rest in patterns({**sizes, name: size - 1}):
                yield (name, *rest)


@dataclass(frozen=True)
class Reference:
    """What a linear programme over rankings says of one list.

    Attributes
    ----------
    outcome : {"optimal", "no ranking", "no policy", "contradiction"}
    utility : float
        Largest expected utility of a lottery within every bound; NaN where there is none.
    least : float
        The smallest delta, the same for all groups, that a lottery can hold.
    """

    outcome: str
    utility: float = np.nan
    least: float = np.nan


def optimum(
    scores: Sequence[float],
    groups: Sequence[str | None],
    fairness: Fairness,
    discount: Discount | None = None,
    constraints: Sequence[LinearConstraint] = (),
    *,
    relax: bool = False,
    by_pattern: bool = False,
) -> Reference:
    """The best lottery over permitted rankings.

    The constraints are looked at last: `relax` leaves a quota out that no ranking keeps, and raises delta to the
    smallest one that can be held without them. `by_pattern` takes one ranking for each pattern of groups, the best one:
    each group in the order of its scores.
    """
    n, quota = len(scores), fairness.every_ranking
    every: list[tuple[int, ...]] = (
        [seated(pattern, scores, groups) for pattern in patterns({name: list(groups).count(name) for name in groups})]
        if by_pattern
        else list(permutations(range(n)))
    )
    rankings = [r for r in every if quota is None or within(quota, [groups[i] for i in r])]
    if not rankings and not relax:
        return Reference("no ranking")
    orders = np.array(rankings or every)
    violations, deltas = conditions(orders, groups, fairness)
    utility = np.asarray(scores)[orders] @ (discount or Discount()).vector(n)
    values = np.array([c.matrix[orders, np.arange(n)].sum(axis=1) for c in constraints]).reshape(-1, len(orders))
    own = [(values[k], c.lower, c.upper) for k, c in enumerate(constraints)]
    if _best(utility, violations, deltas, []) is None:
        alone = _least(violations, []) or 0.0
        if not relax:
            return Reference("no policy", least=alone)
        deltas = np.maximum(deltas, alone)
    best, least = _best(utility, violations, deltas, own), _least(violations, own)
    if least is None:
        return Reference("contradiction")
    return Reference("no policy", least=least) if best is None else Reference("optimal", best, least)


def conditions(
    orders: npt.NDArray[np.int64], groups: Sequence[str | None], fairness: Fairness
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The violation of every group in every ranking, (G, R), and the delta of each; empty for a single group."""
    labels, names = np.asarray(groups, dtype=object)[orders], named(groups)
    if len(names) < 2:
        return np.zeros((0, len(orders))), np.zeros(0)
    v = fairness.position_bias.vector(len(groups))
    mean, merits = float(v.mean()), fairness.merits or {}
    exposure = {name: ((labels == name) @ v) / list(groups).count(name) for name in names}
    mu = float(np.mean([merits.get(name, 1.0) for name in groups if name is not None]))
    found = {
        "exposure": lambda name, other: exposure[name] - mean,
        "merit": lambda name, other: mu * exposure[name] - merits[name] * mean,
        "gap": lambda name, other: exposure[name] - exposure[other],
    }[fairness.notion]
    unit = mu * mean if fairness.unit == "share" and mu * mean > 0 else 1.0
    delta = fairness.delta
    return (
        np.array([found(name, names[names.index(name) - 1]) / unit for name in names]),
        np.array([delta[name] if isinstance(delta, dict) else delta for name in names]),
    )


_Own = list[tuple[npt.NDArray[np.float64], float, float]]


def _best(
    utility: npt.NDArray[np.float64], violations: npt.NDArray[np.float64], deltas: npt.NDArray[np.float64], own: _Own
) -> float | None:
    limits = [*((row, -d - _SLACK, d + _SLACK) for row, d in zip(violations, deltas.tolist(), strict=True)), *own]
    found = _programme(utility, limits)
    return None if found is None else float(found @ utility)


def _least(violations: npt.NDArray[np.float64], own: _Own) -> float | None:
    """The last column is delta, not a ranking: it is as small as it can be."""
    last = np.append(np.zeros(violations.shape[1]), 1.0)
    limits = [(np.append(sign * row, -1.0), -np.inf, 0.0) for row in violations for sign in (1.0, -1.0)]
    found = _programme(-last, limits + [(np.append(row, 0.0), low, high) for row, low, high in own], 1.0 - last)
    return None if found is None else float(found[-1])


def _programme(
    gain: npt.NDArray[np.float64], limits: _Own, chances: npt.NDArray[np.float64] | None = None
) -> npt.NDArray[np.float64] | None:
    rows = [(sign * row, sign * end) for row, *ends in limits for sign, end in zip((-1.0, 1.0), ends, strict=True)]
    finite = [(row, end) for row, end in rows if np.isfinite(end)]
    solved = linprog(
        -gain,
        A_ub=np.array([row for row, _ in finite]) if finite else None,
        b_ub=np.array([end for _, end in finite]) if finite else None,
        A_eq=(np.ones(len(gain)) if chances is None else chances)[None, :],
        b_eq=[1.0],
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    return solved.x if solved.status == 0 else None


def seated(pattern: Sequence[str | None], scores: Sequence[float], groups: Sequence[str | None]) -> tuple[int, ...]:
    """The ranking of a pattern: each group's items from the best down."""
    queue = {
        name: sorted((i for i, g in enumerate(groups) if g == name), key=lambda i: -scores[i]) for name in set(groups)
    }
    return tuple(queue[name].pop(0) for name in pattern)
