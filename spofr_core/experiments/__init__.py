"""Sweeps, the run store, executors, benchmarks and the figures of the paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spofr_core.lazy import lazy_names

if TYPE_CHECKING:
    from spofr_core.experiments.datasets import DataShelf, load_splits, training_data
    from spofr_core.experiments.disk import DiskFull, read_json, told_size, write_json
    from spofr_core.experiments.executors import Executor, InlineExecutor, PoolExecutor, Task, make_executor
    from spofr_core.experiments.executors.threads import limit_threads
    from spofr_core.experiments.figures import (
        METHOD_COLORS,
        METHOD_NAMES,
        METHOD_SHAPES,
        achieved_figure,
        exact_figure,
        grid_figure,
        guarantee_figure,
        price_figure,
        run_time_figure,
        tradeoff_figure,
    )
    from spofr_core.experiments.output import RESULT_COLUMNS
    from spofr_core.experiments.owner import FileLock, Owner
    from spofr_core.experiments.paper import FIGURES, sweeps_for
    from spofr_core.experiments.paper_findings import Finding, findings
    from spofr_core.experiments.progress import SweepBar, SweepState, told_map, told_time
    from spofr_core.experiments.record import RunRecord
    from spofr_core.experiments.reproduction import Reproduction, planned_runs, reproduce
    from spofr_core.experiments.result_tables import collect, export_results, query_results, results
    from spofr_core.experiments.running import decide, run_fairness
    from spofr_core.experiments.spec import DatasetSpec, RunConfig, SweepSpec, takes_delta, takes_penalty
    from spofr_core.experiments.store import RunStore
    from spofr_core.experiments.sweep import SweepOutcome, missing_runs, run_sweep
    from spofr_core.experiments.time_estimate import Estimate, estimate

_HOME = {
    "datasets": ("DataShelf", "load_splits", "training_data"),
    "disk": ("DiskFull", "read_json", "told_size", "write_json"),
    "time_estimate": ("Estimate", "estimate"),
    "executors": ("Executor", "InlineExecutor", "PoolExecutor", "Task", "make_executor"),
    "executors.threads": ("limit_threads",),
    "figures": (
        "METHOD_COLORS",
        "METHOD_NAMES",
        "METHOD_SHAPES",
        "achieved_figure",
        "exact_figure",
        "grid_figure",
        "guarantee_figure",
        "price_figure",
        "run_time_figure",
        "tradeoff_figure",
    ),
    "paper_findings": ("Finding", "findings"),
    "output": ("RESULT_COLUMNS",),
    "owner": ("FileLock", "Owner"),
    "paper": ("FIGURES", "sweeps_for"),
    "progress": ("SweepBar", "SweepState", "told_map", "told_time"),
    "record": ("RunRecord",),
    "reproduction": ("Reproduction", "planned_runs", "reproduce"),
    "result_tables": ("collect", "export_results", "query_results", "results"),
    "running": ("decide", "run_fairness"),
    "spec": ("DatasetSpec", "RunConfig", "SweepSpec", "takes_delta", "takes_penalty"),
    "store": ("RunStore",),
    "sweep": ("SweepOutcome", "missing_runs", "run_sweep"),
}

__all__ = [
    "FIGURES",
    "METHOD_COLORS",
    "METHOD_NAMES",
    "METHOD_SHAPES",
    "RESULT_COLUMNS",
    "DataShelf",
    "DatasetSpec",
    "DiskFull",
    "Estimate",
    "Executor",
    "FileLock",
    "Finding",
    "InlineExecutor",
    "Owner",
    "PoolExecutor",
    "Reproduction",
    "RunConfig",
    "RunRecord",
    "RunStore",
    "SweepBar",
    "SweepOutcome",
    "SweepSpec",
    "SweepState",
    "Task",
    "achieved_figure",
    "collect",
    "decide",
    "estimate",
    "exact_figure",
    "export_results",
    "findings",
    "grid_figure",
    "guarantee_figure",
    "limit_threads",
    "load_splits",
    "make_executor",
    "missing_runs",
    "planned_runs",
    "price_figure",
    "query_results",
    "read_json",
    "reproduce",
    "results",
    "run_fairness",
    "run_sweep",
    "run_time_figure",
    "sweeps_for",
    "takes_delta",
    "takes_penalty",
    "told_map",
    "told_size",
    "told_time",
    "tradeoff_figure",
    "training_data",
    "write_json",
]


__getattr__ = lazy_names(__name__, _HOME)  # benchmarks and listings do not wait for torch
