"""How long a sweep will take: from earlier runs, or from a few steps of each method."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pandas as pd

from dashboard.jobs.job_board import ROOT
from spofr_core.errors import SpofrError
from spofr_core.experiments import RunConfig, format_duration

OVERHEAD = 0.5
"""Seconds of a run besides training: measuring and writing."""
PATIENCE = 300


def from_earlier_runs(missing: tuple[RunConfig, ...], earlier: pd.DataFrame, workers: int) -> str:
    """What runs of the same method and size on the same data took, as words; "" where there was none of a kind."""
    if not missing:
        return ""
    means: dict[tuple[str, int | None, str], float] = {}
    total = 0.0
    for config in missing:
        kind = (config.method, config.clicks, config.dataset.label)
        if kind not in means:
            means[kind] = _mean_seconds(earlier, *kind)
        total += means[kind] + OVERHEAD
    return (
        "" if np.isnan(total) else f"about {format_duration(total / min(workers, len(missing)))}, going by earlier runs"
    )


def _mean_seconds(earlier: pd.DataFrame, method: str, clicks: int | None, dataset: str) -> float:
    same = earlier[(earlier["method"] == method) & (earlier["source"] == dataset)]
    same = same[same["clicks"].isna()] if clicks is None else same[same["clicks"] == clicks]
    return float(same["seconds"].mean()) if len(same) else float("nan")


def from_a_probe(missing: tuple[RunConfig, ...], workers: int) -> str:
    """Time a few steps of each method in a process of its own; the estimate in words.

    Raises
    ------
    SpofrError
        When it could not be timed.
    """
    asked = json.dumps({"runs": [config.to_dict() for config in missing], "workers": workers})
    command = [sys.executable, "-m", "dashboard.jobs.probe_process"]
    try:
        done = subprocess.run(
            command, input=asked, capture_output=True, text=True, cwd=ROOT, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        raise SpofrError(
            f"A few steps take longer than {format_duration(PATIENCE)}: this sweep is a long one."
        ) from None
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:]
        raise SpofrError(f"The time could not be estimated: {''.join(last) or 'no reason was given.'}")
    return done.stdout.strip()
