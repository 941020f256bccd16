"""One list at a time: the lottery of `fair_policy`, shown so that every count keeps to its share."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings

from spofr_core.errors import ConfigError, DataError, InfeasibleFairness, SpofrError
from spofr_core.fairness import Fairness, PositionBias, Quota
from spofr_core.policy import fair_policy, schedule_bound, shown_violations
from spofr_core.serving import MemoryCounters, Reranker
from tests.policy.lists import Case, cases

SHARE = Fairness(delta=0.1, unit="share")
SCORES, GROUPS = [0.9, 0.8, 0.7, 0.2, 0.1], list("aaabb")


def lottery(reranker: Reranker, scores, groups):
    """What the reranker draws from."""
    reranker.rank(scores, groups)
    return next(reversed(reranker._cache._entries.values()))[0]


@settings(max_examples=60, deadline=None)
@given(case=cases())
def test_the_lottery_is_that_of_fair_policy(case: Case):
    settings = {"discount": case.discount, "on_infeasible": "relax"}
    policy = fair_policy(case.scores, case.groups, case.fairness, **settings)
    found = lottery(Reranker(case.fairness, **settings), case.scores, case.groups)
    assert found.rankings.tolist() == policy.rankings.tolist()
    assert list(found.probabilities) == policy.probabilities.tolist()
    assert found.how == ("fair" if policy.relaxed is None else "relaxed")
    assert found.delta == max(policy.deltas.values())


@settings(max_examples=25, deadline=None)
@given(case=cases(notions=("exposure",)))
def test_earlier_lists_of_the_same_groups_leave_no_trace(case: Case):
    """Column generation starts from what it is given: here it must start afresh for every list."""
    reranker = Reranker(case.fairness, discount=case.discount)
    rng = np.random.default_rng(0)
    for _ in range(3):
        order = rng.permutation(len(case.scores))
        scores, groups = case.scores[rng.permutation(len(order))], case.groups[order]
        policy = fair_policy(scores, groups, case.fairness, discount=case.discount)
        found = lottery(reranker, scores, groups)
        assert list(found.probabilities) == policy.probabilities.tolist()
        assert found.rankings.tolist() == policy.rankings.tolist()


@pytest.mark.parametrize("groups", ["aaabb", "aaabc"])
@pytest.mark.parametrize("size", [9e-301, 1e-310, 5e-324])
def test_scores_that_a_proof_refuses_are_refused_here_too(groups, size):
    """By the kernel for two groups and by the one for more, with the sentence of `fair_policy`."""
    scores = size * np.array([1.0, 0.5, 0.0, 0.0, 0.0])
    with pytest.raises(DataError, match="it must be 0, or lie from 1e-300") as alone:
        fair_policy(scores, list(groups), SHARE)
    with pytest.raises(DataError) as served:
        Reranker(SHARE).rank(scores, list(groups))
    assert str(served.value) == str(alone.value)
    assert Reranker(SHARE).rank(1e6 * scores + 1e-299, list(groups)).how == "fair"
    assert Reranker(SHARE).rank(0.0 * scores, list(groups)).how == "fair"


def test_a_list_whose_policy_cannot_be_proved_is_refused_or_sorted():
    merits = {"notion": "merit", "merits": {"b": 3.0, "c": 0.0}, "delta": {"b": 0.0, "c": 1e-12}}
    fairness = Fairness(**merits, position_bias=PositionBias(power=20.0))
    scores, groups = [0.3, 0.9, 0.1, 0.5, 0.7, 0.2], list("bccbbb")
    with pytest.raises(SpofrError, match="cannot be proved"):
        Reranker(fairness, on_infeasible="relax").rank(scores, groups)
    ranked = Reranker(fairness, on_infeasible="sort").rank(scores, groups)
    assert (ranked.how, ranked.ranking.tolist()) == ("sorted", [1, 4, 3, 0, 5, 2])


def test_a_vector_that_increases_is_solved_by_the_slower_way():
    fairness = Fairness(delta=0.05, position_bias=[0.2, 0.5, 0.4, 0.3, 0.1])
    policy = fair_policy(SCORES, GROUPS, fairness)
    found = lottery(Reranker(fairness), SCORES, GROUPS)
    assert found.probabilities == pytest.approx(tuple(policy.probabilities))


@pytest.mark.parametrize("groups", ["aaabb", "abcab"])
def test_a_query_is_shown_within_delta_and_the_bound_after_every_impression(groups):
    fairness = Fairness(delta=0.02)
    reranker = Reranker(fairness, seed=4)
    policy = fair_policy(SCORES, list(groups), fairness, seed=4)
    shown = [reranker.rank(SCORES, list(groups), query="q") for _ in range(200)]
    for ranked in shown:
        assert ranked.ranking.tolist() == policy.rankings[ranked.index].tolist()
        assert ranked.probability == policy.probabilities[ranked.index]
    assert [ranked.impressions for ranked in shown] == list(range(1, 201))
    so_far = shown_violations(policy, fairness, np.array([ranked.index for ranked in shown]))
    assert np.all(so_far <= [ranked.delta + ranked.bound + 1e-12 for ranked in shown])
    bound = schedule_bound(policy, fairness, plain_first=True)
    assert [ranked.bound for ranked in shown] == pytest.approx([bound / t for t in range(1, 201)])


def test_queries_seen_once_are_fair_together():
    """A schedule that began with the most probable ranking would show all of them the same one."""
    reranker = Reranker(Fairness(delta=0.03))
    policy = fair_policy(SCORES, GROUPS, Fairness(delta=0.03))
    first = np.bincount([reranker.rank(SCORES, GROUPS, query=q).index for q in range(3000)]) / 3000
    assert first == pytest.approx(policy.probabilities, abs=0.04)
    unnamed = np.bincount([reranker.rank(SCORES, GROUPS).index for _ in range(3000)]) / 3000
    assert unnamed == pytest.approx(policy.probabilities, abs=0.04)


def test_without_a_schedule_rankings_are_drawn_and_nothing_is_promised():
    reranker = Reranker(Fairness(delta=0.03), schedule=False)
    shown = [reranker.rank(SCORES, GROUPS, query="q") for _ in range(40)]
    assert {ranked.bound for ranked in shown} == {float("inf")}
    assert shown[-1].impressions == 40


def test_the_order_of_named_items_makes_no_difference():
    reranker = Reranker(Fairness(delta=0.03))
    items = list("vwxyz")
    back = slice(None, None, -1)
    one = [reranker.rank(SCORES, GROUPS, query="q", items=items) for _ in range(3)]
    two = [reranker.rank(SCORES[back], GROUPS[back], query="q", items=items[back]) for _ in range(3)]
    assert {ranked.policy for ranked in one + two} == {one[0].policy}
    assert [ranked.impressions for ranked in two] == [4, 5, 6]
    names = {ranked.index: [items[i] for i in ranked.ranking] for ranked in one}
    for ranked in two:
        assert names.get(ranked.index, shown := [items[back][i] for i in ranked.ranking]) == shown


def test_other_items_scores_groups_or_settings_make_another_policy():
    reranker = Reranker(Fairness(delta=0.03))
    known = reranker.rank(SCORES, GROUPS, query="q", items=list("vwxyz")).policy
    others = [
        reranker.rank([*SCORES[:4], 0.11], GROUPS, query="q", items=list("vwxyz")),
        reranker.rank(SCORES, list("aabab"), query="q", items=list("vwxyz")),
        reranker.rank(SCORES, list("cccbb"), query="q", items=list("vwxyz")),
        reranker.rank(SCORES, GROUPS, query="q", items=list("vwxyu")),
        Reranker(Fairness(delta=0.04)).rank(SCORES, GROUPS, query="q", items=list("vwxyz")),
    ]
    assert len({known, *(ranked.policy for ranked in others)}) == 6
    assert [ranked.anew for ranked in others] == [True, True, True, True, False]
    assert {ranked.impressions for ranked in others} == {1}


@pytest.mark.parametrize(
    ("one", "other"),
    [(["a\0b", "c"], ["a", "b\0c"]), (["a\0", "b"], ["a", "\0b"]), (["a\0b", "c"], ["a\\x00b", "c"])],
)
def test_names_with_any_letters_are_never_taken_for_others(one, other):
    """As ids and as groups: neither policy nor counter is shared."""
    reranker = Reranker(Fairness(delta=0.03))
    scores, groups = [0.9, 0.1], ["a", "b"]
    shown = [reranker.rank(scores, groups, query="q", items=names) for names in (one, other)]
    shown += [reranker.rank(scores, names, query="q") for names in (one, other)]
    assert len({ranked.policy for ranked in shown}) == 4
    assert [ranked.impressions for ranked in shown] == [1, 1, 1, 1]
    assert reranker.rank(scores, groups, query="q\0", items=one).anew is False
    assert reranker.rank(scores, groups, query="q", items=one[::-1]).impressions == 1


def test_ids_without_a_code_of_their_own_are_ranked():
    ranked = Reranker(Fairness(delta=0.03)).rank(SCORES, GROUPS, query="q", items=["\ud800", *"wxyz"])
    assert sorted(ranked.ranking.tolist()) == [0, 1, 2, 3, 4]


def test_an_infeasible_list_is_refused_relaxed_or_sorted():
    merits = {"a": 0.0, "b": 5.0}
    fairness = Fairness(delta=0.0, notion="merit", merits=merits)
    with pytest.raises(InfeasibleFairness):
        Reranker(fairness).rank(SCORES, GROUPS)
    relaxed = Reranker(fairness, on_infeasible="relax").rank(SCORES, GROUPS)
    smallest = fair_policy(SCORES, GROUPS, fairness, on_infeasible="relax").relaxed
    assert (relaxed.how, relaxed.delta) == ("relaxed", smallest)
    by_score = Reranker(fairness, on_infeasible="sort").rank([0.1, 0.9, 0.5, 0.9, 0.2], GROUPS)
    assert (by_score.how, by_score.ranking.tolist()) == ("sorted", [1, 3, 2, 4, 0])
    assert f"the smallest that one could hold is {smallest:.6g}" in by_score.reason


def test_a_group_without_a_merit_is_sorted_by_score_where_that_is_the_setting():
    fairness = Fairness(delta=0.1, notion="merit", merits={"a": 1.0})
    found = Reranker(fairness, on_infeasible="sort").rank(SCORES, GROUPS)
    assert found.how == "sorted"
    assert "No merit is given for group 'b'" in found.reason
    with pytest.raises(ConfigError, match="No merit is given"):
        Reranker(fairness).rank(SCORES, GROUPS)
    with pytest.raises(DataError, match="item 0 is nan"):
        Reranker(fairness, on_infeasible="sort").rank([float("nan"), 1.0], ["a", "b"])


def test_odd_names_hundreds_of_items_and_single_ones_are_ranked():
    rng = np.random.default_rng(0)
    names = ["<b>x</b>", "=1+1", "女性", 'it"s', "z" * 5000]
    groups = [names[k] for k in rng.integers(0, 5, 400)]
    ranked = Reranker(Fairness(delta=0.001)).rank(rng.normal(size=400), groups, query="\ud800'; --")
    assert sorted(ranked.ranking.tolist()) == list(range(400))
    assert Reranker(Fairness(delta=0.0)).rank([3], ["only"], query=1).ranking.tolist() == [0]
    assert Reranker(Fairness(delta=0.0)).rank([1, 2], [7, 8]).ranking.tolist() in ([0, 1], [1, 0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], []), "The list has no items"),
        (([1.0, float("nan")], ["a", "b"]), "item 1 is nan"),
        (([1.0, 1e301], ["a", "b"]), "overflow"),
        (([1.0], ["a", "b"]), "'scores' has shape (1,), but there are 2 items"),
        ((["x", "y"], ["a", "b"]), "not a number"),
        (([[1.0], [1.0, 2.0]], ["a", "b"]), "no array of numbers"),
        (([1.0, 2.0], ["a", None]), "The group of item 1 is missing"),
        (([1.0, 2.0], ["a", "b"], "q", ["i", "i"]), "The item id 'i' occurs twice"),
        (([1.0, 2.0], ["a", "b"], "q", ["i"]), "There are 1 item ids for 2 items"),
    ],
)
def test_bad_input_is_one_sentence(arguments, message):
    with pytest.raises(DataError) as refusal:
        Reranker(Fairness(delta=0.1)).rank(*arguments)
    assert message in str(refusal.value)


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(ConfigError, match="must be one of"):
        Reranker(Fairness(delta=0.1), on_infeasible="ignore")
    with pytest.raises(ConfigError, match="must be a Fairness"):
        Reranker(0.05)


def test_threads_share_counters_without_losing_an_impression():
    reranker = Reranker(Fairness(delta=0.03))
    with ThreadPoolExecutor(4) as pool:
        shown = list(pool.map(lambda _: reranker.rank(SCORES, GROUPS, query="q"), range(400)))
    assert sorted(ranked.impressions for ranked in shown) == list(range(1, 401))
    counts = np.bincount([ranked.index for ranked in shown])
    policy = fair_policy(SCORES, GROUPS, Fairness(delta=0.03))
    assert counts == pytest.approx(400 * policy.probabilities, abs=1.5)


def test_memory_forgets_the_query_that_was_not_asked_for_the_longest():
    counters = MemoryCounters(most=2)
    reranker = Reranker(Fairness(delta=0.03), counters=counters)
    for query in ("one", "two", "one", "three", "one", "two"):
        last = reranker.rank(SCORES, GROUPS, query=query)
    assert last.impressions == 1  # "two" was forgotten when "three" came
    assert reranker.rank(SCORES, GROUPS, query="one").impressions == 4


def test_without_groups_each_item_is_on_its_own():
    reranker, asked = Reranker(SHARE), [0.9, 0.8, 0.4, 0.1]
    policy = fair_policy(asked, range(4), SHARE)
    shown = [reranker.rank(asked, None, query="q", items=list("dbca")) for _ in range(200)]
    mean = np.mean([PositionBias().vector(4)[np.argsort(each.ranking)] for each in shown], axis=0)
    assert mean == pytest.approx(policy.exposure, abs=shown[-1].bound * 1.001)
    # What an item is called, and where in the request it stands, makes no difference to its lottery.
    turned = Reranker(SHARE).rank(asked[::-1], None, query="q", items=list("acbd"))
    assert turned.policy == shown[0].policy
    assert [asked[::-1][i] for i in turned.ranking] == [asked[i] for i in shown[0].ranking]


def test_a_quota_does_not_go_with_each_item_on_its_own():
    with pytest.raises(ConfigError, match="A quota counts the items of groups"):
        Reranker(Fairness(delta=0.1, every_ranking=Quota(slack=1))).rank([1.0, 0.0], None)
