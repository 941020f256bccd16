"""Scores made into estimates of relevance that no query's own labels had a part in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from spofr_core.data import RankingDataset
from spofr_core.data.calibration import CALIBRATIONS, Calibration
from spofr_core.data.rows import rows_of
from spofr_core.errors import ConfigError, DataError
from spofr_core.evaluation.query_table import FloatArray

FOLDS = 5

Calibrate = bool | Literal["logistic", "isotonic"] | RankingDataset
"""True: the better of both kinds, cross-fitted; a kind; or other data with scores and labels to fit them on."""


@dataclass(frozen=True, eq=False)
class CalibratedScores:
    """Estimates of relevance made from scores.

    Attributes
    ----------
    estimates : (N,) float
        Within a list in the order of the scores.
    kind : str
        "logistic" or "isotonic".
    folds : int or None
        In how many parts the queries were cut: those of a part are calibrated by the labels of all others. None: by
        the labels of other data.
    error : float
        Mean squared difference between label and estimate, on queries that had no part in the fit; of the data that
        was fitted on.
    flat : bool
        Whether a fit found nothing in the scores: all estimates of its queries are equal.
    """

    estimates: FloatArray
    kind: str
    folds: int | None
    error: float
    flat: bool

    @property
    def sentence(self) -> str:
        """What they are, for people."""
        by = "the labels of other data" if self.folds is None else f"the labels of other queries, in {self.folds} parts"
        told = f"relevance estimated from the scores by {self.kind} calibration, fitted to {by}"
        return (
            f"{told}; the scores say nothing about the labels, so that many estimates are equal" if self.flat else told
        )


def calibrated_scores(data: RankingDataset, calibrate: Calibrate = True, *, seed: int = 0) -> CalibratedScores:
    """Calibrate the scores of the data.

    Parameters
    ----------
    data : RankingDataset
        With scores.
    calibrate : bool, str or RankingDataset
        See `Calibrate`. Other data is fitted on as a whole; the data's own labels only across queries.
    seed : int
        Of the cut into parts.

    Raises
    ------
    DataError
        When there are no scores, no labels to fit, or a single query.
    """
    source = calibrate if isinstance(calibrate, RankingDataset) else data
    kinds = [calibrate] if isinstance(calibrate, str) else list(CALIBRATIONS)
    if isinstance(calibrate, str) and calibrate not in CALIBRATIONS:
        raise ConfigError(f"'calibrate' must be True, one of {list(CALIBRATIONS)}, or other data, got {calibrate!r}.")
    if data.score is None:
        raise DataError("The data has no score to calibrate: map a score column.", column="score")
    across = {kind: _across_queries(source, kind, seed) for kind in kinds}
    kind = min(across, key=lambda name: across[name].error)
    if source is data:
        return across[kind]
    whole = CALIBRATIONS[kind].fit(_scores(source), _labels(source))
    estimates = whole.estimates(data.score)
    return CalibratedScores(estimates, kind, None, across[kind].error, _is_flat(whole, data.score))


def _across_queries(data: RankingDataset, kind: str, seed: int) -> CalibratedScores:
    """Each query by a map that was fitted to the queries of the other parts."""
    scores, labels = _scores(data), _labels(data)
    folds = min(FOLDS, len(data))
    if folds < 2:
        raise DataError("A single query cannot be calibrated by the labels of others: give other data to fit on.")
    part = np.random.default_rng([seed, 1]).permutation(len(data)) % folds
    estimates, flat = np.empty(len(scores)), False
    for fold in range(folds):
        learned, _ = rows_of(data.offsets, np.flatnonzero(part != fold))
        applied, _ = rows_of(data.offsets, np.flatnonzero(part == fold))
        fitted = CALIBRATIONS[kind].fit(scores[learned], labels[learned])
        estimates[applied] = fitted.estimates(scores[applied])
        flat |= _is_flat(fitted, scores[applied])
    return CalibratedScores(estimates, kind, folds, float(np.mean((estimates - labels) ** 2)), flat)


def _is_flat(fitted: Calibration, scores: FloatArray) -> bool:
    return bool(np.ptp(scores) > 0 and np.ptp(fitted.estimates(scores)) == 0)


def _scores(data: RankingDataset) -> FloatArray:
    if data.score is None:
        raise DataError("The data to calibrate by has no score: map a score column.", column="score")
    return np.asarray(data.score)


def _labels(data: RankingDataset) -> FloatArray:
    if data.relevance is None:
        raise DataError(
            "Calibrating the scores needs relevance labels: choose a relevance column, or repair without it.",
            column="relevance",
        )
    return np.asarray(data.relevance)
