"""Sweeps end to end: what is done is skipped, what was cut goes on, what fails is told, nothing is done twice."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from spofr_core.errors import DataError
from spofr_core.experiments import sweep as sweep_module
from spofr_core.experiments.executors import Outcome
from spofr_core.experiments.progress import SweepState
from spofr_core.experiments.run_data import DataShelf, load_splits, training_data
from spofr_core.experiments.runs import claim as claim_module
from spofr_core.experiments.runs.execution import execute
from spofr_core.experiments.runs.result_tables import query_results, results
from spofr_core.experiments.runs.store import RunStore
from spofr_core.experiments.sweep import missing_runs, run_sweep
from spofr_core.experiments.time_estimate import Estimate, estimate
from spofr_core.files import DiskFull
from spofr_core.learning import load_model
from tests.experiments.specs import long, tiny
from tests.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def store(tmp_path):
    return RunStore(tmp_path / "runs")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A store in which the tiny sweep has run in this process."""
    store = RunStore(tmp_path_factory.mktemp("finished") / "runs")
    outcome = run_sweep(tiny(), store)
    assert outcome.ok
    return store


def test_results_agree_with_the_model_and_the_queries(finished):
    frame = results(finished).set_index("run")
    assert len(frame) == 3
    for config in tiny().runs():
        row = frame.loc[config.run]
        queries = finished.queries(config.run)
        data = load_splits(config).test
        assert queries["query"].tolist() == [str(name) for name in data.query_ids]
        assert row["dcg"] == pytest.approx(queries["dcg"].mean())
        assert row["violation_mean"] == pytest.approx(queries.loc[queries["applicable"], "violation"].mean())
        per_group = queries[[name for name in queries if name.startswith("violation of ")]].abs().max(axis=1)
        np.testing.assert_allclose(queries["violation"], np.where(queries["applicable"], per_group, 0.0))
        if config.method == "pto":
            assert row["fair_share"] == 1.0
            assert row["violation_max"] <= config.delta + 1e-9
            policies = load_model(finished.model_folder(config.run)).policies(data)
            expected = np.add.reduceat(data.relevance * policies.discounted, data.offsets[:-1])
            np.testing.assert_allclose(queries["dcg"], expected)
        else:
            assert np.isnan(row["fair_share"])


def test_a_repeated_sweep_does_nothing(finished, monkeypatch):
    monkeypatch.setattr(sweep_module, "execute", None)
    outcome = run_sweep(tiny(), finished)
    assert (outcome.skipped, outcome.done, outcome.total, outcome.ok) == (3, 0, 3, True)


def test_a_larger_sweep_does_what_is_missing(finished, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(finished.root, copy)
    outcome = run_sweep(tiny(deltas=[0.0, 0.05, 0.1]), RunStore(copy))
    assert (outcome.skipped, outcome.done) == (3, 1)


def test_processes_give_the_same_numbers(finished, store, pool):
    assert run_sweep(tiny(), store, pool).ok
    columns = ["run", "dcg", "violation_mean", "epochs"]
    pd.testing.assert_frame_equal(results(store)[columns], results(finished)[columns])


def test_the_store_tells_what_it_takes(finished):
    outcome = run_sweep(tiny(), finished)
    assert outcome.size == finished.size()
    assert "3 of 3 runs are done, 3 of them from before; the store takes" in str(outcome)


def test_query_results_of_many_runs(finished):
    runs = [config.run for config in tiny().runs()]
    frame = query_results(finished, runs[::-1], columns=("violation", "dcg", "applicable"))
    assert list(frame.columns) == ["run", "violation", "dcg", "applicable"]
    assert frame["run"].cat.categories.tolist() == runs[::-1]
    for run in runs:
        np.testing.assert_array_equal(frame.loc[frame["run"] == run, "dcg"], finished.queries(run)["dcg"])
    with pytest.raises(DataError, match="not done, or was removed"):
        query_results(finished, ["nothing"])


def break_delta_zero(item, data, emit):
    """The real run, but for one that fails."""
    if item["config"]["delta"] == 0.0:
        raise ValueError("no such luck")
    return execute(item, data, emit)


def test_a_failing_run_is_recorded_and_the_others_go_on(store, monkeypatch):
    monkeypatch.setattr(sweep_module, "execute", break_delta_zero)
    outcome = run_sweep(tiny(), store)
    (failed,) = [config.run for config in tiny().runs() if config.delta == 0.0]
    assert outcome.failures == {failed: "ValueError: no such luck"}
    assert (outcome.done, outcome.ok, outcome.stopped) == (2, False, False)
    assert store.get(failed).reason == "ValueError: no such luck"
    assert "in break_delta_zero" in store.log(failed)
    written = pd.read_parquet(store.root / "results.parquet").set_index("run")["status"]
    assert written[failed] == "failed"
    monkeypatch.undo()
    again = run_sweep(tiny(), store)
    assert (again.skipped, again.done, again.ok) == (2, 1, True)


@pytest.mark.parametrize("where", ["client", "worker"])
def test_a_full_disk_ends_the_sweep_with_one_sentence(store, monkeypatch, where):
    calls = 0

    def full(*_):
        nonlocal calls
        calls += 1
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "somewhere")

    if where == "client":
        monkeypatch.setattr(claim_module.Claim, "_write_model", full)
    else:
        monkeypatch.setattr(sweep_module, "execute", full)
    with pytest.raises(DiskFull, match="is full: finished runs are safe"):
        run_sweep(tiny(), store)
    assert calls == 1, "the other runs are not tried"
    assert {record.status for record in store.records()} <= {"running", "interrupted"}
    monkeypatch.undo()
    assert run_sweep(tiny(), store).ok


def test_the_store_has_a_limit(store):
    with pytest.raises(DiskFull, match=r"more than the limit of 1\.0 kB"):
        run_sweep(tiny(), store, disk_limit=1024)
    assert len([record for record in store.records() if record.status == "done"]) == 1


def test_changed_data_is_told(tmp_path, store):
    path = tmp_path / "rows.csv"
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(
        {
            "query": np.repeat(np.arange(20), 5),
            "item": np.arange(100),
            "group": rng.choice(["a", "b"], 100),
            "relevance": rng.integers(0, 2, 100),
            "x": rng.normal(size=100).round(3),
        }
    )
    rows.to_csv(path, index=False)
    spec = tiny(methods=["uniform"], dataset={"file": str(path), "columns": {"features": ["x"]}})
    assert run_sweep(spec, store).ok
    assert results(store)["dataset"].tolist() == ["rows.csv"]
    rows.assign(x=0.5 - rows["x"]).to_csv(path, index=False)
    with pytest.raises(DataError, match=r"data of 'rows\.csv' has changed since 1 of these runs"):
        run_sweep(spec, store)
    outcome = run_sweep(spec, store, changed_data="rerun")
    assert (outcome.skipped, outcome.done) == (0, 1)
    assert run_sweep(spec, store).skipped == 1


def test_a_file_without_features_is_told(tmp_path, store):
    path = tmp_path / "rows.csv"
    path.write_text("query,item,group,relevance\nq,1,a,0\nq,2,b,1\n")
    with pytest.raises(DataError, match="has no features to learn from"):
        run_sweep(tiny(dataset={"file": str(path)}), store)


def test_a_stopped_sweep_goes_on_from_its_checkpoint(store):
    spec = long(deltas=[0.1])
    (config,) = spec.runs()
    steps = int(config.settings["max_steps"])
    shares: list[float] = []

    def watch(state: SweepState) -> None:
        shares.extend(share for share in state.running.values() if share > 0)

    outcome = run_sweep(spec, store, on_progress=watch, stop=lambda: bool(shares) and shares[-1] * steps >= 60)
    assert outcome.stopped
    assert "the same command goes on from here" in str(outcome)
    assert store.get(config.run).status == "interrupted"
    assert shares[0] * steps < 10, "the first one began at the beginning"
    shares.clear()
    assert run_sweep(spec, store, on_progress=watch, stop=lambda: bool(shares)).stopped
    assert shares[0] * steps > 50, "the second one did not"


def test_a_checkpoint_that_cannot_be_used_is_thrown_away(store):
    spec = tiny(methods=["pto"], deltas=[0.1])
    (config,) = spec.runs()
    store.claim(config, DataShelf(spec.runs()).fingerprint(config.data_key)).release()
    checkpoint = store.folder(config.run) / "checkpoint" / "checkpoint.safetensors"
    checkpoint.parent.mkdir()
    checkpoint.write_bytes(b"half of it")
    assert run_sweep(spec, store).ok
    assert any(note.startswith("Training began anew") for note in store.get(config.run).notes)


CUT = {"max_steps": 60, "max_epochs": 40, "patience": 1000, "validate_every": 2, "hidden": [4], "batch_size": 4}


def test_a_sweep_killed_in_the_middle_ends_where_an_undisturbed_one_does(tmp_path, store):
    """kill -9 to a sweep while it trains; the same command then gives the same numbers to the last bit."""
    spec = tiny(methods=["pto"], deltas=[0.0, 0.1], training=CUT)
    whole = RunStore(tmp_path / "whole")
    assert run_sweep(spec, whole).ok
    script = textwrap.dedent(
        f"""
        import signal
        from pathlib import Path
        from spofr_core.experiments import RunStore, limit_threads, run_sweep
        from tests.experiments.specs import tiny
        limit_threads(1)
        spec = tiny(methods=["pto"], deltas=[0.0, 0.1], training={CUT!r})
        saved = lambda: any(Path({str(store.root)!r}).rglob("checkpoint.safetensors"))
        run_sweep(spec, RunStore({str(store.root)!r}), on_progress=lambda state: saved() and signal.pause())
        """
    )
    child = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT)
    first = spec.runs()[0].run
    try:
        wait_until(lambda: (store.folder(first) / "checkpoint" / "checkpoint.safetensors").exists())
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert store.get(first).status == "interrupted"
    outcome = run_sweep(spec, store)
    assert outcome.ok
    assert outcome.skipped + outcome.done == 2
    columns = ["run", "dcg", "violation_mean", "epochs"]
    pd.testing.assert_frame_equal(results(store)[columns], results(whole)[columns], check_exact=True)
    for config in spec.runs():
        weights = [s.model_folder(config.run) / "model.safetensors" for s in (store, whole)]
        assert weights[0].read_bytes() == weights[1].read_bytes()
        assert not (store.folder(config.run) / "checkpoint").exists()


def test_two_sweeps_at_once_share_the_work(store, monkeypatch):
    spec = tiny(deltas=[0.0, 0.05, 0.1, 0.2], seeds=2)
    worked: list[str] = []

    def counted(item, data, emit):
        worked.append(item["config"]["method"] + str(item["config"]["delta"]) + str(item["config"]["seed"]))
        time.sleep(0.05)
        return execute(item, data, emit)

    monkeypatch.setattr(sweep_module, "execute", counted)
    outcomes: list[object] = []
    threads = [
        threading.Thread(target=lambda: outcomes.append(run_sweep(spec, RunStore(store.root)))) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(outcome.ok for outcome in outcomes)
    assert len(worked) == len(set(worked)) == len(spec.runs()) == 10
    assert {outcome.done + outcome.skipped for outcome in outcomes} == {10}
    assert results(store)["status"].tolist() == ["done"] * 10


def test_what_others_have_ended_is_counted_once_though_one_run_was_let_go(store, monkeypatch):
    """Of two runs of another process one ends and one is let go: the latter is done here, the former not again."""
    spec = tiny(deltas=[0.0, 0.05], seeds=1)
    first, second = spec.runs()[:2]
    fingerprint = "0" * 64
    sweep = sweep_module._Sweep(spec.runs(), store, None, None, lambda _: None, lambda *_: None, lambda: False, 0)
    sweep.state = SweepState(len(spec.runs()))
    statuses = {first.run: "done", second.run: "interrupted"}
    monkeypatch.setattr(store, "get", lambda run: SimpleNamespace(status=statuses[run], fingerprint=fingerprint))
    sweep.elsewhere = [first, second]
    assert sweep._wait_for_others() == (second,)
    assert sweep.state.done == 1


def test_dask_does_every_run_once_though_a_worker_is_killed(store, dask):
    spec = tiny(deltas=[0.0, 0.02, 0.05, 0.1, 0.2], seeds=2)
    finished: list[str] = []
    killed: list[int] = []
    pids = dask.client.run(os.getpid)

    def kill_one(state: SweepState) -> None:
        if state.done == 2 and not killed:
            killed.append(next(iter(pids.values())))
            os.kill(killed[0], signal.SIGKILL)

    kept = sweep_module._Sweep._keep

    def keep(self, outcome: Outcome) -> None:
        finished.append(outcome.key)
        kept(self, outcome)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweep_module._Sweep, "_keep", keep)
        outcome = run_sweep(spec, store, dask, on_progress=kill_one)
    assert len(pids) == 2
    assert outcome.failures == {}
    assert outcome.ok
    assert killed
    assert sorted(finished) == sorted(config.run for config in spec.runs())
    assert results(store)["status"].tolist() == ["done"] * len(spec.runs())
    assert store.metrics(spec.runs()[0].run), "metrics came back"


def test_clicks_of_a_run_depend_on_its_seed_alone():
    first, second = (tiny(methods=["uniform"], clicks=30, seeds=[seed]).runs()[0] for seed in (0, 1))
    splits = load_splits(first)
    data = training_data(first, splits)
    assert (len(data.train), len(data.validation), len(data.test)) == (30, 30, 15)
    assert training_data(first, load_splits(first)).train.fingerprint == data.train.fingerprint
    assert training_data(second, splits).train.fingerprint != data.train.fingerprint
    assert data.test.fingerprint == splits.test.fingerprint
    assert not {q.split("/")[0] for q in data.train.query_ids} & {q.split("/")[0] for q in data.validation.query_ids}


def test_clicks_are_drawn_once_for_runs_that_differ_in_something_else():
    first, second = tiny(methods=["pto"], clicks=30, deltas=[0.0, 0.1], seeds=[0]).runs()
    splits = load_splits(first)
    data = training_data(first, splits)
    assert training_data(second, splits) is data
    for changes in ({"clicks": 31}, {"click_noise": 0.1}, {"seed": 1}):
        assert training_data(first.model_copy(update=changes), splits).train.fingerprint != data.train.fingerprint
    assert training_data(first, splits).train.fingerprint == data.train.fingerprint


def test_full_information_runs_see_the_labels():
    config = tiny(methods=["uniform"]).runs()[0]
    splits = load_splits(config)
    assert training_data(config, splits).train is splits.train


def test_merit_runs_take_their_merits_from_the_training_labels(store):
    assert run_sweep(tiny(methods=["pto"], notions=["merit"], deltas=[0.2], clicks=40), store).ok
    (row,) = results(store).to_dict("records")
    assert row["notion"] == "merit"
    assert row["fair_share"] <= 1.0


def test_the_shelf_loads_each_data_set_once():
    configs = tiny(groups=[2, 3, 4], methods=["uniform"]).runs()
    shelf = DataShelf(configs, size=2)
    first = shelf.splits(configs[0].data_key)
    assert shelf.splits(configs[0].data_key) is first
    assert len({shelf.fingerprint(config.data_key) for config in configs}) == 3
    assert shelf.splits(configs[0].data_key) is not first, "forgotten after two others"


def test_an_estimate_lies_between_early_stopping_and_every_step():
    configs = tiny(training={"max_steps": 400, "validate_every": 10, "patience": 4, "hidden": [4]}).runs()
    found = estimate(configs, DataShelf(configs), workers=2)
    assert found.runs == 3
    assert 0 < found.low < found.high
    # On a fast machine both bounds round to the same seconds, and the sentence has one of them.
    assert str(found).startswith("3 runs on 2 workers: ")
    assert str(estimate((), DataShelf(()))) == "Nothing is left to do."


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (Estimate(1, 1, 3.0, 90.0), "1 run on 1 worker: between 3 s and 90 s, depending on how soon training stops."),
        (Estimate(12, 1, 11.1, 11.2), "12 runs on 1 worker: about 11 s."),
    ],
)
def test_an_estimate_reads_as_a_sentence(found, told):
    assert str(found) == told


def test_missing_runs(finished):
    assert missing_runs(tiny().runs(), finished) == ()
    assert len(missing_runs(tiny(deltas=[0.3]).runs(), finished)) == 1


def test_time_left_is_counted_from_the_runs_that_ended():
    state = SweepState(total=5, skipped=1, workers=2)
    assert state.eta_seconds is None
    state.start("a")
    state._since["a"] -= 10
    state.end("a", ok=True)
    assert state.eta_seconds == pytest.approx(15.0, rel=0.01)
    state.start("b")
    state._since["b"] -= 4
    state.hear("b", {"step": 5, "max_steps": 20})
    assert state.running == {"b": 0.25}
    # Two not begun and six seconds of the third, on two workers.
    assert state.eta_seconds == pytest.approx((20 + 6) / 2, rel=0.01)
    state.end("b", ok=False)
    assert (state.done, state.failed, state.ended) == (1, 1, 3)
