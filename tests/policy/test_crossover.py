"""Lists with so many groups that the solver starts from an interior point, up to each item on its own."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spofr_core import Fairness, Quota, fair_policy, verify
from spofr_core.policy.solvers.kernels.crossover import FEW, LONG, rounds_worth
from spofr_core.policy.solvers.kernels.interior_point import S, approach, make_interior, set_groups_bounds
from tests.policy.reference import reference_optimum
from tests.policy.test_many_groups import check, close, draw_bounds, draw_scores, draw_vector, single, solve

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"


@st.composite
def crowded(draw, longest=20):
    """Lists of which no column generation is tried at all: more than ten groups, up to one an item."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = draw(st.integers(FEW + 1, longest))
    n_codes = n if draw(st.booleans()) else draw(st.integers(FEW + 1, n))
    codes = np.concatenate([np.arange(n_codes), rng.integers(0, n_codes, n - n_codes)])[rng.permutation(n)]
    v, w = draw_vector(draw, rng, n), draw_vector(draw, rng, n)
    lower, upper = draw_bounds(draw, rng, codes, v, n_codes, fewest=n, most=n)
    return single(draw_scores(draw, rng, codes), codes, lower, upper, v, w)


@settings(max_examples=200, deadline=None)
@given(crowded())
def test_optimum_is_that_of_highs(batch):
    utility = check(batch, solve(batch))
    best = reference_optimum(batch.scores, batch.codes, batch.lower[0], batch.upper[0], batch.v, batch.w)
    assert close(batch, utility, best)


@settings(max_examples=100, deadline=None)
@given(crowded(longest=40), st.integers(0, 2**32), st.sampled_from([0.0, 1e-3, 1.0]))
def test_warm_start_changes_no_value(batch, seed, noise):
    out = solve(batch)
    rng = np.random.default_rng(seed)
    moved = batch._replace(scores=batch.scores + noise * np.ptp(batch.scores) * rng.normal(size=len(batch.scores)))
    cold = check(moved, solve(moved))
    assert close(moved, check(moved, solve(moved, start=out)), cold)


@pytest.mark.parametrize("delta", ["10%", "50%", "100%"])
def test_rounding_keeps_no_long_list_of_single_items_from_its_corner(delta):
    table = pd.read_csv(FIXTURES / "entrants.csv")
    years = sorted(table["Year of entry"].unique())
    scores = table.loc[table["Year of entry"] == years[2], "Points (of 200)"].to_numpy(float)
    assert len(scores) == 484
    names, fairness = [f"item {i}" for i in range(len(scores))], Fairness(delta=delta)
    policy = fair_policy(scores, names, fairness)
    assert verify(policy, scores, names, fairness).ok
    assert not policy.notes, "GLOP had to help"


@pytest.mark.parametrize("kind", ["distinct", "labels", "binary"])
@pytest.mark.parametrize("delta", [0.0, 0.004])
def test_a_hundred_items_each_on_its_own_are_certified(kind, delta):
    rng = np.random.default_rng(7)
    scores = {
        "distinct": rng.normal(size=100),
        "labels": rng.integers(0, 5, 100).astype(float),
        "binary": (rng.random(100) < 0.15).astype(float),
    }[kind]
    names = [f"item {i}" for i in range(100)]
    fairness = Fairness(delta=delta)
    policy = fair_policy(scores, names, fairness)
    result = verify(policy, scores, names, fairness)
    assert result.ok, result.reasons
    assert result.max_violation <= delta + 1e-12
    assert not policy.notes, "GLOP had to help"
    assert 2 <= len(policy.probabilities) <= 101


def test_quotas_close_cells_of_the_interior_point():
    """Fifteen groups of two, each at most once among the first eight of every ranking, are certified at delta = 0."""
    rng = np.random.default_rng(12)
    names = [f"group {i % 15}" for i in range(30)]
    scores = rng.normal(size=30) + 0.1 * (np.arange(30) % 15)
    free, held = Fairness(delta=0.0), Fairness(delta=0.0, every_ranking=Quota(slack=0, top=8))
    policy = fair_policy(scores, names, held)
    result = verify(policy, scores, names, held)
    assert result.ok, result.reasons
    assert not policy.notes, "GLOP had to help"
    assert policy.utility <= fair_policy(scores, names, free).utility + 1e-9
    for ranking in policy.rankings:
        assert len({names[i] for i in ranking[:8]}) == 8


def test_equal_exposure_for_each_item_can_be_had_by_hand():
    """With w = v the utility of equal exposure is the mean score times the sum of v, whatever the lottery."""
    n = 40
    v = 1 / (2.0 + np.arange(n))
    scores = np.random.default_rng(8).normal(size=n)
    batch = single(scores, np.arange(n), np.full(n, v.mean()), np.full(n, v.mean()), v, v)
    assert check(batch, solve(batch)) == pytest.approx(scores.mean() * v.sum(), abs=1e-11)


def test_bounds_that_leave_one_ranking():
    """No interior: the bounds are those of a single ranking, which takes every position for sure."""
    n = 30
    rng = np.random.default_rng(9)
    v, w = 1 / (2.0 + np.arange(n)), 1 / np.log2(2.0 + np.arange(n))
    scores, ranking = rng.normal(size=n), rng.permutation(n)
    exposure = np.empty(n)
    exposure[ranking] = v
    batch = single(scores, np.arange(n), exposure, exposure, v, w)
    assert check(batch, solve(batch)) == pytest.approx(scores[ranking] @ w, abs=1e-10)


def test_out_of_reach_is_never_called_optimal():
    n = 15
    v, w = 1 / (2.0 + np.arange(n)), 1 / np.log2(2.0 + np.arange(n))
    scores = np.random.default_rng(10).normal(size=n)
    out = solve(single(scores, np.arange(n), np.full(n, v[0]), np.full(n, np.inf), v, w))
    assert out.status[0] == 1


def test_the_interior_point_satisfies_what_it_is_given():
    """Rows, columns and groups of the matrix, and its value against HiGHS, before anything is made of it."""
    n, n_groups = 24, 12
    rng = np.random.default_rng(11)
    group = np.sort(np.arange(n) % n_groups).astype(np.int32)
    v, w = np.linspace(1, 0, n) ** 2, np.linspace(1, 0, n)
    scores = rng.random(n)
    lower = np.where(np.arange(n_groups) % 2, 2 * v.mean(), 2 * v.mean() - 0.05)
    upper = np.where(np.arange(n_groups) % 2, 2 * v.mean(), 2 * v.mean() + 0.05)
    it = make_interior(v, group, n, n_groups)
    it.cost[:] = np.outer(scores, w)
    it.x[:] = 1 / n
    set_groups_bounds(it, lower, upper)
    assert approach(it, 1e-12)
    assert it.x.sum(axis=0) == pytest.approx(np.ones(n), abs=1e-8)
    assert it.x.sum(axis=1) == pytest.approx(np.ones(n), abs=1e-8)
    exposure = np.bincount(group, weights=it.x @ v)
    assert exposure == pytest.approx(it.groups[S], abs=1e-8)
    assert np.all(exposure >= lower - 1e-8)
    assert np.all(exposure <= upper + 1e-8)
    best = reference_optimum(scores, group, lower, upper, v, w)
    assert scores @ it.x @ w == pytest.approx(best, abs=1e-8)


def test_few_groups_and_very_long_lists_stay_with_column_generation():
    assert rounds_worth(20, FEW, False) > 10**6
    assert rounds_worth(LONG + 1, 100, False) > 10**6
    assert rounds_worth(100, 100, False) == 0
    assert 0 < rounds_worth(100, 100, True) < 10**3
    assert rounds_worth(500, 15, False) > 30
