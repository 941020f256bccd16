"""A folder measured part by part has the values that it has in one piece."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from spofr_core import ConfigError, DataError, Fairness, audit, audit_folder, measure, read_dataset, repair
from spofr_core.cli import app
from spofr_core.data import Limits
from spofr_core.evaluation import measure_folder
from spofr_core.measures import MEASURES


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(2)
    n = 900
    groups = rng.choice(["a", "b", "c"], n)
    groups[:18] = "a"  # q0 has one group only
    return pd.DataFrame(
        {
            "query": [f"q{k // 18}" for k in range(n)],
            "item": np.arange(n),
            "group": groups,
            "score": np.round(rng.normal(size=n), 3),
            "relevance": rng.integers(0, 3, n),
        }
    )


@pytest.fixture(scope="module")
def folder(rows, tmp_path_factory):
    place = tmp_path_factory.mktemp("rows")
    shuffled = rows.sample(frac=1, random_state=1)
    for k, part in enumerate(np.array_split(np.arange(len(rows)), 3)):
        shuffled.iloc[part].to_parquet(place / f"{k}.parquet")
    return place


def test_the_values_are_those_of_one_piece(folder):
    parts = measure_folder(folder, "all", protected="b", rows_per_part=200)
    whole = measure(read_dataset(folder), "all", protected="b")
    assert parts.query_ids.tolist() == whole.query_ids.tolist()
    for name in MEASURES:
        text = str(MEASURES[name])
        np.testing.assert_allclose(parts.values[text], whole.values[text], rtol=0, atol=1e-12, err_msg=name)
        assert parts.summary["measures"][text]["undefined"] == whole.summary["measures"][text]["undefined"]


def test_reasons_stand_in_one_order_whichever_part_has_one_first(tmp_path):
    for k, groups in enumerate(("aab", "bbb", "aac")):  # none of b shown, b alone, none of b there
        part = {"query": f"q{k}", "item": range(3), "group": [*groups], "score": [3, 2, 1]}
        pd.DataFrame(part).to_parquet(tmp_path / f"{k}.parquet")
    parts = measure_folder(tmp_path, "Skew@1", protected="b", rows_per_part=3)
    assert parts.undefined.equals(measure(read_dataset(tmp_path), "Skew@1", protected="b").undefined)


def test_what_only_the_whole_folder_knows_has_to_be_named(folder):
    with pytest.raises(ConfigError, match="Skew is about one group"):
        measure_folder(folder, "Skew@5")
    with pytest.raises(ConfigError, match="the share in the data"):
        measure_folder(folder, "AWRF(target=data)")
    assert measure_folder(folder, "Skew@5(group=b)").values


def test_audits_of_folders_and_repairs_carry_named_measures(folder):
    asked = Fairness(delta="10%")
    streamed = audit_folder(folder, asked, measures=["NDKL", "Skew@5(group=a)"], rows_per_part=200)
    data = read_dataset(folder)
    whole = audit(data, asked, measures=["NDKL", "Skew@5(group=a)"])
    assert streamed.summary["measures"] == whole.summary["measures"]
    fixed = repair(data, asked, measured=whole.measurement)
    again = audit(data, asked, policies=fixed.policies, measures=["NDKL"])
    row = fixed.table.set_index("name").loc["NDKL"]
    assert row["after"] == pytest.approx(again.summary["measures"]["NDKL"]["mean"], abs=1e-12)


def test_the_shell_measures_folders_and_puts_measures_into_reports(folder, tmp_path):
    run = CliRunner()
    text = run.invoke(
        app, ["measure", str(folder), "--measure", "NDKL", "--workers", "1"], catch_exceptions=False
    ).stdout
    mean = measure(read_dataset(folder), "NDKL").summary["measures"]["NDKL"]["mean"]
    assert f"{mean:.3g}" in text
    page = tmp_path / "report.html"
    arguments = ["audit", str(folder), "--measure", "NDKL", "--html", str(page)]
    assert run.invoke(app, arguments, catch_exceptions=False).exit_code == 0
    assert "NDKL" in page.read_text("utf-8")


def test_a_folder_has_the_notes_of_one_piece(tmp_path):
    rng = np.random.default_rng(4)
    n, queries = 1200, np.repeat([f"q{k}" for k in range(40)], 30)
    frame = pd.DataFrame(
        {
            "query": queries,
            "item": np.arange(n),
            "group": np.where(rng.random(n) < 0.02, "few", rng.choice(["a", "b"], n)),
            "score": rng.integers(0, 2, n),  # more orders of ties than can be looked at
            "country": np.where(np.repeat(np.arange(40) % 4 == 0, 30), None, "DE"),
            "when": np.repeat(1.6e9 + 86400 * np.arange(40), 30),
        }
    )
    frame.to_parquet(tmp_path / "rows.parquet")
    about = {"slices": ["country"], "time": "when"}
    parts = measure_folder(tmp_path, ["NDKL"], mapping=about, rows_per_part=200)
    whole = measure(read_dataset(tmp_path, **about), ["NDKL"])
    assert set(parts.notes) == set(whole.notes)
    said = " ".join(parts.notes)
    assert "In 40 of 40 lists measures of whole rankings are means over drawn rankings" in said
    assert "10 of 40 queries have no value in column 'country'" in said
    assert "'few'" in said


def test_a_folder_may_have_no_more_slices_than_one_piece(tmp_path):
    limit = Limits().slices
    frame = pd.DataFrame(
        {
            "query": np.repeat(np.arange(limit + 1), 2),
            "item": np.arange(2 * limit + 2),
            "group": ["a", "b"] * (limit + 1),
            "score": np.arange(2 * limit + 2) % 7,
        }
    )
    frame.assign(town="t" + frame["query"].astype(str)).to_parquet(tmp_path / "rows.parquet")
    for work in (measure_folder, audit_folder):
        asked = ["Gini"] if work is measure_folder else Fairness(delta="10%")
        with pytest.raises(DataError, match=f"Column 'town' has {limit + 1:,} distinct values"):
            work(tmp_path, asked, mapping={"slices": ["town"]}, rows_per_part=limit)
