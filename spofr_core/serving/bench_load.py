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
from pathlib import Path
from typing import Any

import numpy as np
from fastapi import FastAPI

from spofr_core.errors import SpofrError
from spofr_core.fairness import Fairness
from spofr_core.serving.service_settings import ServiceSettings

LIMITS = {"service / echo, seconds per request": 2.0, "service / echo, p99": 3.0}
PATIENCE = 120.0
ITEMS, QUERIES = 20, 50


def echo_app() -> FastAPI:
    """Answers what it was asked, and does nothing else."""
    app = FastAPI()

    @app.post("/rank")
    async def echo(body: dict[str, Any]) -> dict[str, Any]:
        return body

    return app


def bench_load(*, requests: int = 300, rounds: int = 10, seed: int = 0) -> dict[str, Any]:
    """Seconds per request and p99 of lists of 20 items in two groups, one reader, the two services in turn."""
    bodies = _bodies(seed)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        settings = ServiceSettings(
            fairness=Fairness(delta="10%"), state=Path(folder) / "counters", log=Path(folder) / "log"
        )
        apps = {"service": "spofr_core.serving.service:app_from_environment", "echo": f"{__name__}:echo_app"}
        environment = {**os.environ, **settings.to_environment()}
        readers = {name: stack.enter_context(_running(app, environment)) for name, app in apps.items()}
        seconds: dict[str, list[float]] = {name: [] for name in apps}
        for round_ in range(rounds + 1):
            for name, connection in readers.items():
                found = [_ask(connection, bodies[k % len(bodies)]) for k in range(requests)]
                if round_:
                    seconds[name] += found
    mean = {name: float(np.mean(values)) for name, values in seconds.items()}
    tail = {name: float(np.quantile(values, 0.99)) for name, values in seconds.items()}
    return {
        "requests": rounds * requests,
        "requests_per_second": {name: 1 / value for name, value in mean.items()},
        "p99_ms": {name: 1e3 * value for name, value in tail.items()},
        "ratios": {
            "service / echo, seconds per request": mean["service"] / mean["echo"],
            "service / echo, p99": tail["service"] / tail["echo"],
        },
        "limits": LIMITS,
    }


def _bodies(seed: int) -> list[bytes]:
    rng = np.random.default_rng(seed)
    bodies = []
    for q in range(QUERIES):
        groups = rng.permutation(np.arange(ITEMS) % 2).tolist()
        items = [{"id": f"item {k}", "group": "ab"[g], "score": rng.normal() + g} for k, g in enumerate(groups)]
        bodies.append(json.dumps({"query": f"query {q}", "items": items}).encode())
    return bodies


def _ask(connection: http.client.HTTPConnection, body: bytes) -> float:
    start = time.perf_counter()
    connection.request("POST", "/rank", body, {"content-type": "application/json"})
    answer = connection.getresponse()
    answer.read()
    taken = time.perf_counter() - start
    if answer.status != 200:
        raise SpofrError(f"A service of the benchmark answered {answer.status}; the comparison would be void.")
    return taken


@contextmanager
def _running(app: str, environment: dict[str, str]) -> Iterator[http.client.HTTPConnection]:
    """An application in a process of its own, on a free port of this machine; a connection to it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    command = [sys.executable, "-m", "uvicorn", app, "--factory", "--host", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen(
        [*command, "--no-access-log", "--log-level", "warning", "--timeout-keep-alive", "600"], env=environment
    )
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        _wait(connection, process)
        yield connection
    finally:
        connection.close()
        process.terminate()
        process.wait(timeout=PATIENCE)


def _wait(connection: http.client.HTTPConnection, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        try:
            connection.request("GET", "/openapi.json")
            connection.getresponse().read()
        except OSError:
            connection.close()
            time.sleep(0.05)
        else:
            return
    raise SpofrError("A service of the benchmark did not start.")
