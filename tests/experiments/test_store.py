"""The store: whole at any instant, shared, told when it is full."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import textwrap
import time
import zipfile
from pathlib import Path

import pandas as pd
import pytest

from spofr_core.errors import ConfigError, DataError
from spofr_core.experiments.runs import claim as claim_module
from spofr_core.experiments.runs.result_tables import collect, results
from spofr_core.experiments.runs.run_output import MEASURED, RunOutput
from spofr_core.experiments.runs.store import RunStore
from spofr_core.files import DiskFull, size_of
from tests.experiments.specs import tiny

ROOT = Path(__file__).resolve().parents[2]


def output(dcg: float = 1.0) -> RunOutput:
    measured = dict.fromkeys(MEASURED, 0.5) | {"dcg": dcg, "epochs": 3, "groups": 2, "seconds": 2.0}
    return RunOutput(
        measured=measured,
        tables={"test": b"table"},
        model={"model.json": b"{}", "model.safetensors": b"weights"},
        report={"stopped": "max_steps"},
        history=[{"step": 1}, {"step": 2}],
        notes=("a note",),
        versions={"spofr": "1"},
    )


@pytest.fixture
def store(tmp_path):
    return RunStore(tmp_path / "runs")


@pytest.fixture
def config():
    return tiny().runs()[0]


def test_a_finished_run_is_self_describing(store, config):
    claim = store.claim(config, "data")
    claim.metric({"step": 1})
    assert store.get(config.run).status == "running"
    claim.finish(output(1.25))
    record = store.get(config.run)
    assert record.status == "done"
    assert record.config == config
    assert (record.fingerprint, record.versions, record.notes) == ("data", {"spofr": "1"}, ("a note",))
    assert store.metrics(config.run) == [{"step": 1}, {"step": 2}]
    assert "begun by process" in store.log(config.run)
    assert json.loads((store.folder(config.run) / "config.json").read_text()) == config.to_dict()
    assert (store.model_folder(config.run) / "model.safetensors").read_bytes() == b"weights"
    assert record.row()["dcg"] == 1.25
    assert store.claim(config, "data") is None, "a run that is done is not done again"


def test_a_failed_run_tells_why_and_can_be_tried_again(store, config):
    store.claim(config, "data").fail("It went wrong.", "Traceback ...")
    record = store.get(config.run)
    assert (record.status, record.reason) == ("failed", "It went wrong.")
    assert "Traceback ..." in store.log(config.run)
    again = store.claim(config, "data")
    again.finish(output())
    assert store.get(config.run).status == "done"
    assert store.get(config.run).reason is None


def test_only_one_can_work_on_a_run(store, config):
    first = store.claim(config, "data")
    assert RunStore(store.root).claim(config, "data") is None
    first.release()
    assert store.get(config.run).status == "interrupted"
    second = RunStore(store.root).claim(config, "data")
    assert second is not None
    second.release()


def test_a_killed_process_leaves_its_run_to_others(store, config):
    script = textwrap.dedent(
        f"""
        from spofr_core.experiments.runs.store import RunStore
        from tests.experiments.specs import tiny
        claim = RunStore({str(store.root)!r}).claim(tiny().runs()[0], "data")
        claim.metric({{"step": 1}})
        print("claimed", flush=True)
        input()
        """
    )
    child = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "claimed\n"
        assert store.get(config.run).status == "running"
        assert store.claim(config, "data") is None
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
    assert store.get(config.run).status == "interrupted"
    claim = store.claim(config, "data")
    assert claim is not None
    claim.finish(output())


def test_a_status_of_a_number_that_another_process_has_now_is_interrupted(store, config):
    claim = store.claim(config, "data")
    path = store.folder(config.run) / "status.json"
    content = json.loads(path.read_text())
    content["owner"] = {**content["owner"], "started": 0.0, "after_boot": -1000.0}
    path.write_text(json.dumps(content))
    assert store.get(config.run).status == "interrupted"
    claim.release()


WRITES = 11
"""Files and directories that are moved into place from the claim of a run to its end."""


@pytest.fixture(scope="module")
def cut(tmp_path_factory):
    """Stores whose process was killed at its n-th move of a file into place; in the last one it was not."""
    root = tmp_path_factory.mktemp("cut")
    script = textwrap.dedent(
        f"""
        import os, signal
        from pathlib import Path
        from spofr_core.experiments.runs.store import RunStore
        from tests.experiments.specs import tiny
        from tests.experiments.test_store import output
        config = tiny().runs()[0]
        def killing(move, left):
            def moved(self, target):
                left.pop()
                if not left:
                    os.kill(os.getpid(), signal.SIGKILL)
                return move(self, target)
            return moved
        for place in range({WRITES} + 1):
            child = os.fork()
            if child == 0:
                left = [None] * (place + 1)
                Path.replace, Path.rename = killing(Path.replace, left), killing(Path.rename, left)
                RunStore({str(root)!r} + f"/{{place}}").claim(config, "data").finish(output(1.25))
                os._exit(0)
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        """
    )
    ended = subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True, capture_output=True, text=True)
    return root, [int(line) for line in ended.stdout.split()]


def test_every_write_was_cut_once(cut):
    assert cut[1] == [-9] * WRITES + [0]


@pytest.mark.parametrize("place", range(WRITES + 1))
def test_a_kill_at_any_write_leaves_whole_files_only(cut, place):
    store = RunStore(cut[0] / str(place))
    config = tiny().runs()[0]
    folder = store.folder(config.run)
    for path in folder.rglob("*"):
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts):
            if path.suffix == ".json":
                assert json.loads(path.read_text()) is not None
            elif path.name in ("test.parquet", "model.safetensors"):
                assert path.read_bytes() in (b"table", b"weights")
    if (folder / "model").exists():
        assert {path.name for path in (folder / "model").iterdir()} == {"model.json", "model.safetensors"}
    record = store.get(config.run)
    if place == WRITES:
        assert record.status == "done"
        return
    # The store's own marker and the config come before the first status.
    assert (record is None) == (place < 3)
    assert record is None or record.status == "interrupted"
    store.sweep_up()
    store.claim(config, "data").finish(output(1.25))
    assert store.get(config.run).measured["dcg"] == 1.25
    assert [path.name for path in folder.rglob(".*")] == []


def test_a_full_disk_is_one_sentence_and_nothing_half_written(store, config, monkeypatch):
    claim = store.claim(config, "data")
    real = claim_module.write_whole

    def full(path, content):
        if Path(path).name == "model.safetensors":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        real(path, content)

    monkeypatch.setattr(claim_module, "write_whole", full)
    with pytest.raises(DiskFull, match=r"The disk that holds .* is full: finished runs are safe") as told:
        claim.finish(output())
    assert not store.model_folder(config.run).exists()
    assert not list(store.folder(config.run).glob(".*"))
    monkeypatch.undo()
    claim = store.claim(config, "data")
    assert claim is not None, "the lock was let go"
    claim.finish(output())
    assert store.get(config.run).status == "done"
    assert "command" not in told.value.plain
    assert "/" not in told.value.plain, "no path on a page"


def test_results_have_the_columns_that_were_promised(store):
    for place, config in enumerate(tiny().runs()):
        claim = store.claim(config, "data")
        if place == 2:
            claim.fail("no")
        else:
            claim.finish(output(place))
    frame = collect(store)
    promised = ["run", "dataset", "method", "delta", "unit", "penalty", "groups", "notion", "clicks", "seed"]
    promised += ["dcg", "ideal_dcg", "ndcg", "violation_mean", "violation_max", "violation_signed_mean", "fair_share"]
    assert list(frame.columns) == [*promised, "seconds", "epochs", "status"]
    assert sorted(frame["status"]) == ["done", "done", "failed"]
    assert frame[frame["status"] == "failed"]["dcg"].isna().all()
    assert frame["clicks"].isna().all()
    pd.testing.assert_frame_equal(pd.read_parquet(store.root / "results.parquet"), frame)


def test_an_empty_store_has_empty_results(store):
    assert store.records() == []
    assert results(store).empty
    assert collect(store).empty


def test_removing_spares_what_is_at_work(store):
    first, second, _ = tiny().runs()
    store.claim(first, "data").finish(output())
    busy = store.claim(second, "data")
    assert store.remove([first.run, second.run, "nothing"]) == [first.run]
    assert [record.run for record in store.records()] == [second.run]
    busy.release()


def test_finding_by_the_beginning_of_the_name(store):
    for config in tiny().runs():
        store.claim(config, "data").release()
    run = tiny().runs()[0].run
    assert store.find(run[:8]).run == run
    with pytest.raises(ConfigError, match="There is no run 'xyz'"):
        store.find("xyz")
    with pytest.raises(ConfigError, match="There is 3 runs ''"):
        store.find("")


def test_export_holds_everything_but_checkpoints(store, config, tmp_path):
    claim = store.claim(config, "data")
    claim.finish(output())
    (store.folder(config.run) / "checkpoint").mkdir()
    (store.folder(config.run) / "checkpoint" / "x").write_text("x")
    with zipfile.ZipFile(store.export([config.run], tmp_path / "out.zip")) as archive:
        names = {name.removeprefix(f"{config.run}/") for name in archive.namelist()}
    wanted = {"config.json", "status.json", "metrics.jsonl", "log.txt", "test.parquet"}
    assert names == wanted | {"model/model.json", "model/model.safetensors"}


def test_a_line_that_is_just_being_written_is_not_read(store, config):
    claim = store.claim(config, "data")
    claim.metric({"step": 1})
    with (store.folder(config.run) / "metrics.jsonl").open("a") as file:
        file.write('{"step": ')
    assert store.metrics(config.run) == [{"step": 1}]
    claim.release()


def test_a_log_does_not_grow_without_end(store, config, monkeypatch):
    monkeypatch.setattr(claim_module, "LOG_LIMIT", 1000)
    claim = store.claim(config, "data")
    for _ in range(30):
        claim.log("x" * 90)
    assert len(store.log(config.run)) == 1000
    claim.release()


def test_what_is_no_store_is_told(tmp_path):
    with pytest.raises(ConfigError, match=r"no store\.json"):
        RunStore(tmp_path / "none", create=False)
    (tmp_path / "file").write_text("x")
    with pytest.raises(ConfigError, match="is a file"):
        RunStore(tmp_path / "file")
    (tmp_path / "store.json").write_text('{"format": "spofr-runs", "version": 99}')
    with pytest.raises(ConfigError, match="version 99"):
        RunStore(tmp_path)


def test_queries_of_a_run_without_results(store):
    with pytest.raises(DataError, match="has no results of the test part"):
        store.queries("nothing")


def test_size_counts_every_file(store, config):
    store.claim(config, "data").finish(output())
    expected = sum(path.stat().st_size for path in store.root.rglob("*") if path.is_file())
    assert store.size() == size_of(store.root) == expected > 0


def test_sweeps_are_remembered_the_latest_first(store, monkeypatch):
    for k, name in enumerate("ab"):
        monkeypatch.setattr(time, "time", lambda k=k: 1e9 + k)
        store.remember_sweep(name, {"x": k}, ["r"])
    assert [sweep["sweep"] for sweep in store.sweeps()] == ["b", "a"]


def test_a_checkpoint_outlives_no_run_that_has_ended(store, config):
    """A process killed after the last word of a run leaves it; one of a run that was let go is what it goes on from."""
    for ended in (False, True):
        claim = store.claim(config, "data")
        claim.checkpoint.mkdir(exist_ok=True)
        claim.finish(output(1.0)) if ended else claim.release()
        claim.checkpoint.mkdir(exist_ok=True)
        store.sweep_up()
        assert claim.checkpoint.exists() is not ended
