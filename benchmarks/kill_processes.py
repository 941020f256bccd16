"""The same kills with whole processes: commands of the shell, a pool of workers, a Dask cluster, the service.

Slower by far than forked children, because each imports everything: a few dozen show that nothing depends on the fork.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pyarrow.parquet as pq
from kill_works import WORKS, run_results, store_faults, unreadable
from killing import FOLDER, Chain, differences, fresh_folder

from spofr_core.serving.counter_store import CounterStore

PATIENCE = 300.0
MOST_KILLS = 4
SHELL = (sys.executable, "-c", "from spofr_core.cli import main; main()")
ITEMS = [{"id": i, "group": g, "score": s} for i, g, s in zip("wxyz", "aabb", (0.9, 0.8, 0.4, 0.1), strict=True)]
NAMES = ("spofr train", "spofr sweep --workers 2", "spofr sweep on Dask", "spofr serve")


def chains(name: str, root: Path, kills: int, seed: int) -> Iterator[Chain]:
    """Runs of one command, each killed a few times, until there were so many kills."""
    with ExitStack() as stack:
        if name == "spofr serve":
            chain_of: Any = served
        else:
            words = ["sweep", "spec.yaml", "--no-probe", "--out", "runs"]
            if name == "spofr train":
                words = ["train", "table.csv", "--query", "search_id", "--item", "candidate_id", "--group", "gender"]
                words += ["--relevance", "relevance", "--delta", "0.1", "--out", "runs", "--set", "max_steps=60"]
                words += ["--set", "hidden=[4]", "--set", "batch_size=4", "--set", "validate_every=2"]
            elif name.endswith("Dask"):
                words += ["--scheduler", stack.enter_context(cluster(root))]
            else:
                words += ["--workers", "2"]
            folder = fresh_folder(root / FOLDER, WORKS["sweep, one process"])
            start = time.monotonic()
            subprocess.run([*SHELL, *words], cwd=folder, check=True, capture_output=True, timeout=PATIENCE)
            whole = run_results(folder / "runs"), time.monotonic() - start

            def chain_of(chance: random.Random, chain: Chain, root: Path) -> None:
                commanded(words, whole, chance, chain, root)

        while kills > 0:
            chain = Chain(name, seed)
            chain_of(random.Random(f"{name} {seed}"), chain, root)
            yield chain
            kills -= len(chain.cuts)
            seed += 1


def commanded(
    words: list[str], whole: tuple[dict[str, Any], float], chance: random.Random, chain: Chain, root: Path
) -> None:
    """A command, killed at random instants, given again, and compared with an undisturbed one."""
    expected, seconds = whole
    folder = fresh_folder(root / FOLDER, WORKS["sweep, one process"])
    for attempt in range(MOST_KILLS + 1):
        process = subprocess.Popen([*SHELL, *words], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(PATIENCE if attempt == MOST_KILLS else seconds * (0.3 + 0.7 * chance.random()))
        except subprocess.TimeoutExpired:
            workers = psutil.Process(process.pid).children(recursive=True)
            process.kill()
            process.wait()
            _, alive = psutil.wait_procs(workers, timeout=30)
            chain.cuts.append("at any instant")
            chain.faults += [f"worker {worker.pid} outlived its parent" for worker in alive]
            chain.faults += [*unreadable(folder), *store_faults(folder / "runs")]
            continue
        if process.returncode:
            chain.faults.append(f"the command ended with code {process.returncode}")
        break
    chain.faults += differences(expected, run_results(folder / "runs"))


def served(chance: random.Random, chain: Chain, root: Path) -> None:
    """The service, killed while it answers: whatever was answered is in the log once."""
    folder = root / "service"
    subprocess.run(["rm", "-rf", str(folder)], check=True)
    folder.mkdir()
    answers: list[tuple[str, str, int, int]] = []
    for attempt in range(MOST_KILLS + 1):
        with service(folder) as (process, port):
            seconds = 0.5 + 3 * chance.random()
            end = time.monotonic() + (PATIENCE if attempt < MOST_KILLS else seconds)
            if attempt < MOST_KILLS:
                threading.Timer(seconds, process.kill).start()
            with suppress(OSError, http.client.HTTPException):  # it died under a request
                while time.monotonic() < end:
                    told = _ask(port, f"q{chance.randrange(5)}")
                    answers.append((told["query"], told["policy"], told["impressions"], told["index"]))
        if attempt < MOST_KILLS:
            chain.cuts.append("at any instant")
            chain.faults += unreadable(folder)
    store = CounterStore(folder / "counters.sqlite")
    frame = pq.read_table(folder / "log").to_pandas().query("position == 1")
    logged = list(zip(frame["query"], frame["policy"], frame["number"], frame["ranking"], strict=True))
    counted = sum(sum(counts) for counts in store.counters().values())
    if len(set(logged)) != len(logged) or counted != len(logged) or store.waiting():
        chain.faults.append(f"{counted} counted, {len(logged)} logged, {len(set(logged))} of them different")
    if set(answers) - set(logged) or len(set(answers)) != len(answers):
        chain.faults.append(f"{len(set(answers) - set(logged))} answers are not in the log")
    if counted - len(answers) > len(chain.cuts):
        chain.faults.append(f"{counted - len(answers)} counted that nobody was told, after {len(chain.cuts)} kills")
    store.close()


@contextmanager
def service(folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """`spofr serve` until the end of the block, which it is told by SIGTERM, unless it is dead by then."""
    port = _free_port()
    words = ["serve", "--port", str(port), "--delta", "0.05", "--state", "counters.sqlite", "--log", "log"]
    process = subprocess.Popen([*SHELL, *words], cwd=folder, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).read()
                break
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        yield process, port
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE)


def _ask(port: int, query: str) -> dict[str, Any]:
    body = json.dumps({"query": query, "items": ITEMS}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}/rank", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        told: dict[str, Any] = json.loads(answer.read())
    return told


@contextmanager
def cluster(root: Path) -> Iterator[str]:
    """The address of a Dask scheduler with two workers on this machine."""
    port = _free_port()
    address = f"tcp://127.0.0.1:{port}"
    run = ["-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
    join = ["-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
    with (root / "dask.txt").open("ab") as said:
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
        start = [
            subprocess.Popen([sys.executable, *words], stderr=said, env=environment) for words in (run, join, join)
        ]
    try:
        time.sleep(20)
        yield address
    finally:
        for process in start:
            process.kill()
            process.wait()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
