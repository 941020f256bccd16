"""`spofr train`, then the model in the place of a score."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from spofr_core import audit, load_model, load_sample
from spofr_core.cli import app
from spofr_core.errors import ConfigError, DataError
from spofr_core.experiments import RunStore, with_estimates

HIRING = str(Path(__file__).resolve().parents[2] / "sample_data" / "hiring.csv")
SHORT = ["--set", "max_steps=20", "--set", "validate_every=10"]


def run(*arguments: str):
    return CliRunner().invoke(app, list(arguments), catch_exceptions=False)


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "x"
    result = run("train", "--sample", "german-credit", "--delta", "0.05", "--clicks", "500", "--out", str(out), *SHORT)
    assert result.exit_code == 0
    assert "stay within the tolerance of 0.05" in result.stdout
    return out


def test_every_test_query_holds_delta(model):
    summary = json.loads(run("audit", "--model", str(model), "--json", "-").stdout)
    assert summary["queries"]["share"] == 1.0
    assert summary["queries"]["applicable"] > 400
    assert summary["violation"]["max"] <= 0.05 + 1e-9
    measured = RunStore(model, create=False).records()[0].measured
    assert summary["utility"]["dcg"] == pytest.approx(measured["dcg"], abs=1e-12)
    assert summary["violation"]["max"] == measured["violation_max"]
    assert summary["violation"]["mean"] == pytest.approx(measured["violation_mean"], abs=1e-12)
    trained = load_model(next((model / "runs").iterdir()) / "model")
    test = load_sample("german-credit").test
    direct = audit(test, trained.fairness, policies=trained.policies(test))
    assert summary | {"model": None} == json.loads(direct.to_json())
    sorted_ = audit(with_estimates(trained, test), trained.fairness).summary
    assert summary["model"] == {
        "title": "SPOFR",
        "guaranteed": True,
        "plain_sort": {
            "queries": sorted_["queries"],
            "violation": {name: sorted_["violation"][name] for name in ("mean", "max")},
            "dcg": sorted_["utility"]["dcg"],
        },
    }
    assert sorted_["queries"]["fair"] < summary["queries"]["fair"]
    said = run("audit", "--model", str(model)).stdout
    assert "Audited are the policies of SPOFR" in said
    assert f"sorted plainly by the same scores, {sorted_['queries']['fair']} of" in said


def test_another_delta_needs_no_training(model):
    summary = json.loads(run("audit", "--model", str(model), "--delta", "0.01", "--json", "-").stdout)
    assert summary["delta"] == 0.01
    assert summary["queries"]["share"] == 1.0
    assert summary["violation"]["max"] <= 0.01 + 1e-9


def test_another_unit_needs_no_training_either(model):
    summary = json.loads(run("audit", "--model", str(model), "--delta", "8%", "--json", "-").stdout)
    assert (summary["delta"], summary["unit"]) == (0.08, "share")
    assert summary["queries"]["share"] == 1.0
    assert summary["violation"]["max"] <= 0.08 + 1e-9
    assert summary["model"]["plain_sort"]["violation"]["max"] > 0.08


def test_rerank_by_a_model(model, tmp_path):
    out = tmp_path / "p.parquet"
    summary = json.loads(run("rerank", "--model", str(model), "--out", str(out), "--json", "-").stdout)
    assert summary["after"]["share"] == 1.0
    assert out.exists()


def test_penalty_methods_are_audited_as_they_are(tmp_path):
    out = str(tmp_path / "deltr")
    arguments = ["train", "--sample", "german-credit", "--method", "deltr", "--set", "penalty=10", "--delta", "0.01"]
    assert run(*arguments, "--out", out, *SHORT).exit_code == 0
    summary = json.loads(run("audit", "--model", out, "--json", "-").stdout)
    assert summary["queries"]["share"] < 1.0
    assert summary["model"] == {"title": "DELTR", "guaranteed": False, "plain_sort": None}
    assert "Audited is what DELTR puts out, which has no guarantee." in run("audit", "--model", out).stdout


def test_a_file_is_split_by_query_and_its_model_knows_its_columns(tmp_path):
    out = str(tmp_path / "hiring")
    assert run("train", HIRING, "--method", "pto", "--delta", "0.02", "--out", out, *SHORT).exit_code == 0
    own = json.loads(run("audit", "--model", out, "--json", "-").stdout)
    assert own["queries"]["share"] == 1.0
    assert own["queries"]["total"] < 500
    whole = json.loads(run("audit", HIRING, "--model", out, "--json", "-").stdout)
    assert whole["queries"]["total"] == 500
    assert whole["queries"]["share"] == 1.0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--sample", "adult", "--group", "race"], "--group is for a file; .* adult has columns .* with --groups"),
        (["--sample", "adult", "--leave-out-group", "Male"], "--leave-out-group is for a file; .* so leave it out"),
        (["--sample", "adult", "--no-header"], "--header is for a file"),
        ([HIRING, "--groups", "3"], "--groups 3 is for a bundled dataset; name the column .* with --group"),
    ],
    ids=str,
)
@pytest.mark.parametrize("command", ["train", "audit"])
def test_options_of_a_file_are_not_dropped_for_a_sample_nor_the_other_way_round(command, arguments, words):
    with pytest.raises(ConfigError, match=words):
        run(command, *arguments)


def test_the_ranking_of_a_sample_does_not_depend_on_what_a_model_learns_from():
    with pytest.raises(ConfigError, match="--features says what a model learns from"):
        run("audit", "--sample", "adult", "--features", "work")


def test_bad_settings(tmp_path):
    out = ["--out", str(tmp_path / "x"), "--sample", "hiring"]
    with pytest.raises(ConfigError, match="'method' must be one of"):
        run("train", *out, "--method", "magic")
    with pytest.raises(ConfigError, match="no setting 'penalti'"):
        run("train", *out, "--method", "fultr", "--set", "penalti=3")
    with pytest.raises(ConfigError, match="write name=value"):
        run("train", *out, "--set", "penalty")
    with pytest.raises(DataError, match="nowhere"):
        run("audit", "--model", str(tmp_path / "nowhere"))
    assert not (tmp_path / "x").exists()


def test_columns_that_are_not_learned_from_are_named(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"query": np.repeat(np.arange(30), 6), "item": np.arange(180), "group": ["a", "b"] * 90})
    frame = frame.assign(relevance=rng.integers(0, 2, 180), x=rng.normal(size=180), huge=1e300 * rng.normal(size=180))
    frame["gap"], frame["same"] = frame.x.where(frame.item % 9 > 0), 3
    frame["hole"] = frame.x.where(frame.item > 0)
    frame.to_csv(tmp_path / "f.csv", index=False)
    settings = ["--set", "scorer=trees", "--set", "max_steps=3", "--set", "leaf_items=200"]
    told = run("train", str(tmp_path / "f.csv"), *settings, "--out", str(tmp_path / "r"))
    assert told.exit_code == 0
    left_out = "'gap' (20 missing values), 'same' (always 3), 'hole' (1 missing value)"
    assert f"note: Not among the features: {left_out}." in told.output
    assert told.output.count("its rankings are coin tosses") == 1
    assert "overflow" not in told.output
    frame[["query", "item", "group", "relevance", "same"]].to_csv(tmp_path / "g.csv", index=False)
    with pytest.raises(DataError, match=r"no features to learn from\. Not among the features: 'same' \(always 3\)"):
        run("train", str(tmp_path / "g.csv"), *settings, "--out", str(tmp_path / "r"))
