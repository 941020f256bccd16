"""What the summary says where each item is on its own: of items and lists, not of groups."""

from __future__ import annotations

from typing import Any

import numpy as np

from spofr_core.evaluation.intervals import bootstrap_mean
from spofr_core.evaluation.query_table import FloatArray, JudgedTable, QueryTable

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def measured_items(table: QueryTable, *, seed: int) -> dict[str, Any]:
    """The part of ``items`` that no delta changes; the schema is written in `spofr_core.evaluation.summary`."""
    relative = table.relative_exposure
    lists = ~np.isnan(relative).all(axis=1)
    compared = relative[~np.isnan(relative)]
    return {
        "total": int(table.present.sum()),
        "compared": len(compared),
        "relative": {f"{q:g}": float(np.quantile(compared, q)) if len(compared) else None for q in QUANTILES},
        "most": _extreme(np.nanmax(relative[lists], axis=1), seed),
        "least": _extreme(np.nanmin(relative[lists], axis=1), seed),
    }


def judged_items(table: JudgedTable) -> dict[str, int]:
    """The part of ``items`` that delta changes: in judged lists, how many get more, and less, than it allows."""
    outside = ~table.holds & table.present & table.judged[:, None]
    with np.errstate(invalid="ignore"):
        above = outside & (table.violation > 0)
    judged = table.present[table.judged].sum()
    return {"judged": int(judged), "above": int(above.sum()), "below": int((outside & ~above).sum())}


def _extreme(values: FloatArray, seed: int) -> dict[str, Any]:
    """The mean over lists of what one item of each gets, with its interval."""
    interval = bootstrap_mean(values, seed=seed)
    return {"mean": float(values.mean()) if len(values) else None, "ci": list(interval) if interval else None}
