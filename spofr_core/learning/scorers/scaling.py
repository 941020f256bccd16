"""The scaling of the features in front of every scorer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

LIMIT = 10.0
"""Scaled features are cut off here, so that one wild value cannot drown the others."""

_LARGE = 1e100
"""Beyond it, and below its inverse, the squares of a feature are summed in another unit."""


@dataclass(frozen=True, eq=False)
class Scaler:
    """Affine map of each feature, x -> (x - center) / spread, cut off at +-10.

    Attributes
    ----------
    center, spread : (F,) float64
        A feature that is constant in the training data has spread 1: it becomes 0 there.
    constant : tuple of int
        Which features these are.
    """

    center: FloatArray
    spread: FloatArray
    constant: tuple[int, ...] = ()

    @classmethod
    def fit(cls, table: FloatArray, counts: NDArray[np.int64], scaling: Literal["standard", "none"]) -> Scaler:
        """Mean and standard deviation of each feature over the training items.

        Parameters
        ----------
        table : (T, F) float
            Distinct rows of features.
        counts : (T,) int
            How many items each row stands for.
        scaling : {"standard", "none"}
        """
        low, high = table.min(axis=0), table.max(axis=0)
        unit = _units(np.maximum(np.abs(low), np.abs(high)))
        share = counts / counts.sum()
        scaled = table if unit is None else table / unit
        mean = share @ scaled
        spread = np.sqrt(np.maximum(share @ (scaled - mean) ** 2, 0.0))
        if unit is not None:
            mean, spread = unit * mean, unit * spread
        # A spread that is lost in the rounding of the mean would blow noise up to the size of a signal.
        constant = (low == high) | (spread <= 1e-12 * np.maximum(np.abs(low), np.abs(high)))
        indices = tuple(int(k) for k in np.flatnonzero(constant))
        if scaling == "none":
            return cls(np.zeros(table.shape[1]), np.ones(table.shape[1]), indices)
        return cls(np.where(constant, low, mean), np.where(constant, 1.0, spread), indices)

    def transform(self, features: FloatArray) -> NDArray[np.float32]:
        """Scaled features as float32, computed in blocks to keep the temporary small."""
        scaled = np.empty(features.shape, dtype=np.float32)
        for start in range(0, len(features), 65536):
            block = slice(start, start + 65536)
            with np.errstate(over="ignore"):  # what overflows is cut off
                scaled[block] = np.clip((features[block] - self.center) / self.spread, -LIMIT, LIMIT)
        return scaled


def _units(largest: FloatArray) -> FloatArray | None:
    """A power of two near the largest value of each feature; None where all squares are numbers as they are."""
    odd = (largest > _LARGE) | ((largest > 0) & (largest < 1 / _LARGE))
    if not odd.any():
        return None
    return np.where(odd, np.ldexp(1.0, np.frexp(np.where(odd, largest, 1.0))[1] - 1), 1.0)
