"""A measure that no registry knows works wherever one of the package does, and travels to workers and back."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pandas as pd
import pytest

from spofr_core import (
    ConfigError,
    Fairness,
    audit,
    audit_folder,
    compare,
    load_sample,
    measure,
    read_dataset,
    repair,
    selection_rates,
)
from spofr_core.data import sample_path
from spofr_core.evaluation import measure_folder
from spofr_core.measures import MEASURES, Measure, parse_measure

ASKED = Fairness(delta="10%")


def worst_score(view):
    return np.minimum.reduceat(view.data.score, view.data.offsets[:-1])


OWN = Measure(
    name="worst", label="Worst score", unit="points", better="higher", limits=(0.0, 9.0), per_query=worst_score
)
DATA = load_sample("hiring").test
TRUTH = np.minimum.reduceat(DATA.score, DATA.offsets[:-1])


@pytest.fixture(scope="module")
def result():
    return audit(DATA, ASKED, measures=[OWN])


def test_it_is_in_summary_table_report_and_card(result, tmp_path):
    entry = json.loads(result.to_json())["measures"]["worst"]
    assert entry["mean"] == pytest.approx(TRUTH.mean(), abs=1e-12)
    assert (entry["label"], entry["unit"], entry["better"], entry["n"]) == ("Worst score", "points", "higher", 100)
    np.testing.assert_array_equal(result.queries.groupby("query", sort=False)["worst"].first(), TRUTH)
    assert "Worst score" in result.to_html()
    assert result._repr_html_()


def test_it_can_be_sliced_within_its_limits(result):
    data = DATA.replace(attributes={"half": np.array(["a", "b"] * 50)})
    sliced = audit(data, ASKED, measures=[OWN]).slices("half", measure="Worst score")
    means = dict(zip(sliced.table["half"], sliced.table["mean"], strict=True))
    assert means == pytest.approx({"a": TRUTH[::2].mean(), "b": TRUTH[1::2].mean()}, abs=1e-12)
    assert result.query_values("worst").limits == (0.0, 9.0)


def test_it_is_compared_and_repaired(result):
    other = audit(DATA.with_scores(DATA.score / 2), ASKED, measures=[OWN])
    row = compare({"now": result, "half": other}, measures=["worst"]).table.iloc[0]
    assert row["difference"] == pytest.approx(-TRUTH.mean() / 2, abs=1e-12)
    assert row["verdict"] == "worse"
    fixed = repair(DATA, ASKED, measured=result.measurement)
    assert fixed.table.set_index("name").loc["worst", "after"] == pytest.approx(TRUTH.mean(), abs=1e-12)


def test_it_is_measured_in_a_folder(tmp_path):
    pd.read_csv(sample_path("hiring.csv")).to_parquet(tmp_path / "rows.parquet")
    whole = audit(read_dataset(tmp_path), ASKED, measures=[OWN]).summary["measures"]["worst"]
    assert audit_folder(tmp_path, ASKED, measures=[OWN], rows_per_part=500).summary["measures"]["worst"] == whole
    parts = measure_folder(tmp_path, [OWN], rows_per_part=500).summary["measures"]["worst"]
    assert {key: parts[key] for key in whole} == whole


@pytest.mark.parametrize("work", [lambda m: audit(DATA, ASKED, measures=[m]), lambda m: measure(DATA, [m])])
def test_a_name_that_means_something_else_is_refused(work):
    with pytest.raises(ConfigError, match="There is a measure 'ndcg' already; give yours another name"):
        work(Measure(name="ndcg", label="mine", per_query=worst_score))
    assert work(parse_measure("ndcg@5")).summary["measures"]["ndcg@5"]["n"] == 100


def test_every_result_can_be_pickled_and_copied(result):
    fixed = repair(DATA, ASKED, measured=result.measurement)
    everything = {
        "own": OWN,
        **{name: MEASURES[name] for name in MEASURES},
        "set": parse_measure('AWRF(target={"female": 0.5, "male": 0.5})'),
        "audit": result.with_selection(selection_rates(DATA, k=3)),
        "measured": measure(DATA, "all"),
        "comparison": compare({"now": fixed.before, "repair": fixed.after}),
        "repair": fixed,
    }
    for name, each in everything.items():
        for again in (pickle.loads(pickle.dumps(each)), copy.deepcopy(each)):  # noqa: S301
            assert getattr(again, "summary", again) == getattr(each, "summary", each), name
    minimum = pickle.loads(pickle.dumps(MEASURES["MinSkew"]))  # noqa: S301
    assert parse_measure(minimum) is minimum


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_a_value_without_end_is_refused_with_its_query(value):
    values = np.where(np.arange(len(DATA)) == 3, value, 1.0)
    endless = Measure(name="endless", label="Endless", unit="", better="higher", per_query=lambda view: values)
    for judge in (lambda: measure(DATA, [endless]), lambda: audit(DATA, ASKED, measures=[endless])):
        with pytest.raises(ConfigError, match=f"'endless' is {value} for query '{DATA.query_ids[3]}'; return a finite"):
            judge()
