"""What the methods with a guarantee have in common: their policies solve the fair-ranking programme."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from spofr_core.data import RankingDataset
from spofr_core.fairness import Fairness
from spofr_core.learning.decisions import Decision, FairDecision, prepared
from spofr_core.learning.estimator import Estimator
from spofr_core.learning.lists import Lists
from spofr_core.policy import Policies, PreparedLists, fair_policies
from spofr_core.policy.programme import OnInfeasible

FloatArray = NDArray[np.float64]


class ProgrammeEstimator(Estimator):
    """Ranks by the optimal policy of the fair-ranking programme for the estimates of a scorer.

    Whatever the scorer learned, every policy holds delta in every list, and each of its rankings the quota, where
    there is one; it has the greatest utility of all such
    policies *if* the estimates are right. The same trained scorer serves any delta, notion and exposure model.
    """

    def _estimates(self, scores: FloatArray, offsets: NDArray[np.int64]) -> FloatArray:
        """What the programme is given for the scores."""
        return scores

    def estimates(self, data: RankingDataset) -> FloatArray:
        """What the programme is given: estimates of relevance, up to an affine map of each list."""
        return self._estimates(self.scores(data), data.offsets)

    def policies(
        self, data: RankingDataset, fairness: Fairness | None = None, *, on_infeasible: OnInfeasible = "raise"
    ) -> Policies:
        """The optimal fair policies of the lists of `data`, at the delta of this estimator or another one.

        Raises
        ------
        InfeasibleFairness
            When a list has no policy that satisfies the bounds, unless these are to be relaxed.
        """
        RankingDataset.require(data)
        if data.each_item:
            (fairness or self.fairness).check_items()
        return fair_policies(
            self.estimates(data),
            data.groups,
            data.offsets,
            fairness or self.fairness,
            discount=self.discount,
            group_names=data.group_names,
            query_ids=data.query_ids,
            item_ids=data.item_ids,
            on_infeasible=on_infeasible,
        )

    def _promises(self) -> list[str]:
        return []

    def _decision(self, lists: Lists) -> Decision:
        return EstimatedDecision(FairDecision(lists, self.fairness, self.discount), self._estimates, lists.offsets)

    def _best_worth(self, lists: Lists, decision: Decision) -> FloatArray:
        best = FairDecision(lists, self.fairness, self.discount)
        return best.expectations(lists.labels.numpy().astype(np.float64))[0]

    def _programme(self, lists: Lists) -> PreparedLists:
        return prepared(lists, self.fairness, self.discount)

    def _counts(self, lists: Lists) -> dict[str, int]:
        programme = self._programme(lists)
        lifted = {"lists_without_quota": len(programme.lifted)} if programme.lifted else {}
        return {"relaxed_lists": len(programme.relaxed), **lifted}


class EstimatedDecision:
    """A decision on estimates made from scores."""

    def __init__(self, decision: Decision, estimates: Any, offsets: NDArray[np.int64]) -> None:
        self._decision, self._estimates, self._offsets = decision, estimates, offsets

    def expectations(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Pi w and Pi v for the estimates."""
        return self._decision.expectations(self._estimates(scores, self._offsets))


def list_softmax(scores: FloatArray, offsets: NDArray[np.int64]) -> FloatArray:
    """Softmax of the scores of each list."""
    lengths = np.diff(offsets)
    powers = np.exp(scores - np.repeat(np.maximum.reduceat(scores, offsets[:-1]), lengths))
    return np.asarray(powers / np.repeat(np.add.reduceat(powers, offsets[:-1]), lengths))
