"""`log_to_mlflow`: an audit, a measurement or a comparison as metrics, parameters and artifacts of an MLflow run."""

from __future__ import annotations

import importlib
import json
import re
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from spofr_core.errors import ConfigError
from spofr_core.evaluation.audit import AuditResult
from spofr_core.evaluation.comparing.comparison import Comparison
from spofr_core.evaluation.measuring.named_measures import Measured
from spofr_core.evaluation.tracking.metric_names import flat_names
from spofr_core.evaluation.tracking.tracked import Tracked, tracked_audit, tracked_comparison, tracked_measures
from spofr_core.files import write_whole

Trackable = AuditResult | Measured | Comparison

MOST_METRICS = 1000
"""In one request, by MLflow's rules."""
LONGEST_VALUE = 500
"""Letters of a parameter that every MLflow server takes."""
_PREFIX = re.compile(r"[\w-]{1,60}(/[\w-]{1,60})?")


def log_to_mlflow(result: Trackable, *, prefix: str = "spofr", run_id: str | None = None) -> str:
    """Log a result to MLflow: its numbers as metrics, its settings as parameters, its files as artifacts.

    MLflow is not installed with this package: ``pip install mlflow-skinny`` or ``pip install mlflow``.

    Parameters
    ----------
    result : AuditResult, Measured or Comparison
        Metrics are named like "spofr/share_within_delta", "spofr/group/women/relative_mean" and
        "spofr/measure/NDKL/mean", with "_low" and "_high" for their 95 % intervals. Signs that MLflow does not allow
        become "_"; "metric_names.json" among the artifacts says which names were changed. Numbers that do not exist
        are not logged.
    prefix : str, default "spofr"
        What names and the folder of artifacts begin with; another one for each result of a run.
    run_id : str, optional
        The run to log to; without it the active run, or a new one where there is none.

    Returns
    -------
    str
        Id of the run.

    Raises
    ------
    ConfigError
        Without MLflow, for something that is no result, for a prefix that MLflow would not take, and where MLflow
        refuses.
    """
    tracked = _tracked(result)
    if not isinstance(prefix, str) or not _PREFIX.fullmatch(prefix):
        raise ConfigError(
            f"'prefix' is {prefix!r}; MLflow takes letters, digits, '_' and '-', with a slash in between at most."
        )
    mlflow = _mlflow()
    active = mlflow.active_run()
    try:
        if run_id is None and active is None:
            with mlflow.start_run() as run:
                return _log(mlflow, run.info.run_id, result, tracked, prefix)
        return _log(mlflow, active.info.run_id if run_id is None else run_id, result, tracked, prefix)
    except mlflow.exceptions.MlflowException as error:
        reason = " ".join(str(error).split())[:300]
        raise ConfigError(
            f"MLflow at {mlflow.get_tracking_uri()} does not take the result: {reason} (A run keeps a parameter as it "
            "was first logged: give another result another prefix, or another run.)"
        ) from error


def _mlflow() -> Any:
    """The library, which is large: whoever does not log need not have it."""
    try:
        return importlib.import_module("mlflow")
    except ImportError as error:
        raise ConfigError(
            f"MLflow cannot be imported ({error}); install it with `pip install mlflow-skinny`, or write the files "
            "with to_json, to_html and to_csv."
        ) from error


def _tracked(result: Trackable) -> Tracked:
    if isinstance(result, AuditResult):
        return tracked_audit(result.summary)
    if isinstance(result, Measured):
        return tracked_measures(result.summary)
    if isinstance(result, Comparison):
        return tracked_comparison(result.summary)
    raise ConfigError(f"'result' must come from audit, measure or compare, got {type(result).__name__}.")


def _log(mlflow: Any, run_id: str, result: Trackable, tracked: Tracked, prefix: str) -> str:
    client = mlflow.MlflowClient()
    names = flat_names(tracked.metrics, prefix)
    now = time.time_ns() // 1_000_000
    metrics = [mlflow.entities.Metric(names[path], value, now, 0) for path, value in tracked.metrics.items()]
    params = [
        mlflow.entities.Param(name, value[:LONGEST_VALUE])
        for name, value in zip(
            flat_names([(name,) for name in tracked.params], prefix).values(), tracked.params.values(), strict=True
        )
    ]
    for some in _chunks(metrics):
        client.log_batch(run_id, metrics=some, params=params)
        params = []
    changed = {name: list(path) for path, name in names.items() if name != "/".join((prefix, *path))}
    with tempfile.TemporaryDirectory(prefix="spofr-mlflow-") as scratch:
        _write(result, Path(scratch), changed)
        client.log_artifacts(run_id, scratch, prefix)
    return run_id


def _write(result: Trackable, folder: Path, changed: dict[str, list[str]]) -> None:
    """The files that a result has; a page with its card where it has no report."""
    result.to_json(folder / "summary.json")
    result.to_csv(folder / ("comparison.csv" if isinstance(result, Comparison) else "queries.csv"))
    if isinstance(result, Measured):
        page = f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>Measures</title>{result._repr_html_()}'
        write_whole(folder / "report.html", page.encode("utf-8"))
    else:
        result.to_html(folder / "report.html")
    if changed:
        text = json.dumps(changed, indent=2, ensure_ascii=False)
        write_whole(folder / "metric_names.json", text.encode("utf-8"))


def _chunks(metrics: Sequence[Any]) -> list[Sequence[Any]]:
    return [metrics[start : start + MOST_METRICS] for start in range(0, len(metrics), MOST_METRICS)]
