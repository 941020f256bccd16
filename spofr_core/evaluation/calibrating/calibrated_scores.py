"""Scores made into estimates of relevance that no query's own labels had a part in."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from spofr_core.config import checked_seed
from spofr_core.data import RankingDataset
from spofr_core.data.calibration import CALIBRATIONS, check_calibratable
from spofr_core.data.rows import rows_of
from spofr_core.errors import ConfigError, DataError
from spofr_core.evaluation.query_table import FloatArray
from spofr_core.reporting.wording.phrases import within_a_sentence
from spofr_core.sizes import unit_of

IntArray = npt.NDArray[np.int64]

FOLDS = 5
_LEFT_OUT = 0.2
"""Share of the items that may be left out of a fit, where those of a part must be."""
_MOST_FOLDS = 200

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
        Root mean squared difference between label and estimate, on queries that had no part in the fit; of the data
        that was fitted on.
    flat : bool
        Whether a fit found nothing in the scores: all estimates of its queries are equal, but for what keeps an order.
    known : int
        Queries whose own labels had a part in the fit after all, since the other data has them too.
    items_apart : bool
        Whether the items of a part were left out of its fit too: they are in several queries with one score and one
        label each, which would have been known beforehand.
    of : str
        What they are made from: "scores", or "ranks".
    flat_parts : int
        How many of the parts are flat.
    """

    estimates: FloatArray
    kind: str
    folds: int | None
    error: float
    flat: bool
    known: int = 0
    items_apart: bool = False
    of: str = "scores"
    flat_parts: int = 0

    @property
    def sentence(self) -> str:
        """What they are, for people."""
        others = "other items in other queries" if self.items_apart else "other queries"
        by = "the labels of other data" if self.folds is None else f"the labels of {others}, in {self.folds} parts"
        told = f"relevance estimated from the {self.of} by {self.kind} calibration, fitted to {by}"
        if self.known:
            number = f"{self.known:,} of these queries are" if self.known > 1 else "one of these queries is"
            told += f"; {number} among them, and the DCG says more there than it would of queries that are not"
        if not self.flat:
            return told
        if self.folds is not None and self.flat_parts < self.folds:
            where = f"in {self.flat_parts} of them the {self.of} say nothing about the labels, and estimates are equal"
            return f"{told}; {where}"
        return f"{told}; the {self.of} say nothing about the labels, so that many estimates are equal"


def calibrated_scores(data: RankingDataset, calibrate: Calibrate = True, *, seed: int = 0) -> CalibratedScores:
    """Calibrate the scores of the data.

    Parameters
    ----------
    data : RankingDataset
        With scores.
    calibrate : bool, str or RankingDataset
        See `Calibrate`. Other data, with scores of the same model, is fitted on as a whole; the data's own labels only
        across queries, also where "other" data turns out to be the same queries with the same labels.
    seed : int
        Of the cut into parts.

    Raises
    ------
    DataError
        When there are no scores, no labels to fit, or a single query.
    """
    source = calibrate if isinstance(calibrate, RankingDataset) else data
    kinds = [calibrate] if isinstance(calibrate, str) else list(CALIBRATIONS)
    known_kind = isinstance(calibrate, str) and calibrate in CALIBRATIONS
    if not (known_kind or calibrate is True or isinstance(calibrate, RankingDataset)):
        seen = repr(calibrate) if isinstance(calibrate, str | int | None) else f"a {type(calibrate).__name__}"
        raise ConfigError(
            f"'calibrate' must be True, one of {list(CALIBRATIONS)}, or other data as a RankingDataset, got {seen}."
        )
    if data.score is None:
        raise DataError("The data has no score to calibrate: map a score column.", column="score")
    if source.score is not None and source.ranks != data.ranks:
        mine, other = ("ranks", "scores") if data.ranks else ("scores", "ranks")
        raise DataError(
            f"The data has {mine} and the data to calibrate by has {other}, which are in another unit: give both the "
            "same.",
            column="score",
        )
    known = 0 if source is data else _queries_in_both(data, source)
    if known == len(data) == len(source):
        source = data
    across = {kind: _across_queries(source, kind, seed) for kind in kinds}
    kind = min(across, key=lambda name: across[name].error)
    of = "ranks" if data.ranks else "scores"
    if source is data:
        return replace(across[kind], of=of)
    whole = CALIBRATIONS[kind].fit(_scores(source), _labels(source))
    estimates = whole.estimates(data.score) - source.label_shift
    return CalibratedScores(estimates, kind, None, across[kind].error, whole.flat, known, of=of)


def _queries_in_both(data: RankingDataset, other: RankingDataset) -> int:
    """How many queries of the data are in the other data too, with the same items and labels."""
    if data.relevance is None or other.relevance is None:
        return 0
    there = {_content(other, q) for q in range(len(other))}
    return sum(_content(data, q) in there for q in range(len(data)))


def _content(data: RankingDataset, q: int) -> tuple[str, tuple[str, ...], bytes]:
    rows = slice(int(data.offsets[q]), int(data.offsets[q + 1]))
    items = tuple(map(str, data.item_ids[rows]))
    return str(data.query_ids[q]), items, np.asarray(data.relevance, dtype=np.float64)[rows].tobytes()


def _across_queries(data: RankingDataset, kind: str, seed: int) -> CalibratedScores:
    """Each query by a map that was fitted to the queries of the other parts."""
    scores, labels = _scores(data), _labels(data)
    if len(data) < 2:
        raise DataError(
            "A single query cannot be calibrated by the labels of others: repair without calibration.",
            mend="In Python, other data of several queries can be given to fit on.",
        )
    check_calibratable(scores, labels)
    items = _items_with_one_label(data, scores, labels)
    folds = min(_folds(items), len(data))
    part = np.random.default_rng([checked_seed(seed), 1]).permutation(len(data)) % folds
    estimates, flat_parts = np.empty(len(scores)), 0
    chances = None if items is None else _chances_to_be_left(items, folds)
    for fold in range(folds):
        learned, _ = rows_of(data.offsets, np.flatnonzero(part != fold))
        applied, _ = rows_of(data.offsets, np.flatnonzero(part == fold))
        if items is not None:
            learned = learned[~np.isin(items[learned], items[applied])]
        try:
            fitted = CALIBRATIONS[kind].fit(
                scores[learned], labels[learned], None if chances is None else 1 / chances[learned]
            )
        except DataError as error:
            how = (
                f"Each query is calibrated by the labels of others, in {folds} parts, and without one of these the "
                "others do not suffice"
                if items is None
                else "The same items are in many of these queries, always with the same label, and no query is "
                "calibrated by the labels of its own items. The others do not suffice"
            )
            why = within_a_sentence(error.plain.partition(":")[0])
            raise DataError(
                f"{how}: {why}. Repair without calibration.",
                column="relevance",
                mend="In Python, other data can be given to fit on.",
            ) from error
        estimates[applied] = fitted.estimates(scores[applied])
        flat_parts += fitted.flat
    unit = unit_of(labels)  # which of two maps errs less is lost where squares overflow or vanish
    off = unit * math.sqrt(np.mean(((estimates - labels) / unit) ** 2))
    estimates -= data.label_shift
    return CalibratedScores(
        estimates, kind, folds, off, flat_parts > 0, items_apart=items is not None, flat_parts=flat_parts
    )


def _items_with_one_label(data: RankingDataset, scores: FloatArray, labels: FloatArray) -> IntArray | None:
    """Codes of the items, if some are in several queries and all of those have one score and one label throughout.

    Such labels belong to the items, not to what was asked: a map fitted to other queries would know them. Where a
    single item differs, they belong to the queries, and nothing is left out, whatever the labels: a choice item by
    item would itself depend on them.
    """
    names, codes, counts = np.unique(data.item_ids, return_inverse=True, return_counts=True)
    if counts.max(initial=0) < 2:
        return None
    for values in (scores, labels):
        first = np.empty(len(names))
        first[codes] = values
        if not np.allclose(first[codes], values, rtol=1e-6, atol=0):  # a model may round otherwise in another batch
            return None
    return np.asarray(codes, dtype=np.int64)


def _folds(items: IntArray | None) -> int:
    """Parts to cut the queries into: small ones where a part takes its items along, so that enough are left."""
    if items is None:
        return FOLDS
    distinct = int(items.max()) + 1
    return min(max(FOLDS, math.ceil(len(items) / (_LEFT_OUT * distinct))), _MOST_FOLDS)


def _chances_to_be_left(items: IntArray, folds: int) -> FloatArray:
    """(N,): how likely the item of a row is in none of the queries of a part.

    Who is in many lists is left more rarely. Where that goes with relevance, as in lists that are drawn to have so many
    relevant items each, those who are left would say too little or too much, if they did not count more the less likely
    they are.
    """
    return np.asarray((1 - 1 / folds) ** np.bincount(items)[items])


def _scores(data: RankingDataset) -> FloatArray:
    if data.score is None:
        raise DataError("The data to calibrate by has no score: map a score column.", column="score")
    return np.asarray(data.score)


def _labels(data: RankingDataset) -> FloatArray:
    if data.gains is None:
        raise DataError(
            "Calibrating the scores needs relevance labels: choose a relevance column, or repair without it.",
            column="relevance",
        )
    return data.gains
