"""Every word once, and its example by hand."""

from __future__ import annotations

import re

import pytest

from spofr_core.fairness import Fairness
from spofr_core.policy import verify
from spofr_core.reporting import TERMS, WorkedList, meaning


@pytest.fixture(scope="module")
def worked():
    return WorkedList()


def example(worked, name):
    return next(term.example(worked) for term in TERMS if term.name == name)


def test_every_word_is_explained_once(worked):
    names = [term.name for term in TERMS]
    assert len(names) == len(set(names))
    needed = {"query", "list", "group", "exposure", "violation", "delta", "share", "notion", "policy", "certificate",
              "confidence interval", "small group", "cannot fail"}  # fmt: skip
    assert needed <= set(names)
    for term in TERMS:
        for sentence in (term.meaning, term.example(worked)):
            assert re.fullmatch(r"[A-Z].*\.", sentence), sentence
    assert meaning("delta").startswith("The tolerance")


def test_the_numbers_of_the_list_are_those_by_hand(worked):
    # 1/2, 1/3, 1/4, 1/5, 1/6 add up to 1.45. Men stand at 1, 2 and 4, women at 3 and 5.
    men, women, mean = (1 / 2 + 1 / 3 + 1 / 5) / 3, (1 / 4 + 1 / 6) / 2, 1.45 / 5
    assert worked.mean == pytest.approx(mean)
    assert [worked.group_exposure(group) for group in ("men", "women")] == pytest.approx([men, women])
    assert worked.violations(worked.fairness) == pytest.approx({"men": men / mean - 1, "women": women / mean - 1})
    assert worked.violations(Fairness(delta=0)) == pytest.approx({"men": men - mean, "women": women - mean})
    # The women are furthest off at the two first positions, or at the two last; the first are further.
    assert worked.largest_delta == pytest.approx((1 / 2 + 1 / 3) / 2 / mean - 1)


def test_the_sentences_say_these_numbers(worked):
    assert example(worked, "exposure") == "Abe, at the top, gets 0.5; Eva, at the end, 0.167."
    assert example(worked, "mean exposure") == (
        "All five items get 0.29 on average, the men 0.344 and the women 0.208."
    )
    assert example(worked, "violation") == "The men get 19 % too much and the women get 28 % too little."
    assert example(worked, "delta") == "With a largest violation of 28 %, this list exceeds a delta of 10 %."
    assert example(worked, "share") == ("The women are 0.0817 of exposure away from the mean of 0.29: 28 % of it.")
    assert example(worked, "cannot fail") == "Our list cannot fail at a delta of 44 % or more."
    assert example(worked, "repair") == "It takes the largest violation from 28 % to 10 %."


def test_the_lottery_of_the_example_is_proved(worked):
    assert verify(worked.policy, worked.scores, worked.groups, worked.fairness).ok
    assert worked.left == pytest.approx(0.1)
    shares = [int(share) for share in re.findall(r"in (\d+) %", example(worked, "policy"))]
    assert shares == [round(100 * share) for share in worked.policy.probabilities]
