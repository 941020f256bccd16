"""An audit where groups are not known: three verdicts and ranges, against every labelling of the lists."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spofr_core.data import RankingDataset
from spofr_core.evaluation import (
    QueryTable,
    SmallGroups,
    audit,
    audit_folder,
    compare,
    measure_exposure,
    repair,
    selection_rates,
)
from spofr_core.evaluation.measurement import measured_table
from spofr_core.fairness import Discount, Fairness
from spofr_core.reporting import caveats, mark_at, name_text, percent
from tests.evaluation.lists import dataset, random_dataset

MERITS = {"a": 1.0, "b": 0.5, "c": 2.0}


def with_unknown(data: RankingDataset, seed: int, share: float = 0.3, most: int = 4) -> RankingDataset:
    """The same data with unknown items, few in each list, and a few of no group."""
    rng = np.random.default_rng(seed)
    codes = np.where(rng.random(data.n_items) < share, -1, data.groups)
    for first, last in pairwise(data.offsets):
        codes[first:last][np.flatnonzero(codes[first:last] == -1)[most:]] = 0
    return data.replace(groups=np.where((codes >= 0) & (rng.random(data.n_items) < 0.1), -2, codes))


def labelled(data: RankingDataset) -> RankingDataset | None:
    """A list with each of its labellings, as a list each."""
    places = np.flatnonzero(data.unknown)
    lists = []
    for labels in product(range(data.n_groups), repeat=len(places)):
        codes = data.groups.copy()
        codes[places] = labels
        lists.append(codes)
    several = data[np.zeros(len(lists), dtype=np.int64)]
    return several.replace(groups=np.concatenate(lists), query_ids=np.arange(len(lists)))


def expected(data: RankingDataset, fairness: Fairness) -> str:
    """What all labellings of a list say about it."""
    said = set(audit(labelled(data), fairness).table.verdicts) - {"not applicable"}
    if not said:
        return "not applicable"
    if said == {"cannot fail"}:
        return "cannot fail"
    if "breaks" not in said:
        return "holds"
    return "breaks" if said == {"breaks"} else "cannot be told"


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 100_000),
    n_groups=st.integers(2, 3),
    notion=st.sampled_from(["exposure", "merit"]),
    unit=st.sampled_from(["absolute", "share"]),
    cutoff=st.sampled_from([None, 3]),
    per_group=st.booleans(),
)
def test_verdicts_are_those_of_all_labellings(seed, n_groups, notion, unit, cutoff, per_group):
    rng = np.random.default_rng(seed)
    data = with_unknown(random_dataset(seed, n_queries=8, n_groups=n_groups), seed)
    names = data.group_names
    deltas = rng.uniform(0, 0.4, n_groups).tolist()
    fairness = Fairness(
        delta=dict(zip(names, deltas, strict=True)) if per_group else deltas[0],
        notion=notion,
        unit=unit,
        merits={name: MERITS[name] for name in names} if notion == "merit" else None,
        position_bias={} if cutoff is None else {"cutoff": cutoff},
    )
    result = audit(data, fairness)
    said = result.table.verdicts.tolist()
    wanted = [expected(data[q], fairness) for q in range(len(data))]
    if notion == "merit" and per_group:
        # Which lists cannot fail is known there from the smallest delta alone: the others then hold.
        said = ["holds" if verdict == "cannot fail" else verdict for verdict in said]
        wanted = ["holds" if verdict == "cannot fail" else verdict for verdict in wanted]
    assert said == wanted
    unknown = result.summary["unknown"]
    judged = result.summary["queries"]["judged"]
    assert unknown["fair"] + unknown["broken"] + unknown["undecided"] == judged
    assert unknown["items"] == data.unknown.sum()


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 100_000))
def test_ranges_of_means_are_those_of_all_labellings(seed):
    """Few unknown items in all, so that all labellings of the whole data can be audited."""
    data = random_dataset(seed, n_queries=6, n_groups=2)
    codes = data.groups.copy()
    codes[np.random.default_rng(seed).choice(len(codes), min(5, len(codes)), replace=False)] = -1
    data = data.replace(groups=codes)
    result = audit(data, Fairness(delta=0.1))
    compared = data[np.flatnonzero(result.table.applicable)] if result.table.applicable.any() else None
    if compared is None:
        return
    found = {name: {"exposure": [], "relative": []} for name in data.group_names}
    violations = []
    for labels in product(range(2), repeat=int(compared.unknown.sum())):
        codes = compared.groups.copy()
        codes[compared.unknown] = labels
        summary = audit(compared.replace(groups=codes), Fairness(delta=0.1)).summary
        violations.append(summary["violation"]["mean"])
        for name, group in summary["groups"].items():
            found[name]["exposure"].append(group["exposure_mean"])
            found[name]["relative"].append(group["relative_mean"])
    unknown = result.summary.get("unknown")
    for name in data.group_names:
        for what in ("exposure", "relative"):
            np.testing.assert_allclose(
                unknown["groups"][name][what], [min(found[name][what]), max(found[name][what])], atol=1e-12
            )
    np.testing.assert_allclose(unknown["violation"], [min(violations), max(violations)], atol=1e-8)


def test_first_places_of_unknown_people_are_not_counted_as_nobodys():
    """40 lists whose first item has no group: what second place is worth does not make up for it."""
    data = dataset([[4, 3, 2, 1]] * 40, ["xaba"] * 40, names=("a", "b", "x"))
    data = data.replace(groups=np.where(data.groups == 2, -1, data.groups), group_names=("a", "b"))
    result = audit(data, Fairness(delta="10%"))
    unknown = result.summary["unknown"]
    # e = 77/240; b is at 1/4 if the first is an a, at 3/8 if it is a b: 22 % below, 17 % above.
    assert (unknown["fair"], unknown["broken"], unknown["undecided"]) == (0, 40, 0)
    looser = result.measurement.judge(0.20).summary
    assert (looser["unknown"]["fair"], looser["unknown"]["undecided"]) == (0, 40)
    assert looser["queries"]["ci"][0] < 0.01
    assert looser["queries"]["ci"][1] > 0.99
    assert result.measurement.judge(0.30).summary["unknown"]["fair"] == 40


def test_a_comparison_counts_what_surely_holds():
    data = dataset([[4, 3, 2, 1]] * 40, ["xaba"] * 40, names=("a", "b", "x"))
    data = data.replace(groups=np.where(data.groups == 2, -1, data.groups), group_names=("a", "b"))
    now = audit(data, Fairness(delta="20%"))
    new = audit(data.with_scores(np.tile([1, 4, 3, 2], 40)), Fairness(delta="20%"))
    found = compare({"now": now, "new": new})
    row = found.table[found.table["name"] == "fair"].iloc[0]
    sure = [int((result.table.fair & result.table.judged).sum()) for result in (now, new)]
    assert [row["before"] * 40, row["after"] * 40] == pytest.approx(sure)
    assert row["label"] == "share of queries that surely hold delta"
    for side, result in zip((found.summary["first"], found.summary["rivals"]["new"]), (now, new), strict=True):
        counts = result.summary["unknown"]
        assert f"{counts['fair']} of 40 do, and {counts['undecided']} more may" in " ".join(side["notes"])
    known = audit(random_dataset(3), Fairness(delta=0.1))
    assert "surely" not in str(compare({"now": known, "same": known}).summary)


def test_nothing_unknown_says_nothing():
    result = audit(random_dataset(3), Fairness(delta=0.1))
    assert "unknown" not in result.summary
    assert "verdict" not in result.queries
    assert "could_hold" not in result.fair_share()


@pytest.mark.parametrize("notion", ["exposure", "merit"])
def test_the_curve_is_the_counts_at_each_delta(notion):
    data = with_unknown(random_dataset(5, n_queries=40), 5)
    measured = measure_exposure(data, Fairness(delta=0, notion=notion, merits=MERITS if notion == "merit" else None))
    for step in measured.fair_share().to_dict("records"):
        table = measured.judge(step["delta"]).table
        assert step["hold"] - step["cannot_fail"] == table.fair.sum()
        assert step["could_hold"] - step["hold"] == table.undecided.sum()


def test_a_list_of_which_no_group_is_known_is_in_the_table_too():
    data = dataset([[3, 2, 1]] * 3, ["aab", "aab", "aab"], names=("a", "b"))
    data = data.replace(groups=np.array([0, 0, 1, -1, -1, -1, -2, -2, -2]))
    result = audit(data, Fairness(delta=0.02))
    rows = result.queries[result.queries["query"] == data.query_ids[1]]
    assert list(rows["group"]) == ["a", "b"]
    assert (rows["n"] == 0).all()
    assert rows[["exposure", "violation"]].isna().all(axis=None)
    assert set(rows["verdict"]) == {result.table.verdicts[1]} == {"breaks"}
    assert rows[["exposure_least", "exposure_most"]].to_numpy().tolist() == [[0.25, 0.5]] * 2
    assert data.query_ids[2] not in set(result.queries["query"])


def test_the_mark_on_the_curve_names_both_ends():
    data = with_unknown(random_dataset(5, n_queries=40), 5)
    result = audit(data, Fairness(delta=0.1))
    steps = result.fair_share()
    row = steps[steps["delta"] <= 0.1].iloc[-1]
    ends = " to ".join(percent(row[name] / row["queries"]) for name in ("hold", "could_hold"))
    assert mark_at(steps, 0.1).label == f"delta = 0.1: {ends}"


def test_parts_together_are_the_whole():
    """Also where some part has no unknown item at all."""
    data = random_dataset(8, n_queries=20)
    data = RankingDataset(**{**_fields(data), "groups": np.where(np.arange(data.n_items) % 7 == 3, -1, data.groups)})
    known_rows = data.offsets[7]
    data = data.replace(groups=np.where(np.arange(data.n_items) < known_rows, np.maximum(data.groups, 0), data.groups))
    fairness, discount = Fairness(delta=0.1), Discount()
    parts = [measured_table(part, fairness, discount=discount, cutoff=10) for part in (data[:7], data[7:])]
    whole = measured_table(data, fairness, discount=discount, cutoff=10)
    joined = QueryTable.concatenate(parts)
    assert joined.judge(fairness).frame().equals(whole.judge(fairness).frame())


def _fields(data):
    return {
        name: getattr(data, name) for name in ("query_ids", "offsets", "item_ids", "groups", "group_names", "score")
    }


def test_selection_rates_have_the_range_of_all_labellings():
    data = dataset([[4, 3, 2, 1], [4, 3, 2, 1]], ["aabb", "abab"], names=("a", "b"))
    codes = data.groups.copy()
    codes[[0, 3, 5]] = -1
    found = selection_rates(data.replace(groups=codes), k=2, rules=["four-fifths"])
    rates = {name: [] for name in data.group_names}
    for labels in product(range(2), repeat=3):
        codes[[0, 3, 5]] = labels
        for row in selection_rates(data.replace(groups=codes), k=2, rules=["four-fifths"]).tables[0].rows:
            rates[row.category].append(row.rate)
    for row in found.tables[0].rows:
        np.testing.assert_allclose(row.rate_range, (min(rates[row.category]), max(rates[row.category])))
    assert {"rate_least", "rate_most"} <= set(found.frame)
    assert "rate_range" not in selection_rates(data, k=2).summary["rules"][0]["tables"][0]["categories"][0]


def test_a_repair_is_judged_three_ways_too():
    data = with_unknown(random_dataset(4, n_queries=30), 4)
    found = repair(data, Fairness(delta=0.02))
    table = found.after.table
    known = table.unknown_items == 0
    assert table.fair[known & table.judged].all()
    assert table.undecided.any()
    state = found.summary["after"]
    assert (state["undecided"], state["broken"]) == (int(table.undecided.sum()), int(table.broken.sum()))


def test_a_folder_says_that_dropped_rows_closed_up(tmp_path):
    frame = pd.DataFrame({"qid": [1, 1, 1], "doc": [1, 2, 3], "g": ["a", None, "b"], "score": [0.5, 0.4, 0.2]})
    frame.to_parquet(tmp_path / "1.parquet")
    found = audit_folder(tmp_path, Fairness(delta=0.1), mapping={"group": "g", "drop_rows": True})
    assert "1 not compared: rows without a group (the items below moved up)." in caveats(found.summary)


def test_items_beside_no_known_group_are_counted_once():
    """Of the lists with one known group, those with unknown items are judged, and only the others cannot be."""
    data = dataset([[3, 2, 1]] * 3, ["abx", "aax", "aaa"], names=("a", "b", "x"))
    data = data.replace(groups=np.where(data.groups == 2, -1, data.groups), group_names=("a", "b"))
    summary = audit(data, Fairness(delta=0.01), small=SmallGroups(items=0, lists=0)).summary
    assert summary["queries"]["not_applicable"] == 1
    said = caveats(summary)
    assert said[0] == "1 query with items of a single group: there is nobody to be fair between; counted, not judged."
    assert said[1].endswith(" 5 more items stand beside no item of another known group, and are not compared.")


def test_slices_of_lists_that_surely_hold_delta_are_named_in_full():
    data = with_unknown(random_dataset(4, n_queries=60), 4)
    data = data.replace(attributes={"half": np.where(np.arange(60) < 30, "first", "second")})
    found = audit(data, Fairness(delta=0.02)).with_slices(["half"]).summary["slices"][0]
    labels = [entry["label"] for entry in found["measures"]]
    assert "share of queries that surely hold delta" in labels
    assert all(name_text(label) == label for label in labels)
