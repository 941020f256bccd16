"""What a finished run brings back: numbers for the table of results, files for its directory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

RESULT_COLUMNS = (
    "run",
    "dataset",
    "method",
    "delta",
    "unit",
    "penalty",
    "groups",
    "notion",
    "clicks",
    "seed",
    "dcg",
    "ideal_dcg",
    "ndcg",
    "violation_mean",
    "violation_max",
    "violation_signed_mean",
    "fair_share",
    "seconds",
    "epochs",
    "status",
)
"""Columns of `results.parquet`, one row per run."""

MEASURED = RESULT_COLUMNS[RESULT_COLUMNS.index("dcg") : RESULT_COLUMNS.index("epochs") + 1]


@dataclass(frozen=True, eq=False)
class RunOutput:
    """Results of a run.

    Attributes
    ----------
    measured : dict
        The columns of the table of results that are measured (`MEASURED`), and "groups": how many the data has.
    tables : dict of str to bytes
        Per-query results as Parquet: "test", and "validation" where there is one.
    model : dict of str to bytes
        Files of the saved model.
    report : dict
        What happened in the fit, without its history.
    history : list of dict
        Every validation of the fit.
    notes : tuple of str
        What a reader of the numbers must know.
    """

    measured: dict[str, Any]
    tables: dict[str, bytes]
    model: dict[str, bytes]
    report: dict[str, Any]
    history: list[dict[str, Any]]
    notes: tuple[str, ...] = ()
    versions: dict[str, str] = field(default_factory=dict)
