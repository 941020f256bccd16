"""How much attention a position gets (position bias) and how much it is worth (discount)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator, model_validator

from spofr_core.config import StrictModel
from spofr_core.errors import ConfigError

FloatArray = NDArray[np.float64]

LEAST_SCALE, MOST_SCALE = 1e-30, 1e30
"""What the largest value of a vector, or a merit, may be, unless it is 0: products of them must stay numbers."""


def is_usable_scale(value: float) -> bool:
    """Whether it is 0, or a size that can be computed with."""
    return value == 0 or LEAST_SCALE <= value <= MOST_SCALE


class _PositionVector(StrictModel):
    """A value for each position 1..n: a formula, cut off where nothing is shown any more, or plain numbers."""

    cutoff: int | None = Field(default=None, ge=1)
    values: tuple[float, ...] | None = None

    @field_validator("values", mode="before")
    @classmethod
    def _as_tuple(cls, values: Any) -> Any:
        if values is None:
            return None
        try:
            vector = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"values must be numbers, one per position from the top down ({error}).") from None
        if vector.ndim != 1:
            raise ValueError(f"values has shape {vector.shape}; give one number per position, from the top down.")
        return tuple(vector.tolist())

    @field_validator("values")
    @classmethod
    def _nonnegative(cls, values: tuple[float, ...] | None) -> tuple[float, ...] | None:
        if values is not None:
            if not values:
                raise ValueError("values is empty; give one number per position, from the top down.")
            for position, value in enumerate(values, start=1):
                if value < 0:
                    raise ValueError(f"values at position {position} is {value:g}; give numbers >= 0.")
            if not is_usable_scale(max(values)):
                raise ValueError(
                    f"the largest of the values is {max(values):g}; it must be 0, or lie from {LEAST_SCALE:g} to "
                    f"{MOST_SCALE:g}: multiply all of them by a constant."
                )
        return values

    @classmethod
    def coerce(cls, given: Self | Sequence[float] | FloatArray) -> Self:
        """Take a plain vector where a model is expected."""
        return given if isinstance(given, cls) else cls(values=given)

    def vector(self, n: int) -> FloatArray:
        """The values of positions 1..n.

        Raises
        ------
        ConfigError
            When explicit `values` end before position n.
        """
        if self.values is None:
            vector = self._formula(np.arange(1, n + 1, dtype=np.float64))
        elif n > len(self.values):
            raise ConfigError(
                f"{type(self).__name__} has {len(self.values)} values but a list has {n} items; "
                "give one value per position of the longest list (0 where nothing is shown)."
            )
        else:
            vector = np.array(self.values[:n], dtype=np.float64)
        if self.cutoff is not None:
            vector[self.cutoff :] = 0.0
        return vector

    @property
    def label(self) -> str:
        """How titles and reports name this vector."""
        formula = self._name() if self.values is None else f"{len(self.values)} given values"
        return formula if self.cutoff is None else f"{formula}, top {self.cutoff} only"

    def _formula(self, positions: FloatArray) -> FloatArray:
        raise TypeError(f"{type(self).__name__} has no formula.")

    def _name(self) -> str:
        raise TypeError(f"{type(self).__name__} has no formula.")


class PositionBias(_PositionVector):
    """Exposure of a position, v_j = 1 / (shift + j)^power for j = 1..n.

    Parameters
    ----------
    power : float, default 1
        How fast attention falls.
    shift : float, default 1
        1 is the text of the SPOFR paper, 0 the v_j = 1/j of its released code.
    cutoff : int, optional
        Positions beyond it are not shown and get no exposure.
    values : sequence of float, optional
        Explicit exposures from the top down, instead of the formula; the largest is 0, or from 1e-30 to 1e30.
    """

    power: float = Field(default=1.0, gt=0)
    shift: float = Field(default=1.0, ge=0)

    @model_validator(mode="after")
    def _seen_at_the_top(self) -> Self:
        top = 0.0 if self.values is not None else (self.shift + 1.0) ** -self.power
        if self.values is None and not top >= LEAST_SCALE:
            raise ValueError(
                f"with power {self.power:g} and shift {self.shift:g} even the first position has an exposure of "
                f"{top:g} only; give a smaller power or shift."
            )
        return self

    def _formula(self, positions: FloatArray) -> FloatArray:
        return (self.shift + positions) ** -self.power

    def _name(self) -> str:
        base = "j" if self.shift == 0 else f"({self.shift:g} + j)"
        return f"v_j = 1/{base}" if self.power == 1 else f"v_j = 1/{base}^{self.power:g}"


class Discount(_PositionVector):
    """Worth of a position for utility, w_j = 1 / log2(1 + j): the utility of a policy is then its DCG.

    Parameters
    ----------
    cutoff : int, optional
        `Discount(cutoff=10)` is DCG@10.
    values : sequence of float, optional
        Explicit worths from the top down, instead of the formula; the largest is 0, or from 1e-30 to 1e30.
    """

    def _formula(self, positions: FloatArray) -> FloatArray:
        return 1.0 / np.log2(1.0 + positions)

    def _name(self) -> str:
        return "w_j = 1/log2(1 + j)"


def is_nonincreasing(vector: FloatArray) -> bool:
    """Whether no position is worth more than the one above it, which the exact solver relies on."""
    return bool(np.all(np.diff(vector) <= 0))
