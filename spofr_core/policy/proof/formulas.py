"""One list checked from first principles: the lottery, the notion's own formula, and a bound on the optimum.

Nothing here uses a solver of the programme or what it wrote out: exposures come from the rankings, conditions from the
definitions of the notions, and the dual bound from one assignment problem.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spofr_core.fairness import Fairness
from spofr_core.policy.programme import LinearConstraint

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
    """One list as the caller gives it, with v and w of its length."""

    scores: FloatArray
    groups: npt.NDArray[np.str_]
    v: FloatArray
    w: FloatArray
    constraints: Sequence[LinearConstraint] = ()

    @property
    def names(self) -> list[str]:
        """Groups of the list."""
        return [str(name) for name in np.unique(self.groups)]

    def members(self, name: str) -> npt.NDArray[np.bool_]:
        """Which items belong to the group."""
        return np.asarray(self.groups == name)


def conditions(case: ListCase, fairness: Fairness) -> dict[str, Condition]:
    """The notion's condition for each group of the list; none where there is a single group.

    exposure: e_g - e. merit: mu e_g - mu_g e, mu the mean merit of the list's items. gap: e_g - e_h = (n / n_h) (e_g -
    e). As shares, exposure and gap are divided by e, merit by mu e. A notion that was registered by somebody else says
    its own, in plain numbers.
    """
    names, n = case.names, len(case.scores)
    if len(names) < 2:
        return {}
    mean = float(case.v.sum()) / n
    merits = fairness.merits or {}
    mean_merit = sum(float(merits.get(str(name), 0.0)) for name in case.groups) / n
    sizes = {name: int(case.members(name).sum()) for name in names}
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
) -> float:
    """An upper bound on the utility of every policy within the bounds, whatever the multipliers are.

    For a feasible Pi and any lambda, utility(Pi) <= utility(Pi) + sum over g of lambda_g (E_g - b_g), with b_g the
    lower bound where lambda_g > 0 and the upper one where lambda_g < 0. The right side is linear in Pi, so its largest
    value over all doubly stochastic matrices is that of one assignment problem. Infinite where a multiplier has no
    bound to stand on.
    """
    from scipy.optimize import linear_sum_assignment  # slow to import, and needed by proofs only

    least = float(case.scores.min())
    gain = np.outer(case.scores - least, case.w)
    cost = 0.0
    for name, multiplier in multipliers.items():
        members = case.members(name)
        gain[members] += multiplier * case.v
        cost += _cost(multiplier, *bounds.get(name, (-np.inf, np.inf)), float(members.sum()))
    for constraint, multiplier in zip(case.constraints, constraint_multipliers, strict=True):
        gain += multiplier * constraint.matrix
        cost += _cost(multiplier, constraint.lower, constraint.upper, 1.0)
    best = float(gain[linear_sum_assignment(gain, maximize=True)].sum())
    return best - cost + least * float(case.w.sum())


def _cost(multiplier: float, lower: float, upper: float, size: float) -> float:
    if multiplier == 0:
        return 0.0
    bound = lower if multiplier > 0 else upper
    return multiplier * size * bound if np.isfinite(bound) else -np.inf


def smallest_feasible_delta(case: ListCase, asked: Mapping[str, Condition]) -> float:
    """min d such that some policy has abs(scale_g e_g - target_g) <= d for every group.

    A small linear programme over x[g, j] = how much of position j group g takes: sum over g of x[g, j] = 1, sum over j
    = n_g. Exposures and merits are brought to the unit scale first, since the tolerances of HiGHS are absolute.
    """
    from scipy.optimize import linprog

    names, n = list(asked), len(case.v)
    sizes = np.array([int(case.members(name).sum()) for name in names])
    cells = len(names) * n
    by_group = np.kron(np.eye(len(names)), np.ones(n))
    by_position = np.kron(np.ones(len(names)), np.eye(n))
    equal = np.hstack([np.vstack([by_group, by_position]), np.zeros((len(names) + n, 1))])
    scales = np.array([asked[name].scale for name in names])
    unit = float(case.v.max() * scales.max()) or 1.0
    targets = np.array([asked[name].target for name in names]) / unit
    mean = np.kron(np.diag(scales / sizes), case.v) / unit
    limits = np.vstack([np.hstack([mean, -np.ones((len(names), 1))]), np.hstack([-mean, -np.ones((len(names), 1))])])
    found = linprog(
        np.concatenate([np.zeros(cells), [1.0]]),
        A_ub=limits,
        b_ub=np.concatenate([targets, -targets]),
        A_eq=equal,
        b_eq=np.concatenate([sizes, np.ones(n)]),
        bounds=(0, None),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    return np.inf if found.x is None else unit * float(found.x[-1])
