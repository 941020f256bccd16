"""How long a sweep will take, from a short probe of each method."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from spofr_core.experiments.progress import format_duration
from spofr_core.experiments.run_data import DataShelf, trimmed
from spofr_core.experiments.runs.execution import execute
from spofr_core.experiments.sweep_spec import RunConfig
from spofr_core.reporting import counted

PROBE_STEPS = 20


@dataclass(frozen=True)
class Estimate:
    """Runs to do, and between which bounds their time lies.

    `low` is early stopping at the first occasion, `high` every step that is allowed.
    """

    runs: int
    workers: int
    low: float
    high: float

    def __str__(self) -> str:
        if not self.runs:
            return "Nothing is left to do."
        work = f"{counted(self.runs, 'run', 'runs')} on {counted(self.workers, 'worker', 'workers')}"
        low, high = format_duration(self.low), format_duration(self.high)
        if low == high:
            return f"{work}: about {low}."
        return f"{work}: between {low} and {high}, depending on how soon training stops."


def estimate(configs: tuple[RunConfig, ...], shelf: DataShelf, *, workers: int = 1) -> Estimate:
    """Probe one run of each method, training size and number of groups with few steps, and extrapolate.

    The time of a run is what it takes besides training, plus steps times the time per step; the steps of each stage
    lie between patience * validate_every and max_steps.
    """
    seen: dict[tuple[str, int | None, object], tuple[float, float]] = {}
    low = high = 0.0
    for config in configs:
        kind = (config.method, config.clicks, config.groups)
        if kind not in seen:
            seen[kind] = _probe(config, shelf)
        low, high = low + seen[kind][0], high + seen[kind][1]
    share = max(1, min(workers, len(configs)))
    return Estimate(len(configs), workers, low / share, high / share)


def _probe(config: RunConfig, shelf: DataShelf) -> tuple[float, float]:
    """Seconds of a run like this: at least, at most."""
    settings = config.settings
    short = trimmed(config, max_steps=PROBE_STEPS, max_epochs=None, validate_every=PROBE_STEPS, patience=1000)
    stages: dict[str, list[tuple[float, int]]] = {}

    def hear(message: dict[str, Any]) -> None:
        if message["kind"] == "validation":
            stages.setdefault(message["stage"], []).append((message["seconds"], message["step"]))

    begun = time.perf_counter()
    execute({"config": short.to_dict()}, shelf.splits(config.data_key), hear)
    whole = time.perf_counter() - begun
    steps = sum(marks[-1][1] - marks[0][1] for marks in stages.values()) or 1
    training = sum(marks[-1][0] - marks[0][0] for marks in stages.values())
    rest, per_step = max(0.0, whole - training), training / steps
    most = len(stages) * int(settings["max_steps"])
    least = min(most, len(stages) * int(settings["patience"]) * int(settings["validate_every"]))
    return rest + least * per_step, rest + most * per_step
