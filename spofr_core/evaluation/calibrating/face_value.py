"""The price of a repair where nobody knows what the scores are worth: how it changes if they meant something else."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from spofr_core.data import RankingDataset
from spofr_core.errors import DataError
from spofr_core.evaluation.query_table import FloatArray
from spofr_core.evaluation.repair import Repair, repair
from spofr_core.fairness import Fairness

TRANSFORMATIONS: dict[str, tuple[str, Callable[[FloatArray], FloatArray]]] = {
    "as they are": ("the same difference counts the same, wherever it lies", lambda x: x),
    "square root": ("differences among the best count less", np.sqrt),
    "square": ("differences among the best count more", np.square),
    "places": ("their places among all of them", lambda x: rankdata(x) / len(x)),
    "logistic": ("differences in the middle count most", lambda x: 1 / (1 + np.exp(-(x - x.mean()) / (x.std() or 1)))),
}
"""Of scores that were moved to between 0 and 1: none of these changes any order."""


def prices_at_face_value(data: RankingDataset, fairness: Fairness, *, seed: int = 0) -> pd.DataFrame:
    """The price of a repair if the scores meant the same order, but other differences.

    price = (utility of the sort - utility of the repair) / (utility of the sort - utility of the random ranking), means
    over the queries, utility the scores' own: which share of what sorting by score is worth the repair gives up. It is
    the same for scores in any unit and from any zero.

    Returns
    -------
    DataFrame
        A row per transformation: transformation, meaning, price.

    Raises
    ------
    DataError
        When there are no scores, or all of them are equal, or are so within each list.
    """
    if data.score is None:
        raise DataError("The data has no score: map a score column.", column="score")
    scores = np.asarray(data.score)
    largest, starts = float(np.abs(scores).max(initial=0.0)), data.offsets[:-1]
    if np.array_equal(np.maximum.reduceat(scores, starts), np.minimum.reduceat(scores, starts)):
        where = "All scores are equal" if np.all(scores == scores[0]) else "All scores of each list are equal"
        raise DataError(f"{where}: there is no order that a repair could cost.", column="score")
    scores = scores / largest  # the difference of the largest numbers there are would overflow
    unit = (scores - scores.min()) / np.ptp(scores)
    rows = []
    for name, (meaning, change) in TRANSFORMATIONS.items():
        found = repair(data, fairness, scores=change(unit), on_infeasible="relax", seed=seed)
        rows.append({"transformation": name, "meaning": meaning, "price": _price(found)})
    return pd.DataFrame(rows)


def _price(found: Repair) -> float:
    sort, fair = found.score_utility
    data = found.data
    worth = np.cumsum(found.discount.vector(int(data.list_lengths.max())))
    means = np.add.reduceat(np.asarray(data.score), data.offsets[:-1]) / data.list_lengths
    random = means * worth[data.list_lengths - 1]
    return float((sort - fair).mean() / (sort - random).mean())
