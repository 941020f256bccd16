"""Sweeps, the run store, executors, benchmarks and the figures of the paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spofr_core.lazy import lazy_names

if TYPE_CHECKING:
    from spofr_core.experiments.earlier_times import time_from_earlier_runs
    from spofr_core.experiments.executors import (
        EXECUTORS,
        Executor,
        ExecutorKind,
        InlineExecutor,
        Order,
        Outcome,
        PoolExecutor,
        Task,
        make_executor,
    )
    from spofr_core.experiments.executors.thread_limits import limit_threads
    from spofr_core.experiments.model_audit import audit_model, shown_policies
    from spofr_core.experiments.paper.findings import Finding, findings
    from spofr_core.experiments.paper.paper_sweeps import DATASETS, FIGURES, sweeps_for
    from spofr_core.experiments.paper.reproduction import Reproduction, planned_runs, reproduce
    from spofr_core.experiments.plans import (
        MOST_RUNS,
        Plan,
        offered_deltas,
        parse_numbers,
        plan_sweep,
        sample_groups,
        shared_sample,
    )
    from spofr_core.experiments.progress import SweepBar, SweepState, format_duration, map_with_progress
    from spofr_core.experiments.rival_audits import (
        FirstRanking,
        ReadAgain,
        Shown,
        audit_rivals,
        file_reader,
        first_shown,
        no_reader,
        rival_shown,
        sample_data,
        sample_reader,
    )
    from spofr_core.experiments.run_data import DataShelf, load_splits, training_data
    from spofr_core.experiments.runs.execution import run_fairness
    from spofr_core.experiments.runs.home import (
        LOGIN_VARIABLE,
        RUNS_VARIABLE,
        UPLOAD_DAYS_VARIABLE,
        UPLOAD_MB_VARIABLE,
        home,
        pointed_runs,
        private_runs,
        shared_runs,
        unpacked,
        upload_bytes,
        upload_days,
        visitors,
    )
    from spofr_core.experiments.runs.record import RunRecord
    from spofr_core.experiments.runs.result_tables import collect, export_results, query_results, results
    from spofr_core.experiments.runs.run_lock import FileLock, Owner
    from spofr_core.experiments.runs.run_output import RESULT_COLUMNS
    from spofr_core.experiments.runs.store import RunStore
    from spofr_core.experiments.sweep import SweepOutcome, missing_runs, run_sweep
    from spofr_core.experiments.sweep_spec import DatasetSpec, RunConfig, SweepSpec
    from spofr_core.experiments.time_estimate import Estimate, estimate
    from spofr_core.experiments.trained_model import TrainedModel, resolve_model, with_estimates

_HOME = {
    "run_data": ("DataShelf", "load_splits", "training_data"),
    "model_audit": ("audit_model", "shown_policies"),
    "rival_audits": (
        "FirstRanking",
        "ReadAgain",
        "Shown",
        "audit_rivals",
        "file_reader",
        "first_shown",
        "no_reader",
        "rival_shown",
        "sample_data",
        "sample_reader",
    ),
    "plans": ("MOST_RUNS", "Plan", "offered_deltas", "parse_numbers", "plan_sweep", "sample_groups", "shared_sample"),
    "earlier_times": ("time_from_earlier_runs",),
    "time_estimate": ("Estimate", "estimate"),
    "executors": (
        "EXECUTORS",
        "Executor",
        "ExecutorKind",
        "InlineExecutor",
        "Order",
        "Outcome",
        "PoolExecutor",
        "Task",
        "make_executor",
    ),
    "executors.thread_limits": ("limit_threads",),
    "paper.findings": ("Finding", "findings"),
    "runs.run_output": ("RESULT_COLUMNS",),
    "runs.run_lock": ("FileLock", "Owner"),
    "paper.paper_sweeps": ("DATASETS", "FIGURES", "sweeps_for"),
    "progress": ("SweepBar", "SweepState", "map_with_progress", "format_duration"),
    "runs.record": ("RunRecord",),
    "paper.reproduction": ("Reproduction", "planned_runs", "reproduce"),
    "runs.result_tables": ("collect", "export_results", "query_results", "results"),
    "runs.execution": ("run_fairness",),
    "sweep_spec": ("DatasetSpec", "RunConfig", "SweepSpec"),
    "runs.home": (
        "LOGIN_VARIABLE",
        "RUNS_VARIABLE",
        "UPLOAD_DAYS_VARIABLE",
        "UPLOAD_MB_VARIABLE",
        "home",
        "pointed_runs",
        "private_runs",
        "shared_runs",
        "unpacked",
        "upload_bytes",
        "upload_days",
        "visitors",
    ),
    "runs.store": ("RunStore",),
    "trained_model": ("TrainedModel", "resolve_model", "with_estimates"),
    "sweep": ("SweepOutcome", "missing_runs", "run_sweep"),
}

__all__ = [
    "DATASETS",
    "EXECUTORS",
    "FIGURES",
    "LOGIN_VARIABLE",
    "MOST_RUNS",
    "RESULT_COLUMNS",
    "RUNS_VARIABLE",
    "UPLOAD_DAYS_VARIABLE",
    "UPLOAD_MB_VARIABLE",
    "DataShelf",
    "DatasetSpec",
    "Estimate",
    "Executor",
    "ExecutorKind",
    "FileLock",
    "Finding",
    "FirstRanking",
    "InlineExecutor",
    "Order",
    "Outcome",
    "Owner",
    "Plan",
    "PoolExecutor",
    "ReadAgain",
    "Reproduction",
    "RunConfig",
    "RunRecord",
    "RunStore",
    "Shown",
    "SweepBar",
    "SweepOutcome",
    "SweepSpec",
    "SweepState",
    "Task",
    "TrainedModel",
    "audit_model",
    "audit_rivals",
    "collect",
    "estimate",
    "export_results",
    "file_reader",
    "findings",
    "first_shown",
    "format_duration",
    "home",
    "limit_threads",
    "load_splits",
    "make_executor",
    "map_with_progress",
    "missing_runs",
    "no_reader",
    "offered_deltas",
    "parse_numbers",
    "plan_sweep",
    "planned_runs",
    "pointed_runs",
    "private_runs",
    "query_results",
    "reproduce",
    "resolve_model",
    "results",
    "rival_shown",
    "run_fairness",
    "run_sweep",
    "sample_data",
    "sample_groups",
    "sample_reader",
    "shared_runs",
    "shared_sample",
    "shown_policies",
    "sweeps_for",
    "time_from_earlier_runs",
    "training_data",
    "unpacked",
    "upload_bytes",
    "upload_days",
    "visitors",
    "with_estimates",
]


__getattr__ = lazy_names(__name__, _HOME)  # benchmarks and listings do not wait for torch
