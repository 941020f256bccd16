"""What the score says, what happened, and what a repair would gain from knowing it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from spofr_core.data import RankingDataset
from spofr_core.evaluation.calibrating.calibrated_scores import CalibratedScores, calibrated_scores
from spofr_core.evaluation.intervals import Interval, bootstrap_mean, standard_error
from spofr_core.evaluation.query_table import FloatArray
from spofr_core.evaluation.repair import Repair, repair
from spofr_core.fairness import Fairness

BINS = 10
_NORMAL_95 = 1.959963984540054
_FEWEST = 6
"""Queries below which no gain can be told from chance at 95 %: 2 ** -5 of the coin tosses agree in all of six."""
_ROUNDING = 1e-9
"""What two sums of a list's DCG may differ by without being different."""


def reliability(data: RankingDataset, calibrated: CalibratedScores | None = None, *, bins: int = BINS) -> pd.DataFrame:
    """Mean relevance of items with about the same score.

    Items are cut at the quantiles of the score into `bins` parts, fewer where many scores are equal. The interval of a
    mean is the normal one at 95 %, with queries, not items, as what was drawn.

    Returns
    -------
    DataFrame
        A row per part: score_from, score_to, score and relevance (means), lower, upper, estimate (mean calibrated
        score), items.
    """
    scores, labels = np.asarray(data.score), np.asarray(data.relevance)
    estimates = (calibrated or calibrated_scores(data)).estimates
    edges = np.unique(np.quantile(scores, np.linspace(0, 1, bins + 1)[1:-1]))
    part = np.searchsorted(edges, scores, side="left")
    rows = []
    for number in np.unique(part):
        inside = part == number
        mean, half = _mean_over_queries(labels * inside, inside.astype(np.float64), data.query_of_item)
        rows.append(
            {
                "score_from": float(scores[inside].min()),
                "score_to": float(scores[inside].max()),
                "score": float(scores[inside].mean()),
                "relevance": mean,
                "lower": max(-data.label_shift, mean - half),
                "upper": mean + half,
                "estimate": float(estimates[inside].mean()),
                "items": int(inside.sum()),
            }
        )
    return pd.DataFrame(rows)


def _mean_over_queries(values: FloatArray, counts: FloatArray, query: Any) -> tuple[float, float]:
    """Sum of values over sum of counts, and half of its interval, linearised over the queries."""
    sums, sizes = np.bincount(query, weights=values), np.bincount(query, weights=counts)
    mean = float(sums.sum() / sizes.sum())
    pulls = (sums - mean * sizes) / sizes.sum()
    return mean, _NORMAL_95 * standard_error(pulls)


@dataclass(frozen=True, eq=False)
class CalibrationGain:
    """DCG of a repair by the scores as they are, and by calibrated ones.

    Attributes
    ----------
    plain, calibrated : float
        Mean DCG over the queries, of the labels.
    gain : float
        Of the calibrated over the plain, with its 95 % interval over the queries.
    interval : (float, float) or None
        None with fewer than six queries: of five, all may gain by chance more often than one time in twenty.
    scores : CalibratedScores
    """

    plain: float
    calibrated: float
    gain: float
    interval: Interval | None
    scores: CalibratedScores

    @property
    def sentence(self) -> str:
        """Whether it is worth it, for people."""
        told = f"DCG {self.calibrated:.4g} instead of {self.plain:.4g}"
        of = self.scores.of
        if self.interval is None:
            return f"These queries are too few to say whether calibrating the {of} would gain anything: {told}."
        if self.interval[0] <= 0 <= self.interval[1]:
            return f"Calibrating the {of} makes no difference to the repair that these queries can show: {told}."
        change = "better" if self.gain > 0 else "worse"
        low, high = self.interval
        # As many decimals as the nearer end needs to be told from 0, the same for all three.
        decimals = max(3, 1 - math.floor(math.log10(min(abs(low), abs(high)))))
        gain, low_text, high_text = (f"{value:+.{decimals}f}" for value in (self.gain, low, high))
        return (
            f"A repair by calibrated {of} would be {change}: {told}, {gain} (95 % interval {low_text} to {high_text})."
        )


def calibration_gain(
    data: RankingDataset, fairness: Fairness, *, plain: Repair | None = None, seed: int = 0
) -> CalibrationGain:
    """What a repair would gain from calibrated scores, by the labels of queries that were not fitted to.

    Parameters
    ----------
    data : RankingDataset
        With scores and labels.
    plain : Repair, optional
        By the scores as they are, where it is known already.

    Raises
    ------
    DataError
        When there are no labels, or nothing to calibrate by.
    """
    how: dict[str, Any] = {"on_infeasible": "relax", "seed": seed}
    scores = calibrated_scores(data, seed=seed)
    before = plain or repair(data, fairness, **how)
    after = repair(data, fairness, scores=scores.estimates, **how)
    first, second = (np.asarray(each.after.table.dcg) for each in (before, after))
    change = second - first
    change[np.abs(change) <= _ROUNDING * np.maximum(np.abs(first), np.abs(second))] = 0.0
    interval = bootstrap_mean(change, seed=seed) if len(change) >= _FEWEST else None
    return CalibrationGain(float(first.mean()), float(second.mean()), float(change.mean()), interval, scores)
