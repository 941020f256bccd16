"""Scores as somebody brings them: of a list, a column, a booster, a tensor."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from spofr_core.errors import DataError, first_line, shortened


def score_array(scores: npt.ArrayLike) -> npt.NDArray[Any]:
    """The scores as an array, of whatever type and shape; those behind a mask are missing.

    Raises
    ------
    DataError
        When NumPy cannot take them: a tensor that carries its gradient or has a type of its own, lists within lists.
    """
    try:
        if np.ma.is_masked(scores):
            return np.ma.filled(np.ma.array(scores, dtype=np.float64), np.nan)
        return np.asarray(scores)
    except (RuntimeError, TypeError, ValueError) as error:
        raise DataError(
            f"The scores are no array of numbers ({first_line(error)}): give one number for each item.", column="score"
        ) from error


def one_score_an_item(scores: npt.ArrayLike, n_items: int) -> npt.NDArray[np.float64]:
    """The scores of so many items as doubles.

    Raises
    ------
    DataError
        When they are no numbers, or not one an item.
    """
    values = score_array(scores)
    if values.dtype.kind not in "buif":
        few = shortened(repr(values.ravel()[:2].tolist()))
        raise DataError(
            f"The scores are {few} and so on, of the type {values.dtype}: a number for each item is needed.",
            column="score",
        )
    if values.shape != (n_items,):
        raise DataError(
            f"The scores have the shape {values.shape}, but one number for each of the {n_items:,} items is needed, in "
            "their order.",
            column="score",
        )
    return values.astype(np.float64)
