"""Side-by-side timing: the cases take turns in one run, so that a noisy machine is noisy for all of them."""

from __future__ import annotations

import gc
import multiprocessing
import resource
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import psutil

from spofr_core.errors import ConfigError


def interleaved(cases: Mapping[str, Callable[[], object]], *, rounds: int, warmup: int = 1) -> dict[str, float]:
    """Median seconds of each case over rounds in which every case runs once.

    Raises
    ------
    ConfigError
        When there is no round.
    """
    if rounds < 1:
        raise ConfigError(f"The number of rounds is {rounds}; give 1 or more.")
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
    gc.collect()
    before = _reset_peak()
    kept = work(*arguments)
    sender.send(max(_peak_bytes() - before, 0))
    del kept


def _reset_peak() -> int:
    """Forget the peak of the warm-up where the system allows it; the resident bytes now."""
    resets = Path("/proc/self/clear_refs")
    if not resets.exists():
        return _peak_bytes()
    resets.write_text("5", encoding="ascii")
    return int(psutil.Process().memory_info().rss)


def _peak_bytes() -> int:
    status = Path("/proc/self/status")
    if status.exists():
        high_water = next(line for line in status.read_text("ascii").splitlines() if line.startswith("VmHWM"))
        return int(high_water.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
