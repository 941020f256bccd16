"""A schedule keeps its bound after every impression, from any seed and any counts; the bound on exposure follows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spofr_core.errors import ConfigError, DataError
from spofr_core.fairness import Fairness
from spofr_core.policy import Schedule, fair_policy, schedule_bound, shown_violations


@st.composite
def lotteries(draw: st.DrawFn, most: int = 8) -> np.ndarray:
    """Even and uneven lotteries, with rankings that are hardly ever drawn and ones that tie."""
    weights = draw(st.lists(st.sampled_from([1e-12, 1e-6, 0.01, 0.1, 0.3, 1.0, 1.0, 2.0]), min_size=1, max_size=most))
    shaken = np.array(weights) * (1 + draw(st.sampled_from([0.0, 0.37])) * np.arange(len(weights)))
    return shaken / shaken.sum()


def deviations(probabilities: np.ndarray, served: np.ndarray) -> np.ndarray:
    """(T, k): count_i - p_i T after every impression."""
    counts = np.cumsum(served[:, None] == np.arange(len(probabilities)), axis=0)
    return counts - np.arange(1, len(served) + 1)[:, None] * probabilities


@settings(max_examples=150, deadline=None)
@given(p=lotteries(), seed=st.integers(0, 2**64 - 1), plain_first=st.booleans())
def test_counts_keep_the_bound_after_every_impression(p, seed, plain_first):
    schedule = Schedule(p, seed=seed, plain_first=plain_first)
    served = schedule.take(120)
    limit = 0.0 if len(p) == 1 else 1 - 1 / (2 * len(p) - 2) + plain_first
    assert schedule.bound() == limit
    assert np.abs(deviations(p, served)).max() <= limit + 1e-9
    assert schedule.counts.tolist() == np.bincount(served, minlength=len(p)).tolist()
    assert schedule.impressions == 120


def test_a_long_run_neither_drifts_nor_leaves_the_bound():
    for p in ([0.5, 0.5], [1 / 3] * 3, [0.7, 0.1, 0.1, 0.1], [0.999999, 1e-6], [0.4, 0.3, 0.2, 0.1 - 1e-12, 1e-12]):
        p = np.array(p) / np.sum(p)
        schedule = Schedule(p, seed=5)
        assert np.abs(deviations(p, schedule.take(20_000))).max() <= schedule.bound() + 1e-9


def test_the_bound_is_reached_by_some_lottery():
    """Two rankings of one half each: after the first impression both are half an impression away."""
    assert np.abs(deviations(np.array([0.5, 0.5]), Schedule([0.5, 0.5]).take(1))).max() == Schedule([0.5, 0.5]).bound()


def can_go_on(p: np.ndarray, counts: tuple[int, ...], limit: float, steps: int) -> bool:
    """Whether some sequence of so many more impressions keeps every count within the limit, by trying them all."""
    if steps == 0:
        return True
    shown = sum(counts) + 1
    for i in range(len(p)):
        then = tuple(c + (j == i) for j, c in enumerate(counts))
        within = all(abs(c - q * shown) <= limit + 1e-12 for c, q in zip(then, p, strict=True))
        if within and can_go_on(p, then, limit, steps - 1):
            return True
    return False


@settings(max_examples=60, deadline=None)
@given(p=lotteries(most=4), seed=st.integers(0, 50))
def test_no_random_start_leads_to_where_brute_force_finds_no_way_on(p, seed):
    schedule = Schedule(p, seed=seed)
    for _ in range(len(p) + 1):
        schedule.next()
        assert can_go_on(p, tuple(schedule.counts.tolist()), schedule.bound(), 7)


def test_seeds_start_differently_where_the_bound_leaves_a_choice():
    p = [0.3, 0.25, 0.25, 0.2]
    first = np.bincount([Schedule(p, seed=seed).next() for seed in range(1500)], minlength=4) / 1500
    assert first == pytest.approx(p, abs=0.05)
    assert len({tuple(Schedule(p, seed=seed).take(6)) for seed in range(200)}) > 20
    assert {Schedule([0.8, 0.2], seed=seed).next() for seed in range(50)} == {0}  # the bound of one half leaves none


def test_a_plain_first_draw_has_the_probabilities_of_the_lottery():
    first = np.bincount([Schedule([0.8, 0.2], seed=seed, plain_first=True).next() for seed in range(4000)]) / 4000
    assert first == pytest.approx([0.8, 0.2], abs=0.03)


@settings(max_examples=60, deadline=None)
@given(p=lotteries(), seed=st.integers(0, 99), cut=st.integers(0, 40), plain_first=st.booleans())
def test_counts_are_all_that_a_schedule_needs_to_go_on(p, seed, cut, plain_first):
    whole = Schedule(p, seed=seed, plain_first=plain_first).take(60)
    counts = np.bincount(whole[:cut], minlength=len(p))
    rest = Schedule(p, seed=seed, plain_first=plain_first, counts=counts).take(60 - cut)
    assert rest.tolist() == whole[cut:].tolist()


def test_a_ranking_that_is_never_drawn_is_never_served():
    schedule = Schedule([0.5, 0.0, 0.5])
    assert set(schedule.take(50).tolist()) == {0, 2}
    assert schedule.bound() == 0.5


@pytest.mark.parametrize("n_groups", [2, 3, 5])
@pytest.mark.parametrize("notion", ["exposure", "merit"])
def test_what_is_shown_keeps_to_the_bound_on_exposure_at_every_prefix(n_groups, notion):
    rng = np.random.default_rng(n_groups)
    tight = 0.0
    for _ in range(25):
        groups = rng.permutation(np.arange(12) % n_groups)
        merits = {str(g): 1 + 0.05 * g for g in range(n_groups)} if notion == "merit" else None
        fairness = Fairness(delta=0.004, notion=notion, merits=merits)
        policy = fair_policy(rng.normal(size=12) + 0.6 * groups, groups, fairness, on_infeasible="relax")
        v = fairness.position_bias.vector(12)
        k = len(policy.probabilities)
        for plain_first in (False, True):
            served = Schedule(policy, seed=3, plain_first=plain_first).take(150)
            steps = np.arange(1, 151)
            for g in range(n_groups):
                mean = np.array(
                    [v[np.isin(ranking, np.flatnonzero(groups == g))].mean() for ranking in policy.rankings]
                )
                off = np.abs(np.cumsum(mean[served]) / steps - policy.probabilities @ mean)
                half = 0 if k == 1 else k / 2 * (1 - 1 / (2 * k - 2)) + plain_first
                assert np.all(off <= half * np.ptp(mean) / steps + 1e-12)
                tight = max(tight, float((off * steps).max() / max(np.ptp(mean), 1e-12)))
            extra = schedule_bound(policy, fairness, plain_first=plain_first) / steps
            worst = max(abs(x) for x in policy.violations.values())
            assert np.all(shown_violations(policy, fairness, served) <= worst + extra + 1e-12)
    assert tight > 0.4  # the schedule is really away from the expectation, and the bound no empty word


def test_the_violation_of_what_was_shown_is_the_one_counted_by_hand():
    fairness = Fairness(delta=0.05, position_bias=[1.0, 0.5, 0.25, 0.25])
    policy = fair_policy([0.9, 0.8, 0.4, 0.1], ["a", "a", "b", "b"], fairness)
    assert policy.rankings.tolist() == [[0, 2, 1, 3], [0, 2, 3, 1]] or len(policy.rankings) == 2
    served = np.array([0, 1, 1])
    share_of_a = [fairness.position_bias.vector(4)[[int(i in (0, 1)) == 1 for i in r]].mean() for r in policy.rankings]
    by_hand = [abs(np.mean([share_of_a[s] for s in served[: t + 1]]) - 0.5) for t in range(3)]
    assert shown_violations(policy, fairness, served) == pytest.approx(by_hand)


def test_a_policy_hands_out_its_schedule():
    policy = fair_policy([0.9, 0.8, 0.4, 0.1], ["a", "a", "b", "b"], Fairness(delta=0.05))
    served = policy.schedule(600, seed=2)
    assert served.tolist() == Schedule(policy.probabilities, seed=2).take(600).tolist()
    assert np.bincount(served) == pytest.approx(600 * policy.probabilities, abs=0.5)
    assert policy.schedule(0).shape == (0,)
    with pytest.raises(ConfigError, match="'impressions' is -1; serve 0 rankings or more"):
        policy.schedule(-1)


def test_the_bound_of_one_ranking_is_nothing():
    schedule = Schedule([1.0])
    assert schedule.take(5).tolist() == [0] * 5
    assert (schedule.bound(), schedule.exposure_bound(0.0)) == (0.0, 0.0)
    assert Schedule([0.5, 0.5]).exposure_bound(0.1) == float("inf")


@pytest.mark.parametrize(
    ("probabilities", "message"),
    [
        ([], "'probabilities' has shape (0,)"),
        ([0.5, -0.1], "The probability of ranking 1 is -0.1"),
        ([0.5, float("nan")], "The probability of ranking 1 is nan"),
        ([0.5, 0.4], "The probabilities sum to 0.9;"),
    ],
)
def test_what_is_no_lottery_is_refused(probabilities, message):
    with pytest.raises(DataError) as refusal:
        Schedule(probabilities)
    assert message in str(refusal.value)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([1], "give 2 whole numbers"),
        ([1, -1], "give 2 whole numbers"),
        ([0.5, 1], "give 2 whole numbers"),
        ([10, 0], "ranking 0 was served 10 times of 10, which no schedule with its probability of 0.5 does"),
    ],
)
def test_counts_of_another_schedule_are_refused(counts, message):
    with pytest.raises(ConfigError) as refusal:
        Schedule([0.5, 0.5], counts=counts)
    assert message in str(refusal.value)
