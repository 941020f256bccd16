"""nDCG: DCG at a depth, over the highest that the list allows."""

from __future__ import annotations

import numpy as np

from spofr_core.measures import MEASURES, Measure, Measured
from spofr_core.measures.dcg import FloatArray, expected_dcg, ideal_dcg


def _per_query(measured: Measured) -> FloatArray:
    """DCG@k over ideal DCG@k of each list; NaN for a list without a relevant item, where it is undefined."""
    relevance, offsets = np.asarray(measured.data.relevance), measured.data.offsets
    ideal = ideal_dcg(relevance, offsets, measured.discount_at_cutoff)
    reached = expected_dcg(relevance, measured.item_discount_at_cutoff, offsets)
    return np.asarray(np.divide(reached, ideal, out=np.full(len(ideal), np.nan), where=ideal > 0))


MEASURES.register(
    Measure(
        name="ndcg",
        label="nDCG@k",
        better="higher",
        needs=("relevance",),
        description="DCG of the first k positions over that of the order by relevance; queries without a relevant "
        "item have none.",
        per_query=_per_query,
    )
)
