"""`spofr train` makes a run like any other: same store, same clicks, same policies wherever its model is used."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from spofr_core.cli import app
from spofr_core.cli.commands.train_command import run_config
from spofr_core.cli.options import DataOptions, FairnessOptions
from spofr_core.data import load_sample
from spofr_core.errors import ConfigError, DataError
from spofr_core.evaluation import selection_rates
from spofr_core.experiments import (
    DatasetSpec,
    RunConfig,
    RunStore,
    SweepSpec,
    load_splits,
    resolve_model,
    training_data,
)
from spofr_core.fairness import Fairness
from spofr_core.learning import PredictThenOptimize
from tests.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
SHORT = ["--set", "max_steps=20", "--set", "validate_every=10"]
SAMPLE = ["--sample", "german-credit"]
pytestmark = pytest.mark.usefixtures("one_thread")  # scores of one model are compared bit by bit


def run(*arguments: object):
    return CliRunner().invoke(app, [str(word) for word in arguments], catch_exceptions=False)


@pytest.fixture
def own_home(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("SPOFR_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("store")
    arguments = ["--method", "pto", "--set", 'loss="logistic"', "--delta", "0.02", "--out", out, *SHORT]
    result = CliRunner().invoke(app, ["train", *SAMPLE, *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return out


def test_a_trained_model_is_a_run_with_everything_that_a_run_has(store):
    record = RunStore(store, create=False).records()[0]
    assert record.status == "done"
    folder = RunStore(store, create=False).folder(record.run)
    names = {path.name for path in folder.iterdir()}
    assert {"config.json", "status.json", "metrics.jsonl", "log.txt", "test.parquet", "model"} <= names
    assert "checkpoint" not in names
    assert [sweep["runs"] for sweep in RunStore(store, create=False).sweeps()] == [[record.run]]


def test_the_run_of_a_sweep_is_the_run_of_train():
    config = run_config(
        DataOptions(sample="german-credit"), FairnessOptions(delta="0.1"), "spofr", {"max_steps": 7}, clicks=500, seed=3
    )
    spec = SweepSpec(
        dataset=DatasetSpec(sample="german-credit"),
        methods=("spofr",),
        deltas=(0.1,),
        clicks=(500,),
        seeds=(3,),
        data_seed=-1,
        training={"max_steps": 7},
    )
    assert [each.run for each in spec.runs()] == [config.run]
    penalised = run_config(DataOptions(sample="hiring"), FairnessOptions(), "fultr", {"penalty": 10.0})
    swept = SweepSpec(dataset=DatasetSpec(sample="hiring"), methods=("fultr",), penalties=(10.0,), unit="share")
    assert [each.run for each in swept.runs()] == [penalised.run]


def test_a_choice_of_features_is_part_of_the_run():
    def chosen(*features):
        return run_config(
            DataOptions(sample="adult", features=list(features) or None), FairnessOptions(), "uniform", {}
        )

    assert "features" not in chosen().to_dict()["dataset"]
    assert chosen("work").run != chosen().run
    assert load_splits(chosen("work")).train.feature_names[:3] == ("age", "education_years", "hours")
    with pytest.raises(ConfigError, match="--features is given 2 times; a sample takes one set"):
        chosen("age", "hours")


def test_train_and_a_sweep_learn_from_the_same_clicks(tmp_path):
    """Before, `spofr train` drew its clicks by other seeds and another ranker."""
    out = tmp_path / "runs"
    assert run("train", *SAMPLE, "--clicks", 300, "--seed", 2, "--out", out, *SHORT).exit_code == 0
    spec = SweepSpec(
        dataset=DatasetSpec(sample="german-credit"),
        methods=("spofr",),
        deltas=(0.05,),
        clicks=(300,),
        seeds=(2,),
        data_seed=-1,
    )
    parts = training_data(spec.runs()[0], load_splits(spec.runs()[0]))
    learned_from = RunStore(out, create=False).records()[0].report["data"]
    assert learned_from["train"] == parts.train.fingerprint
    assert learned_from["validation"] == parts.validation.fingerprint


def test_a_model_has_one_set_of_policies_wherever_it_is_used(store, tmp_path):
    """`repair` gave the programme raw scores and `audit` calibrated estimates; these two differ."""
    out = tmp_path / "policies.parquet"
    summary = json.loads(run("repair", "--model", store, "--out", out, "--json", "-").stdout)
    audited = json.loads(run("audit", "--model", store, "--json", "-").stdout)
    model = resolve_model(store)
    data = model.test_data()
    own = model.estimator.policies(data)
    written = pd.read_parquet(out)
    own.write(tmp_path / "own.parquet")
    pd.testing.assert_frame_equal(written, pd.read_parquet(tmp_path / "own.parquet"))
    assert summary["after"]["dcg"] == pytest.approx(audited["utility"]["dcg"], abs=1e-12)
    # Raw scores would be told apart.
    raw = data.with_scores(model.estimator.scores(data))
    assert not np.allclose(raw.score, model.estimator.estimates(data))
    from spofr_core.experiments import with_estimates

    np.testing.assert_array_equal(with_estimates(model.estimator, data).score, model.estimator.estimates(data))


def test_a_model_selects_by_its_policies_and_scores_by_its_estimates(store):
    model = resolve_model(store)
    data = model.test_data()
    shown = json.loads(run("audit", "--model", store, "--top-k", 5, "--json", "-").stdout)["selection"]
    expected = selection_rates(data, k=5, policies=model.estimator.policies(data))
    assert shown == json.loads(json.dumps(expected.summary))
    scored = json.loads(run("audit", "--model", store, "--threshold", "median", "--json", "-").stdout)["selection"]
    assert scored["median"] == float(np.median(model.estimator.estimates(data)))


@pytest.mark.parametrize(("command", "option", "value"), [("audit", "--notion", "gap"), ("repair", "--shift", "0")])
def test_a_model_is_asked_about_what_it_was_trained_for(store, tmp_path, command, option, value):
    out = ["--out", tmp_path / "policies.parquet"] if command == "repair" else []
    with pytest.raises(ConfigError, match=f"leave {option} out, or train a model with it"):
        run(command, "--model", store, option, value, *out)


def test_a_model_is_found_by_store_run_folder_model_folder_and_name(store, own_home):
    record = RunStore(store, create=False).records()[0]
    folder = RunStore(store, create=False).folder(record.run)
    for name in (store, folder, folder / "model"):
        assert resolve_model(name).config.run == record.run
    result = run("train", *SAMPLE, "--method", "uniform")
    assert "spofr audit --model" in result.stdout
    trained = RunStore(own_home / "runs", create=False).records()[0]
    assert resolve_model(trained.run[:8]).config.method == "uniform"
    assert run("audit", "--model", trained.run).exit_code == 0
    with pytest.raises(DataError, match="There is no model 'zzz'"):
        resolve_model("zzz")


def test_a_store_with_several_runs_asks_which(tmp_path):
    out = tmp_path / "runs"
    for seed in (0, 1):
        last = run("train", *SAMPLE, "--method", "uniform", "--seed", seed, "--out", out)
    with pytest.raises(ConfigError, match=r"2 runs are done in .*uniform on german-credit, seed 0"):
        resolve_model(out)
    command = last.stdout.split("audit it with: spofr ")[1].split()
    assert run(*command).exit_code == 0


def test_a_model_directory_of_before_is_read(tmp_path):
    splits = load_sample("german-credit", seed=1)
    model = PredictThenOptimize(Fairness(delta=0.05), seed=1, max_steps=10, validate_every=5)
    model.fit(splits.train, splits.validation)
    model.save(tmp_path / "x")
    old = {"schema": 1, "data": {"sample": "german-credit"}, "clicks": None, "seed": 1, "test": {}}
    (tmp_path / "x" / "run.json").write_text(json.dumps(old))
    resolved = resolve_model(tmp_path / "x")
    assert resolved.test_data().fingerprint == splits.test.fingerprint
    summary = json.loads(run("audit", "--model", tmp_path / "x", "--json", "-").stdout)
    assert summary["queries"]["share"] == 1.0
    with pytest.raises(ConfigError, match="give another --out"):
        run("train", *SAMPLE, "--method", "uniform", "--out", tmp_path / "x")
    (tmp_path / "x" / "run.json").unlink()
    with pytest.raises(DataError, match="data of this model is unknown"):
        resolve_model(tmp_path / "x").test_data()


def test_the_file_of_an_old_model_is_split_as_it_was(tmp_path):
    from spofr_core.data import read_dataset
    from spofr_core.experiments.trained_model import _old_config

    file = ROOT / "sample_data" / "hiring.csv"
    config = _old_config({"data": {"file": str(file), "group": ["gender"], "missing": "own_group"}, "seed": 4})
    expected = read_dataset(file, group="gender", missing="own_group", features="auto").split(seed=4)
    assert load_splits(config).test.fingerprint == expected.test.fingerprint


def test_one_delta_for_each_group_and_merits_of_ones_own(tmp_path):
    out = tmp_path / "runs"
    asked = ["--delta", "female=0.02,male=0.05", "--notion", "merit", "--merit", "female=1", "--merit", "male=1"]
    arguments = ["train", ROOT / "sample_data" / "hiring.csv", "--group", "gender", "--method", "pto", *asked, *SHORT]
    groups = sorted(set(pd.read_csv(ROOT / "sample_data" / "hiring.csv")["gender"].astype(str)))
    arguments = [str(word).replace("female=", f"{groups[0]}=").replace("male=", f"{groups[-1]}=") for word in arguments]
    assert run(*arguments, "--out", out).exit_code == 0
    record = RunStore(out, create=False).records()[0]
    assert record.config.delta == {groups[0]: 0.02, groups[-1]: 0.05}
    assert record.config.merits == {groups[0]: 1.0, groups[-1]: 1.0}
    assert record.measured["fair_share"] == 1.0
    assert "0.02" in record.config.title
    assert run("runs", "list", out).exit_code == 0


def test_names_of_runs_are_those_of_before():
    config = RunConfig(dataset=DatasetSpec(sample="german-credit"), method="spofr", delta=0.05)
    assert set(config.to_dict()) == {
        "dataset", "method", "delta", "penalty", "groups", "notion", "position_bias", "clicks", "click_noise", "seed",
        "data_seed", "settings",
    }  # fmt: skip


def test_ctrl_c_stops_in_order_and_the_same_command_goes_on(tmp_path):
    out, log = tmp_path / "runs", tmp_path / "log.jsonl"
    words = ["train", *SAMPLE, "--out", str(out), "--log", str(log), "--set", "validate_every=50"]
    words += ["--set", "max_epochs=12", "--set", "patience=1000"]
    command = [sys.executable, "-c", "from spofr_core.cli import main; main()", *words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True, stdout=subprocess.DEVNULL)
    wait_until(lambda: any(out.glob("runs/*/checkpoint/*.safetensors")) or process.poll() is not None)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 1, said
    assert "the same command goes on" in said
    record = RunStore(out, create=False).records()[0]
    assert record.status == "interrupted"
    assert (RunStore(out).folder(record.run) / "checkpoint").exists()
    again = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=True)
    assert "Test:" in again.stdout
    assert RunStore(out).records()[0].status == "done"
    messages = [json.loads(line) for line in log.read_text().splitlines()]
    begun = [message["step"] for message in messages if message["kind"] == "start"]
    assert begun[0] == 0
    assert begun[-1] > 0, "it went on from its checkpoint"
