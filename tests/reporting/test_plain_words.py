"""The sentences for readers without statistics, against summaries written by hand."""

from __future__ import annotations

import re

import pytest

from spofr_core.evaluation import audit, repair
from spofr_core.fairness import Fairness
from spofr_core.reporting import plain_summary, unbroken
from tests.evaluation.lists import dataset, random_dataset
from tests.reporting.test_words import group, queries, ratio, summary

LOOKED = (
    "What was looked at: 500 ranked lists with 1,800 entries of 2 groups. "
    "Whoever stands higher in a list is seen more; being seen is called exposure."
)
CANNOT = "What this cannot say: why there is a difference, and whether there are good reasons for it."


def test_two_groups_and_a_repair():
    assert plain_summary(summary(), summary(queries=queries(fair=500))) == [
        LOOKED,
        "Who is seen more: for every 100 times that an entry of men is seen, one of women is seen about 72 times.",
        "List by list: 174 of the 500 lists that could break the limit of 10 % do. "
        "The limit says how far a group may be from being seen as much as the list's average.",
        "What can be done: the same entries can be put into orders, drawn by lot, with which every list keeps the "
        "limit.",
        CANNOT,
    ]


@pytest.mark.parametrize(
    ("changes", "place", "said"),
    [
        (
            {"exposure_ratio": ratio("women", "men", 0.97, [0.93, 1.01])},
            1,
            "Who is seen more: on average no group stands out; what difference there is may be chance.",
        ),
        (
            {"exposure_ratio": ratio("women", "men", 0.997, [0.995, 0.999])},
            1,
            "Who is seen more: on average an entry of women is seen about as often as one of men.",
        ),
        ({"exposure_ratio": None}, 1, "Who is seen more: there are not two groups that are large enough to compare."),
        (
            {"queries": queries(judged=0, cannot_fail=500, fair=0)},
            2,
            "List by list: the limit that was set is so wide that no order of these lists could break it. "
            "It says nothing here.",
        ),
        (
            {"queries": queries(fair=500), "delta": 0.05, "unit": "absolute"},
            2,
            "List by list: all 500 lists that could break the limit of 0.05 keep it. "
            "The limit says how far a group may be from being seen as much as the list's average.",
        ),
        (
            {"queries": queries(judged=1, fair=0), "notion": "gap"},
            2,
            "List by list: the one list that could break the limit of 10 % does. "
            "The limit says how much more one group may be seen than the other.",
        ),
        (
            {"queries": queries(applicable=0)},
            1,
            "No list has entries of two groups, so there is nothing to compare.",
        ),
        (
            {"groups": {"women": group(), "men": group(), "x": group(small=True)}},
            3,
            "Too few to say anything about: group x.",
        ),
    ],
)
def test_other_situations(changes, place, said):
    assert plain_summary(summary(**changes))[place] == said


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (queries(fair=500), queries(fair=500), "What can be done: nothing has to change."),
        (
            queries(),
            queries(fair=498),
            "What can be done: the same entries can be put into orders, drawn by lot, with which 498 of 500 lists keep "
            "the limit; the others cannot.",
        ),
    ],
)
def test_what_can_be_done(before, after, said):
    assert plain_summary(summary(queries=before), summary(queries=after))[3] == said


@pytest.mark.parametrize("data", [random_dataset(1), dataset([[2.0, 1.0]], ["ab"]), dataset([[1.0]], ["a"])])
def test_there_is_no_jargon(data):
    found = repair(data, Fairness(delta=0.05))
    told = " ".join(plain_summary(audit(data, Fairness(delta=0.05)).summary, found.after.summary))
    assert not re.search(r"\bCI\b|interval|delta|DCG|violation|bootstrap|95 %|100\.0", told)


def test_no_line_of_a_screen_ends_between_a_number_and_its_percent():
    assert unbroken("28 % less; 95 % CI 13 to 18 %, a % sign, 100 x") == (
        "28\xa0% less; 95\xa0% CI 13 to 18\xa0%, a % sign, 100 x"
    )
