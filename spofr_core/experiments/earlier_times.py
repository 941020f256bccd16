"""How long a sweep will take, going by the runs that were done before it."""

from __future__ import annotations

import numpy as np
import pandas as pd

from spofr_core.experiments.progress import format_duration
from spofr_core.experiments.sweep_spec import RunConfig
from spofr_core.learning import with_scorer

OVERHEAD = 0.5
"""Seconds of a run besides training: measuring and writing."""


def time_from_earlier_runs(missing: tuple[RunConfig, ...], earlier: pd.DataFrame, workers: int) -> str:
    """What runs of the same method and size on the same data took, as words; "" where there was none of a kind."""
    if not missing:
        return ""
    means: dict[tuple[str, int | None, str], float] = {}
    total = 0.0
    for config in missing:
        kind = (with_scorer(config.method, config.settings), config.clicks, config.dataset.label)
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
