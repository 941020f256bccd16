"""The commands, as a shell sees them."""

from __future__ import annotations

import json
import zipfile

import pandas as pd
import pytest
from typer.testing import CliRunner

from spofr_core.cli import app
from spofr_core.errors import ConfigError
from spofr_core.experiments import RunStore
from spofr_core.experiments import sweep as sweep_module
from tests.experiments.specs import TINY


@pytest.fixture
def spofr():
    def call(*words: object):
        return CliRunner().invoke(app, [str(word) for word in words])

    return call


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "sweep.yaml"
    path.write_text(
        f"dataset: {json.dumps(TINY)}\nmethods: [pto, uniform]\ndeltas: [0.1]\n"
        "training: {max_steps: 4, validate_every: 2, hidden: [4]}\n"
    )
    return path


def test_a_sweep_from_a_file_then_its_runs(spofr, spec, tmp_path):
    out = tmp_path / "runs"
    first = spofr("sweep", spec, "--out", out)
    assert first.exit_code == 0, first.output
    assert "2 runs, 0 of them done before." in first.stderr
    assert "2 runs on 1 worker: " in first.stderr
    assert "2 of 2 runs are done" in first.stdout
    again = spofr("sweep", spec, "--out", out, "--json", "-")
    assert json.loads(again.stdout) == {"runs": 2, "done": 2, "failures": {}}

    listed = spofr("runs", "list", out)
    assert "2 runs;" in listed.stdout
    rows = json.loads(spofr("runs", "list", out, "--json", "-").stdout)
    assert {row["method"] for row in rows} == {"pto", "uniform"}
    run = next(row["run"] for row in rows if row["method"] == "pto")
    shown = spofr("runs", "show", out, run[:6])
    assert json.loads(shown.stdout)["config"]["delta"] == 0.1
    assert "begun by process" in spofr("runs", "show", out, run, "--log").stdout

    assert spofr("runs", "export", out, tmp_path / "runs.csv").exit_code == 0
    assert len(pd.read_csv(tmp_path / "runs.csv")) == 2
    assert spofr("runs", "export", out, tmp_path / "runs.zip", "--run", run).exit_code == 0
    assert f"{run}/model/model.json" in zipfile.ZipFile(tmp_path / "runs.zip").namelist()
    with pytest.raises(ConfigError, match="no ending"):
        raise spofr("runs", "export", out, tmp_path / "runs.txt").exception

    removed = spofr("runs", "rm", out, run)
    assert "Removed 1 of 1 runs" in removed.stdout
    assert len(pd.read_parquet(out / "results.parquet")) == 1


def test_flags_say_the_same_as_a_file(spofr, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(sweep_module._Sweep, "run", lambda self, spec, changed: asked.append(spec) or _done())
    flags = ["--sample", "german-credit", "--methods", "spofr,fultr", "--deltas", "0,0.1", "--penalties", "1,10"]
    flags += ["--groups", "2", "--seeds", "5", "--clicks", "5000", "--set", "max_steps=7", "--no-probe"]
    result = spofr("sweep", *flags, "--out", tmp_path)
    assert result.exit_code == 0, result.output
    spec = asked[0]
    assert (spec.methods, spec.deltas, spec.penalties) == (("spofr", "fultr"), (0.0, 0.1), (1.0, 10.0))
    assert (spec.groups, spec.clicks, spec.training) == ((2,), (5000,), {"max_steps": 7})
    assert len(spec.runs()) == 20


def _done():
    from spofr_core.experiments import SweepOutcome

    return SweepOutcome(20, 0, 20, {}, False, 1.0, 1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["sweep"], "Give a SPEC file"),
        (["sweep", "--sample", "german-credit", "--deltas", "0,x"], "--deltas is 'x'; give a number"),
        (["sweep", "--sample", "german-credit", "--deltas", "-1"], "--deltas is '-1'; give a number >= 0"),
        (["sweep", "--sample", "german-credit", "--methods", ""], "grid 'methods' is empty"),
        (["sweep", "--sample", "german-credit", "--set", "x"], "--set is 'x'"),
        (["sweep", "--sample", "german-credit", "--changed-data", "no"], "--changed-data is 'no'"),
        (["reproduce", "magic"], "A figure must be one of"),
        (["reproduce", "grid", "--scale", "huge"], "--scale is 'huge'"),
        (["reproduce", "grid", "--dataset", "hiring"], "--dataset is 'hiring'"),
    ],
)
def test_bad_input_is_one_sentence(spofr, tmp_path, words, message):
    result = spofr(*words, "--out", tmp_path / "runs")
    assert isinstance(result.exception, ConfigError)
    assert message in str(result.exception)


def test_a_failed_run_makes_exit_code_one(spofr, spec, tmp_path, monkeypatch):
    def fail(item, data, emit):
        raise ValueError("no")

    monkeypatch.setattr(sweep_module, "execute", fail)
    result = spofr("sweep", spec, "--out", tmp_path / "runs", "--no-probe")
    assert result.exit_code == 1
    assert "0 of 2 runs are done, 2 failed" in result.stdout
    assert result.stderr.count("ValueError: no") == 2
    assert "Removed 2 of 2" in spofr("runs", "rm", tmp_path / "runs", "--status", "failed").stdout


def test_runs_at_work_are_not_removed(spofr, tmp_path):
    from tests.experiments.specs import tiny

    store = RunStore(tmp_path)
    config = tiny().runs()[0]
    claim = store.claim(config, "data")
    result = spofr("runs", "rm", tmp_path, config.run)
    assert result.exit_code == 1
    assert "Removed 0 of 1" in result.stdout
    claim.release()


def test_a_directory_without_runs_is_told(spofr, tmp_path):
    assert "no store.json" in str(spofr("runs", "list", tmp_path / "none").exception)
    RunStore(tmp_path / "some")
    assert "Name the runs to remove" in str(spofr("runs", "rm", tmp_path / "some").exception)
