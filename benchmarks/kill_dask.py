"""A sweep on a Dask cluster of which the scheduler, a worker or the command itself is killed while it is at work.

A worker is replaced, and the command goes on by itself. A command or a scheduler is started again, and the same command
given again. It must end in the bytes of a sweep that nobody disturbed.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from distributed import Client
from kill_works import run_results, store_faults, unreadable, write_table
from killing import FOLDER, SHELL, Chain, Work, differences, free_port, fresh_folder

NAME = "spofr sweep on Dask"
PATIENCE = 300.0
MOST_KILLS = 5
MOST_WORKERS = 2
"""Killed under one sweep: a task whose worker dies a third time is given up, by design."""
VICTIMS = ("the command", "the command", "the scheduler", "first", "second", "second")
ROOT = Path(__file__).resolve().parents[1]
_SPEC = """dataset:
  file: table.csv
  columns: {query: search_id, item: candidate_id, group: gender, relevance: relevance}
methods: [pto]
deltas: [0.0, 0.05, 0.1, 0.2]
training: {max_steps: 1500, max_epochs: 1500, patience: 10000, hidden: [4], batch_size: 4, validate_every: 25}
"""
"""Long enough beside the start of a command: a kill should meet it at work."""


def _begin(folder: Path) -> None:
    write_table(folder)
    (folder / "spec.yaml").write_text(_SPEC, encoding="utf-8")


WORK = Work(NAME, lambda folder: None, store_faults, run_results, _begin)


class Cluster:
    """A scheduler and two workers on this machine, each of which may be killed and started again."""

    def __init__(self, root: Path) -> None:
        self._port = free_port()
        self.address = f"tcp://127.0.0.1:{self._port}"
        self._said = root / "dask.txt"
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        """Whoever is missing, until both workers are there: one that lost its scheduler may take a while to end."""
        deadline = time.monotonic() + PATIENCE
        self._start_missing()
        with Client(self.address, timeout=PATIENCE, set_as_default=False) as client:
            while len(client.nthreads()) < 2:
                if time.monotonic() > deadline:
                    raise RuntimeError(f"The cluster did not come up; see {self._said}.")
                time.sleep(0.2)
                self._start_missing()

    def _start_missing(self) -> None:
        scheduler = ["-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(self._port)]
        worker = ["-m", "distributed.cli.dask_worker", self.address, "--nthreads", "1", "--no-nanny"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        for name, words in (("scheduler", scheduler), ("first", worker), ("second", worker)):
            if name not in self._processes or self._processes[name].poll() is not None:
                with self._said.open("ab") as said:
                    run = [sys.executable, *words, "--no-dashboard"]
                    self._processes[name] = subprocess.Popen(run, stdout=said, stderr=said, env=environment)

    def kill(self, name: str) -> None:
        self._processes[name].kill()
        self._processes[name].wait()

    def end(self) -> None:
        """All of them; workers first, who would look for their scheduler."""
        for name in reversed(self._processes):
            self.kill(name)


@contextmanager
def cluster(root: Path) -> Iterator[Cluster]:
    """A cluster until the end of the block."""
    found = Cluster(root)
    try:
        found.start()
        yield found
    finally:
        found.end()


def undisturbed(root: Path, nodes: Cluster) -> tuple[dict[str, Any], int]:
    """What the sweep brings when nobody kills anything, and the lines of progress that it writes."""
    folder = fresh_folder(root / FOLDER, WORK)
    if _command(folder, nodes).wait(PATIENCE):
        raise RuntimeError(f"The sweep fails by itself: {(folder / 'said.txt').read_text(encoding='utf-8')}")
    return run_results(folder / "runs"), _progress(folder)


def _progress(folder: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in folder.glob("runs/runs/*/metrics.jsonl"))


def swept(chance: random.Random, chain: Chain, root: Path, nodes: Cluster, whole: tuple[dict[str, Any], int]) -> None:
    """One sweep, some kills, and the comparison."""
    expected, lines = whole
    folder = fresh_folder(root / FOLDER, WORK)
    process = _command(folder, nodes)
    workers = 0
    while len(chain.cuts) < MOST_KILLS:
        # However long that takes: others are at work on this machine.
        wanted = _progress(folder) + 0.5 * (lines - _progress(folder)) * chance.random()
        while process.poll() is None and _progress(folder) <= wanted:
            time.sleep(0.01)
        if process.poll() is not None:
            break  # it has ended before
        victim = chance.choice(VICTIMS if workers < MOST_WORKERS else VICTIMS[:3])
        if victim == "the command":
            process.kill()
            process.wait()
        elif victim == "the scheduler":
            nodes.kill("scheduler")
            _wait_for_the_end(process, folder, chain)
        else:
            workers += 1
            nodes.kill(victim)
        chain.cuts.append("at any instant")
        if process.poll() is not None:  # else somebody is at work, and says so
            chain.faults += [*unreadable(folder), *store_faults(folder / "runs")]
        nodes.start()
        if process.poll() is not None:
            process = _command(folder, nodes)
    code = process.wait(PATIENCE)
    if code:
        said = (folder / "said.txt").read_text(encoding="utf-8")
        chain.faults.append(f"after {len(chain.cuts)} kills the command ended with code {code}: {said[-400:]}")
    chain.faults += [*store_faults(folder / "runs"), *differences(expected, run_results(folder / "runs"))]


def _wait_for_the_end(process: subprocess.Popen[bytes], folder: Path, chain: Chain) -> None:
    """A command without a scheduler ends with one sentence that says how to go on, or has just ended by itself."""
    before = len((folder / "said.txt").read_bytes())
    code = process.wait(PATIENCE)
    said = (folder / "said.txt").read_bytes()[before:].decode()
    sentences = ("give the same command", "No Dask scheduler answers")
    if code != 0 and (code != 2 or not any(some in said for some in sentences) or "Traceback" in said):
        chain.faults.append(f"without a scheduler the command ended with code {code}: {said[-400:]}")


def _command(folder: Path, nodes: Cluster) -> subprocess.Popen[bytes]:
    words = ["sweep", "spec.yaml", "--no-probe", "--out", "runs", "--scheduler", nodes.address]
    with (folder / "said.txt").open("ab") as said:
        return subprocess.Popen([*SHELL, *words], cwd=folder, stdout=said, stderr=said)
