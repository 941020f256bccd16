"""What a repair leaves alone: lists that hold their bounds, ties included, and the order of equal items."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from spofr_core.fairness import Discount, Fairness, PositionBias
from spofr_core.policy import fair_policies, keep_present_order, tied_expectation, verify
from spofr_core.policy import present_order as module


def test_three_tied_items_take_turns():
    policies = keep_present_order(fair_policies([2.0, 1.0, 1.0, 1.0], list("abab"), [0, 4], Fairness(delta=1.0)))
    assert policies[0].rankings.tolist() == [[0, 1, 2, 3], [0, 2, 3, 1], [0, 3, 1, 2]]
    assert_allclose(policies[0].probabilities, [1 / 3] * 3)


def test_blocks_of_two_and_three_share_four_rankings():
    """Turns at 0, 1/3, 1/2 and 2/3: the pair changes once, the three twice, and each place is had by each as long."""
    policies = keep_present_order(fair_policies([2.0, 2.0, 1.0, 1.0, 1.0], list("ababa"), [0, 5], Fairness(delta=1.0)))
    assert policies[0].rankings.tolist() == [[0, 1, 2, 3, 4], [0, 1, 3, 4, 2], [1, 0, 3, 4, 2], [1, 0, 4, 2, 3]]
    assert_allclose(policies[0].probabilities, [1 / 3, 1 / 6, 1 / 6, 1 / 3])


def test_a_list_without_ties_that_holds_delta_is_its_own_sort():
    scores = [0.3, 0.9, 0.1, 0.8]
    policies = keep_present_order(fair_policies(scores, list("abab"), [0, 4], Fairness(delta=1.0)))
    assert policies[0].rankings.tolist() == [[1, 3, 0, 2]]


@st.composite
def batches(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    lengths = rng.integers(1, 14, draw(st.integers(1, 6)))
    n = int(lengths.sum())
    groups = np.array(list("abcd"))[rng.integers(0, draw(st.integers(1, 4)), n)]
    scores = rng.normal(size=n) if draw(st.booleans()) else rng.integers(0, draw(st.integers(1, 5)), n).astype(float)
    fairness = Fairness(
        delta=draw(st.sampled_from([0.0, 0.02, 0.1, 0.3])),
        unit=draw(st.sampled_from(["absolute", "share"])),
        position_bias=PositionBias(**draw(st.sampled_from([{}, {"cutoff": 3}]))),
    )
    return scores, groups, np.append(0, np.cumsum(lengths)), fairness


@settings(max_examples=80, deadline=None)
@given(batches())
def test_what_holds_is_kept_and_all_is_still_proved(batch):
    scores, groups, offsets, fairness = batch
    solved = fair_policies(*batch)
    kept = keep_present_order(solved)
    result = verify(kept, scores, groups, fairness)
    assert result.ok, result.reasons
    assert_allclose(kept.utility, solved.utility, rtol=1e-9, atol=1e-9)
    sorted_exposure = tied_expectation(solved.scores, solved.lists.offsets, solved.lists.v)
    for q, policy in enumerate(kept):
        rows = slice(offsets[q], offsets[q + 1])
        means = {g: sorted_exposure[rows][groups[rows] == g].mean() for g in policy.violations}
        mean = solved.lists.v[: rows.stop - rows.start].mean()
        unit = mean if fairness.unit == "share" else 1.0
        if len(means) == 1 or max(abs(m - mean) for m in means.values()) <= (fairness.delta + 1e-12) * unit:
            assert_allclose(kept.exposure[rows], sorted_exposure[rows], rtol=1e-12)
            assert all(value == 0 for value in policy.multipliers.values())
            assert policy.probabilities.min() > 0
        else:
            _assert_data_order(policy.rankings, scores[rows], groups[rows])


def _assert_data_order(rankings, scores, groups):
    for ranking in rankings:
        place = np.argsort(ranking)
        for i in range(len(scores)):
            for k in range(i + 1, len(scores)):
                if scores[i] == scores[k] and groups[i] == groups[k]:
                    assert place[i] < place[k]


def test_equal_items_of_a_list_that_changes_are_not_swapped():
    scores = np.repeat([3.0, 2.0, 1.0, 0.0], 5)
    groups = np.repeat(["a", "a", "b", "b"], 5)
    fairness = Fairness(delta=0.01)
    solved = fair_policies(scores, groups, [0, 20], fairness, seed=3)
    kept = keep_present_order(solved)
    with pytest.raises(AssertionError):
        _assert_data_order(solved[0].rankings, scores, groups)
    _assert_data_order(kept[0].rankings, scores, groups)
    assert_allclose(kept.group_exposure, solved.group_exposure)
    assert_allclose(kept.utility, solved.utility)


def test_too_many_ties_are_said_and_broken_within_delta(monkeypatch):
    monkeypatch.setattr(module, "MOST_CELLS", 100)
    scores, groups, offsets = np.zeros(40), np.arange(40) % 2, [0, 30, 35, 40]
    fairness = Fairness(delta=0.05)
    kept = keep_present_order(fair_policies(scores, groups, offsets, fairness))
    assert kept.solution.counts[0] <= 3
    assert kept.notes[0].startswith("3 of 3 lists hold delta as they are")
    assert verify(kept, scores, groups, fairness).ok


def test_a_discount_that_rises_somewhere_is_left_to_the_programme():
    scores, groups = [1.0, 0.0, 1.0, 0.5], list("abab")
    policies = fair_policies(
        scores, groups, [0, 4], Fairness(delta=1.0), discount=Discount(values=[0.1, 1.0, 0.5, 0.2])
    )
    assert keep_present_order(policies)[0].utility == pytest.approx(policies[0].utility)
