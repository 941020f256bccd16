"""Hand-made tables of runs."""

from __future__ import annotations

from typing import Any

import pandas as pd

from spofr_core.experiments.runs.result_tables import results_frame


def run(name: str, **columns: Any) -> dict[str, Any]:
    """A row of results; what is not given is plain."""
    row: dict[str, Any] = {
        "run": name,
        "dataset": "d",
        "method": "spofr",
        "delta": None,
        "unit": "absolute",
        "penalty": None,
        "groups": 2,
        "notion": "exposure",
        "clicks": 100,
        "seed": 0,
        "dcg": 1.0,
        "ideal_dcg": 2.0,
        "ndcg": 0.5,
        "violation_mean": 0.0,
        "violation_max": 0.0,
        "violation_signed_mean": 0.0,
        "fair_share": 1.0,
        "seconds": 1.0,
        "epochs": 1,
        "status": "done",
    }
    return row | columns


def table(*rows: dict[str, Any]) -> pd.DataFrame:
    return results_frame(rows)
