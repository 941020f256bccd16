"""The audit with each item on its own: what is counted, by hand, and what it says."""

import json

import numpy as np
import pandas as pd
import pytest

from spofr_core import Fairness, audit, fair_policies, load_sample, measure, read_dataset
from spofr_core.errors import ConfigError
from spofr_core.evaluation import audit_folder, compare, repair, selection_rates
from spofr_core.learning import PredictThenOptimize
from spofr_core.reporting import audit_card, audit_html, caveats, item_bins, plain_summary, verdict, verdict_details

V = 1 / np.array([2.0, 3.0, 4.0])
"""Exposure of three positions, mean 13/36."""


def lists(*extra) -> pd.DataFrame:
    rows = [("q1", "a", 3.0), ("q1", "b", 2.0), ("q1", "c", 1.0), ("q2", "x", 1.0), ("q2", "y", 1.0), ("alone", "z", 1)]
    return pd.DataFrame([*rows, *extra], columns=["qid", "doc", "score"])


def read(frame=None):
    return read_dataset(lists() if frame is None else frame, query="qid", item="doc", score="score", each_item=True)


SHARE = Fairness(delta=0.1, unit="share")


def test_items_are_counted_as_by_hand():
    summary = audit(read(), SHARE).summary
    assert summary["each_item"] is True
    assert summary["queries"] | {"ci": None} == {
        "total": 3,
        "applicable": 2,
        "not_applicable": 1,
        "cannot_fail": 0,
        "judged": 2,
        "fair": 1,  # q2: two items of equal score share their positions
        "share": 0.5,
        "ci": None,
        "small_only": 0,
    }
    items, mean = summary["items"], 13 / 36
    assert (items["total"], items["compared"], items["judged"]) == (6, 5, 5)
    assert (items["above"], items["below"]) == (1, 1)  # b has 1/3, 8 % less than the mean
    assert items["most"]["mean"] == pytest.approx((0.5 / mean + 1) / 2)
    assert items["least"]["mean"] == pytest.approx((0.25 / mean + 1) / 2)
    assert items["relative"]["0.5"] == pytest.approx(np.median([*(V / mean), 1, 1]))
    assert summary["groups"] == {}
    assert summary["exposure_ratio"] is None
    worst = summary["worst"][0]
    assert (worst["query"], worst["item"], worst["group"]) == ("q1", "a", None)
    assert worst["violation"] == pytest.approx(0.5 / mean - 1)


def test_the_table_has_a_row_per_item():
    frame = audit(read(), SHARE).queries
    assert frame["item"].tolist() == ["a", "b", "c", "x", "y", "z"]
    assert "group" not in frame
    assert frame["exposure"].tolist() == pytest.approx([*V, 5 / 12, 5 / 12, 1 / 2])
    assert frame["delta_fair"].tolist() == [False, True, False, True, True, True]


def test_the_words_are_about_items_and_lists():
    summary = audit(read(), SHARE).summary
    assert verdict(summary) == (
        "In 1 of 2 lists some item is more than 10 % away from its list's mean exposure. The most exposed item of a "
        "list gets on average 1.19 times the mean, the least exposed 0.846 times."
    )
    said = " ".join(verdict_details(summary))
    assert "Of 5 items in 2 lists, half get at most 1 times their list's mean exposure" in said
    assert "2 items exceed delta, 40.0 % of those in judged lists: 1 with too much exposure, 1 with too little." in said
    assert "Furthest off: query q1, where item a gets 38 % too much" in said
    assert "Any fixed order of a list exceeds any delta that forbids something" in said
    assert caveats(summary)[0].startswith("1 query with a single item: there is nobody to be fair between")
    plain = " ".join(plain_summary(summary))
    assert "3 ranked lists with 6 entries. Whoever" in plain
    assert "how far an entry may be from being seen as much as the list's average" in plain
    assert "group" not in f"{verdict(summary)} {said} {plain}".lower()


def test_lists_of_a_single_item_cannot_be_judged():
    summary = audit(read(lists()[5:]), SHARE).summary
    assert verdict(summary) == "The only list cannot be judged: it has a single item."
    assert item_bins(audit(read(lists()[5:]), SHARE)) is None


def test_a_delta_that_forbids_nothing_says_so():
    summary = audit(read(), SHARE.with_delta(5.0)).summary
    assert summary["queries"]["judged"] == 0
    assert verdict(summary).startswith("This delta forbids nothing here: no ranking of these lists could exceed it; ")


def test_every_fixed_order_exceeds_every_delta_that_forbids_something():
    """What `FIXED_ORDER` says: the first of a list gets the most that anybody could."""
    data = load_sample("hiring").test.with_each_item()
    table = audit(data, SHARE).table
    assert np.abs(table.worst_violation) == pytest.approx(table.largest_delta, rel=1e-9)


def test_the_repair_holds_delta_for_every_item():
    found = repair(read(), SHARE)
    after = found.after.summary
    assert after["queries"]["fair"] == after["queries"]["judged"] == 2
    assert after["items"]["above"] == after["items"]["below"] == 0
    assert after["items"]["most"]["mean"] <= 1.1 + 1e-9
    assert verdict(after).startswith("In all 2 lists no item is more than 10 % away from its list's mean exposure.")


def test_the_histogram_counts_every_compared_item():
    result = audit(load_sample("hiring").test.with_each_item(), SHARE)
    bins = item_bins(result)
    assert bins.items.sum() == result.summary["items"]["compared"]
    assert bins.low < bins.median < bins.high
    assert bins.within == pytest.approx((0.9, 1.1))
    assert item_bins(audit(read(), Fairness(delta=0.05))).within is None


def test_the_report_shows_items_and_no_groups():
    result = audit(read(lists(("q3", "<b>x", 1.0), ("q3", "=1+1", 2.0))), SHARE)
    page = audit_html(result, repaired=repair(read(), SHARE).after)
    assert "Exposure by item" in page
    assert "Exposure by group" not in page
    assert "Violations by group" not in page
    assert "<b>x" not in page
    assert ">item 1<" not in page
    assert "Exposure by item" not in audit_html(audit(load_sample("hiring").test, SHARE))
    assert "Times the list" in audit_card(result)


def test_a_folder_in_parts_gives_the_same_summary(tmp_path):
    rng = np.random.default_rng(5)
    sizes = rng.integers(1, 9, 40)
    frame = pd.DataFrame(
        {
            "qid": np.repeat(np.arange(40), sizes),
            "doc": np.concatenate([np.arange(size) for size in sizes]),
            "score": rng.integers(0, 5, sizes.sum()) / 4,
        }
    )
    frame.to_parquet(tmp_path / "lists.parquet")
    mapping = {"query": "qid", "item": "doc", "score": "score", "each_item": True}
    whole = audit(read_dataset(frame, **mapping), SHARE).summary
    parts = audit_folder(tmp_path, SHARE, mapping=mapping, rows_per_part=50).summary
    assert json.dumps(parts) == json.dumps(whole)


def test_measures_of_groups_say_why_they_have_no_value():
    found = measure(read(), ["NDKL", "Gini", "max_violation"])
    assert found.summary["measures"]["NDKL"]["undefined"] == {"it compares groups, and each item is on its own": 3}
    assert found.summary["measures"]["Gini"]["n"] > 0
    assert found.summary["measures"]["max_violation"]["mean"] == pytest.approx((0.5 - 13 / 36) / 2)
    assert not found.notes or "fewest" not in " ".join(found.notes)
    assert "pairwise" not in audit(read(), SHARE).summary["measures"]


def test_comparisons_leave_groups_out():
    data = load_sample("hiring").test.with_each_item()
    now, then = audit(data, SHARE), audit(data, SHARE, policies=fair_policies(data, SHARE.with_delta(0.5)))
    found = compare({"now": now, "then": then})
    assert found.summary["rivals"]["then"]["same_groups"] is True
    assert {row["kind"] for row in found.table.to_dict("records")} <= {"violation", "share", "measure"}


def test_slices_are_of_queries_and_not_of_items():
    frame = lists().assign(country=["de", "de", "de", "at", "at", "at"])
    data = read_dataset(frame, query="qid", item="doc", score="score", each_item=True, slices="country")
    result = audit(data, SHARE).with_slices(["country"])
    assert result.summary["slices"][0]["exposure"] is None
    with pytest.raises(ConfigError, match="Each item is on its own: there is no group 'item 1'"):
        result.query_values("exposure:item 1")


def test_rules_about_groups_and_training_are_refused_in_a_sentence():
    data = load_sample("hiring").test.with_each_item()
    with pytest.raises(ConfigError, match="Selection rates, and the rules of law that ask for them, compare groups"):
        selection_rates(data, k=5)
    with pytest.raises(ConfigError, match="A model is trained with groups"):
        PredictThenOptimize(SHARE).fit(data)
