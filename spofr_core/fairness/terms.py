"""A notion written out for a batch of lists: an interval on the mean exposure of every group."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from spofr_core.fairness.composition import Composition
from spofr_core.fairness.exposure import FloatArray

TOLERANCE = 1e-9
"""A violation above delta by no more than this counts as holding delta: it is what floating point adds."""


@dataclass(frozen=True, eq=False)
class Terms:
    """A notion written out for a batch: violation = scale * e_g - target, abs(violation) <= delta.

    All arrays are (Q, G); entries of absent groups carry no meaning and are masked by `bounds` and `violations`.
    """

    composition: Composition
    scale: FloatArray
    target: FloatArray
    delta: FloatArray
    mean_exposure: FloatArray

    @cached_property
    def constrained(self) -> NDArray[np.bool_]:
        """Group present in a list where the notion applies."""
        return self.composition.present & self.composition.applicable[:, None]

    def violations(self, group_exposure: FloatArray) -> FloatArray:
        """Signed violation of mean exposures (Q, G); NaN where the group is absent."""
        return np.where(self.composition.present, self.scale * group_exposure - self.target, np.nan)

    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Interval (target -+ delta) / scale on each e_g; unbounded where nothing is asked.

        A scale of 0 leaves the condition abs(target) <= delta, which no policy can change: see `feasible`.
        """
        asked = self.constrained & (self.scale > 0)
        scale = np.where(asked, self.scale, 1.0)
        with np.errstate(over="ignore"):  # a delta that large forbids nothing
            lower = np.where(asked, (self.target - self.delta) / scale, -np.inf)
            upper = np.where(asked, (self.target + self.delta) / scale, np.inf)
        return lower, upper

    def block_bounds(self) -> tuple[FloatArray, FloatArray]:
        """`total_bounds` with a column for each of `Composition.blocks`: items without a group have no bound."""
        lower, upper = self.total_bounds()
        if self.composition.ungrouped is None:
            return lower, upper
        free = np.full((len(lower), 1), np.inf)
        return np.hstack([lower, -free]), np.hstack([upper, free])

    def total_bounds(self) -> tuple[FloatArray, FloatArray]:
        """The same interval on the group's total exposure E_g = n_g e_g."""
        lower, upper = self.bounds()
        sizes = np.maximum(self.composition.sizes, 1)
        with np.errstate(over="ignore"):
            return lower * sizes, upper * sizes
