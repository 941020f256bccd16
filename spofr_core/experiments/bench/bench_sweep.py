"""`spofr bench sweep`: two workers beside one, overhead of a run, listing and loading beside the plainest way."""

from __future__ import annotations

import io
import json
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from spofr_core.evaluation import guarantees
from spofr_core.experiments.bench.timing import interleaved
from spofr_core.experiments.executors import Executor, PoolExecutor
from spofr_core.experiments.runs.result_tables import query_results, results
from spofr_core.experiments.runs.run_output import MEASURED, RunOutput
from spofr_core.experiments.runs.store import RunStore
from spofr_core.experiments.sweep import run_sweep
from spofr_core.experiments.sweep_spec import RunConfig, SweepSpec
from spofr_core.files import read_json

RUNS = 8
LIMITS = {
    "two_workers_x_one": 1.7,
    "overhead_of_a_20_s_run": 0.1,
    "guarantees_over_pandas": 5.0,
    "listing_over_walk": 5.0,
}
AT_LEAST = ("two_workers_x_one",)


def bench_sweep(
    *, seconds: float = 4.0, stored: int = 2_000, runs: int = 200, queries: int = 1_500, rounds: int = 5
) -> dict[str, Any]:
    """Ratios of the sweep machinery, each side by side in this run.

    - two_workers_x_one: time of 8 equal runs (of about `seconds`) on one worker process over that on two.
    - overhead_of_a_20_s_run: share of a run's time that is not training, for a run of 20 s: loading, clicks, audit,
      writing, and the way to the worker and back.
    - guarantees_over_pandas: loading the per-query results of `runs` x `queries` and making the guarantee frame, over
      pandas reading the same Parquet files.
    - listing_over_walk: listing `stored` runs with all their results, over a plain walk of the directory.
    """
    with tempfile.TemporaryDirectory(prefix="spofr-bench-") as folder:
        scaling = _scaling(Path(folder), seconds)
        listing = _listing(Path(folder, "many"), stored, rounds)
        loading = _loading(Path(folder, "queries"), runs, queries, rounds)
    ratios = {
        "two_workers_x_one": scaling["one"] / scaling["two"],
        "overhead_of_a_20_s_run": scaling["overhead"] / 20.0,
        "guarantees_over_pandas": loading["guarantees"] / loading["pandas"],
        "listing_over_walk": listing["records"] / listing["walk"],
    }
    held = {
        name: ratios[name] >= limit if name in AT_LEAST else ratios[name] <= limit for name, limit in LIMITS.items()
    }
    return {
        "cpus": os.cpu_count(),
        "load": os.getloadavg()[0],
        "seconds": {"scaling": scaling, "listing": listing, "loading": loading},
        "ratios": ratios,
        "limits": LIMITS,
        "held": held,
    }


def _scaling(folder: Path, seconds: float) -> dict[str, float]:
    """Wall time of equal runs on one worker and on two, and what a run takes besides training."""
    with PoolExecutor(2) as two, PoolExecutor(1) as one:
        for name, executor in (("warm-one", one), ("warm-two", two)):
            _timed(folder / name, _equal_runs(20, count=2), executor)
        steps = 200
        alone, training = _timed(folder / "calibrate", _equal_runs(steps, count=1), one)
        steps = max(20, int(steps * seconds / max(training, 1e-3)))
        wall_one, trained = _timed(folder / "one", _equal_runs(steps), one)
        wall_two, _ = _timed(folder / "two", _equal_runs(steps), two)
    return {"one": wall_one, "two": wall_two, "steps": steps, "overhead": (wall_one - trained) / RUNS, "probe": alone}


def _equal_runs(steps: int, count: int = RUNS) -> tuple[RunConfig, ...]:
    """Runs of the same work: as many steps, no early stopping, different seeds."""
    training = {"max_steps": steps, "patience": 10**6, "validate_every": 20}
    dataset = {"sample": "german-credit", "test_lists": 1_500}
    grids = {"methods": ["pto"], "deltas": [0.03], "clicks": 5_000, "seeds": count, "training": training}
    return SweepSpec.from_dict({"dataset": dataset, **grids}).runs()


def _timed(folder: Path, configs: tuple[RunConfig, ...], executor: Executor) -> tuple[float, float]:
    """Wall seconds of a sweep, and seconds of training in it."""
    store = RunStore(folder)
    begun = time.perf_counter()
    outcome = run_sweep(configs, store, executor)
    wall = time.perf_counter() - begun
    if not outcome.ok:
        raise RuntimeError(f"The benchmark's own runs failed: {outcome.failures}")
    return wall, float(results(store)["seconds"].sum())


def _listing(folder: Path, stored: int, rounds: int) -> dict[str, float]:
    store = RunStore(folder)
    _fill(store, stored, tables={"test": b"", "validation": b""})
    return interleaved(
        {"walk": lambda: sum(len(files) for _, _, files in os.walk(folder)), "records": lambda: _listed(store)},
        rounds=rounds,
    )


def _listed(store: RunStore) -> list[dict[str, Any]]:
    """Every run with its row of results, as a page lists them."""
    return [record.row() for record in store.records()]


def _loading(folder: Path, runs: int, queries: int, rounds: int) -> dict[str, float]:
    store = RunStore(folder)
    names = _fill(store, runs, tables={"test": _queries(queries, 0), "validation": _queries(queries, 1)})
    table = results(store)
    columns = ["violation", "dcg", "applicable"]

    def plain() -> None:
        for part in ("test", "validation"):
            pd.concat([pd.read_parquet(store.folder(run) / f"{part}.parquet", columns=columns) for run in names])

    def frame() -> pd.DataFrame:
        return guarantees(table, query_results(store, names), query_results(store, names, "validation"))

    return interleaved({"pandas": plain, "guarantees": frame}, rounds=rounds)


def _fill(store: RunStore, count: int, tables: dict[str, bytes]) -> list[str]:
    """Runs that are done, with results made up."""
    grids = {"methods": ["uniform"], "seeds": count, "dataset": {"sample": "german-credit"}}
    configs = SweepSpec.from_dict(grids).runs()
    measured = dict.fromkeys(MEASURED, 0.5) | {"seconds": 1.0, "epochs": 3, "groups": 2}
    model = {"model.json": b"{}", "model.safetensors": b"\0" * 16_000}
    made = RunOutput(measured=measured, tables=tables, model=model, report={}, history=[{"step": 20}] * 20)
    first = store.claim(configs[0], "made up")
    if first is not None:
        first.finish(made)
    # The others are copies: what is measured is reading them.
    source = store.folder(configs[0].run)
    status = read_json(source / "status.json") or {}
    for config in configs[1:]:
        folder = Path(shutil.copytree(source, store.folder(config.run)))
        changed = {**status, "run": config.run, "config": config.to_dict()}
        (folder / "status.json").write_text(json.dumps(changed), encoding="utf-8")
        (folder / "config.json").write_text(json.dumps(config.to_dict()), encoding="utf-8")
    return [config.run for config in configs]


def _queries(count: int, seed: int) -> bytes:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "query": [f"list-{k}" for k in range(count)],
            "applicable": rng.random(count) < 0.99,
            "violation": rng.exponential(0.03, count),
            "dcg": rng.random(count),
            "ideal_dcg": np.ones(count),
        }
    )
    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=False, compression="zstd")
    return buffer.getvalue()
