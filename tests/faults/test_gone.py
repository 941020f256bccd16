"""Others at work who go away: a second process on the same run, a Dask scheduler, all of its workers."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from spofr_core.errors import SpofrError
from spofr_core.experiments import RunStore, run_sweep
from spofr_core.experiments.executors import Task, dask_cluster
from tests.experiments.specs import tiny
from tests.experiments.test_sweep import CUT
from tests.experiments.works import scaled, slow
from tests.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 120


@pytest.mark.usefixtures("one_thread")  # the weights are compared bit by bit, and the other process has one
def test_who_waits_for_a_run_takes_it_over_when_its_process_is_killed(tmp_path):
    spec = tiny(methods=["pto"], deltas=[0.1], training=CUT)
    (config,) = spec.runs()
    whole, store = RunStore(tmp_path / "whole"), RunStore(tmp_path / "runs")
    assert run_sweep(spec, whole).ok
    script = textwrap.dedent(
        f"""
        import signal
        from pathlib import Path
        from spofr_core.experiments import RunStore, limit_threads, run_sweep
        from tests.experiments.specs import tiny
        limit_threads(1)
        spec = tiny(methods=["pto"], deltas=[0.1], training={CUT!r})
        saved = lambda: any(Path({str(store.root)!r}).rglob("checkpoint.safetensors"))
        run_sweep(spec, RunStore({str(store.root)!r}), on_progress=lambda state: saved() and signal.pause())
        """
    )
    other = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT)
    try:
        wait_until(lambda: (store.folder(config.run) / "checkpoint" / "checkpoint.safetensors").exists())
        assert store.claim(config, "data") is None
        looks: list[None] = []

        def kill_at_the_second_look() -> bool:
            looks.append(None)
            if len(looks) == 2:
                other.send_signal(signal.SIGKILL)
                other.wait()
            return False

        assert run_sweep(spec, store, stop=kill_at_the_second_look).ok
    finally:
        other.kill()
        other.wait()
    weights = [s.model_folder(config.run) / "model.safetensors" for s in (store, whole)]
    assert weights[0].read_bytes() == weights[1].read_bytes()


@pytest.fixture
def cluster():
    """Address and processes of a scheduler and its worker."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    run = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(port)]
    join = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny"]
    processes = [
        subprocess.Popen([*command, "--no-dashboard"], cwd=ROOT, stderr=subprocess.DEVNULL) for command in (run, join)
    ]
    try:
        yield address, processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


@pytest.mark.parametrize(("who", "sentence"), [(0, "is gone"), (1, "has had no worker for 1 s")])
def test_a_cluster_that_goes_away_is_told_in_a_sentence(cluster, tmp_path, monkeypatch, capfd, who, sentence):
    address, processes = cluster
    monkeypatch.setattr(dask_cluster, "CONNECT_SECONDS", 60.0)
    monkeypatch.setattr(dask_cluster, "WORKER_SECONDS", 60.0)
    monkeypatch.setattr(dask_cluster, "GONE_SECONDS", 1.0)
    monkeypatch.setattr(dask_cluster, "ALONE_SECONDS", 1.0)
    task = Task("one", {"folder": str(tmp_path), "name": "one", "seconds": PATIENCE})
    with dask_cluster.DaskExecutor(address) as executor:
        capfd.readouterr()
        outcomes = executor.outcomes(slow, [task], on_message=lambda key, message: processes[who].kill())
        with pytest.raises(SpofrError, match=sentence) as told:
            list(outcomes)
    assert "give the same command" in str(told.value)
    assert "Traceback" not in capfd.readouterr().err


def test_a_worker_that_dies_while_data_is_sent_holds_nobody_up(cluster, monkeypatch):
    """It takes what it is sent no more, and is dead before anybody has noticed."""
    address, processes = cluster
    monkeypatch.setattr(dask_cluster, "CONNECT_SECONDS", 60.0)
    monkeypatch.setattr(dask_cluster, "WORKER_SECONDS", 60.0)
    join = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny"]
    processes.append(subprocess.Popen([*join, "--no-dashboard"], cwd=ROOT, stderr=subprocess.DEVNULL))
    with dask_cluster.DaskExecutor(address) as executor:
        wait_until(lambda: executor.workers == 2)
        asked: list[str] = []

        def share(name: str) -> dict[str, int]:
            asked.append(name)
            if len(asked) == 1:
                processes[1].send_signal(signal.SIGSTOP)
                threading.Timer(1.0, processes[1].kill).start()
            return {"factor": 3}

        tasks = [Task(f"t{n}", n, data=f"for {n % 2}") for n in range(4)]
        outcomes = {outcome.key: outcome.value for outcome in executor.outcomes(scaled, tasks, share=share)}
    assert outcomes == {f"t{n}": 3 * n for n in range(4)}
