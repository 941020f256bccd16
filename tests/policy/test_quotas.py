"""Quotas in every ranking of a lottery: the optimum, the guarantee, the proof, and what cannot be had."""

from __future__ import annotations

from copy import copy

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spofr_core import (
    ConfigError,
    Discount,
    Fairness,
    InfeasibleFairness,
    PositionBias,
    Quota,
    Reranker,
    fair_policies,
    fair_policy,
    read_dataset,
    repair,
    verify,
)
from spofr_core.policy import WeightSolver, prepare, utility_curve
from tests.policy.brute_force import optimum, within

SOLVERS = ("exact", "glop")


def small_list(rng, n, groups, *, ties=False):
    labels = [chr(97 + g) for g in rng.integers(0, groups, n)]
    scores = rng.integers(0, 3, n).astype(float) if ties else rng.random(n)
    return scores + 0.4 * (np.array(labels) == "a"), labels


def random_quota(rng, labels):
    n = len(labels)
    if rng.random() < 0.6:
        return Quota(slack=int(rng.integers(0, 3)), top=int(rng.integers(1, n + 1)) if rng.random() < 0.7 else None)
    depth = int(rng.integers(1, n + 1))
    return Quota(minimum={labels[0]: {depth: 1}, labels[-1]: {n: int(rng.integers(0, 3)), 1 + n // 2: 1}})


@pytest.mark.parametrize("seed", range(60))
def test_the_optimum_is_that_of_a_programme_over_all_permutations(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7 if seed % 10 else 8))
    scores, labels = small_list(rng, n, int(rng.integers(2, 5)), ties=seed % 3 == 0)
    fairness = Fairness(
        delta=float(rng.choice([0, 0.01, 0.05, 0.2])),
        unit="share" if seed % 2 else "absolute",
        position_bias=PositionBias(cutoff=3) if seed % 5 == 0 else PositionBias(),
        every_ranking=random_quota(rng, labels),
    )
    discount = Discount(cutoff=2) if seed % 7 == 0 else None
    expected = optimum(scores, labels, fairness, discount)
    for solver in SOLVERS:
        if expected.outcome != "optimal":
            with pytest.raises(InfeasibleFairness) as raised:
                fair_policy(scores, labels, fairness, discount=discount, solver=solver)
            assert expected.outcome == ("no ranking" if raised.value.prefix else "no policy")
        else:
            policy = fair_policy(scores, labels, fairness, discount=discount, solver=solver)
            assert policy.utility == pytest.approx(expected.utility, abs=1e-9)
            assert not policy.notes


@pytest.mark.parametrize("seed", range(12))
def test_the_optimum_of_longer_lists_is_that_over_all_patterns_of_groups(seed):
    rng = np.random.default_rng(100 + seed)
    scores, labels = small_list(rng, int(rng.integers(8, 12)), 2 + seed % 2, ties=seed % 4 == 0)
    quota = Quota(slack=seed % 2, top=int(rng.integers(3, 9)))
    fairness = Fairness(delta=float(rng.choice([0.0, 0.02, 0.05])), every_ranking=quota)
    policy = fair_policy(scores, labels, fairness)
    assert policy.utility == pytest.approx(optimum(scores, labels, fairness, by_pattern=True).utility, abs=1e-8)


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 40),
    groups=st.integers(2, 7),
    delta=st.sampled_from([0.0, 0.01, 0.05, 0.3]),
    top=st.integers(1, 40),
    scale=st.sampled_from([1e-6, 1.0, 1e6]),
)
@settings(max_examples=60, deadline=None)
def test_every_ranking_keeps_its_quota_and_less_slack_never_raises_utility(seed, n, groups, delta, top, scale):
    rng = np.random.default_rng(seed)
    scores, labels = small_list(rng, n, groups, ties=seed % 3 == 0)
    scores = scores * scale
    before = fair_policy(scores, labels, Fairness(delta=delta)).utility
    for slack in (3, 1, 0):
        quota = Quota(slack=slack, top=min(top, n))
        fairness = Fairness(delta=delta, every_ranking=quota)
        policy = fair_policy(scores, labels, fairness)
        assert all(within(quota, [labels[i] for i in ranking]) for ranking in policy.rankings)
        assert max(map(abs, policy.violations.values())) <= delta + 1e-9 or len(set(labels)) == 1
        assert policy.utility <= before + 1e-9 * scale
        before = policy.utility
        for claim in (policy, policy.certificate):
            checked = verify(claim, scores, labels, fairness)
            assert checked.ok, checked.reasons


def test_a_quota_that_never_binds_changes_nothing():
    rng = np.random.default_rng(3)
    for groups in (2, 4):
        scores, labels = small_list(rng, 20, groups)
        plain = fair_policy(scores, labels, Fairness(delta=0.03))
        loose = fair_policy(scores, labels, Fairness(delta=0.03, every_ranking=Quota(slack=20)))
        assert np.array_equal(plain.rankings, loose.rankings)
        assert np.array_equal(plain.probabilities, loose.probabilities)


def test_without_a_delta_that_binds_the_quota_alone_decides():
    scores, labels = [5.0, 4.0, 3.0, 2.0, 1.0, 0.0], list("aaabbb")
    policy = fair_policy(scores, labels, Fairness(delta=1.0, every_ranking=Quota(slack=0)))
    # one of each in the first two, two of each in the first four: a b | a b | a b, the better group first
    assert policy.rankings.tolist() == [[0, 3, 1, 4, 2, 5]]
    assert policy.probabilities.tolist() == [1.0]
    # of eight, at most ceil(4 / 2) + 1 = 3 of a in the first four, then the fourth may follow
    loose = Fairness(delta=1.0, every_ranking=Quota(slack=1))
    assert fair_policy(np.arange(8.0)[::-1], list("aaaabbbb"), loose).rankings.tolist() == [[0, 1, 2, 4, 3, 5, 6, 7]]


def test_flat_vectors_do_not_undo_a_quota():
    """Positions that nobody looks at are alike to utility and exposure, and still have their quota."""
    rng = np.random.default_rng(5)
    flat = PositionBias(cutoff=3)
    for groups in (2, 3):
        scores, labels = small_list(rng, 12, groups)
        quota = Quota(slack=0, top=10)
        fairness = Fairness(delta=0.05, position_bias=flat, every_ranking=quota)
        policy = fair_policy(scores, labels, fairness, discount=Discount(cutoff=3))
        assert all(within(quota, [labels[i] for i in ranking]) for ranking in policy.rankings)
        assert verify(policy, scores, labels, fairness, discount=Discount(cutoff=3)).ok
    equal = Fairness(delta=0.0, position_bias=[1.0] * 12, every_ranking=Quota(slack=0))
    policy = fair_policy(scores, labels, equal)
    assert all(within(Quota(slack=0), [labels[i] for i in ranking]) for ranking in policy.rankings)
    assert policy.utility == pytest.approx(optimum(scores, labels, equal, by_pattern=True).utility)


def batch(rng, lists, groups):
    lengths = rng.integers(1, 30, lists)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    labels = np.array([chr(97 + g) for g in rng.integers(0, groups, offsets[-1])])
    return rng.random(offsets[-1]) + 0.5 * (labels == "a"), labels, offsets


@pytest.mark.parametrize("groups", [2, 5])
def test_batches_weights_and_warm_starts_agree_with_single_lists(groups):
    rng = np.random.default_rng(groups)
    scores, labels, offsets = batch(rng, 40, groups)
    fairness = Fairness(delta="5%", every_ranking=Quota(slack=1, top=8))
    policies = fair_policies(scores, labels, offsets, fairness)
    assert not policies.notes
    for q, policy in enumerate(policies):
        rows = slice(offsets[q], offsets[q + 1])
        assert policy.utility == pytest.approx(fair_policy(scores[rows], labels[rows], fairness).utility, abs=1e-10)
        assert verify(policies.part(q)[0], scores[rows], labels[rows], fairness).ok
    lists = prepare(labels, offsets, fairness)
    solver = WeightSolver(lists)
    assert solver(scores) == pytest.approx(policies.discounted, abs=1e-9)
    some = np.array([3, 7, 21])
    rows = np.concatenate([np.arange(offsets[q], offsets[q + 1]) for q in some])
    assert solver(scores[rows], queries=some) == pytest.approx(policies.discounted[rows], abs=1e-9)
    stricter = fairness.with_quota(Quota(slack=0))
    again = fair_policies(scores, labels, offsets, stricter, warm=policies)
    assert again.utility == pytest.approx(fair_policies(scores, labels, offsets, stricter).utility, abs=1e-10)
    curve = utility_curve(scores, labels, offsets, fairness, [0.0, 0.05])
    assert curve.utility[1] == pytest.approx(policies.utility, abs=1e-10)


@pytest.mark.parametrize("groups", [2, 3])
def test_a_reranker_serves_the_same_lottery(groups):
    rng = np.random.default_rng(9)
    scores, labels = small_list(rng, 15, groups)
    fairness = Fairness(delta=0.02, every_ranking=Quota(slack=0, top=10))
    policy = fair_policy(scores, labels, fairness)
    reranker = Reranker(fairness)
    shown = {tuple(reranker.rank(scores, labels, query="q").ranking.tolist()) for _ in range(200)}
    assert shown == {tuple(ranking) for ranking in policy.rankings.tolist()}


def test_a_reranker_serves_lists_without_the_group_that_a_minimum_is_for():
    reranker = Reranker(Fairness(delta=1.0, every_ranking=Quota(minimum={"c": {2: 1}})))
    assert reranker.rank([3, 2, 1], ["a", "a", "c"]).ranking.tolist() == [0, 2, 1]
    assert reranker.rank([3, 2, 1], ["a", "a", "b"]).ranking.tolist() == [0, 1, 2]


def test_a_ranking_outside_the_quota_is_found_wherever_it_hides():
    scores, labels = [5.0, 4.0, 3.0, 2.0, 1.0, 0.0], list("aaabbb")
    fairness = Fairness(delta=1.0, every_ranking=Quota(slack=0))
    certificate = fair_policy(scores, labels, fairness).certificate
    swapped = {**certificate, "rankings": [[0, 1, 3, 4, 2, 5]]}
    (reason,) = verify(swapped, scores, labels, fairness).reasons
    assert "ranking 1 has 2 of group 'a' among its first 2, the quota asks for 1 to 1" in reason
    assert not verify(certificate, scores, labels, fairness.with_quota(Quota(slack=1))).ok  # another demand
    loose = fair_policy(scores, labels, Fairness(delta=1.0))
    assert "among its first 2" in verify(loose, scores, labels, fairness).reasons[0]


def test_a_multiplier_that_is_not_optimal_leaves_a_gap():
    rng = np.random.default_rng(11)
    scores, labels = small_list(rng, 20, 3)
    fairness = Fairness(delta=0.0, every_ranking=Quota(slack=0, top=10))
    certificate = fair_policy(scores, labels, fairness).certificate
    worse = {**certificate, "multipliers": {name: value + 0.3 for name, value in certificate["multipliers"].items()}}
    worse["multipliers"]["a"] -= 0.5
    assert any("not shown to be optimal" in reason for reason in verify(worse, scores, labels, fairness).reasons)


class TestWhatCannotBeHad:
    def test_a_minimum_beyond_the_items_of_a_group_names_the_first_prefix_that_fails(self):
        fairness = Fairness(delta=1.0, every_ranking=Quota(minimum={"b": {2: 1, 4: 3}}))
        with pytest.raises(
            InfeasibleFairness, match="in its first 4 positions: it has 5 items, 3 of a, 2 of b"
        ) as raised:
            fair_policy([5, 4, 3, 2, 1], list("aaabb"), fairness)
        assert (raised.value.prefix, raised.value.min_delta, raised.value.query) == (4, None, 0)
        assert copy(raised.value).prefix == 4  # as between processes

    def test_minima_that_contradict_each_other_do_too(self):
        quota = Quota(minimum={"a": {3: 2}, "b": {3: 2}})
        with pytest.raises(InfeasibleFairness, match="first 3 positions"):
            fair_policy([3, 2, 1, 0], list("aabb"), Fairness(delta=1.0, every_ranking=quota))

    def test_relaxing_leaves_those_lists_without_a_quota_and_says_so(self):
        fairness = Fairness(delta=1.0, every_ranking=Quota(minimum={"b": {3: 2}}))
        scores, labels, offsets = np.arange(10.0)[::-1], list("aaabb") + list("aaaab"), [0, 5, 10]
        policies = fair_policies(scores, labels, offsets, fairness, on_infeasible="relax")
        assert policies.lists.lifted == {1: 3}
        assert policies.notes == ("No ranking of 1 of 2 lists can meet the quota; they have none.",)
        assert policies[0].rankings.tolist() == [[0, 3, 4, 1, 2]]
        assert policies[1].rankings.tolist() == [[0, 1, 2, 3, 4]]
        assert verify(policies, scores, labels, fairness, allow_relaxed=True).ok
        (reason,) = verify(policies, scores, labels, fairness).reasons
        assert "no ranking can meet the quota in the first 3 positions" in reason

    def test_a_delta_that_the_quota_forbids_names_the_smallest_delta_and_the_smallest_slack(self):
        labels = list("aaaabbbb")
        merit = {"notion": "merit", "merits": {"a": 2.0, "b": 0.2}}
        fairness = Fairness(delta=0.15, every_ranking=Quota(slack=0), **merit)
        with pytest.raises(InfeasibleFairness) as raised:
            fair_policy(np.arange(8.0), labels, fairness)
        error = raised.value
        assert error.min_slack is not None
        assert error.min_delta is not None
        assert f"with a slack of {error.min_slack} this delta would do" in str(error)
        fair_policy(np.arange(8.0), labels, fairness.with_delta(error.min_delta))
        fair_policy(np.arange(8.0), labels, fairness.with_quota(Quota(slack=error.min_slack)))
        with pytest.raises(InfeasibleFairness):
            fair_policy(np.arange(8.0), labels, fairness.with_delta(error.min_delta - 1e-6))
        with pytest.raises(InfeasibleFairness):
            fair_policy(np.arange(8.0), labels, fairness.with_quota(Quota(slack=error.min_slack - 1)))

    @pytest.mark.parametrize("quota", [Quota(slack=0), Quota(minimum={"c": {4: 2}})])
    def test_a_delta_that_is_impossible_without_the_quota_names_the_smallest_with_it(self, quota):
        labels, merits = list("aabbbbcc"), {"a": 1.0, "b": 1.0, "c": 0.0}
        plain = Fairness(delta=0.0, notion="merit", merits=merits)
        fairness = plain.with_quota(quota)
        with pytest.raises(InfeasibleFairness) as without:
            fair_policy(np.arange(8.0), labels, plain)
        with pytest.raises(InfeasibleFairness, match="with this quota its smallest feasible delta") as raised:
            fair_policy(np.arange(8.0), labels, fairness)
        least = raised.value.min_delta
        assert least is not None
        assert least > without.value.min_delta + 0.02
        assert raised.value.min_slack is None  # whatever the slack, delta is out of reach
        assert least == fair_policy(np.arange(8.0), labels, fairness, on_infeasible="relax").relaxed
        fair_policy(np.arange(8.0), labels, fairness.with_delta(least))

    @pytest.mark.parametrize("seed", range(6))
    def test_the_smallest_delta_under_a_quota_is_what_the_proof_finds_by_itself(self, seed):
        rng = np.random.default_rng(seed)
        scores, labels = small_list(rng, 14, 2 + seed % 3)
        merits = {name: float(rng.random() + 0.05) for name in "abcd"}
        fairness = Fairness(delta=0.0, notion="merit", merits=merits, every_ranking=Quota(slack=0, top=9))
        policy = fair_policy(scores, labels, fairness, on_infeasible="relax")
        assert policy.relaxed is not None
        assert verify(policy.certificate, scores, labels, fairness, allow_relaxed=True).ok

    def test_a_group_that_nobody_has_is_named(self):
        with pytest.raises(ConfigError, match="minimum for group 'women'; the groups of the data are"):
            fair_policy([1, 2], ["a", "b"], Fairness(delta=1, every_ranking=Quota(minimum={"women": {1: 1}})))

    @pytest.mark.parametrize("quota", [Quota(slack=0), Quota(minimum={"a": {2: 2}})])
    def test_a_discount_that_rises_is_refused_whether_or_not_the_quota_can_be_met(self, quota):
        with pytest.raises(ConfigError, match="never increases"):
            fair_policy([1, 2], ["a", "b"], Fairness(delta=1, every_ranking=quota), discount=[0.5, 1.0])


def test_a_repair_leaves_alone_what_holds_delta_and_quota_however_ties_fall():
    rows = {"query": [1] * 6 + [2] * 6, "item": list(range(12)), "group": list("ababab") + list("aabbab")}
    data = read_dataset(
        pd.DataFrame({**rows, "score": [6, 5, 4, 3, 2, 1, 6, 5, 5, 5, 2, 1]}),
        **{c: c for c in (*rows, "score")},
    )
    fixed = repair(data, Fairness(delta=1.0, every_ranking=Quota(slack=0)))
    assert fixed.policies[0].rankings.tolist() == [[0, 1, 2, 3, 4, 5]]
    # in the second list one order of the three ties would put two of a first
    quota = Quota(slack=0)
    labels = rows["group"][6:]
    assert all(within(quota, [labels[i] for i in ranking]) for ranking in fixed.policies[1].rankings)


@pytest.mark.parametrize("size", [1e-6, 1e-3, 1.0, 1e6])
def test_the_smallest_delta_under_a_quota_grows_with_the_merits(size):
    """Both sides of `abs(mu e_g - mu_g e) <= delta` are merits times exposures: their size changes no verdict."""
    merits = {"f": 0.0, "g": size}
    fairness = Fairness(delta=0.0, notion="merit", merits=merits, every_ranking=Quota(slack=0))
    scores, groups = [0.4, 0.3, 0.2, 0.1], ["f", "f", "g", "g"]
    policy = fair_policy(scores, groups, fairness, on_infeasible="relax")
    found = verify(policy, scores, groups, fairness, allow_relaxed=True)
    assert found.ok, found.reasons
    # Of each pair one stands first: at best f takes places 2 and 4, g 1 and 3, and f is off by merits times 0.5 (e_f).
    v = fairness.position_bias.vector(4)
    assert policy.relaxed == pytest.approx(0.5 * size * (v[1] + v[3]) / 2, rel=1e-9)


def test_a_list_relaxed_with_deltas_of_its_groups_names_the_smallest_that_its_quota_allows():
    """Group c may be far off, so what is enough without the quota is enough with it; it is not the smallest for all."""
    scores, groups = [1.0, 2.0, 0.0, 0.0, 0.0, 1.0, 1.0], list("bcdcbbb")
    fairness = Fairness(
        delta={"b": 1e-12, "c": 0.5, "d": 0.05},
        notion="merit",
        merits={"b": 0.0, "c": 1.0, "d": 0.5},
        position_bias=PositionBias(shift=0),
        every_ranking=Quota(slack=0),
    )
    policy = fair_policy(scores, groups, fairness, on_infeasible="relax")
    found = verify(policy, scores, groups, fairness, allow_relaxed=True)
    assert found.ok, found.reasons
    uniform = fair_policy(scores, groups, fairness.with_delta(0.0), on_infeasible="relax")
    assert policy.relaxed == pytest.approx(uniform.relaxed, rel=1e-9)
    with pytest.raises(InfeasibleFairness):
        fair_policy(scores, groups, fairness.with_delta(0.999 * policy.relaxed))
