"""Gini coefficient of exposure among the items of a list."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange

from spofr_core.measures import MEASURES, Measure, RankingView, Values


def _per_query(view: RankingView) -> Values:
    offsets = np.require(view.data.offsets, np.int64, ["C", "W"])
    values = np.asarray(_gini(np.ascontiguousarray(view.item_exposure), offsets))
    return Values(values, {"nobody gets any exposure": np.isnan(values)})


@njit(parallel=True, cache=True)
def _gini(exposure: Any, offsets: Any) -> Any:  # pragma: no cover
    """sum_i (2i - n - 1) x_(i) / (n sum x), x ascending, i = 1..n."""
    values = np.empty(len(offsets) - 1)
    for q in prange(len(offsets) - 1):
        x = np.sort(exposure[offsets[q] : offsets[q + 1]])
        n, total, weighted = len(x), 0.0, 0.0
        for i in range(n):
            total += x[i]
            weighted += (2 * (i + 1) - n - 1) * x[i]
        values[q] = weighted / (n * total) if total > 0 else np.nan
    return values


MEASURES.register(
    Measure(
        name="Gini",
        label="Gini of exposure",
        better="lower",
        ideal=0.0,
        limits=(0.0, 1.0),
        description="How unequally exposure is shared among the items of a list: 0 if all get the same.",
        formula="sum_i (2i - n - 1) x_(i) / (n sum x), x ascending",
        source="Gini 1912",
        in_audit=False,
        per_query=_per_query,
    )
)
