"""Who is selected, at which rate, and how the rates compare: by hand, by counting, and under the names of the rules."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spofr_core import ConfigError, DataError, Fairness, audit, fair_policies, read_dataset, selection_rates
from spofr_core.data.samples.hiring import load_hiring
from spofr_core.evaluation import RULES, folder_selection_rates
from spofr_core.evaluation.intervals import RatiosOfSums, wilson
from spofr_core.evaluation.selection.impact_ratios import CategoryRates, judge_rates
from spofr_core.evaluation.selection.selected import Selection
from spofr_core.policy import SortedPolicies
from tests.evaluation.lists import dataset, random_dataset

GUIDELINES = {"white": 60, "american indian": 45, "hispanic": 48, "black": 51}
"""Selected of 100 each, with what the agencies' Questions and Answers say about them: ratios 75 %, 80 % and 85 %."""


def rows_of(rates, rule="four-fifths", table=0):
    return {row.category: row for row in [t for t in rates.tables if t.rule.name == rule][table].rows}


def passing(numbers: dict[str, int], *, of: int = 100, lists: int = 20):
    """So many of each group with a score of 1, the others with 0, dealt out to the lists in turn."""
    scores, groups = [[] for _ in range(lists)], [[] for _ in range(lists)]
    for name, passed in numbers.items():
        for place in range(of):
            scores[place % lists].append(float(place < passed))
            groups[place % lists].append(name)
    return dataset(scores, groups, names=tuple(numbers))


def test_the_example_of_the_guidelines_comes_out_as_they_say():
    found = rows_of(selection_rates(passing(GUIDELINES), threshold=1))
    assert {name: round(row.impact_ratio, 12) for name, row in found.items()} == {
        "white": 1.0,
        "american indian": 0.75,
        "hispanic": 0.8,
        "black": 0.85,
    }
    assert {name: row.below for name, row in found.items()} == {
        "white": None,
        "american indian": True,
        "hispanic": False,
        "black": False,
    }
    assert found["white"].verdict == "highest rate"
    assert [(row.items, row.selected, row.share, row.lists) for row in found.values()][1] == (100, 45.0, 0.25, 20)


def test_ties_share_their_chance_of_standing_among_the_first():
    # In the first list one is sure of a place and two tie for the other; the second list is shorter than k.
    data = dataset([[3, 2, 2, 1], [5.0]], [["a", "b", "a", "b"], ["b"]])
    assert Selection(k=2).chances(data).tolist() == [1.0, 0.5, 0.5, 0.0, 1.0]
    found = rows_of(selection_rates(data, k=2))
    assert (found["a"].selected, found["a"].items, found["a"].rate) == (1.5, 2, 0.75)
    assert (found["b"].selected, found["b"].items, found["b"].rate) == (1.5, 3, 0.5)
    assert found["b"].impact_ratio == pytest.approx(2 / 3)


def test_a_policy_selects_with_the_probability_of_its_first_positions():
    data = load_hiring()[:12]
    policies = fair_policies(data.score, data.groups, data.offsets, Fairness(delta=0.02))
    rates = selection_rates(data, k=4, policies=policies)
    by_hand = {"female": 0.0, "male": 0.0}
    for policy, part in zip(policies, data, strict=True):
        for item, group in enumerate(part.groups):
            by_hand[data.group_names[group]] += policy.matrix[item, :4].sum()
    assert {name: row.selected for name, row in rows_of(rates).items()} == pytest.approx(by_hand)
    assert any("expected numbers" in note for note in rates.notes)
    assert rates.summary["expected"] is True


def test_the_counts_are_those_of_plain_pandas():
    data = load_hiring(["gender", "region"])
    tied = data.to_frame().groupby("query_id")["score"].agg(lambda scores: scores.duplicated().any())
    data = data[~tied.loc[data.query_ids].to_numpy()]  # without ties head() is the top
    frame = data.to_frame()
    frame[["gender", "region"]] = frame["group"].str.split(" & ", expand=True)
    first = frame.sort_values("score", ascending=False, kind="stable").groupby("query_id").head(7)
    rates = selection_rates(data, k=7)
    for title, column in (("gender", "gender"), ("region", "region"), ("gender & region", "group")):
        share = first[column].value_counts() / frame[column].value_counts()
        shown = rates.frame[(rates.frame["rule"] == "local-law-144") & (rates.frame["table"] == title)]
        shown = shown.set_index("category")
        assert shown["rate"].to_dict() == pytest.approx(share.to_dict())
        assert shown["impact_ratio"].to_dict() == pytest.approx((share / share.max()).to_dict())
        assert shown["items"].to_dict() == frame[column].value_counts().to_dict()
        assert shown["lists"].to_dict() == frame.groupby(column)["query_id"].nunique().to_dict()


def test_without_a_selection_the_scoring_rate_counts_who_is_above_the_median_of_the_whole_sample():
    data = dataset([[1, 2, 3], [4, 5]], [["a", "b", "a"], ["b", "b"]])
    rates = selection_rates(data)
    assert rates.summary["median"] == 3.0
    assert {name: row.rate for name, row in rows_of(rates, "local-law-144").items()} == {"a": 0.0, "b": 2 / 3}
    assert [rule.name for rule in rates.rules] == ["local-law-144"]  # the Guidelines speak of selections only


@given(seed=st.integers(0, 10_000), k=st.integers(1, 8))
def test_every_list_selects_k_or_everybody_and_columns_add_up(seed, k):
    data = random_dataset(seed, n_queries=8)
    rates = selection_rates(data, k=k, rules=["four-fifths"])
    assert rates.counts.selected.sum(axis=1) == pytest.approx(np.minimum(data.list_lengths, k))
    for row in rates.tables[0].rows:
        assert 0 <= row.rate <= 1 + 1e-12
        assert row.selected == pytest.approx(row.rate * row.items)
        if row.rate_ci:
            assert -1e-12 <= row.rate_ci[0] <= row.rate_ci[1] <= 1 + 1e-12
    assert sum(row.items for row in rates.tables[0].rows) == data.n_items
    again = selection_rates(data, k=k, policies=SortedPolicies(data.score, data.offsets))
    assert again.counts.selected == pytest.approx(rates.counts.selected)


def test_short_and_one_sided_lists_are_counted_and_said():
    data = dataset([[1, 2, 3], [1, 2], [3, 4, 5]], [["a", "a", "a"], ["a", "b"], ["a", "b", "b"]])
    rates = selection_rates(data, k=2)
    assert (rates.short_lists, rates.one_group_lists) == (1, 1)
    assert any(note.startswith("1 of 3 lists have 2 items or fewer: everybody") for note in rates.notes)
    assert any(note.startswith("1 of 3 lists have items of a single group") for note in rates.notes)
    whole = selection_rates(data, k=3)
    assert any("so everybody is selected: k says nothing" in note for note in whole.notes)
    assert {row.rate for row in rows_of(whole).values()} == {1.0}


def test_small_categories_are_listed_but_cannot_be_the_highest():
    # One item of "c", always first: a rate of 100 %, and 1 of 101 items.
    lists = [[5.0, 4.0, 3.0, 2.0, 1.0]] * 20
    groups = [["a", "b", "a", "b", "b"]] * 20
    data = dataset([[9.0, *lists[0]], *lists[1:]], [["c", *groups[0]], *groups[1:]])
    rates = selection_rates(data, k=2)
    guidelines, local_law = rows_of(rates), rows_of(rates, "local-law-144")
    for found in (guidelines, local_law):
        assert found["c"].rate == 1.0
        assert found["c"].items == 1
        assert found["c"].below is None
        assert found["c"].verdict == "too small to be compared"
        assert found["a"].verdict == "highest rate"
    assert guidelines["c"].impact_ratio == pytest.approx(1 / 0.5)
    assert local_law["c"].impact_ratio is None
    kept = replace(RULES["local-law-144"], name="kept", smallest_share=0.0)
    assert rows_of(selection_rates(data, k=2, rules=[kept]), "kept")["c"].verdict == "highest rate"


def test_unknown_categories_are_counted_and_never_compared(tmp_path):
    frame = pd.DataFrame(
        {
            "q": [1, 1, 1, 1, 2, 2, 2, 2],
            "item": range(8),
            "sex": ["f", "m", None, "m", "f", None, "m", "f"],
            "score": [1, 2, 9, 4, 1, 9, 3, 2],
        }
    )
    roles = {"query": "q", "item": "item", "group": "sex", "score": "score"}
    own = selection_rates(read_dataset(frame, missing="own_group", **roles), k=1)
    assert own.unknown == 2
    assert set(rows_of(own)) == {"f", "m"}
    assert {row.selected for row in rows_of(own).values()} == {0.0}  # the unknown stand first in both lists
    for missing in ("keep", "exclude"):
        placed = selection_rates(read_dataset(frame, missing=missing, **roles), k=1)
        assert placed.unknown == 2
        assert {name: row.selected for name, row in rows_of(placed).items()} == {"f": 0.0, "m": 0.0}
        assert placed.short_lists == 0
    out = selection_rates(read_dataset(frame, drop_rows=True, **roles), k=1)
    assert out.unknown == 2
    assert rows_of(out)["m"].rate == pytest.approx(2 / 3)


def test_the_interval_is_over_lists_and_wider_than_one_over_items_where_lists_go_together():
    # In half of the lists all of both groups are selected, in the others hardly any: 30 items say no more than 3.
    rng = np.random.default_rng(1)
    scores = [list((rng.random(40) < (0.9 if q % 2 else 0.1)).astype(float)) for q in range(40)]
    rates = selection_rates(dataset(scores, [["a", "b"] * 20] * 40), threshold=1)
    row = rows_of(rates)["a"]
    by_items = wilson(int(row.selected), row.items)
    assert row.rate_ci[1] - row.rate_ci[0] > 3 * (by_items[1] - by_items[0])
    same = RatiosOfSums(rates.counts.selected, rates.counts.items, seed=0)
    assert row.rate_ci == pytest.approx(same.interval(0))


def test_the_interval_of_a_ratio_allows_for_the_highest_having_been_picked():
    counts = passing(GUIDELINES, lists=25)
    rates = selection_rates(counts, threshold=1)
    found = RatiosOfSums(rates.counts.selected, rates.counts.items, seed=0)
    at = {name: place for place, name in enumerate(GUIDELINES)}
    expected = found.quotient_interval(at["black"], at["white"], confidence=1 - 0.05 / 3)
    assert rows_of(rates)["black"].ratio_ci == pytest.approx(expected)
    two = rows_of(selection_rates(counts.regrouped(leave_out=["hispanic", "american indian"]), threshold=1))
    narrow, wide = two["black"].ratio_ci, rows_of(rates)["black"].ratio_ci
    assert wide[1] - wide[0] > narrow[1] - narrow[0]


def test_nobody_selected_is_not_a_certainty():
    # None of 12 in 12 lists: a rate of up to a quarter would often look like that.
    items = np.tile([1.0, 10.0], (12, 1))
    selected = np.column_stack([np.zeros(12), np.tile([4.0, 6.0], 6)])
    rates = CategoryRates(selected, items, seed=0)
    assert rates.interval(0) == pytest.approx(wilson(0, 12))
    rows = judge_rates(("a", "b"), rates, RULES["four-fifths"])
    assert rows[0].impact_ratio == 0.0
    assert rows[0].verdict == "below, and more than chance shows"  # at most 0.24 / 0.44
    few = judge_rates(("a", "b"), CategoryRates(selected[:3], items[:3], seed=0), RULES["four-fifths"])
    assert few[0].verdict == "below in this sample"


def test_below_is_more_than_chance_shows_only_where_the_whole_interval_and_enough_lists_say_so():
    clear, close = {"a": 60, "b": 20}, {"a": 60, "b": 47}
    assert rows_of(selection_rates(passing(clear), threshold=1))["b"].sure
    assert not rows_of(selection_rates(passing(clear, lists=5), threshold=1))["b"].sure
    near = rows_of(selection_rates(passing(close), threshold=1))["b"]
    assert (near.verdict, near.sure, near.below) == ("below in this sample", False, True)
    assert near.ratio_ci[0] < 0.8 < near.ratio_ci[1]


def test_where_the_true_ratio_is_four_fifths_few_samples_claim_less():
    rng, claims = np.random.default_rng(0), 0
    for trial in range(120):
        items = rng.poisson(4, (30, 2)).astype(float)
        chance = np.clip(rng.beta(2, 2, (30, 1)) * [0.6, 0.48], 0, 1)
        selected = rng.binomial(items.astype(int), chance).astype(float)
        rows = judge_rates(("a", "b"), CategoryRates(selected, items, seed=trial), RULES["four-fifths"])
        claims += any(row.sure for row in rows)
    assert claims <= 8  # 3 are to be expected at 2.5 %; 8 or fewer come in 99 % of such studies


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"k": 0}, "'k' is 0; select the first 1 or more"),
        ({"k": True}, "'k' is True"),
        ({"k": 2.5}, "'k' is 2.5"),
        ({"k": 3, "threshold": 1.0}, "select by position or by score"),
        ({"threshold": float("nan")}, "'threshold' is nan"),
        ({"threshold": "high"}, "'threshold' is 'high'"),
        ({"k": 3, "rules": ["five-sixths"]}, "'rule' must be one of"),
        ({"rules": ["four-fifths"]}, "None of the rules ['four-fifths'] speaks of a selection by a score above"),
    ],
)
def test_settings_that_make_no_sense_are_refused_in_one_sentence(how, says):
    with pytest.raises(ConfigError) as refused:
        selection_rates(dataset([[1, 2]], [["a", "b"]]), **how)
    assert says in str(refused.value)


def test_data_that_nobody_can_be_selected_from_is_refused():
    data = dataset([[-1, -2, -3]], [["a", "b", "a"]])
    with pytest.raises(DataError, match=r"run from -3 to -1 \(ranks are kept with a minus sign\)"):
        selection_rates(data, threshold=0.7)
    with pytest.raises(DataError, match="no score or rank column"):
        selection_rates(data.replace(score=None), k=1)
    with pytest.raises(DataError, match="must be a RankingDataset, got list"):
        selection_rates([1, 2], k=1)
    policies = SortedPolicies(np.arange(4.0), np.array([0, 2, 4]))
    with pytest.raises(DataError, match="of 2 lists but the data has 1"):
        selection_rates(data, k=1, policies=policies)
    with pytest.raises(ConfigError, match="does not depend on where they stand"):
        selection_rates(data, policies=SortedPolicies(data.score, data.offsets))


def test_ranks_are_said_to_be_ranks_where_their_size_counts():
    data = dataset([[-1, -2, -3]], [["a", "b", "a"]])
    assert any("look like ranks" in note for note in selection_rates(data, threshold=-2).notes)
    assert not any("look like ranks" in note for note in selection_rates(data, k=1).notes)


def test_a_folder_in_parts_gives_the_numbers_of_one_piece(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    frame = load_hiring(["gender", "region"])[:60].to_frame()[["query_id", "item_id", "group", "score"]]
    frame[["gender", "region"]] = frame.pop("group").str.split(" & ", expand=True)
    for part in range(3):
        frame[part::3].to_parquet(folder / f"{part}.parquet")  # the lists are scattered over the files
    mapping = {"query": "query_id", "item": "item_id", "group": ["gender", "region"], "score": "score"}
    streamed = folder_selection_rates(folder, k=3, mapping=mapping, rows_per_part=200)
    whole = selection_rates(read_dataset(folder, **mapping), k=3)
    assert json.dumps(streamed.summary) == json.dumps(whole.summary)
    with pytest.raises(ConfigError, match="known only when all of it has been read"):
        folder_selection_rates(folder, mapping=mapping)


def test_an_audit_speaks_of_selection_only_where_it_was_asked_for():
    data = load_hiring()[:40]
    result = audit(data, Fairness(delta=0.05))
    assert "selection" not in result.summary
    rates = selection_rates(data, k=5)
    asked = result.with_selection(rates)
    assert asked.summary["selection"] == rates.summary
    assert {name: value for name, value in asked.summary.items() if name != "selection"} == result.summary
    assert json.loads(asked.to_json())["selection"]["rules"][0]["title"].startswith("Four-fifths rule")


def test_the_table_of_a_spreadsheet_runs_nothing(tmp_path):
    data = dataset([[2, 1]] * 2, [["=1+1", "<b>"]] * 2)
    selection_rates(data, k=1).to_csv(tmp_path / "rates.csv")
    assert "'=1+1" in (tmp_path / "rates.csv").read_text("utf-8")


def test_a_rule_of_ones_own_is_found_once_it_is_registered():
    rule = replace(RULES["four-fifths"], name="house-rule", title="Rule of the house", smallest_share=0.3)
    RULES.register(rule)
    try:
        rates = selection_rates(passing({"a": 60, "b": 20}), threshold=1)
        assert [table.rule.name for table in rates.tables] == ["four-fifths", "local-law-144", "house-rule"]
        assert rates.summary["rules"][-1]["title"] == "Rule of the house"
    finally:
        RULES.unregister("house-rule")
