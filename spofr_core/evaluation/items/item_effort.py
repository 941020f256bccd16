"""How long a repair takes where each item is on its own, told before it is begun."""

from __future__ import annotations

import numpy as np

from spofr_core.data import RankingDataset


def item_repair_seconds(data: RankingDataset) -> float:
    """About how long the repair of all lists takes with each item on its own: it grows with the cube of a list.

    Measured on two shared cores: 1 ms for a list of 20, 30 ms for one of 100, 2 to 5 s for one of 500, 20 to 40 s for
    one of 1,000.
    """
    lengths = data.list_lengths.astype(np.float64)
    return float((4e-5 * lengths + 4e-8 * lengths**3).sum())
