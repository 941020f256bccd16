"""A measure of one's own: what the last item of each list gets."""

from __future__ import annotations

import numpy as np

from spofr_core.measures import MEASURES, Measure, RankingView


def least_exposure(view: RankingView) -> np.ndarray:
    """The least exposure that any item of each list expects."""
    return np.minimum.reduceat(view.item_exposure, view.data.offsets[:-1])


MEASURES.register(
    Measure(
        name="least",
        label="Least exposure",
        unit="exposure",
        better="higher",
        description="The exposure that the item at the end of the list expects.",
        per_query=least_exposure,
    )
)
