"""How large numbers are: a unit in which their squares are numbers too, and lists that leave no room for sums."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from spofr_core.errors import DataError

FloatArray = npt.NDArray[np.float64]

LARGEST = 1e300
"""Scores and labels beyond this overflow in sums; where the largest of a list is below 1 / LARGEST, digits are lost."""


def unit_of(values: FloatArray) -> float:
    """A power of two near the largest of these numbers; 1 where there is none but 0.

    In this unit squares and cubes neither overflow nor vanish, however large or small the numbers are, and their digits
    are the same.
    """
    largest = float(np.abs(values).max(initial=0.0))
    return math.ldexp(1.0, math.frexp(largest)[1] - 1) if largest else 1.0


def outside(
    values: FloatArray, offsets: npt.NDArray[np.int64], least: float = 1 / LARGEST, most: float = LARGEST
) -> tuple[int, float] | None:
    """The first list whose largest number is neither 0 nor from `least` to `most` in size, and that size."""
    if not len(values):
        return None
    sizes = np.maximum.reduceat(np.abs(values), offsets[:-1])
    bad = (sizes > 0) & ((sizes < least) | (sizes > most))
    q = int(np.argmax(bad))
    return (q, float(sizes[q])) if bad[q] else None


def check_label_sizes(
    relevance: FloatArray | None, offsets: npt.NDArray[np.int64], name_of: Callable[[int], Any]
) -> None:
    """Refuse lists whose labels overflow in a DCG, or are so small that discounts are lost in their last digits.

    Raises
    ------
    DataError
        With the first such list.
    """
    found = None if relevance is None else outside(relevance, offsets)
    if found:
        query, size = found
        raise DataError(
            f"The largest relevance of query {name_of(query)!r} is {size:.3g} in size; it must be 0, or lie from "
            f"{1 / LARGEST:g} to {LARGEST:g}: multiply all labels by a constant.",
            column="relevance",
        )
