"""nDCG: DCG at a depth, over the highest that the list allows."""

from __future__ import annotations

import numpy as np

from spofr_core.measures import MEASURES, Measure, RankingView, Values
from spofr_core.measures.ranking_view import NOTHING_RELEVANT
from spofr_core.measures.utility.dcg import expected_dcg, ideal_dcg


def ndcg(view: RankingView, *, k: int | None) -> Values:
    """DCG@k over ideal DCG@k of each list; undefined for a list without a relevant item."""
    depth = k or view.cutoff
    discount, offsets = view.discount_at(depth), view.data.offsets
    ideal = ideal_dcg(view.gains, offsets, discount)
    reached = expected_dcg(view.gains, view.expectation(discount.vector(view.longest)), offsets)
    values = np.divide(reached, ideal, out=np.full(len(ideal), np.nan), where=ideal > 0)
    return Values(values, {NOTHING_RELEVANT: ideal <= 0})


MEASURES.register(
    Measure(
        name="ndcg",
        label="nDCG@k",
        better="higher",
        ideal=1.0,
        limits=(0.0, 1.0),
        needs=("relevance",),
        of_gains=True,
        depth=None,
        description="DCG of the first k positions over that of the order by relevance; queries without a relevant "
        "item have none.",
        formula="DCG@k / DCG@k of the order by relevance",
        source="Järvelin, Kekäläinen 2002",
        per_query=ndcg,
    )
)
