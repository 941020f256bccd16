"""The bound on the Lagrangian that verification stands on, against an assignment problem of all pairs."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment, linprog

from spofr_core.fairness import Discount, Fairness, PositionBias
from spofr_core.policy import fair_policies, fair_policy, verify
from spofr_core.policy.proof import formulas, potentials


def assignment(scores, codes, multipliers, v, w) -> float:
    gain = np.outer(scores, w) + np.outer(multipliers[codes], v)
    return float(gain[linear_sum_assignment(gain, maximize=True)].sum())


def scale_of(scores, multipliers, v, w) -> float:
    return len(scores) * float(np.abs(scores).max() * np.abs(w).max() + np.abs(multipliers).max() * np.abs(v).max())


@st.composite
def lagrangians(draw, most: int = 40):
    """Scores, groups and multipliers of every kind, with vectors that need not fall."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, most))
    codes = np.unique(rng.integers(0, draw(st.integers(1, 7)), n), return_inverse=True)[1]
    scores = rng.normal(size=n) + 0.5 * codes
    scores = draw(st.sampled_from([lambda y: y, np.round, lambda y: 1e6 * y, lambda y: 1e-6 * y, np.zeros_like]))(
        scores
    )
    falling = 1.0 / np.arange(2, n + 2)
    v = draw(
        st.sampled_from([falling, falling**0.3, np.where(np.arange(n) < 3, falling, 0.0), rng.random(n), np.ones(n)])
    )
    discount = 1.0 / np.log2(np.arange(2, n + 2))
    w = draw(st.sampled_from([discount, np.where(np.arange(n) < 4, discount, 0.0), rng.random(n)]))
    size = draw(st.sampled_from([0.0, 0.1, 1.0, 30.0])) * max(float(np.abs(scores).max()), 1e-6)
    return scores, codes, size * rng.normal(size=codes.max() + 1), v, w


@settings(max_examples=150, deadline=None)
@given(lagrangians())
def test_the_bound_is_the_assignment_s(case):
    found, best = potentials.largest_lagrangian(*case), assignment(*case)
    unit = scale_of(case[0], *case[2:])
    assert best - 1e-15 * unit <= found <= best + 1e-12 * unit


@pytest.mark.parametrize("groups", [2, 3, 5, 7])
def test_longer_lists_too(groups):
    rng = np.random.default_rng(groups)
    codes = rng.integers(0, groups, 300)
    scores = rng.normal(size=300) + 0.8 * codes / groups
    v, w = PositionBias().vector(300), Discount().vector(300)
    for multipliers in (rng.normal(size=groups), 0.05 * rng.normal(size=groups), np.zeros(groups)):
        found = potentials.largest_lagrangian(scores, codes, multipliers, v, w)
        assert found == pytest.approx(assignment(scores, codes, multipliers, v, w), rel=1e-11)


@settings(max_examples=60, deadline=None)
@given(lagrangians(most=15), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 1e-3, 1.0, 100.0]))
def test_any_prices_at_all_give_a_bound(case, seed, size):
    """What the search finds is not believed: however wrong the prices, the bound is one."""
    scores, codes, multipliers, v, w = case
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(len(multipliers) + 1))
    b = size * np.random.default_rng(seed).normal(size=len(scores))
    a, rounding = potentials.potential_bound(scores[order], starts, multipliers, v, w, b)
    gain = np.outer(scores[order], w) + np.outer(multipliers[codes[order]], v)
    assert np.all(a[:, None] + b + rounding >= gain)
    assert a.sum() + b.sum() + rounding >= assignment(*case)


def test_a_search_that_is_given_up_leaves_a_bound_that_is_too_large(monkeypatch):
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 3, 40)
    case = rng.normal(size=40), codes, rng.normal(size=3), PositionBias().vector(40), Discount().vector(40)
    monkeypatch.setattr(potentials, "prices", lambda *_: rng.normal(size=40))
    assert potentials.largest_lagrangian(*case) > assignment(*case) + 1.0


@pytest.mark.parametrize("groups", [2, 5])
def test_five_thousand_items_are_verified_without_an_assignment_problem(groups, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("an assignment problem of 5,000 items takes minutes")

    monkeypatch.setattr(scipy.optimize, "linear_sum_assignment", refuse)
    rng = np.random.default_rng(0)
    codes = rng.permutation(np.arange(5_000) % groups)
    scores = rng.normal(size=5_000) + 0.8 * codes / groups
    fairness = Fairness(delta=0.1, unit="share")
    policy = fair_policy(scores, codes, fairness)
    result = verify(policy.certificate, scores, codes, fairness)
    assert result.ok, result.reasons
    assert result.gap < 1e-8
    name = max(policy.multipliers, key=lambda group: abs(policy.multipliers[group]))
    moved = {**policy.certificate, "multipliers": {**policy.multipliers, name: 1.1 * policy.multipliers[name]}}
    assert "not shown to be optimal" in verify(moved, scores, codes, fairness).reasons[0]


def test_a_policy_for_other_scores_is_refused_with_the_true_gap():
    """A claim that is far from optimal gets the same bound that an assignment problem gives it."""
    rng = np.random.default_rng(4)
    groups = rng.integers(0, 4, 60).astype(str)
    scores, fairness = rng.normal(size=60), Fairness(delta=0.01)
    best, other = fair_policy(scores, groups, fairness), fair_policy(rng.normal(size=60), groups, fairness)
    claim = {**other.certificate, "multipliers": best.multipliers}
    row = verify(claim, scores, groups, fairness).queries.iloc[0]
    assert row["fair"]
    assert not row["ok"]
    assert row["gap"] == pytest.approx(best.utility - row["utility"], rel=1e-9)


def smallest_by_programme(case, asked) -> float:
    """Over x[g, j], how much of position j group g takes."""
    names, n = list(asked), len(case.v)
    sizes = np.array([int(case.members(name).sum()) for name in names])
    by_group, by_position = np.kron(np.eye(len(names)), np.ones(n)), np.kron(np.ones(len(names)), np.eye(n))
    scales, targets = (np.array([getattr(asked[name], key) for name in names]) for key in ("scale", "target"))
    mean, column = np.kron(np.diag(scales / sizes), case.v), -np.ones((len(names), 1))
    found = linprog(
        np.append(np.zeros(len(names) * n), 1.0),
        A_ub=np.vstack([np.hstack([mean, column]), np.hstack([-mean, column])]),
        b_ub=np.concatenate([targets, -targets]),
        A_eq=np.hstack([np.vstack([by_group, by_position]), np.zeros((len(names) + n, 1))]),
        b_eq=np.concatenate([sizes, np.ones(n)]),
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    return float(found.x[-1])


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.booleans())
def test_the_smallest_delta_is_that_of_a_linear_programme(seed, groups, unsorted):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(groups, 16))
    names = np.array(list("abcdef"))[np.append(np.arange(groups), rng.integers(0, groups, n - groups))]
    v = rng.random(n) if unsorted else PositionBias().vector(n)
    case = formulas.ListCase(rng.normal(size=n), names, v, Discount().vector(n))
    asked = {
        name: formulas.Condition(float(rng.choice([0.0, 0.5, 1.0, 2.0])), float(rng.normal()), 0.0)
        for name in case.names
    }
    assert formulas.smallest_feasible_delta(case, asked) == pytest.approx(smallest_by_programme(case, asked), abs=1e-8)


def test_many_groups_have_a_smallest_delta_too():
    groups = np.arange(60) % 30
    merits = {str(g): float(g) for g in range(30)}
    fairness = Fairness(delta=0.0, notion="merit", merits=merits)
    policies = fair_policies(np.zeros(60), groups, [0, 60], fairness, on_infeasible="relax")
    assert policies.relaxed
    result = verify(policies, np.zeros(60), groups, fairness, allow_relaxed=True)
    assert result.ok, result.reasons
