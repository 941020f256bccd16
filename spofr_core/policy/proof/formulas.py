"""One list checked from first principles: the lottery, the notion's own formula, and a bound on the optimum.

Nothing here uses a solver of the programme or what it wrote out: exposures come from the rankings, conditions from the
definitions of the notions, and the dual bound from potentials of items and positions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spofr_core.fairness import Fairness
from spofr_core.policy.programme import LinearConstraint
from spofr_core.policy.proof.potentials import largest_lagrangian
from spofr_core.policy.proof.prefixes import PrefixLimits

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Condition:
    """What a notion asks of one group: abs(scale * e_g - target) <= delta."""

    scale: float
    target: float
    delta: float

    @property
    def bounds(self) -> tuple[float, float]:
        """The interval of the group's mean exposure e_g."""
        if self.scale <= 0:
            return -np.inf, np.inf
        return (self.target - self.delta) / self.scale, (self.target + self.delta) / self.scale


@dataclass(frozen=True, eq=False)
class ListCase:
    """One list as the caller gives it, with v and w of its length; with a quota, also what its prefixes must hold.

    An item whose group is None has no bound.
    """

    scores: FloatArray
    groups: npt.NDArray[np.object_]
    v: FloatArray
    w: FloatArray
    constraints: Sequence[LinearConstraint] = ()
    prefixes: PrefixLimits | None = None

    @property
    def names(self) -> list[str]:
        """Groups of the list."""
        return sorted({name for name in self.groups if name is not None})

    def members(self, name: str) -> npt.NDArray[np.bool_]:
        """Which items belong to the group."""
        return np.asarray(self.groups == name)


def conditions(case: ListCase, fairness: Fairness) -> dict[str, Condition]:
    """The notion's condition for each group of the list; none where there is a single group.

    exposure: e_g - e. merit: mu e_g - mu_g e, mu the mean merit of the list's items that
    have a group. gap: e_g - e_h = (n / n_h) (e_g -
    e). As shares, exposure and gap are divided by e, merit by mu e. A notion that was registered by somebody else says
    its own, in plain numbers.
    """
    names, n = case.names, len(case.scores)
    if len(names) < 2:
        return {}
    mean = float(case.v.sum()) / n
    merits = fairness.merits or {}
    sizes = {name: int(case.members(name).sum()) for name in names}
    mean_merit = sum(float(merits.get(name, 0.0)) * size for name, size in sizes.items()) / sum(sizes.values())
    asked = {}
    for name in names:
        delta = fairness.delta[name] if isinstance(fairness.delta, dict) else fairness.delta
        if fairness.notion == "merit":
            scale, target = mean_merit, merits[name] * mean
        elif fairness.notion == "gap":
            scale = n / (n - sizes[name])
            target = scale * mean
        elif fairness.notion == "exposure":
            scale, target = 1.0, mean
        else:
            scale, target = fairness.rule.condition(fairness, name, sizes, mean)
        if fairness.unit == "share":
            base = mean * mean_merit if fairness.notion == "merit" else mean
            scale, target = (scale / base, target / base) if base > 0 else (scale, target)
        asked[name] = Condition(scale, target, float(delta))
    return asked


def lottery_faults(rankings: Sequence[Sequence[int]], probabilities: FloatArray, n: int, tolerance: float) -> list[str]:
    """Why this is not a lottery over rankings of n items; empty when it is one."""
    if len(rankings) != len(probabilities):
        return [f"there are {len(rankings)} rankings and {len(probabilities)} probabilities"]
    if not len(rankings):
        return ["there is no ranking"]
    faults = []
    for r, ranking in enumerate(rankings, start=1):
        if len(ranking) != n or not np.array_equal(np.sort(np.asarray(ranking)), np.arange(n)):
            faults.append(f"ranking {r} does not name each of the {n} items once")
    for r, probability in enumerate(probabilities.tolist(), start=1):
        if not np.isfinite(probability):
            faults.append(f"the probability of ranking {r} is not a number, or differs between its rows")
        elif probability < 0:
            faults.append(f"the probability of ranking {r} is {probability:g}")
    total = float(probabilities.sum())
    if np.isfinite(total) and abs(total - 1.0) > tolerance:
        faults.append(f"the probabilities sum to {total:.12g}, not to 1")
    return faults


def expected(rankings: npt.NDArray[np.int64], probabilities: FloatArray, vector: FloatArray) -> FloatArray:
    """(Pi x)_i from the rankings."""
    values = np.zeros(rankings.shape[1])
    for ranking, probability in zip(rankings, probabilities, strict=True):
        values[ranking] += probability * vector
    return values


def constraint_values(case: ListCase, rankings: npt.NDArray[np.int64], probabilities: FloatArray) -> list[float]:
    """<A, Pi> of every constraint of one's own."""
    positions = np.arange(rankings.shape[1])
    return [
        float(sum(p * c.matrix[ranking, positions].sum() for ranking, p in zip(rankings, probabilities, strict=True)))
        for c in case.constraints
    ]


def dual_bound(
    case: ListCase,
    bounds: Mapping[str, tuple[float, float]],
    multipliers: Mapping[str, float],
    constraint_multipliers: Sequence[float],
    ranking: npt.NDArray[np.int64],
) -> float:
    """An upper bound on the utility of every policy within the bounds, whatever the multipliers are.

    For a feasible Pi and any lambda, utility(Pi) <= utility(Pi) + sum over g of lambda_g (E_g - b_g), with b_g the
    lower bound where lambda_g > 0 and the upper one where lambda_g < 0. The right side is linear in Pi, so its largest
    value over all doubly stochastic matrices is that of a ranking: bounded by potentials, or, with constraints of
    one's own, found by an assignment problem. Infinite where a multiplier has no bound to stand on. With a quota it is
    the largest over the rankings within it, from `ranking` on, which is one of them.
    """
    names = [*case.names, *([None] if None in case.groups else [])]  # items without a group cost nothing
    least = float(case.scores.min())
    scores, per_group = case.scores - least, np.array([_of(multipliers, name) for name in names])
    code_of = {name: code for code, name in enumerate(names)}
    codes = np.array([code_of[name] for name in case.groups])
    cost = sum(
        _cost(multipliers[name], *bounds.get(name, (-np.inf, np.inf)), float(case.members(name).sum()))
        for name in case.names
    )
    if case.constraints:
        from scipy.optimize import linear_sum_assignment  # slow to import, and hardly ever needed

        gain = np.outer(scores, case.w) + np.outer(per_group[codes], case.v)
        for constraint, multiplier in zip(case.constraints, constraint_multipliers, strict=True):
            gain += multiplier * constraint.matrix
            cost += _cost(multiplier, constraint.lower, constraint.upper, 1.0)
        best = float(gain[linear_sum_assignment(gain, maximize=True)].sum())
    else:
        windows = None if case.prefixes is None else case.prefixes.windows()
        best = largest_lagrangian(scores, codes, per_group, case.v, case.w, windows, ranking)
    return best - cost + least * float(case.w.sum())


def _of(multipliers: Mapping[str, float], name: str | None) -> float:
    return 0.0 if name is None else float(multipliers[name])


def _cost(multiplier: float, lower: float, upper: float, size: float) -> float:
    if multiplier == 0:
        return 0.0
    bound = lower if multiplier > 0 else upper
    return multiplier * size * bound if np.isfinite(bound) else -np.inf


def smallest_feasible_delta(case: ListCase, asked: Mapping[str, Condition]) -> float:
    """min d such that some policy has abs(scale_g e_g - target_g) <= d for every group.

    Any set S of groups, n_S items in all, gets at least the sum of the n_S smallest and at most that of the n_S largest
    exposures, and all totals within these limits can be had (Edmonds: the base polytope of a polymatroid). So d is the
    largest that any S needs. It is raised to what the set that misses most needs, until none misses (Dinkelbach). A
    group whose scale is 0 is off by its target, whatever the policy.
    """
    if case.prefixes is not None:
        return case.prefixes.smallest_delta(case.v, {name: (c.scale, c.target) for name, c in asked.items()})
    smallest = max((abs(c.target) for c in asked.values() if c.scale <= 0), default=0.0)
    movable = [(int(case.members(name).sum()), c) for name, c in asked.items() if c.scale > 0]
    sizes = [size for size, _ in movable]
    moves = np.array([size / c.scale for size, c in movable])
    claims = np.array([c.target for _, c in movable]) * moves
    exposures = np.sort(case.v)
    least, most = (np.concatenate([[0.0], np.cumsum(values)]) for values in (exposures, exposures[::-1]))
    rounding = 4.0 * float(np.finfo(float).eps) * len(case.v) * float(np.abs(most).max() + np.abs(claims).sum())
    while True:
        sides = ((claims - smallest * moves, -most), (-claims - smallest * moves, least))
        missing, move = max(_worst_set(sizes, amounts, moves, limits) for amounts, limits in sides)
        if not missing > rounding:
            return smallest
        smallest += missing / move


def _worst_set(sizes: list[int], amounts: FloatArray, moves: FloatArray, limits: FloatArray) -> tuple[float, float]:
    """Largest (sum of a set's amounts) + limits[items of the set], and the sum of that set's moves."""
    best, moved = np.full(len(limits), -np.inf), np.zeros(len(limits))
    best[0] = 0.0
    for size, amount, move in zip(sizes, amounts.tolist(), moves.tolist(), strict=True):
        more = best[:-size] + amount > best[size:]
        moved[size:] = np.where(more, moved[:-size] + move, moved[size:])
        best[size:] = np.where(more, best[:-size] + amount, best[size:])
    total = best + limits
    k = int(np.argmax(total))
    return float(total[k]), float(moved[k])
