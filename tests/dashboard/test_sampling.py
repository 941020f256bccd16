"""What is seen when a lottery is drawn from, against enumeration and against the policy's own numbers."""

from __future__ import annotations

import numpy as np
import pytest

from dashboard.views.policy_page import before_and_after, gain_of_sorting, kept_sentence, price_sentence
from spofr_core.evaluation import audit
from spofr_core.fairness import Fairness
from spofr_core.policy import PERIODS, fair_policy, sampled_violations
from spofr_core.reporting import direction_text, violation_text
from tests.evaluation.lists import dataset

SCORES, GROUPS = [0.9, 0.8, 0.7, 0.2, 0.1], list("aaabb")


@pytest.mark.parametrize("notion", ["exposure", "gap", "merit"])
def test_one_impression_is_the_lottery_itself(notion):
    merits = {"a": 1.2, "b": 0.9} if notion == "merit" else None
    fairness = Fairness(delta=0.03, notion=notion, merits=merits)
    policy = fair_policy(SCORES, GROUPS, fairness)
    sampled = sampled_violations(policy, fairness, 1)
    assert sampled.exact
    assert sampled.weights.sum() == pytest.approx(1)
    for value, ranking in zip(sampled.values, policy.rankings, strict=True):
        shown = np.empty(5)
        shown[ranking] = -np.arange(5)  # scores that sort into this ranking
        alone = audit(dataset([shown], ["".join(GROUPS)]), fairness)
        assert value == pytest.approx(alone.summary["violation"]["max"])
    assert sampled.expected == pytest.approx(max(abs(v) for v in policy.violations.values()))


def test_many_impressions_come_near_the_expectation():
    fairness = Fairness(delta=0.03)
    policy = fair_policy(SCORES, GROUPS, fairness)
    spread = [np.std(sampled_violations(policy, fairness, k, seed=1).values) for k in (10, 1000)]
    assert spread[1] < spread[0] / 5
    many = sampled_violations(policy, fairness, 1000, seed=1)
    assert len(many.values) == PERIODS
    assert many.values.mean() == pytest.approx(many.expected, abs=0.01)
    assert np.array_equal(many.values, sampled_violations(policy, fairness, 1000, seed=1).values)


def test_beyond_counts_what_exceeds_delta():
    fairness = Fairness(delta=0.03)
    policy = fair_policy(SCORES, GROUPS, fairness)
    sampled = sampled_violations(policy, fairness, 1)
    assert sampled.beyond(1.0) == 0
    assert sampled.beyond(0.03) == pytest.approx(policy.probabilities[sampled.values > 0.03].sum())


@pytest.mark.parametrize("delta", [0.0, 1.0])
def test_the_gain_of_sorting_is_in_the_discount_of_the_policy(delta):
    """One ranking or several: the discount is the policy's own, not a guess."""
    policy = fair_policy(SCORES, GROUPS, Fairness(delta=delta), discount=[1.0, 0.3, 0.2, 0.1, 0.0])
    assert (len(policy.probabilities) == 1) == (delta == 1.0)
    sort = 0.9 + 0.8 * 0.3 + 0.7 * 0.2 + 0.2 * 0.1
    assert gain_of_sorting(policy) == pytest.approx(sort - np.mean(SCORES) * 1.6)


def test_what_a_policy_keeps_is_said_against_the_best_sort():
    worth = 1 / np.log2(np.arange(2, 7))
    best = float(np.sort(SCORES)[::-1] @ worth)
    tight = fair_policy(SCORES, GROUPS, Fairness(delta=0.0))
    share = tight.utility / best
    assert 0.5 < share < 0.999
    assert kept_sentence(tight) == f"keeps {100 * share:.1f} % of the best possible DCG, going by the scores"
    free = fair_policy(SCORES, GROUPS, Fairness(delta=1.0))
    assert kept_sentence(free) == "keeps all of the best possible DCG, going by the scores"
    assert price_sentence(free).startswith("Delta costs nothing here")
    assert kept_sentence(fair_policy([2.0] * 5, GROUPS, Fairness(delta=0.0))) == "costs nothing: all scores are equal"


def test_scores_without_a_zero_are_said_against_a_random_order():
    """Adding a number to all scores changes no policy, and not what is said about it."""
    said = {
        kept_sentence(fair_policy(np.array(SCORES) - zero, GROUPS, Fairness(delta=0.0))) for zero in (0.2, 1.0, 50.0)
    }
    policy = fair_policy(np.array(SCORES) - 1, GROUPS, Fairness(delta=0.0))
    worth = 1 / np.log2(np.arange(2, 7))
    centred = np.array(SCORES) - np.mean(SCORES)
    share = float(policy.discounted @ centred) / float(np.sort(centred)[::-1] @ worth)
    assert said == {f"keeps {100 * share:.1f} % of what sorting by score gains over a random order"}


@pytest.mark.parametrize("unit", ["absolute", "share"])
def test_the_sentence_says_in_whose_favour(unit):
    fairness = Fairness(delta=0.01, unit=unit)
    result = audit(dataset([SCORES], ["".join(GROUPS)]), fairness)
    policy = fair_policy(SCORES, GROUPS, fairness)
    told = before_and_after(result, 0, policy)
    violation = result.table.violation[0, 1]
    assert violation < 0
    assert told.startswith(
        f"Sorted by score: group b {violation_text(-violation, unit)} too little, which breaks delta."
    )
    group, after = max(policy.violations.items(), key=lambda entry: abs(entry[1]))
    assert f"{direction_text(group, after, unit)} at most, in expectation." in told
    even = fairness.with_delta(0.0)
    told = before_and_after(audit(dataset([SCORES], ["".join(GROUPS)]), even), 0, fair_policy(SCORES, GROUPS, even))
    assert "rankings: no group too much or too little, in expectation." in told
    more = "one percentage point" if unit == "share" else "0.01"
    assert price_sentence(policy, unit).startswith(f"Relaxing delta by {more} buys ")


def test_a_list_of_one_group_has_nobody_to_be_fair_between():
    fairness = Fairness(delta=0.01)
    data = dataset([SCORES, SCORES], ["aaaaa", "".join(GROUPS)])
    told = before_and_after(audit(data, fairness), 0, fair_policy(SCORES, list("aaaaa"), fairness))
    assert told.startswith("All items are of one group")


@pytest.mark.parametrize(
    ("delta", "said"),
    [
        (0.01, "which breaks delta."),
        (0.03, "and whether delta holds depends on the unknown groups."),
        (0.08, "which holds delta."),
    ],
)
def test_the_sentence_breaks_delta_only_where_unknown_groups_cannot_mend_it(delta, said):
    """Of the exposures 1/2 to 1/5 the last is unknown: were it of a, the groups would be 0.0125 off; of b, 0.054."""
    fairness = Fairness(delta=delta)
    groups = np.array(["a", "b", "a", None], dtype=object)
    data = dataset([SCORES[:4]], ["abab"])
    result = audit(data.replace(groups=np.array([0, 1, 0, -1])), fairness)
    told = before_and_after(result, 0, fair_policy(SCORES[:4], groups, fairness, missing="keep"))
    assert f", {said} The policy" in told
    assert " at most among the items whose group is known, in expectation." in told
