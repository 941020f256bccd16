"""How many items of each group stand among the first k of a ranking."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange

from spofr_core.measures.measure import FloatArray
from spofr_core.measures.ranking_view import Patterns, RankingView


def top_counts(view: RankingView, k: int) -> FloatArray:
    """(R, G): items of each group among the first k of every ranking; of a shorter list, among all."""
    patterns: Patterns = view.patterns
    return np.asarray(_top_counts(patterns.groups, patterns.starts, view.data.n_groups, k))


@njit(parallel=True, cache=True)
def _top_counts(groups: Any, starts: Any, n_groups: int, k: int) -> Any:  # pragma: no cover
    counts = np.zeros((len(starts) - 1, n_groups))
    for r in prange(len(starts) - 1):
        for place in range(starts[r], min(starts[r] + k, starts[r + 1])):
            if groups[place] >= 0:
                counts[r, groups[place]] += 1
    return counts
