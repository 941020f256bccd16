"""One run: train, choose policies, audit. Works anywhere; whoever asked for it writes the files."""

from __future__ import annotations

import io
import shutil
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from spofr_core.data import RankingDataset, Splits
from spofr_core.errors import DataError
from spofr_core.evaluation import TOLERANCE, QueryTable, measure_exposure
from spofr_core.experiments.executors import Emit
from spofr_core.experiments.run_data import TrainingData, training_data
from spofr_core.experiments.runs.run_card import card_facts
from spofr_core.experiments.runs.run_output import RunOutput
from spofr_core.experiments.sweep_spec import RunConfig
from spofr_core.fairness import NOTIONS, Discount, Fairness, Unit, group_merits
from spofr_core.files import read_json
from spofr_core.learning import CARD_FILE, Callback, CardFacts, Estimator, Progress, make_estimator, model_card
from spofr_core.learning.model_files import versions
from spofr_core.measures.utility.dcg import ideal_dcg

REPORT_DELTA: dict[Unit, float] = {"absolute": 0.05, "share": 0.1}
"""delta that the report of a fit judges validation by where the run asks for none; no result depends on it."""


def execute(item: dict[str, Any], data: Splits, emit: Emit) -> RunOutput:
    """Train and measure one run.

    Parameters
    ----------
    item : dict
        "config": the run; "store" and "number": the store and its number, where a fit may keep its checkpoint if the
        same disk is in reach here.
    data : Splits
        Full-information data of the run.
    emit : callable
        Gets every message of the fit as a plain dict.
    """
    config = RunConfig.from_dict(item["config"])
    parts = training_data(config, data)
    fairness = run_fairness(config, parts.train)
    settings = {**config.settings, "seed": config.seed}
    if config.penalty is not None:
        settings["penalty"] = config.penalty
    model = make_estimator(config.method, fairness, **settings)
    notes: list[str] = []

    def tell(progress: Progress) -> None:
        emit(progress.to_dict())

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        notes += _fit(model, parts, tell, _checkpoint(item, config.run))
        notes += [str(warning.message) for warning in caught]
        return _output(config, model, fairness, parts, notes)


def _fit(model: Estimator, parts: TrainingData, tell: Callback, checkpoint: Path | None) -> list[str]:
    """Train, from the checkpoint if there is one; one that cannot be used is thrown away, and training begins anew."""
    before = checkpoint is not None and any(checkpoint.glob("*.safetensors"))
    try:
        model.fit(parts.train, parts.validation, [tell], checkpoint=checkpoint)
    except DataError as error:
        if checkpoint is None or not before:
            raise
        shutil.rmtree(checkpoint)
        model.fit(parts.train, parts.validation, [tell], checkpoint=checkpoint)
        return [f"Training began anew: {error}"]
    return []


def run_fairness(config: RunConfig, train: RankingDataset) -> Fairness:
    """What the run asks of its lists; merits that it does not name are those of the training labels."""
    deltas = (config.delta, config.judged_at, REPORT_DELTA[config.unit])
    return Fairness(
        delta=next(delta for delta in deltas if delta is not None),
        unit=config.unit,
        notion=config.notion,
        merits=(config.merits or group_merits(train)) if NOTIONS[config.notion].needs_merits else None,
        position_bias=config.position_bias,
        every_ranking=config.every_ranking,
    )


def _output(
    config: RunConfig, model: Estimator, fairness: Fairness, parts: TrainingData, notes: list[str]
) -> RunOutput:
    tables: dict[str, bytes] = {}
    measured: dict[str, Any] = {}
    facts = CardFacts()
    for name, data in (("test", parts.test), ("validation", parts.validation)):
        policies = model.policies(data, on_infeasible="relax")
        relaxed = len(getattr(policies, "relaxed", ()))
        if relaxed:
            notes.append(
                f"{relaxed} of {len(data)} {name} lists cannot meet delta and got their smallest feasible one."
            )
        measurement = measure_exposure(data, fairness, policies=policies)
        frame = query_frame(measurement.table, data)
        tables[name] = _parquet(frame)
        if name == "test":
            measured = measure(frame, config.delta)
            measured["violation_signed_mean"] = measurement.summary["violation"]["signed_mean"]
            applicable = int(frame["applicable"].sum())
            facts = card_facts(config, measurement.summary, measured["fair_share"], applicable, notes)
            if fairness.every_ranking is not None:
                quota = measurement.judge(fairness).summary["quota"]
                measured["quota"] = {name: quota[name] for name in ("queries", "draws", "impossible")}
    report = model.report.to_dict()
    history = report.pop("history")
    measured |= {"groups": parts.test.n_groups, "seconds": report["seconds"], "epochs": report["epochs"]}
    return RunOutput(
        measured=measured,
        tables=tables,
        model=_files(model) | {CARD_FILE: model_card(model, facts).encode("utf-8")},
        report=report,
        history=history,
        notes=tuple(dict.fromkeys((*notes, *report["notes"]))),  # what was warned of is in the report too
        versions=versions(),
    )


def query_frame(table: QueryTable, data: RankingDataset) -> pd.DataFrame:
    """A row per query: query, applicable, violation = max over groups of abs(violation), the signed violation of each
    group, dcg, ideal_dcg (of the order by relevance); added_dcg, where labels below 0 were shifted: the DCG of that."""
    columns: dict[str, Any] = {
        "query": [str(name) for name in table.query_ids.tolist()],
        "applicable": table.applicable,
        "violation": np.abs(table.worst_violation),
    }
    if table.dcg is not None and data.relevance is not None:
        columns |= {"dcg": table.dcg, "ideal_dcg": ideal_dcg(data.relevance, data.offsets, Discount())}
        if data.label_shift:
            shift = np.full(data.n_items, data.label_shift)
            columns["added_dcg"] = ideal_dcg(shift, data.offsets, Discount())
    columns |= {f"violation of {name}": table.violation[:, g] for g, name in enumerate(table.group_names)}
    return pd.DataFrame(columns)


def measure(frame: pd.DataFrame, delta: float | dict[str, float] | None) -> dict[str, Any]:
    """Means over the queries of a `query_frame`; violations over the applicable ones, None where there is none.

    `fair_share` is the share of the applicable queries that hold delta.

    nDCG is the mean over queries with a relevant item of dcg / ideal_dcg, of labels shifted to 0 or more.
    """
    violation = frame.loc[frame["applicable"], "violation"].to_numpy()
    added = frame.get("added_dcg", 0.0)
    reached, ideal = frame["dcg"] + added, frame["ideal_dcg"] + added
    return {
        "dcg": float(frame["dcg"].mean()),
        "ideal_dcg": float(frame["ideal_dcg"].mean()),
        "ndcg": float((reached / ideal)[ideal > 0].mean()) if (ideal > 0).any() else None,
        "violation_mean": float(violation.mean()) if len(violation) else None,
        "violation_max": float(violation.max()) if len(violation) else None,
        "fair_share": _fair_share(frame[frame["applicable"]], delta) if len(violation) and delta is not None else None,
    }


def _fair_share(frame: pd.DataFrame, delta: float | dict[str, float]) -> float:
    if not isinstance(delta, dict):
        return float((frame["violation"] <= delta + TOLERANCE).mean())
    # A group that is not in a list has no violation there, and breaks nothing.
    columns = {group: f"violation of {group}" for group in delta if f"violation of {group}" in frame}
    broken = [frame[column].abs() > delta[group] + TOLERANCE for group, column in columns.items()]
    return float(1 - np.logical_or.reduce(broken).mean())


def _checkpoint(item: dict[str, Any], run: str) -> Path | None:
    """The run's checkpoint directory, where the disk of the store is in reach; a worker elsewhere goes without."""
    root = item.get("store")
    if root is None:
        return None
    marker = read_json(Path(root) / "store.json")
    if marker is None or marker.get("number") != item.get("number"):
        return None
    return Path(root) / "runs" / run / "checkpoint"


def _files(model: Estimator) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory(prefix="spofr-model-") as folder:
        model.save(folder)
        return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}


def _parquet(frame: pd.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=False, compression="zstd")
    return buffer.getvalue()
