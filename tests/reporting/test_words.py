"""Sentences against summaries written by hand."""

from __future__ import annotations

import pytest

from spofr_core.evaluation import audit
from spofr_core.fairness import Fairness
from spofr_core.reporting import caveats, exposure_sentence, name_text, number, percent, verdict
from tests.evaluation.lists import dataset, random_dataset


def summary(**changes):
    base = {
        "delta": 0.05,
        "notion": "exposure",
        "queries": {
            "total": 1510,
            "applicable": 1500,
            "not_applicable": 10,
            "fair": 1432,
            "share": 1432 / 1500,
            "ci": [0.9428, 0.9640],
        },
        "worst": [{"query": "q811", "group": "B", "violation": 0.0921}],
        "groups": {"A": {"items": 900, "small": False}, "B": {"items": 12, "small": True}},
        "exposure_ratio": {"value": 0.8, "lowest": "B", "highest": "A"},
        "infeasible": {"count": 0, "queries": []},
        "excluded": {},
        "notes": [],
        "utility": None,
    }
    return base | changes


def test_the_verdict_is_one_sentence_with_n_interval_and_worst():
    assert verdict(summary()) == (
        "1,432 of 1,500 queries (95.5 %, 95 % CI 94.3-96.4) hold delta = 0.05; worst: q811, group B, 0.0921"
    )


def test_the_verdict_keeps_the_sign_of_the_worst_and_names_delta_per_group():
    said = verdict(summary(delta={"A": 0.1, "B": 0.05}, worst=[{"query": 7, "group": "B", "violation": -0.25}]))
    assert "hold delta by group (A 0.1, B 0.05); worst: 7, group B, -0.25" in said


def test_the_verdict_of_one_query_is_grammatical():
    said = verdict(audit(dataset([[3.0, 2.0]], ["ab"]), Fairness(delta=1.0)).summary)
    assert said.startswith("1 of 1 query (100.0 %, 95 % CI 20.7-100.0) holds delta = 1; worst: q0, group ")


def test_nothing_to_judge_is_said_instead_of_a_number():
    single = audit(dataset([[1.0, 2.0], [1.0]], ["aa", "a"]), Fairness(delta=0.1)).summary
    assert verdict(single) == "None of the 2 queries can be judged: each has items of a single group"
    assert exposure_sentence(single) is None
    empty = audit(random_dataset(0)[0:0], Fairness(delta=0.1)).summary
    assert verdict(empty) == "There are no queries to judge"


def test_the_exposure_sentence_names_who_gets_less():
    assert exposure_sentence(summary()) == "On average, B gets 20 % less exposure per item than A."
    even = summary(exposure_ratio={"value": 0.999, "lowest": "B", "highest": "A"})
    assert "the same exposure" in exposure_sentence(even)


def test_caveats_count_everything_that_the_verdict_leaves_out():
    said = caveats(
        summary(
            infeasible={"count": 3, "queries": [{"query": "q5", "min_delta": 0.071}]},
            excluded={"rows without a group": 17, "nothing": 0},
            notes=["Column 'qid' was taken as the query."],
        )
    )
    assert [line.split(" ")[0] for line in said] == ["10", "3", "17", "Group", "Column"]
    assert "needs at least 0.071" in said[1]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (1e-17, "0"), (-0.0921234, "-0.0921"), (0.05, "0.05"), (1234.5, "1,234"), (10.0, "10"), (None, "-"),
     (float("nan"), "-"), (0.000123456, "0.000123"), (100.0, "100"), (0.9999, "1")],
)  # fmt: skip
def test_numbers(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("share", "text"), [(1.0, "100.0 %"), (0.99999, "99.9 %"), (0.0, "0.0 %"), (0.00001, "0.1 %"), (0.9546, "95.5 %")]
)
def test_percentages_say_all_or_none_only_where_it_is_exact(share, text):
    assert percent(share) == text


def test_names_are_one_printable_line():
    assert name_text("a\nb\x1b[31mc\u202ed") == "a b [31mc d"
    assert len(name_text("x" * 500)) == 60
