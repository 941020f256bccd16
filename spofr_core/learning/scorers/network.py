"""The scorer: one multilayer perceptron on each item's features, and the scaling in front of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

LIMIT = 10.0
"""Scaled features are cut off here, so that one wild value cannot drown the others."""


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
        share = counts / counts.sum()
        mean = share @ table
        spread = np.sqrt(np.maximum(share @ (table - mean) ** 2, 0.0))
        # A spread that is lost in the rounding of the mean would blow noise up to the size of a signal.
        constant = (low == high) | (spread <= 1e-12 * np.maximum(np.abs(low), np.abs(high)))
        indices = tuple(int(k) for k in np.flatnonzero(constant))
        if scaling == "none":
            return cls(np.zeros(table.shape[1]), np.ones(table.shape[1]), indices)
        return cls(np.where(constant, low, mean), np.where(constant, 1.0, spread), indices)

    def transform(self, features: FloatArray) -> torch.Tensor:
        """Scaled features as float32, computed in blocks to keep the temporary small."""
        scaled = np.empty(features.shape, dtype=np.float32)
        for start in range(0, len(features), 65536):
            block = slice(start, start + 65536)
            scaled[block] = np.clip((features[block] - self.center) / self.spread, -LIMIT, LIMIT)
        return torch.from_numpy(scaled)


def layer_widths(n_features: int, hidden: tuple[int, ...] | Literal["halving"]) -> tuple[int, ...]:
    """Widths of the hidden layers; "halving" ends at 2 or 3, before the single score."""
    if hidden != "halving":
        return tuple(hidden)
    widths = []
    width = n_features // 2
    while width > 1:
        widths.append(width)
        width //= 2
    return tuple(widths)


def build_network(n_features: int, widths: tuple[int, ...], seed: int) -> torch.nn.Sequential:
    """ReLU layers of these widths and a linear score, initialised from `seed` without touching torch's global state."""
    layers: list[torch.nn.Module] = []
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for inputs, outputs in zip((n_features, *widths[:-1]), widths, strict=False):
            layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
        layers += [torch.nn.Linear(widths[-1] if widths else n_features, 1), torch.nn.Flatten(start_dim=0)]
    return torch.nn.Sequential(*layers)
