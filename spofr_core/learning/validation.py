"""Watching a fit: utility, violation and spread of the scores on the validation lists."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spofr_core.fairness import TOLERANCE, Fairness
from spofr_core.learning.decisions import Decision
from spofr_core.learning.lists import Lists
from spofr_core.learning.scorers import Scorer

FloatArray = NDArray[np.float64]

Penalty = Callable[[FloatArray, FloatArray], float]
"""What a penalised method subtracts from the utility, from flat scores and mean group exposures (Q, G)."""


@dataclass(frozen=True)
class Reading:
    """What the validation lists say about some weights; the fields are those of `Progress`."""

    validation_dcg: float
    objective: float
    regret: float
    violation: float | None
    max_violation: float | None
    fair_share: float | None
    distinct_scores: float
    score_spread: float
    collapsed: float


class Validator:
    """Measures a scorer on fixed lists.

    Parameters
    ----------
    lists : Lists
        With labels. Copies of the same list may be merged.
    decision : Decision
        The method's way from scores to policies, made for these lists.
    fairness : Fairness
        What violations are measured by.
    best_worth : (N,) float
        Pi w of the best policies that the method could have chosen, knowing the labels.
    penalty : callable, optional
    """

    def __init__(
        self,
        lists: Lists,
        decision: Decision,
        fairness: Fairness,
        best_worth: FloatArray,
        penalty: Penalty | None = None,
    ) -> None:
        self.lists = lists
        self._labels = lists.labels.numpy().astype(np.float64) - lists.label_shift
        self._share = lists.weights / lists.weights.sum()
        self._item_share = np.repeat(self._share, lists.lengths)
        self._decision = decision
        self._penalty = penalty
        self._composition = lists.composition
        self._terms = fairness.terms(self._composition)
        self._best = self._mean_dcg(best_worth)

    def _mean_dcg(self, worth: FloatArray) -> float:
        """Mean over lists of y' Pi w."""
        return float(np.dot(self._labels * self._item_share, worth))

    def gain(self, scores: FloatArray, before: FloatArray) -> tuple[float, float]:
        """How much more utility these scores have than those before, and the standard error of that.

        Items are the evidence, not lists: what an item adds in all the lists that it is in counts as one observation.
        """
        worth, worth_before = (self._decision.expectations(each)[0] for each in (scores, before))
        rows = self.lists.rows.numpy()
        gains = np.bincount(rows, weights=self._labels * self._item_share * (worth - worth_before))
        share = np.bincount(rows, weights=self._item_share / self._item_share.sum())
        total = float(gains.sum())
        return total, float(np.linalg.norm(gains - total * share))

    def read(self, scorer: Scorer) -> Reading:
        """Score the lists and measure the policies."""
        return self.measure(self.lists.scores(scorer))

    def measure(self, scores: FloatArray) -> Reading:
        """The same for given flat scores."""
        worth, item_exposure = self._decision.expectations(scores)
        exposure = self._composition.group_means(item_exposure, self.lists.codes, self.lists.offsets)
        dcg = self._mean_dcg(worth)
        penalty = 0.0 if self._penalty is None else self._penalty(scores, exposure)
        violation, max_violation, fair_share = self._violations(exposure)
        distinct, spread, collapsed = score_spread(scores, self.lists.offsets)
        return Reading(
            validation_dcg=dcg,
            objective=dcg - penalty,
            regret=self._best - dcg,
            violation=violation,
            max_violation=max_violation,
            fair_share=fair_share,
            distinct_scores=distinct,
            score_spread=spread,
            collapsed=collapsed,
        )

    def _violations(self, exposure: FloatArray) -> tuple[float | None, float | None, float | None]:
        applicable = self._composition.applicable
        if not applicable.any():
            return None, None, None
        sizes = np.where(self._terms.constrained, np.abs(self._terms.violations(exposure)), 0.0)
        excess = np.where(self._terms.constrained, sizes - self._terms.delta, -np.inf)
        worst = sizes.max(axis=1)[applicable]
        weights = self.lists.weights[applicable]
        fair = excess.max(axis=1)[applicable] <= TOLERANCE
        return float(weights @ worst / weights.sum()), float(worst.max()), float(weights @ fair / weights.sum())


def score_spread(scores: FloatArray, offsets: NDArray[np.int64]) -> tuple[float, float, float]:
    """Mean number of distinct scores per list, mean standard deviation, and share of lists with one score only."""
    lengths = np.diff(offsets)
    query = np.repeat(np.arange(len(lengths)), lengths)
    ordered = scores[np.lexsort((scores, query))]
    new = np.ones(len(ordered), dtype=np.int64)
    new[1:] = (np.diff(ordered) > 0) | (np.diff(query) > 0)
    distinct = np.add.reduceat(new, offsets[:-1])
    centered = scores - np.repeat(np.add.reduceat(scores, offsets[:-1]) / lengths, lengths)
    spread = np.sqrt(np.add.reduceat(centered**2, offsets[:-1]) / lengths)
    low, high = ordered[offsets[:-1]], ordered[offsets[1:] - 1]
    several = lengths > 1
    flat = (high - low <= 1e-7 * (1.0 + np.abs(high)))[several]
    return float(distinct.mean()), float(spread.mean()), float(flat.mean()) if several.any() else 0.0
