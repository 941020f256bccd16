"""`spofr bench serve --minutes 10`: the service under load for as long, and whether its memory stays level."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from spofr_core.serving.bench.bench_load import PATIENCE, SERVICE, Server, list_bodies, running, service_environment
from spofr_core.serving.bench.crowd import ask_all, rank_request

LIMITS = {"memory, last / second quarter": 1.1, "requests that were not answered": 0.0}
_LOOK = 5.0
"""Seconds between two looks at the memory."""
_FRESH = 4
"""Of so many requests one has scores that nobody has seen before."""


def bench_minutes(minutes: float, *, readers: int = 8, seed: int = 0) -> dict[str, Any]:
    """Requests, seconds and memory of a service that many readers ask without a pause.

    Three of four requests are impressions of 50 queries, the fourth has new scores: another policy, which must be
    solved, counted anew, and forgotten again by what is kept in memory.
    """
    looks: list[tuple[float, int]] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        running(SERVICE, service_environment(Path(folder))) as server,
    ):
        start = time.monotonic()
        requests = _until(start + 60 * minutes, seed, server, looks)
        found = ask_all(server.port, requests, readers=readers, patience=PATIENCE)
        seconds = time.monotonic() - start
    memory = np.array([size for _, size in looks], dtype=np.float64)
    quarters = [float(np.median(part)) for part in np.array_split(memory, 4) if len(part)]
    failed = found.refused + found.cut_off
    return {
        "minutes": seconds / 60,
        "readers": readers,
        "requests": len(found.seconds),
        "requests_per_second": len(found.seconds) / seconds,
        "p50_ms": 1e3 * float(np.quantile(found.seconds, 0.5)),
        "p99_ms": 1e3 * float(np.quantile(found.seconds, 0.99)),
        "memory_mb": [size / 2**20 for size in quarters],
        "ratios": {
            "memory, last / second quarter": quarters[-1] / quarters[min(1, len(quarters) - 1)],
            "requests that were not answered": float(failed),
        },
        "limits": LIMITS,
    }


def _until(end: float, seed: int, server: Server, looks: list[tuple[float, int]]) -> Iterator[bytes]:
    """Requests until the time is up; the memory of the service is looked at on the way."""
    bodies = list_bodies(seed)
    known = [rank_request(body) for body in bodies]
    models = [json.loads(body) for body in bodies]
    rng = np.random.default_rng(seed)
    look, k = 0.0, 0
    while (now := time.monotonic()) < end:
        if now >= look:
            looks.append((now, int(server.process.memory_info().rss)))
            look = now + _LOOK
        if k % _FRESH:
            yield known[k % len(known)]
        else:
            model = models[k % len(models)]
            scores = rng.normal(size=len(model["items"])).tolist()
            items = [{**item, "score": score} for item, score in zip(model["items"], scores, strict=True)]
            yield rank_request(json.dumps({"query": model["query"], "items": items}).encode())
        k += 1
