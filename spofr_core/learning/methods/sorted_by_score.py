"""Methods that rank by score alone: their policies are plain sorts, ties drawn at random."""

from __future__ import annotations

import numpy as np

from spofr_core.data import RankingDataset
from spofr_core.fairness import Fairness
from spofr_core.learning.decisions import Decision, PlainSort
from spofr_core.learning.estimator import Estimator, refuse_fairness
from spofr_core.learning.lists import Lists
from spofr_core.policy import SortedPolicies
from spofr_core.policy.programme import OnInfeasible


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
