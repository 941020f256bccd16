"""The appendix under the rules' own names: what it says, what it leaves unsaid on purpose, and that it is escaped."""

from __future__ import annotations

import pytest

from spofr_core import Fairness, audit, fair_policies, selection_rates
from spofr_core.data import load_hiring
from spofr_core.reporting import selected_sentence, selection_sentences, selection_tables
from tests.evaluation.lists import dataset
from tests.reporting.test_page import HOSTILE, read


@pytest.fixture(scope="module")
def hiring():
    return load_hiring()


def report_of(data, rates) -> str:
    return audit(data, Fairness(delta=0.05)).with_selection(rates).to_html()


def test_the_report_has_the_appendix_only_where_it_was_asked_for(hiring):
    few = hiring[:30]
    assert "Appendix" not in audit(few, Fairness(delta=0.05)).to_html()
    page = read(report_of(few, selection_rates(few, k=5)))
    for words in (
        "Appendix: selection rates under named rules",
        "Four-fifths rule of the EEOC Uniform Guidelines (29 CFR 1607.4 D)",
        "New York City Local Law 144, automated employment decision tools",
        "The rules set no threshold",
        "it says nothing about who is qualified",
        "It says nothing about exposure or delta",
        "says nothing about a single draw",
        "no legal advice",
        "are no independent draws",
        "Selected are the first 5 of each list",
    ):
        assert words in page.text, words


def test_the_table_has_the_numbers_of_the_summary(hiring):
    summary = selection_rates(hiring, k=5).summary
    ((title, table),) = selection_tables(summary["rules"][0])
    assert title == "By gender"
    assert table.head[0] == "gender"
    women = summary["rules"][0]["tables"][0]["categories"][0]
    assert (women["items"], women["selected"]) == (4761, 796.0)
    assert table.rows[0] == (
        "female",
        "below, and more than chance shows",
        "4,761",
        "500",
        "796",
        "16.7 %",  # 796 / 4761
        "15.7 % to 17.9 %",
        "0.557",  # (796 / 4761) / (1704 / 5679)
        "0.511 to 0.606",
    )


def test_the_finding_is_one_sentence_that_names_both_rates(hiring):
    rates = selection_rates(hiring, k=5)
    assert selection_sentences(rates.summary["rules"][0], "top") == [
        "By gender, 16.7 % of group female are selected, against 30.0 % of group male: impact ratio 0.557 (95 % CI "
        "0.511 to 0.606). This is below four fifths, and more than chance shows."
    ]
    scoring = selection_rates(hiring)
    assert (
        "39.4 % of group female score above the median"
        in selection_sentences(scoring.summary["rules"][0], "scoring")[0]
    )
    fifth = selection_rates(hiring[:5], k=5)
    assert (
        "in this sample, which chance may have brought about"
        in selection_sentences(fifth.summary["rules"][0], "top")[0]
    )


def test_a_finding_that_is_more_than_chance_goes_before_a_lower_ratio_that_may_be_chance():
    # "rare" has the lowest rate, but stands in 5 lists only; "b" is far below "a" in all 30.
    scores = [[1.0] * 6 + [0.0] * 2 + [1.0] * 2 + [0.0] * 6 + [0.0] * 5 * (q < 5) for q in range(30)]
    groups = [["a"] * 8 + ["b"] * 8 + ["rare"] * 5 * (q < 5) for q in range(30)]
    table = selection_rates(dataset(scores, groups), threshold=1).summary["rules"][0]
    (said,) = selection_sentences(table, "threshold")
    assert "of group b are selected" in said
    assert said.endswith("Of 2 rates that are compared with the highest, 2 are below, 1 by more than chance shows.")


def test_nothing_to_compare_is_said():
    table = selection_rates(dataset([[1, 2]] * 3, [["a", "a"]] * 3), k=1).summary["rules"][0]
    assert selection_sentences(table, "top") == ["By group, there are no two categories to compare."]


def test_how_items_are_selected_is_said_in_each_case(hiring):
    few = hiring[:10]
    policies = fair_policies(few.score, few.groups, few.offsets, Fairness(delta=0.02))
    said = [
        selected_sentence(selection_rates(few, **how).summary)
        for how in ({"k": 1}, {"k": 3, "policies": policies}, {"threshold": 4.25}, {})
    ]
    assert (
        said[0] == "Selected are the first of each list, those who tie share their chance: 10 of 189 items in 10 lists."
    )
    assert said[1].startswith("Selected are the first 3 of each list, in expectation over the lottery: 30 of 189")
    assert said[2].startswith("Selected is who has a score of 4.25 or more:")
    assert said[3].startswith("Counted is who scores above the median of all items,")


def test_hostile_names_are_text():
    data = dataset([[3, 2, 1]] * 12, [list(HOSTILE)] * 12)
    page = read(report_of(data, selection_rates(data, k=1)))
    assert {"script", "img"}.isdisjoint(tag for tag, _ in page.tags)
    assert HOSTILE[0] in page.text
