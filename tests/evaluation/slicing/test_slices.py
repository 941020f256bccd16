"""Slices: the numbers of the audit of each slice alone, in the order of the evidence, with claims only where due."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from spofr_core.data import read_dataset
from spofr_core.errors import ConfigError, DataError
from spofr_core.evaluation import SmallGroups, audit, audit_folder, measure, sliced_exposure, slices, values_of
from spofr_core.fairness import Fairness
from tests.evaluation.slicing.sliced_lists import sliced_dataset, values

FAIRNESS = Fairness(delta=0.1)


@pytest.fixture(scope="module")
def data():
    return sliced_dataset()


@pytest.fixture(scope="module")
def result(data):
    return audit(data, FAIRNESS)


def test_each_slice_says_what_its_own_audit_says(data, result):
    violation, fair = (
        result.slices("country", measure=name).table.set_index("slice") for name in ("violation", "fair")
    )
    ndcg = result.slices("country", measure="nDCG@10").table.set_index("slice")
    for country in ("DE", "FR", "IT"):
        alone = audit(data.where(country=country), FAIRNESS).summary
        assert violation.loc[country, "mean"] == pytest.approx(alone["violation"]["mean"])
        assert violation.loc[country, "n"] == alone["queries"]["applicable"]
        assert violation.loc[country, "queries"] == alone["queries"]["total"]
        assert fair.loc[country, "mean"] == pytest.approx(alone["queries"]["share"])
        assert fair.loc[country, "n"] == alone["queries"]["judged"]
        assert ndcg.loc[country, "mean"] == pytest.approx(alone["utility"]["ndcg"])


def test_the_exposure_of_a_group_is_one_more_than_its_violation_as_a_share(data, result):
    group = data.group_names[0]
    told = result.slices("country", measure=f"exposure:{group}").table.set_index("slice")
    for country in ("DE", "FR", "IT"):
        alone = audit(data.where(country=country), Fairness(delta=0.1, unit="share")).summary["groups"][group]
        assert told.loc[country, "mean"] == pytest.approx(1 + alone["violation_mean"])
    with pytest.raises(ConfigError, match="no group 'nobody' whose exposure could be told; there is "):
        result.slices("country", measure="exposure:nobody")


def test_crossed_slices_are_the_groups_of_pandas(result):
    table = result.slices(["country", "device"]).table
    found = values_of(result, "violation")
    frame = pd.DataFrame({**found.attributes, "x": found.values}).astype({"country": object, "device": object})
    expected = frame.groupby(["country", "device"])["x"].agg(["count", "mean"])
    assert len(table) == 6
    for row in table.to_dict("records"):
        assert row["n"] == expected.loc[(row["country"], row["device"]), "count"]
        assert row["mean"] == pytest.approx(expected.loc[(row["country"], row["device"]), "mean"])
        assert row["slice"] == f"{row['country']} & {row['device']}"


def test_the_order_is_that_of_the_evidence_and_not_of_the_extremes():
    rng = np.random.default_rng(1)
    parts = {
        "a": rng.normal(1.0, 0.1, 60),
        "wild": rng.normal(1.5, 3.0, 12),
        "b": rng.normal(0.0, 0.1, 60),
        "few": [9.0] * 3,
    }
    found = slices(values(np.concatenate([*parts.values()]), c=np.repeat([*parts], [60, 12, 60, 3])), "c").table
    assert found["slice"].tolist() == ["b", "a", "wild", "few"]
    assert found["mean"].argmax() == 3
    assert found["mean"][:3].argmax() == 2
    assert found["evidence"].tolist()[:3] == sorted(found["evidence"].tolist()[:3], reverse=True)
    assert found["differs"].tolist() == [True, False, False, False]


def test_slices_of_few_queries_are_listed_and_claim_nothing():
    found = slices(values([0.0] * 30 + [1e6] * 4 + [0.5] * 6, c=["a"] * 30 + ["b"] * 4 + ["c"] * 6), "c")
    rows = {row["slice"]: row for row in found.summary["slices"]}
    assert (rows["b"]["n"], rows["b"]["mean"]) == (4, 1e6)
    assert [rows["b"][name] for name in ("ci", "difference", "difference_ci", "evidence")] == [None] * 4
    assert not rows["b"]["differs"]
    assert found.summary["compared"] == 1
    everybody = slices(values([0.0] * 30 + [1.0] * 4, c=["a"] * 30 + ["b"] * 4), "c").summary
    assert everybody["compared"] == 0  # the rest of a is as small as b


def test_chance_alone_makes_no_slice_differ():
    rng = np.random.default_rng(3)
    claims = sum(
        slices(values(rng.exponential(size=400), c=rng.integers(0, 20, 400).astype(str)), "c").table["differs"].any()
        for _ in range(100)
    )
    assert claims <= 9


def test_numbers_stand_in_their_order_where_there_is_nothing_else_to_go_by():
    found = slices(values([1.0] * 6, c=["10", "9", "b", "10", "a", "9"]), "c")
    assert found.crossing.labels == ["9", "10", "a", "b"]
    assert found.table["slice"].tolist() == ["9", "10", "a", "b"]


def test_what_rounding_leaves_is_no_difference():
    numbers = np.array([0.1 + 0.2] * 20 + [0.3] * 20)
    table = slices(values(numbers, c=["a"] * 20 + ["b"] * 20), "c").table
    assert not table["differs"].any()
    assert table["evidence"].tolist() == [0.0, 0.0]


def test_a_share_of_all_or_none_is_not_sure_of_itself_and_a_measure_of_nothing_is_no_share(data):
    never = audit(data, Fairness(delta=0.0)).slices("country", measure="fair").values
    assert never.is_share
    assert not values([0.0, 0.0], c=["a", "b"]).is_share
    assert values([0.0, 1.0], c=["a", "b"]).is_share
    assert not values([-1.0, 0.0, 1.0]).is_share


def test_no_interval_of_a_mean_leaves_what_is_possible():
    rng = np.random.default_rng(0)
    data = sliced_dataset(5, 60).replace(attributes={"c": rng.choice(["a", "b", "c"], 60)})
    table = audit(data, FAIRNESS).slices("c", fewest=2).table
    assert (table["lower"] >= 0).all()


def test_measures_by_their_names_are_sliced_too(data):
    found = measure(data, ["NDKL", "nDCG@3"])
    table = found.slices("country", measure="ndkl").table.set_index("slice")
    alone = measure(data.where(country="FR"), ["NDKL"])
    assert table.loc["FR", "mean"] == pytest.approx(alone.summary["measures"]["NDKL"]["mean"])
    assert not {"slices", "time"} & {*found.summary}
    asked = found.with_slices(["country"], window="month").summary
    assert [entry["label"] for entry in asked["slices"][0]["measures"]] == ["NDKL", "nDCG@3"]
    assert asked["slices"][0]["exposure"] is None
    assert [entry["measure"] for entry in asked["time"]["measures"]] == ["NDKL", "ndcg@3"]
    with pytest.raises(ConfigError, match=r"no measure 'AWRF' here; there is 'NDKL', 'ndcg@3'"):
        found.slices("country", measure="AWRF")


def test_values_without_any_spread_can_be_said_in_json():
    summary = slices(values([0.25] * 20 + [0.75] * 20, c=["a"] * 20 + ["b"] * 20), "c").summary
    assert all(row["differs"] and row["evidence"] is None for row in summary["slices"])
    json.dumps(summary, allow_nan=False)


def test_undefined_values_are_in_no_mean():
    found = slices(values([1.0, np.nan, 3.0, np.nan], c=["a", "a", "b", "c"]), "c").summary
    rows = {row["slice"]: (row["queries"], row["n"], row["mean"]) for row in found["slices"]}
    assert rows == {"a": (2, 1, 1.0), "b": (1, 1, 3.0), "c": (1, 0, None)}
    assert (found["n"], found["mean"]) == (2, 2.0)
    json.dumps(slices(values([np.nan] * 3, c=list("abc")), "c").summary, allow_nan=False)


def test_odd_names_stay_what_they_are():
    names = ['"quoted"', "<b>bold</b>", "=1+1", "東京", "x" * 500, "a & b"]
    found = slices(values(np.arange(60.0), mean=np.resize(names, 60)), "mean")
    assert set(found.table["slice:mean"]) == set(names)
    assert {row["values"]["mean"] for row in found.summary["slices"]} == set(names)


@pytest.mark.parametrize(
    ("by", "measure", "error", "sentence"),
    [
        ("city", "violation", DataError, r"no attribute 'city'; they have 'country', 'device'"),
        ([], "violation", ConfigError, "Name an attribute to slice by"),
        ("country", "beauty", ConfigError, r"no measure 'beauty' here; there is 'violation', 'fair', 'dcg', 'ndcg'"),
    ],
)
def test_refusals(result, by, measure, error, sentence):
    with pytest.raises(error, match=sentence):
        result.slices(by, measure=measure)


def test_attributes_whose_crossing_makes_too_many_slices_are_told_each_alone():
    frame = pd.DataFrame({"query": np.repeat(np.arange(1100), 2), "group": ["a", "b"] * 1100, "score": [2, 1] * 1100})
    frame = frame.assign(x=frame["query"] // 50, y=frame["query"] % 50, item=range(2200))
    result = audit(read_dataset(frame, slices=["x", "y"]), FAIRNESS).with_slices(["x", "y"])
    assert [slicing["by"] for slicing in result.summary["slices"]] == [["x"], ["y"]]
    said = result.summary["not_crossed"]
    assert said.startswith("They are told each alone, and not crossed: 'x' and 'y' make 1,100 slices, more than 1,000")
    assert said.replace("'", "&#39;") in result.to_html()


def test_too_many_combinations_and_no_value_at_all_are_refused():
    many = values(np.arange(1500.0), a=np.arange(1500) // 30, b=np.arange(1500) % 30)
    with pytest.raises(ConfigError, match=r"'a' and 'b' make 1,500 slices, more than 1,000"):
        slices(many, ["a", "b"])
    with pytest.raises(DataError, match="Column 'a' has no value in any query"):
        slices(values([1.0, 2.0], a=["(missing)"] * 2), "a")
    with pytest.raises(ConfigError, match="'confidence' must lie between 0 and 1"):
        slices(many, "a", confidence=95)


def test_exposure_of_groups_in_a_slice_is_that_of_its_audit(data, result):
    found = sliced_exposure(result.table, "country", small=SmallGroups(items=5, lists=3))
    for entry in found.summary:
        alone = audit(data.where(entry["values"]), FAIRNESS, small=SmallGroups(items=5, lists=3)).summary
        for name, group in alone["groups"].items():
            assert entry["groups"][name]["relative"] == pytest.approx(group["relative_mean"])
            assert entry["groups"][name]["items"] == group["compared"]
        assert entry["ratio"] == pytest.approx(alone["exposure_ratio"]["value"])
        assert (entry["lowest"], entry["highest"]) == tuple(alone["exposure_ratio"][k] for k in ("lowest", "highest"))
        low, high = entry["ci"]
        assert low < entry["ratio"] < high


def test_intervals_of_exposure_are_about_those_of_the_bootstrap(data):
    """One slice of two groups: a single comparison of the ratio, so that both say nearly the same."""
    single = sliced_dataset(4, 400).regrouped({"c": "b"}).replace(attributes={"all": ["yes"] * 400})
    summary = audit(single, FAIRNESS).summary
    entry = sliced_exposure(audit(single, FAIRNESS).table, "all").summary[0]
    assert entry["ci"] == pytest.approx(summary["exposure_ratio"]["ci"], abs=0.02)
    assert entry["ci"][1] - entry["ci"][0] < 0.4


def test_groups_that_are_small_in_a_slice_are_listed_there():
    found = sliced_exposure(audit(sliced_dataset(n_queries=12), FAIRNESS).table, "country")
    assert found.groups["small"].all()
    assert found.groups["lower"].isna().all()
    assert found.ratios["ratio"].isna().all()
    json.dumps(found.summary, allow_nan=False)


def test_the_summary_has_slices_only_where_they_were_asked_for(result):
    assert not {"slices", "time"} & {*result.summary}
    asked = result.with_slices(["country", "device"], measures=["violation", "dcg"])
    assert asked.summary | result.summary == asked.summary
    assert [entry["by"] for entry in asked.summary["slices"]] == [["country"], ["device"], ["country", "device"]]
    assert [m["measure"] for m in asked.summary["slices"][2]["measures"]] == ["violation", "dcg"]
    assert "time" not in asked.summary
    json.loads(asked.to_json())


def test_a_stream_has_the_same_slices(data, tmp_path):
    frame = data.to_frame().rename(columns={"slice:country": "country", "slice:device": "device"})
    frame.loc[frame["query_id"].isin(["q1", "q2"]), "country"] = None
    mapping = {"slices": ["country", "device"], "time": "query_time"}
    (tmp_path / "rows").mkdir()
    frame.sample(frac=1, random_state=1).to_parquet(tmp_path / "rows" / "part.parquet")
    whole = audit(read_dataset(tmp_path / "rows", **mapping), FAIRNESS).with_slices(
        ["country", "device"], window="week"
    )
    streamed = audit_folder(tmp_path / "rows", FAIRNESS, mapping=mapping, rows_per_part=60)
    again = streamed.with_slices(["country", "device"], window="week")
    assert again.summary["slices"] == whole.summary["slices"]
    assert again.summary["time"] == whole.summary["time"]
    note = "2 of 120 queries have no value in column 'country': they make up the slice '(missing)'."
    assert note in streamed.summary["notes"]
    pd.testing.assert_frame_equal(streamed.queries, whole.queries)


def test_parts_with_few_slices_each_may_not_have_too_many_together(tmp_path):
    n = 1200
    queries = np.repeat(np.arange(n), 2)
    columns = {"qid": queries, "doc": np.arange(2 * n), "sex": ["f", "m"] * n, "score": np.arange(2 * n) % 7}
    pd.DataFrame({**columns, "user": queries}).to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(DataError, match=r"'user' has 1,200 distinct values"):
        audit_folder(tmp_path, FAIRNESS, mapping={"slices": ["user"]}, rows_per_part=600)


def test_the_table_of_queries_has_attributes_and_time(result):
    frame = result.queries
    assert set(frame["country"]) == {"DE", "FR", "IT"}
    assert frame["time"].dtype == np.dtype("datetime64[us]")
