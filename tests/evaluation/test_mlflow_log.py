"""Results in a real MLflow that keeps its runs in files."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spofr_core import ConfigError, Fairness, audit, compare, log_to_mlflow, measure, selection_rates
from spofr_core.data import load_hiring
from spofr_core.evaluation import repair
from spofr_core.evaluation.tracking import mlflow_log
from spofr_core.evaluation.tracking.metric_names import flat_names
from tests.evaluation.lists import dataset

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # read when it is imported
import mlflow

ODD = ("a/b", "a.b", "a b", "A B", "..", ".", "", "=1+1", "<b>", "日本", "x" * 300, "x" * 300 + "y", "%s\n", "ﬁ", "fi")


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A file-backed MLflow of its own; the runs of this test, and nobody else's."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("GIT_PYTHON_REFRESH", "quiet")
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri((tmp_path / "mlruns").as_uri())
    yield mlflow.MlflowClient()
    while mlflow.active_run() is not None:
        mlflow.end_run()
    mlflow.set_tracking_uri(before)


@pytest.fixture(scope="module")
def hiring():
    return load_hiring()[:40]


def files_of(client, run_id: str, folder: str) -> set[str]:
    return {Path(file.path).name for file in client.list_artifacts(run_id, folder)}


def test_an_audit_is_logged_with_its_numbers_settings_and_files(store, hiring, tmp_path):
    result = audit(hiring, Fairness(delta=0.05)).with_selection(selection_rates(hiring, k=5))
    run_id = log_to_mlflow(result)
    data, summary = store.get_run(run_id).data, result.summary
    assert store.get_run(run_id).info.status == "FINISHED"
    women = summary["groups"]["female"]
    expected = {
        "spofr/queries_total": 40,
        "spofr/queries_judged": summary["queries"]["judged"],
        "spofr/share_within_delta": summary["queries"]["share"],
        "spofr/share_within_delta_low": summary["queries"]["ci"][0],
        "spofr/violation_mean": summary["violation"]["mean"],
        "spofr/violation_max": summary["violation"]["max"],
        "spofr/violation_quantile_0_95": summary["violation"]["quantiles"]["0.95"],
        "spofr/exposure_ratio": summary["exposure_ratio"]["value"],
        "spofr/measure/ndcg/mean": summary["measures"]["ndcg"]["mean"],
        "spofr/measure/ndcg/mean_high": summary["measures"]["ndcg"]["ci"][1],
        "spofr/group/female/items": women["items"],
        "spofr/group/female/relative_mean": women["relative_mean"],
        "spofr/group/female/violation_mean_low": women["violation_ci"][0],
        "spofr/selection/four-fifths/gender/female/impact_ratio": result.selection.tables[0].rows[0].impact_ratio,
    }
    assert {name: data.metrics[name] for name in expected} == pytest.approx(expected)
    assert data.params["spofr/delta"] == "0.05"
    assert data.params["spofr/notion"] == "exposure"
    assert data.params["spofr/selection_k"] == "5"
    assert files_of(store, run_id, "spofr") == {"summary.json", "report.html", "queries.csv", "metric_names.json"}
    kept = Path(store.download_artifacts(run_id, "spofr", str(tmp_path)))
    assert json.loads((kept / "summary.json").read_text("utf-8")) == json.loads(result.to_json())
    assert "Appendix" in (kept / "report.html").read_text("utf-8")
    assert json.loads((kept / "metric_names.json").read_text("utf-8"))["spofr/violation_quantile_0_95"] == [
        "violation_quantile_0.95"
    ]


def test_measures_and_comparisons_go_into_the_run_that_is_active(store, hiring):
    found = measure(hiring, ["NDKL", "Skew@10(group=female)"])
    repaired = repair(hiring, Fairness(delta=0.05))
    compared = compare({"now": repaired.before, "re/pair": repaired.after})
    with mlflow.start_run() as run:
        assert log_to_mlflow(found, prefix="measures") == run.info.run_id
        assert log_to_mlflow(compared, prefix="compared") == run.info.run_id
        assert mlflow.active_run() is not None
    data = store.get_run(run.info.run_id).data
    assert data.metrics["measures/measure/NDKL/mean"] == pytest.approx(found.summary["measures"]["NDKL"]["mean"])
    assert "measures/measure/Skew_10_group_female/mean" in data.metrics
    row = compared.table.set_index("name").loc["violation"]
    assert data.metrics["compared/re_pair/violation/difference"] == pytest.approx(row["difference"])
    assert data.metrics["compared/re_pair/violation/difference_low"] == pytest.approx(row["lower"])
    assert data.metrics["compared/re_pair/queries_paired"] == 40
    assert data.params["compared/baseline"] == "now"
    assert files_of(store, run.info.run_id, "measures") >= {"summary.json", "report.html", "queries.csv"}
    assert files_of(store, run.info.run_id, "compared") >= {"summary.json", "report.html", "comparison.csv"}


def test_a_run_can_be_named(store, hiring):
    first = store.create_run("0").info.run_id
    assert log_to_mlflow(measure(hiring, "NDKL"), run_id=first) == first
    assert "spofr/measure/NDKL/mean" in store.get_run(first).data.metrics
    assert store.get_run(first).info.status == "RUNNING"  # whoever began it ends it


def test_groups_of_any_name_are_logged_side_by_side(store, monkeypatch, tmp_path):
    monkeypatch.setattr(mlflow_log, "MOST_METRICS", 20)  # in many requests
    rng = np.random.default_rng(0)
    data = dataset([rng.random(len(ODD)) for _ in range(12)], [ODD] * 12, names=ODD)
    result = audit(data, Fairness(delta=0.01))
    run_id = log_to_mlflow(result)
    metrics = store.get_run(run_id).data.metrics
    items = [name for name in metrics if name.startswith("spofr/group/") and name.endswith("/items")]
    assert len(items) == len(ODD)
    kept = Path(store.download_artifacts(run_id, "spofr", str(tmp_path)))
    names = json.loads((kept / "metric_names.json").read_text("utf-8"))
    assert {names[name][1] for name in items if name in names} | {"日本", "fi"} >= set(ODD)
    for name in items:
        whose = names[name][1] if name in names else name.split("/")[2]
        mean = name.replace("/items", "/exposure_mean")
        assert metrics[mean] == pytest.approx(result.summary["groups"][whose]["exposure_mean"])


@given(st.lists(st.text(max_size=60), unique=True, max_size=12))
def test_names_are_allowed_and_never_collide(parts):
    from mlflow.utils.validation import _validate_metric_name

    names = flat_names([("group", part, "items") for part in parts], "spofr")
    assert len({name.casefold() for name in names.values()}) == len(parts)
    for name in names.values():
        _validate_metric_name(name)
        assert len(name) <= 250


def test_the_same_run_keeps_its_parameters(store, hiring):
    with mlflow.start_run():
        log_to_mlflow(audit(hiring, Fairness(delta=0.05)))
        with pytest.raises(ConfigError, match="give another result another prefix"):
            log_to_mlflow(audit(hiring, Fairness(delta=0.1)))


@pytest.mark.parametrize("prefix", ["", "a//b", "../x", "a b", "/a", 3, "x" * 70])
def test_a_prefix_that_mlflow_would_not_take_is_refused(hiring, prefix):
    with pytest.raises(ConfigError, match="'prefix' is"):
        log_to_mlflow(measure(hiring[:2], "NDKL"), prefix=prefix)


def test_a_run_that_there_is_not_is_refused_in_one_sentence(store, hiring):
    with pytest.raises(ConfigError, match="does not take the result"):
        log_to_mlflow(measure(hiring[:2], "NDKL"), run_id="0" * 32)


def test_without_mlflow_it_says_what_to_install(hiring, monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(ConfigError, match="pip install mlflow-skinny"):
        log_to_mlflow(measure(hiring[:2], "NDKL"))


def test_what_is_no_result_is_refused():
    with pytest.raises(ConfigError, match="must come from audit, measure or compare, got int"):
        log_to_mlflow(3)
