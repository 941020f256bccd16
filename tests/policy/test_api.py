from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from spofr_core.data import RankingDataset
from spofr_core.errors import ConfigError, DataError, InfeasibleFairness, SpofrError
from spofr_core.fairness import Discount, Fairness
from spofr_core.policy import (
    Programme,
    WeightSolver,
    fair_policies,
    fair_policy,
    fair_weights,
    make_solver,
    prepare,
    solve_weights,
    utility_curve,
    verify,
)
from tests.evaluation.lists import dataset
from tests.policy.lists import Case, cases
from tests.policy.reference import reference_optimum

SCORES = np.array([0.9, 0.8, 0.7, 0.3, 0.2, 0.1])
GROUPS = np.array(["m", "m", "m", "f", "f", "f"])


def check_lottery(policy) -> None:
    n = policy.rankings.shape[1]
    assert np.all(np.sort(policy.rankings, axis=1) == np.arange(n))
    assert np.all(policy.probabilities > 0)
    assert abs(policy.probabilities.sum() - 1) < 1e-12


def check_bounds(policy) -> None:
    """Every e_g within its bounds to 1e-12, from the matrix."""
    exposure = policy.matrix @ policy._batch.lists.v
    groups = np.array(policy.groups)
    for name, (low, high) in policy.bounds.items():
        mean = exposure[groups == name].mean()
        assert low - 1e-12 <= mean <= high + 1e-12


@settings(max_examples=60, deadline=None)
@given(case=cases(), solver=st.sampled_from(["exact", "exact", "glop"]), seed=st.integers(0, 3))
def test_optimal_and_within_bounds_against_highs(case: Case, solver: str, seed: int) -> None:
    policy = fair_policy(
        case.scores,
        case.groups,
        case.fairness,
        solver=solver,
        discount=case.discount,
        seed=seed,
        on_infeasible="relax",
    )
    lists = policy._batch.lists
    assert policy.solver == solver
    assert not any("GLOP" in note for note in policy.notes)
    check_lottery(policy)
    check_bounds(policy)
    best = reference_optimum(case.scores, lists.codes, lists.lower[0], lists.upper[0], lists.v, lists.w)
    scale = max(abs(best), np.ptp(case.scores) * lists.w.sum(), 1e-30)
    assert abs(policy.utility - best) <= 1e-9 * scale
    active = sum(price != 0 for price in policy.shadow_prices.values())
    bounds = policy.bounds.values()
    means = list(policy.group_exposure.values())
    tight = sum(min(m - low, high - m) < 1e-9 for m, (low, high) in zip(means, bounds, strict=True))
    assert len(policy.probabilities) <= 1 + max(tight, active)
    checked = verify(
        policy, case.scores, case.groups, case.fairness, discount=case.discount, allow_relaxed=True, tolerance=1e-8
    )
    assert checked.ok, checked.reasons


@settings(max_examples=40, deadline=None)
@given(case=cases(notions=("merit",)))
def test_smallest_delta_is_exact(case: Case) -> None:
    impossible = case.fairness.with_delta(0.0)
    try:
        fair_policy(case.scores, case.groups, impossible)
    except InfeasibleFairness as error:
        smallest = error.min_delta
        assert smallest > 0
        relaxed = fair_policy(case.scores, case.groups, impossible, on_infeasible="relax")
        assert relaxed.relaxed == smallest
        fair_policy(case.scores, case.groups, case.fairness.with_delta(smallest))
        with pytest.raises(InfeasibleFairness):
            fair_policy(case.scores, case.groups, case.fairness.with_delta(smallest * (1 - 1e-6)))
        lists = relaxed._batch.lists
        just_below = prepare(case.groups, [0, len(case.groups)], impossible, on_infeasible="relax").terms
        lower, upper = just_below.bounds()
        shrink = 1e-5 * smallest / just_below.scale * just_below.composition.sizes
        lower = lower * just_below.composition.sizes + shrink
        upper = upper * just_below.composition.sizes - shrink
        with pytest.raises(AssertionError, match="no optimum"):
            reference_optimum(case.scores, lists.codes, lower[0], upper[0], lists.v, lists.w)


def test_relaxed_lists_are_named_and_the_others_keep_their_delta() -> None:
    fairness = Fairness(delta=0.01, notion="merit", merits={"a": 0.0, "b": 4.0})
    groups = ["a", "b", "b", "b"] + ["b"] * 3 + ["a", "a", "a", "b"]
    scores = np.arange(11.0)
    offsets = [0, 4, 7, 11]
    with pytest.raises(InfeasibleFairness, match=r"query 'q0'.*2 of 3 lists") as caught:
        fair_policies(scores, groups, offsets, fairness, query_ids=["q0", "q1", "q2"])
    assert caught.value.query == "q0"
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 - our own bytes
    assert again.min_delta == caught.value.min_delta
    policies = fair_policies(scores, groups, offsets, fairness, on_infeasible="relax")
    assert set(policies.relaxed) == {0, 2}
    assert policies.relaxed[0] == caught.value.min_delta
    assert any("2 of 3 lists" in note for note in policies.notes)
    assert policies[1].relaxed is None
    worst = np.nanmax(np.abs(policies.violations), axis=1)
    assert_allclose(worst[[0, 2]], [policies.relaxed[0], policies.relaxed[2]], atol=1e-12)


def test_a_hand_solved_list() -> None:
    """Two items, v = (1/2, 1/3): delta = 0 makes a fair coin, delta = 1/24 tilts it to 3/4."""
    scores, groups = [1.0, 0.0], ["a", "b"]
    coin = fair_policy(scores, groups, Fairness(delta=0.0))
    assert_allclose(coin.matrix, np.full((2, 2), 0.5), atol=1e-15)
    tilted = fair_policy(scores, groups, Fairness(delta=1 / 24))
    assert_allclose(tilted.matrix, [[0.75, 0.25], [0.25, 0.75]], atol=1e-12)
    assert_allclose(tilted.utility, 0.75 + 0.25 / np.log2(3))
    assert_allclose(list(tilted.violations.values()), [1 / 24, -1 / 24])
    # with p the chance of the first ranking, e_a = 1/3 + p/6 and utility = p w_1 + (1 - p) w_2: dp / d delta = 6
    assert_allclose(tilted.delta_price, 6 * (1 - 1 / np.log2(3)))


@pytest.mark.parametrize("solver", ["exact", "glop"])
@pytest.mark.parametrize("n_groups", [2, 4])
def test_shadow_prices_are_derivatives(solver: str, n_groups: int) -> None:
    rng = np.random.default_rng(n_groups)
    groups = rng.integers(0, n_groups, 12)
    scores = rng.normal(size=12) + groups
    step = 1e-6

    def utility(deltas: dict[str, float]) -> float:
        return fair_policy(scores, groups, Fairness(delta=deltas), solver=solver).utility

    at = {str(g): 0.01 + 0.001 * g for g in range(n_groups)}
    policy = fair_policy(scores, groups, Fairness(delta=at), solver=solver)
    assert any(policy.shadow_prices.values())
    for name, price in policy.shadow_prices.items():
        slope = (utility({**at, name: at[name] + step}) - utility({**at, name: at[name] - step})) / (2 * step)
        assert_allclose(abs(price), slope, atol=1e-5)
        if price > 0:  # the lower bound is active: the group stands below the mean
            assert_allclose(policy.violations[name], -at[name])
        elif price < 0:
            assert_allclose(policy.violations[name], at[name])
    together = [utility({name: value + sign * step for name, value in at.items()}) for sign in (1, -1)]
    assert_allclose(policy.delta_price, (together[0] - together[1]) / (2 * step), atol=1e-5)


@pytest.mark.parametrize("solver", ["exact", "glop"])
@pytest.mark.parametrize("n_groups", [1, 2, 3])
def test_ties_depend_on_the_seed_and_never_on_the_input_order(solver: str, n_groups: int) -> None:
    n, n_lists, seeds = 6, 60, 7
    groups = np.tile(np.arange(n) % n_groups, n_lists)
    offsets = np.arange(0, n * n_lists + 1, n)
    chosen = make_solver(solver)
    means = np.zeros(n)
    for seed in range(seeds):
        policies = fair_policies(np.ones(n * n_lists), groups, offsets, Fairness(delta=0.01), solver=chosen, seed=seed)
        means += policies.expectation(np.arange(1.0, n + 1)).reshape(n_lists, n).mean(axis=0) / seeds
    for g in range(n_groups):
        members = means[groups[:n] == g]
        assert np.abs(members - members.mean()).max() < 0.42  # 5 standard errors of a mean of 420 positions
    first, second = (
        fair_policies(np.ones(n * n_lists), groups, offsets, Fairness(delta=0.01), solver="exact", seed=seed)
        for seed in (5, 5)
    )
    assert np.array_equal(first.solution.rankings, second.solution.rankings)


def test_the_order_of_the_input_does_not_matter() -> None:
    rng = np.random.default_rng(1)
    groups, scores = rng.integers(0, 3, 15), np.round(rng.normal(size=15))
    order = rng.permutation(15)
    fairness = Fairness(delta=0.02)
    here, there = fair_policy(scores, groups, fairness), fair_policy(scores[order], groups[order], fairness)
    assert_allclose(here.utility, there.utility, rtol=1e-12)


def test_batches_equal_single_lists_and_hold_lists_of_all_lengths() -> None:
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 25, 40)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    groups = rng.integers(0, 4, offsets[-1])
    scores = rng.normal(size=offsets[-1]) + groups
    fairness = Fairness(delta=0.01)
    policies = fair_policies(scores, groups, offsets, fairness)
    assert len(policies) == 40
    for q, policy in enumerate(policies):
        rows = slice(offsets[q], offsets[q + 1])
        alone = fair_policy(scores[rows], groups[rows], fairness)
        assert_allclose(policy.utility, alone.utility, rtol=1e-10)
    assert policies.notes == ()
    assert verify(policies, scores, groups, fairness).ok


def test_warm_start_changes_the_start_only() -> None:
    rng = np.random.default_rng(3)
    offsets = np.arange(0, 401, 20)
    groups = rng.integers(0, 4, 400)
    scores = rng.normal(size=400) + groups
    fairness = Fairness(delta=0.005)
    before = fair_policies(scores, groups, offsets, fairness)
    moved = scores + 0.1 * rng.normal(size=400)
    cold = fair_policies(moved, groups, offsets, fairness)
    warm = fair_policies(moved, groups, offsets, fairness, warm=before)
    assert_allclose(warm.utility, cold.utility, rtol=1e-10)
    assert verify(warm, moved, groups, fairness).ok
    with pytest.raises(DataError, match="other lists"):
        fair_policies(moved[:20], groups[:20], [0, 20], fairness, warm=before)


def test_training_path_equals_the_policies() -> None:
    rng = np.random.default_rng(4)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 15, 30))])
    n = int(offsets[-1])
    groups, scores = rng.integers(0, 3, n), rng.normal(size=n)
    fairness = Fairness(delta=0.01)
    policies = fair_policies(scores, groups, offsets, fairness, seed=7)
    weights, utility = fair_weights(scores, groups, offsets, fairness, seed=7)
    assert_allclose(weights, policies.discounted, atol=1e-12)
    assert_allclose(utility, policies.utility, rtol=1e-12)
    lists = prepare(groups, offsets, fairness)
    assert_allclose(solve_weights(scores, lists, seed=7), weights, atol=1e-12)

    solver = WeightSolver(lists)
    for batch in (np.array([3, 11, 7]), np.array([11, 29])):
        rows = np.concatenate([np.arange(offsets[q], offsets[q + 1]) for q in batch])
        assert_allclose(solver(scores[rows], seed=7, queries=batch), weights[rows], atol=1e-9)
    with pytest.raises(DataError, match="not finite"):
        solver(np.full(len(rows), np.nan), queries=batch)


@given(seed=st.integers(0, 10**6), same_length=st.booleans())
@settings(max_examples=40)
def test_a_small_batch_of_two_groups_is_solved_as_the_whole_is(seed: int, same_length: bool) -> None:
    """To the last bit, ties included: where a list stands in its batch decides nothing."""
    rng = np.random.default_rng(seed)
    lengths = np.full(12, 9) if same_length else rng.integers(1, 15, 12)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    groups, scores = rng.integers(0, 2, offsets[-1]), rng.integers(0, 4, offsets[-1]).astype(float)
    lists = prepare(groups, offsets, Fairness(delta=rng.choice([0.0, 0.01, 0.1])))
    whole = WeightSolver(lists)(scores, seed=3)
    batch = rng.permutation(12)[:5]
    rows = np.concatenate([np.arange(offsets[q], offsets[q + 1]) for q in batch])
    np.testing.assert_array_equal(WeightSolver(lists)(scores[rows], seed=3, queries=batch), whole[rows])


def test_a_batch_that_the_merging_gives_up_goes_to_glop(monkeypatch: pytest.MonkeyPatch) -> None:
    from spofr_core.policy.solvers.kernels import two_groups

    groups, offsets, scores = np.array([0, 1, 0, 1]), np.array([0, 4]), np.array([3.0, 1.0, 2.0, 0.5])
    lists = prepare(groups, offsets, Fairness(delta=0.0))
    expected = solve_weights(scores, lists)
    monkeypatch.setattr(two_groups, "weights", lambda problem, queries, seed, weight, status: status.fill(1))
    monkeypatch.setattr(two_groups, "solve", lambda problem, queries, seed, answer, warm: answer.status.fill(1))
    assert_allclose(WeightSolver(lists)(scores, queries=np.array([0])), expected, atol=1e-9)


def test_increasing_vectors_in_training_go_to_glop() -> None:
    groups, offsets = np.array([0, 1, 0, 1, 1]), [0, 5]
    scores = np.array([3.0, 1.0, 2.0, 5.0, 4.0])
    fairness = Fairness(delta=0.01, position_bias=[0.2, 0.5, 0.4, 0.3, 0.1])
    weights, utility = fair_weights(scores, groups, offsets, fairness)
    policy = fair_policy(scores, groups, fairness, solver="glop")
    assert_allclose(utility, policy.utility, rtol=1e-9)
    assert_allclose(scores @ weights, utility[0], rtol=1e-12)


def test_curve_equals_one_solution_per_delta() -> None:
    rng = np.random.default_rng(5)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(2, 12, 25))])
    n = int(offsets[-1])
    groups, scores = rng.integers(0, 3, n), rng.normal(size=n)
    merits = {"0": 0.2, "1": 1.0, "2": 2.0}
    fairness = Fairness(delta=1.0, notion="merit", merits=merits)
    deltas = [0.0, 0.02, 0.2, 1.0]
    curve = utility_curve(scores, groups, offsets, fairness, deltas, on_infeasible="relax")
    for row, delta in enumerate(deltas):
        policies = fair_policies(scores, groups, offsets, fairness.with_delta(delta), on_infeasible="relax")
        assert_allclose(curve.utility[row], policies.utility, rtol=1e-9, atol=1e-9)
        assert set(np.flatnonzero(curve.relaxed[row])) == set(policies.relaxed)
    assert curve.relaxed[0].any()
    assert np.all(np.diff(curve.mean) >= -1e-12)


def test_a_vector_that_increases_goes_to_glop_and_says_so() -> None:
    policy = fair_policy(SCORES, GROUPS, Fairness(delta=0.01), discount=Discount(values=[1, 2, 3, 2, 1, 0]))
    assert policy.solver == "glop"
    assert any("discount increases" in note for note in policy.notes)
    assert policy.rankings[0][2] in (0, 1, 2)
    assert verify(policy, SCORES, GROUPS, Fairness(delta=0.01)).ok


@pytest.mark.parametrize("status", [1, 0])
def test_lists_the_kernels_fail_on_go_to_glop_and_say_so(monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    """Whether the kernel says that it failed or not: a lottery that does not reach its dual bound is not believed."""
    from spofr_core.policy.solvers.kernels import two_groups
    from spofr_core.policy.solvers.kernels.arguments import Answer, Problem

    solve = two_groups.solve

    def gives_up(problem: Problem, queries: np.ndarray, seed: int, answer: Answer, *, warm: bool) -> None:
        solve(problem, queries, seed, answer, warm=warm)
        answer.rankings[:, 3:6] = [0, 1, 2]
        answer.bound[1] += 1e-3
        answer.status[1] = status

    monkeypatch.setattr(two_groups, "solve", gives_up)
    scores, groups, offsets = np.arange(9.0), np.array([0, 0, 1] * 3), [0, 3, 6, 9]
    policies = fair_policies(scores, groups, offsets, Fairness(delta=0.01), query_ids=["x", "y", "z"])
    assert any("1 of 3 lists were solved by GLOP" in note and "'y'" in note for note in policies.notes)
    assert verify(policies, scores, groups, Fairness(delta=0.01)).ok
    if status:
        weights, _ = fair_weights(scores, groups, offsets, Fairness(delta=0.01))
        assert_allclose(weights, policies.discounted, atol=1e-12)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"scores": [1.0, np.nan, 0, 0, 0, 0]}, DataError, r"query 0, item 1 is nan"),
        ({"scores": [1.0, 2.0]}, DataError, r"shape \(2,\), but there are 6 items"),
        ({"scores": ["a"] * 6}, DataError, "not a number"),
        ({"scores": [np.inf] * 6}, DataError, "item 0 is inf"),
        ({"groups": ["a", None, "b", "b", "b", "b"]}, DataError, "group of item 1 is missing"),
        ({"groups": pd.array(["a", None, "b", "b", "b", "b"])}, DataError, "group of item 1 is missing"),
        ({"groups": [[1], [2]]}, DataError, "one label per item"),
        ({"groups": []}, DataError, "at least one item"),
        ({"fairness": 0.05}, ConfigError, "must be a Fairness"),
        ({"solver": "cplex"}, ConfigError, r"one of \['exact', 'glop'\], got 'cplex'"),
        ({"seed": -1}, ConfigError, "'seed' is -1"),
        ({"discount": [1.0, 0.5]}, ConfigError, "2 values but a list has 6 items"),
        ({"on_infeasible": "ignore"}, ConfigError, "got 'ignore'"),
        ({"fairness": Fairness(delta={"m": 0.1})}, ConfigError, "No delta is given for group 'f'"),
    ],
)
def test_messages(change: dict[str, object], error: type[SpofrError], message: str) -> None:
    given = {"scores": SCORES, "groups": GROUPS, "fairness": Fairness(delta=0.01), **change}
    with pytest.raises(error, match=message):
        fair_policy(**given)


@pytest.mark.parametrize(
    ("offsets", "message"),
    [
        ([0, 3, 3, 6], "from 3 to 3 at list 1"),
        ([0, 4, 2, 6], "from 4 to 2 at list 1"),
        ([1, 6], "starts at 1"),
        ([0, 5], "ends at 5, but there are 6"),
        ([0.0, 6.0], "vector of integers"),
        ([], "vector of integers"),
    ],
)
def test_offsets_are_checked(offsets: list[int], message: str) -> None:
    with pytest.raises(DataError, match=message):
        fair_policies(SCORES, GROUPS, offsets, Fairness(delta=0.01))


def test_ids_are_checked_and_named() -> None:
    with pytest.raises(DataError, match="1 query ids for 2 lists"):
        fair_policies(SCORES, GROUPS, [0, 3, 6], Fairness(delta=0.01), query_ids=["a"])
    with pytest.raises(DataError, match="2 item ids for 6 items"):
        fair_policies(SCORES, GROUPS, [0, 3, 6], Fairness(delta=0.01), item_ids=np.array([1, 2]))
    bad = SCORES.copy()
    bad[4] = np.nan
    with pytest.raises(DataError, match="query 'b', item 1 is nan"):
        fair_policies(bad, GROUPS, [0, 3, 6], Fairness(delta=0.01), query_ids=np.array(["a", "b"]))
    with pytest.raises(DataError, match="codes run from 0 to 2"):
        fair_policies(SCORES, [0, 1, 2, 0, 1, 2], [0, 6], Fairness(delta=0.01), group_names=["a", "b"])


def test_labels_of_any_type_are_named_by_their_text_in_sorted_order() -> None:
    assert list(fair_policy(SCORES, [10, 9, 9, 10, 10, 9], Fairness(delta=0.01)).violations) == ["9", "10"]
    assert list(fair_policy(SCORES, [True, False] * 3, Fairness(delta=0.01)).violations) == ["False", "True"]
    mixed = np.array(["b", 1, "b", 1, "b", 1], dtype=object)
    assert list(fair_policy(SCORES, mixed, Fairness(delta=0.01)).violations) == ["1", "b"]


def test_an_empty_batch_is_a_batch() -> None:
    policies = fair_policies([], [], [0], Fairness(delta=0.1))
    assert len(policies) == 0
    assert policies.to_frame().empty


def test_prepared_lists_and_programmes_can_be_sent_to_a_worker() -> None:
    programme = Programme(prepare(GROUPS, [0, 6], Fairness(delta=0.01)), SCORES, seed=3)
    copy = pickle.loads(pickle.dumps(programme))  # noqa: S301 - our own bytes
    here, there = (make_solver("exact").solve(p) for p in (programme, copy))
    assert np.array_equal(here.rankings, there.rankings)


def test_repair_uses_the_scores_of_a_dataset() -> None:
    data = RankingDataset(
        query_ids=np.array(["x", "y"]),
        offsets=np.array([0, 3, 6]),
        item_ids=np.array(list("abcdef")),
        groups=np.array([0, 1, 1, 0, 0, 1], dtype=np.int32),
        group_names=("f", "m"),
        score=SCORES,
    )
    policies = fair_policies(data, Fairness(delta=0.01))
    assert policies[1].query == "y"
    assert verify(policies, SCORES, data.groups, Fairness(delta=0.01), group_names=("f", "m")).ok
    with pytest.raises(DataError, match="no score"):
        fair_policies(dataclasses.replace(data, score=None), Fairness(delta=0.01))


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        ([1e308, -1e308], "overflow"),
        ([10**400, 1], "not a number"),
        ([1 + 2j, 3], "not a number"),
        (["x", "y"], "not a number"),
        (np.array(["2020", "2021"], dtype="datetime64[Y]"), "not a number .dates"),
        ([[1.0], [1.0, 2.0]], "no array of numbers"),
        (torch.zeros(2, requires_grad=True), "no array of numbers .*detach"),
        (torch.zeros(2, dtype=torch.bfloat16), "no array of numbers .*BFloat16"),
        (np.ma.masked_greater([1.0, 2.0], 1.5), "item 1 is nan"),
    ],
    ids=str,
)
def test_scores_that_cannot_be_ranked(scores: Any, words: str) -> None:
    with pytest.raises(DataError, match=words):
        fair_policy(scores, ["a", "b"], Fairness(delta=0.1))
    with pytest.raises(DataError, match=words):
        fair_policies(scores, [0, 1], [0, 2], Fairness(delta=0.1))
    policy = fair_policy([1.0, 2.0], ["a", "b"], Fairness(delta=0.1))
    with pytest.raises(DataError, match=words):
        verify(policy, scores, ["a", "b"], Fairness(delta=0.1))


def test_group_names_differ() -> None:
    with pytest.raises(DataError, match="must differ"):
        fair_policies([1.0, 2.0], [0, 1], [0, 2], Fairness(delta=0.1), group_names=["a", "a"])


def test_sampling_wants_whole_numbers() -> None:
    policy = fair_policy([1.0, 2.0], ["a", "b"], Fairness(delta=0.0))
    for arguments in ({"k": 1.5}, {"k": -1}, {"k": 2, "seed": -1}):
        with pytest.raises(ConfigError):
            policy.sample(**arguments)


def test_an_infeasible_query_is_named_as_it_was_given() -> None:
    fairness = Fairness(delta=0.0, notion="merit", merits={"a": 0.0, "b": 1.0})
    with pytest.raises(InfeasibleFairness, match="query 'q7'") as caught:
        fair_policies([1.0, 2.0, 3.0], ["a", "b", "a"], [0, 3], fairness, query_ids=np.array(["q7"]))
    assert type(caught.value.query) is str


def test_fair_policies_of_a_dataset_are_those_of_its_arrays() -> None:
    data = dataset([[3.0, 2.0, 1.0], [1.0, 2.0]], ["aab", "ab"])
    fairness = Fairness(delta=0.01)
    flat = fair_policies(data.score, data.groups, data.offsets, fairness, group_names=data.group_names)
    assert np.array_equal(fair_policies(data, fairness).solution.probabilities, flat.solution.probabilities)
    other = np.array([1.0, 2.0, 3.0, 2.0, 1.0])
    assert np.array_equal(fair_policies(data, fairness, scores=other).scores, other)


@pytest.mark.parametrize("arguments", [2, 3, 4])
def test_mixed_up_arguments_are_named(arguments: int) -> None:
    data = dataset([[3.0, 2.0, 1.0]], ["aab"])
    given = {
        2: (data.score, Fairness(delta=0.01)),
        3: (data, data.groups, Fairness(delta=0.01)),
        4: (data, data.groups, data.offsets, Fairness(delta=0.01)),
    }[arguments]
    with pytest.raises(ConfigError, match=r"takes \(data, fairness\), or \(scores, groups, offsets, fairness\)"):
        fair_policies(*given)  # type: ignore[call-overload]
