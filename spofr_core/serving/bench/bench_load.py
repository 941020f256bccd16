"""The running service, counters and log included, beside a bare FastAPI echo of the same requests."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import psutil
from fastapi import FastAPI

from spofr_core.errors import SpofrError
from spofr_core.fairness import Fairness
from spofr_core.serving.bench.crowd import Asked, ask_all, rank_request
from spofr_core.serving.service_settings import ServiceSettings

LIMITS = {"service / echo, seconds per request": 2.0, "service / echo, p99": 3.0}
PATIENCE = 120.0
ITEMS, QUERIES = 20, 50
SERVICE = "spofr_core.serving.service:app_from_environment"


def echo_app() -> FastAPI:
    """Answers what it was asked, and does nothing else."""
    app = FastAPI()

    @app.post("/rank")
    async def echo(body: dict[str, Any]) -> dict[str, Any]:
        return body

    return app


class Round(NamedTuple):
    """So many requests to one of the two: seconds from the first to the last answer, of its processor, and of each."""

    wall: float
    processor: float
    each: list[float]


def bench_load(*, requests: int = 400, rounds: int = 20, readers: int = 8, seed: int = 0) -> dict[str, Any]:
    """Seconds per request and p99 of lists of 20 items in two groups, many readers at once, the two services in turn.

    The ratio of seconds is the median over the rounds, so that other work on the machine, which hits one round or
    another, does not decide it; the ratio of processor seconds, which such work hardly touches, is beside it.
    """
    bodies = [rank_request(body) for body in list_bodies(seed)]
    asked = [bodies[k % len(bodies)] for k in range(requests)]
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        apps = {"service": SERVICE, "echo": f"{__name__}:echo_app"}
        environment = service_environment(Path(folder))
        servers = {name: stack.enter_context(running(app, environment)) for name, app in apps.items()}
        found: dict[str, list[Round]] = {name: [] for name in apps}
        for round_ in range(rounds + 1):
            for name, server in servers.items():
                one = _round(server, asked, readers)
                if round_:
                    found[name].append(one)
    tail = {name: _p99(each) for name, each in found.items()}
    return {
        "requests": rounds * requests,
        "readers": readers,
        "requests_per_second": {name: requests / _median([r.wall for r in each]) for name, each in found.items()},
        "processor_us": {name: 1e6 * _median([r.processor for r in each]) / requests for name, each in found.items()},
        "p99_ms": {name: 1e3 * value for name, value in tail.items()},
        "ratios": {
            "service / echo, seconds per request": _median_ratio(found, "wall"),
            "service / echo, p99": tail["service"] / tail["echo"],
            "service / echo, processor": _median_ratio(found, "processor"),
        },
        "limits": LIMITS,
    }


@dataclass(frozen=True)
class Server:
    """An application that answers on a port of this machine."""

    port: int
    process: psutil.Process

    def processor(self) -> float:
        """Seconds of a processor that it has used."""
        times = self.process.cpu_times()
        return float(times.user + times.system)


def service_environment(folder: Path) -> dict[str, str]:
    """What a service with its counters and its log in a folder is started with."""
    settings = ServiceSettings(fairness=Fairness(delta="10%"), state=folder / "counters", log=folder / "log")
    return {**os.environ, **settings.to_environment()}


def list_bodies(seed: int, queries: int = QUERIES) -> list[bytes]:
    """Requests for lists of 20 items in two groups, a query each."""
    rng = np.random.default_rng(seed)
    bodies = []
    for q in range(queries):
        groups = rng.permutation(np.arange(ITEMS) % 2).tolist()
        items = [{"id": f"item {k}", "group": "ab"[g], "score": rng.normal() + g} for k, g in enumerate(groups)]
        bodies.append(json.dumps({"query": f"query {q}", "items": items}).encode())
    return bodies


@contextmanager
def running(app: str, environment: dict[str, str]) -> Iterator[Server]:
    """An application in a process of its own, on a free port of this machine."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    command = [sys.executable, "-m", "uvicorn", app, "--factory", "--host", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen(
        [*command, "--no-access-log", "--log-level", "warning", "--timeout-keep-alive", "600"], env=environment
    )
    try:
        _wait(port, process)
        yield Server(port, psutil.Process(process.pid))
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE)


def _round(server: Server, asked: list[bytes], readers: int) -> Round:
    before, start = server.processor(), time.perf_counter()
    found = checked(ask_all(server.port, asked, readers=readers, patience=PATIENCE))
    return Round(time.perf_counter() - start, server.processor() - before, found.seconds)


def checked(found: Asked) -> Asked:
    """What became of the requests, if all of them were answered."""
    if found.refused or found.cut_off:
        raise SpofrError(
            f"A service of the benchmark refused {found.refused} requests and cut off {found.cut_off}; the comparison "
            "would be void."
        )
    return found


def _p99(rounds: list[Round]) -> float:
    return float(np.quantile(np.concatenate([r.each for r in rounds]), 0.99))


def _median(values: list[float]) -> float:
    return float(np.median(values))


def _median_ratio(found: dict[str, list[Round]], of: str) -> float:
    pairs = zip(found["service"], found["echo"], strict=True)
    return _median([getattr(one, of) / max(getattr(other, of), 1e-9) for one, other in pairs])


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + PATIENCE
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    while time.monotonic() < deadline and process.poll() is None:
        try:
            connection.request("GET", "/openapi.json")
            connection.getresponse().read()
        except OSError:
            time.sleep(0.05)
        else:
            return
        finally:
            connection.close()
    raise SpofrError("A service of the benchmark did not start.")
