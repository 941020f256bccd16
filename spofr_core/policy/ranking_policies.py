"""What every batch of policies can be asked, however it ranks."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from spofr_core.policy.lotteries import Lotteries


class RankingPolicies(Protocol):
    """One lottery over rankings per list: `Policies` of the programme, `SortedPolicies`, or a method's own."""

    def __len__(self) -> int:
        """Number of lists."""
        ...

    def expectation(self, vector: NDArray[np.float64]) -> NDArray[np.float64]:
        """(N,): expected vector[position] of every item, for any vector over positions."""
        ...

    def lotteries(self, kinds: NDArray[np.int64]) -> Lotteries:
        """Whole rankings with their weights, for what is no expectation over positions; items of a kind are alike."""
        ...
