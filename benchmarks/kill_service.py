"""`spofr serve` with two workers, killed while readers ask: a worker, or the whole service, which is started again.

Whatever was answered is counted, and in the log, once.
"""

from __future__ import annotations

import http.client
import json
import random
import shutil
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pyarrow.parquet as pq
from kill_works import unreadable
from killing import SHELL, Chain, free_port

from spofr_core.serving.counter_store import CounterStore

NAME = "spofr serve --workers 2"
PATIENCE = 300.0
LIVES = 3
"""Of a service: the last of them ends in peace."""
READERS = 4
ITEMS = [{"id": i, "group": g, "score": s} for i, g, s in zip("wxyz", "aabb", (0.9, 0.8, 0.4, 0.1), strict=True)]


def served(chance: random.Random, chain: Chain, root: Path) -> None:
    """One folder of counters and log, and the lives of the service on it."""
    folder = root / "service"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    port = free_port()  # the same for all lives: none of their processes may hold it any longer
    told: list[tuple[str, str, int, int]] = []
    cut_off = 0
    for life in range(LIVES):
        with service(folder, port) as process, readers(port, chance.randrange(2**32)) as answers:
            for _ in range(chance.randint(1, 3)):
                _kill_a_worker(process, chance)
                chain.cuts.append("at any instant")
                answers.wait_for(50)
            if life + 1 < LIVES:
                time.sleep(chance.random())
                chain.faults += _kill_all(process, chance)
                chain.cuts.append("at any instant")
        told += answers.heard
        cut_off += answers.cut_off
        chain.faults += [*answers.faults, *unreadable(folder)]
    chain.faults += _faults(folder, told, cut_off)


def _kill_a_worker(process: subprocess.Popen[bytes], chance: random.Random) -> None:
    time.sleep(chance.random())
    chance.choice(_workers(process)).send_signal(signal.SIGKILL)


def _kill_all(process: subprocess.Popen[bytes], chance: random.Random) -> list[str]:
    """The parent alone, whose workers must end by themselves, or all at once, as when a machine dies."""
    workers = _workers(process)
    if chance.random() < 0.5:
        for worker in workers:
            worker.kill()
    process.kill()
    process.wait()
    _, alive = psutil.wait_procs(workers, timeout=60)
    for worker in alive:
        worker.kill()
    return [f"worker {worker.pid} outlived its parent" for worker in alive]


def _workers(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """Those that live: one that was just killed is not replaced yet."""
    found = []
    for child in psutil.Process(process.pid).children():
        with suppress(psutil.NoSuchProcess):  # or it has ended, and nobody has looked
            found += [child] if "spawn_main" in " ".join(child.cmdline()) else []
    return found


def _faults(folder: Path, told: list[tuple[str, str, int, int]], cut_off: int) -> list[str]:
    """What counters, log and answers have to say about each other, when the service has ended."""
    store = CounterStore(folder / "counters.sqlite")
    counted = sum(sum(counts) for counts in store.counters().values())
    waiting = store.waiting()
    store.close()
    frame = pq.read_table(folder / "log").to_pandas().query("position == 1")
    logged = list(zip(frame["query"], frame["policy"], frame["number"], frame["ranking"], strict=True))
    wrong = []
    if len(set(logged)) != len(logged) or counted != len(logged) or waiting:
        wrong.append(f"{counted} counted, {len(logged)} logged, {len(set(logged))} of them different, {waiting} wait")
    if len(set(told)) != len(told) or set(told) - set(logged):
        wrong.append(f"{len(told)} answered, {len(set(told))} different, {len(set(told) - set(logged))} not logged")
    if counted - len(told) > cut_off:
        wrong.append(f"{counted - len(told)} counted that nobody was told, though {cut_off} requests were cut off")
    return wrong


class Answers:
    """What readers heard, and how often they were cut off."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, str, int, int]] = []
        self.faults: list[str] = []
        self.cut_off = 0
        self.over = threading.Event()

    def wait_for(self, more: int) -> None:
        """Until so many more were heard; a service that answers nobody any more is a fault."""
        wanted, deadline = len(self.heard) + more, time.monotonic() + PATIENCE
        while len(self.heard) < wanted:
            if time.monotonic() > deadline:
                self.faults.append(f"nobody was answered for {PATIENCE:.0f} s")
                return
            time.sleep(0.02)

    def listen(self, port: int, chance: random.Random) -> None:
        """Ask one thing after the other, over a new connection whenever one was cut."""
        while not self.over.is_set():
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            try:
                connection.connect()
            except OSError:  # nobody is there to count anything
                time.sleep(0.05)
                continue
            try:
                while not self.over.is_set():
                    body = json.dumps({"query": f"q{chance.randrange(5)}", "items": ITEMS})
                    connection.request("POST", "/rank", body, {"content-type": "application/json"})
                    answer = connection.getresponse()
                    content = json.loads(answer.read())
                    if answer.status != 200:
                        self.faults.append(f"answered {answer.status}: {content}")
                    self.heard.append((content["query"], content["policy"], content["impressions"], content["index"]))
            except (OSError, http.client.HTTPException):
                self.cut_off += 1
            connection.close()


@contextmanager
def readers(port: int, seed: int) -> Iterator[Answers]:
    """Readers who ask until the end of the block."""
    answers = Answers()
    threads = [
        threading.Thread(target=answers.listen, args=(port, random.Random(seed + k)), daemon=True)
        for k in range(READERS)
    ]
    for thread in threads:
        thread.start()
    answers.wait_for(20)
    try:
        yield answers
    finally:
        answers.over.set()
        for thread in threads:
            thread.join(PATIENCE)


@contextmanager
def service(folder: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """`spofr serve` until the end of the block, which it is told by SIGTERM, unless it is dead by then."""
    words = ["serve", "--port", str(port), "--workers", "2", "--delta", "0.05", "--state", "counters.sqlite"]
    with (folder / "said.txt").open("ab") as said:
        process = subprocess.Popen([*SHELL, *words, "--log", "log"], cwd=folder, stdout=said, stderr=said)
    try:
        _wait_until_up(process, port)
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE)


def _wait_until_up(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        try:
            answer: Any = urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5)
            answer.read()
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise RuntimeError(f"The service did not come up; it ended with {process.poll()}.")
