"""What is said of a comparison: right for a reader without statistics, and never more than the numbers allow."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from spofr_core import Fairness, audit, compare, repair
from spofr_core.data import load_hiring, load_sample
from spofr_core.reporting import (
    TABLE_HEAD,
    audit_html,
    comparison_basis,
    comparison_cells,
    comparison_details,
    comparison_headline,
    comparison_html,
    comparison_notes,
    distributions,
)
from tests.evaluation.lists import dataset, random_dataset
from tests.reporting.test_page import HOSTILE, read

SHARE = Fairness(delta="10%")


@pytest.fixture(scope="module")
def hiring():
    """The hiring score with its repair."""
    fixed = repair(load_hiring(), SHARE)
    return compare({"now": fixed.before, "repair": fixed.after})


def test_the_headline_of_hiring_and_its_repair(hiring):
    assert comparison_headline(hiring.summary) == (
        "The repair gives group female 16 % more exposure than now (95 % CI 13 to 18). "
        "500 of 500 queries keep within the tolerance of 10 %, instead of 81 now. "
        "nDCG@10 is lower by 0.0018: no difference that 498 queries can show."
    )


def test_the_sentences_of_hiring_and_its_repair(hiring):
    said = comparison_details(hiring.summary)
    assert said[:5] == [
        "The repair gives group female 16 % more exposure than now (95 % CI 13 to 18).",
        "The repair gives group male 9.4 % less exposure than now (95 % CI 8.4 to 10).",
        "The exposure ratio (the group that gets least over the one that gets most) is higher by 0.2 "
        "(0.924 instead of 0.724; 95 % CI 0.18 to 0.22), which is better.",
        "The mean largest violation in a query is lower by 21 percentage points (9.2 % instead of 31 %; "
        "95 % CI 20 to 23), which is better.",
        "500 of 500 queries keep within the tolerance of 10 %, instead of 81 now (84 percentage points more; "
        "95 % CI 81 to 87), which is better.",
    ]
    # Both values with as many digits as it takes to tell them apart.
    assert said[5].startswith("DCG is lower by 0.0059 (4.848 instead of 4.854; 95 % CI -0.015 to 0.029): no difference")


def test_numbers_of_the_table_are_those_of_the_sentences(hiring):
    cells = comparison_cells(hiring.summary)
    assert all(len(row) == len(TABLE_HEAD) for row in cells)
    assert cells[0] == ("exposure of group female", "83 %", "96 %", "+16 %", "+13 to +18", "500", "0.0008", "different")
    assert cells[3][:5] == ("largest violation in a query", "31 %", "9.2 %", "-21 points", "-23 to -20")
    assert cells[6][-1] == "none shown"


def test_turned_round_the_words_turn_round(hiring):
    fixed = repair(load_sample("hiring").test, SHARE)
    back = comparison_headline(compare({"repair": fixed.after, "now": fixed.before}).summary)
    assert back.startswith("now gives group female ")
    assert "less exposure than the repair" in back
    there = comparison_headline(compare({"now": fixed.before, "repair": fixed.after}).summary)
    assert "more exposure than now" in there


def _changed(summary, **rows):
    """The summary with other numbers in the rows of these kinds."""
    other = copy.deepcopy(summary)
    for row in other["rivals"]["repair"]["rows"]:
        row.update(rows.get(row["kind"], {}))
    return other


def test_no_direction_is_claimed_that_the_interval_does_not_show(hiring):
    none = "no difference that 500 queries can show"
    quiet = {"lower": -0.01, "upper": 0.02, "verdict": none}
    summary = _changed(hiring.summary, group={**quiet, "difference": 0.004})
    assert comparison_headline(summary).startswith(
        f"The repair gives group female 0.4 % more exposure than now (95 % CI -1 to 2): {none}."
    )
    every = _changed(hiring.summary, **dict.fromkeys(("group", "ratio", "violation", "share", "measure"), quiet))
    assert comparison_headline(every) == f"Between the repair and now there is {none}."


def test_one_point_is_one_point(hiring):
    summary = _changed(hiring.summary, share={"difference": 0.01, "lower": 0.004, "upper": 0.02})
    assert "(1 percentage point more; 95 % CI 0.4 to 2)" in comparison_details(summary)[4]
    assert comparison_cells(summary)[4][3] == "+1 point"


def test_what_is_the_same_is_said_to_be_the_same():
    data = random_dataset(3)
    found = compare({"now": audit(data, SHARE), "copy": audit(data, SHARE)})
    assert comparison_headline(found.summary) == (
        "copy and now do not differ in anything that was compared, over 30 queries."
    )
    assert all("same" in sentence or "as now" in sentence for sentence in comparison_details(found.summary))


def test_other_deltas_and_groups_are_said_and_neither_is_better():
    data = load_sample("hiring").test
    strict = compare({"now": audit(data, SHARE), "strict": audit(data, Fairness(delta="5%"))})
    assert "queries hold delta = 5 %, now 13 hold delta = 10 %" in comparison_headline(strict.summary)
    assert "hold delta = 10 %" in comparison_headline(strict.summary)
    assert any("neither better nor worse" in note for note in comparison_notes(strict.summary))
    region = compare({"by gender": audit(data, SHARE), "by region": audit(load_sample("hiring", groups=4).test, SHARE)})
    assert comparison_headline(region.summary).startswith("With “by region”, ")
    assert (
        "The exposure of groups is not compared: the groups differ (female, male and east, north, south, west)."
        in comparison_notes(region.summary)
    )


def test_queries_without_a_partner_are_named():
    data = random_dataset(1, n_queries=12)
    found = compare({"now": audit(data, SHARE), "new": audit(data[:4], SHARE)})
    assert comparison_notes(found.summary)[:2] == [
        "4 queries were compared, each with itself; left out: 8 only now has (q4, q5, q6, ...).",
        "So few queries make rough intervals.",
    ]


def test_a_group_without_any_exposure_before_has_no_percentage():
    lists = [["a", "b", "b"]] * 12
    top = Fairness(delta=0.1, position_bias=[1.0, 0.0, 0.0])
    now, new = dataset([[1, 3, 2]] * 12, lists), dataset([[3, 2, 1]] * 12, lists)
    found = compare({"now": audit(now, top), "new": audit(new, top)})
    row = found.summary["rivals"]["new"]["rows"][0]
    assert (row["before"], row["difference"], row["p"]) == (0.0, None, None)
    comparison_headline(found.summary)
    found.to_html()


def test_the_basis_says_how_many_were_tested(hiring):
    assert comparison_basis(hiring.summary)[0].startswith(
        "8 differences were tested together (sign flips, Holm at 5 %)."
    )


def test_distributions_count_every_query_once():
    rng = np.random.default_rng(0)
    before, after = rng.random(100), rng.random(100) + 0.5
    before[3], after[7] = np.nan, np.nan
    found = distributions(before, after)
    assert found.before.sum() == found.after.sum() == 98
    both = ~np.isnan(before) & ~np.isnan(after)
    np.testing.assert_array_equal(found.after, np.histogram(after[both], found.edges)[0])
    assert distributions(np.ones(5), np.ones(5)).before.sum() == 5


def test_the_page_says_what_the_summary_says(hiring):
    page = read(hiring.to_html(auditor="A. Person"))
    for said in (comparison_headline(hiring.summary), *comparison_details(hiring.summary), "A. Person", "S0044"):
        assert said in page.text
    assert not any(tag == "script" for tag, _ in page.tags)
    assert not any(attributes.get("src") or attributes.get("href") for _, attributes in page.tags)
    assert page.text.count("Queries by ") >= 3


def test_hostile_names_stay_text_and_no_placeholder_is_left():
    data = random_dataset(3, n_groups=3).with_groups(random_dataset(3, n_groups=3).groups, HOSTILE)
    other = data.with_scores(np.random.default_rng(1).random(data.n_items))
    found = compare({HOSTILE[0]: audit(data, SHARE), HOSTILE[1]: audit(other, SHARE)})
    page = read(comparison_html(found))
    assert {tag for tag, _ in page.tags}.isdisjoint({"script", "img"})
    assert HOSTILE[0] in page.text


def test_several_rivals_have_a_section_each():
    data = random_dataset(3)
    other = data.with_scores(np.random.default_rng(1).random(data.n_items))
    found = compare({"now": audit(data, SHARE), "one": audit(other, SHARE), "two": audit(data, SHARE)})
    page = read(comparison_html(found))
    assert "2 rankings beside now" in page.text
    assert "one compared with now" in page.text
    assert "two compared with now" in page.text


def test_the_report_of_an_audit_takes_a_comparison(hiring):
    result = audit(load_hiring(), SHARE)
    assert "Compared with other rankings" not in audit_html(result)
    page = read(audit_html(result, comparison=hiring.summary))
    assert "Compared with other rankings" in page.text
    assert comparison_headline(hiring.summary) in page.text
