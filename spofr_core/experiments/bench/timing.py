"""Side-by-side timing: the cases take turns in one run, so that a noisy machine is noisy for all of them."""

from __future__ import annotations

import multiprocessing
import resource
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any


def interleaved(cases: Mapping[str, Callable[[], object]], *, rounds: int, warmup: int = 1) -> dict[str, float]:
    """Median seconds of each case over rounds in which every case runs once."""
    for _ in range(warmup):
        for run in cases.values():
            run()
    seconds: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds):
        for name, run in cases.items():
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(times) for name, times in seconds.items()}


def peak_memory(work: Callable[..., object], *arguments: Any, warmup: Callable[[], object] | None = None) -> int:
    """Bytes by which resident memory rises at its peak while `work` runs in a fresh process.

    `work` and `warmup` are importable functions; the warm-up pays for imports and compilation before the measurement.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_measure, args=(sender, work, arguments, warmup))
    process.start()
    sender.close()
    try:
        rise: int = receiver.recv()
    finally:
        process.join()
    return rise


def _measure(sender: Any, work: Callable[..., object], arguments: tuple[Any, ...], warmup: Any) -> None:
    if warmup is not None:
        warmup()
    before = _peak_bytes()
    kept = work(*arguments)
    sender.send(_peak_bytes() - before)
    del kept


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
