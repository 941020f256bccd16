"""What is seen when a lottery is drawn from, against enumeration and against the policy's own numbers."""

from __future__ import annotations

import numpy as np
import pytest

from dashboard.views.policy_page import gain_of_sorting
from spofr_core.evaluation import audit
from spofr_core.fairness import Fairness
from spofr_core.policy import PERIODS, fair_policy, sampled_violations
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
