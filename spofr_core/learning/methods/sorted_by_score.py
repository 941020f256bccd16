"""Methods that rank by score alone: their policies are plain sorts, ties drawn at random."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spofr_core.data import RankingDataset
from spofr_core.fairness import Fairness
from spofr_core.learning.decisions import Decision, PlainSort
from spofr_core.learning.estimator import Estimator, refuse_fairness
from spofr_core.learning.lists import Lists
from spofr_core.policy import tied_expectation
from spofr_core.policy.programme import OnInfeasible

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SortedPolicies:
    """Each list sorted by score; items of equal score stand in every order with the same probability.

    Attributes
    ----------
    scores : (N,) float
        Flat; list q is `offsets[q]:offsets[q + 1]`.
    offsets : (Q + 1,) int
    """

    scores: FloatArray
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def expectation(self, vector: FloatArray) -> FloatArray:
        """(N,): expected vector[position] of every item, exactly."""
        return tied_expectation(self.scores, self.offsets, vector)


class SortedEstimator(Estimator):
    """Ranks by score."""

    def policies(
        self, data: RankingDataset, fairness: Fairness | None = None, *, on_infeasible: OnInfeasible = "raise"
    ) -> SortedPolicies:
        """The ranking by score. It cannot be asked for a `fairness`, so no list is infeasible."""
        refuse_fairness(self, fairness)
        return SortedPolicies(self.scores(data), np.array(data.offsets))

    def _decision(self, lists: Lists) -> Decision:
        return PlainSort(lists, self.fairness, self.discount)
