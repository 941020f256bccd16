"""From scores to estimates of relevance: maps that never turn an order round, learned from scores with labels.

The programme weighs relevance against exposure, so it needs to know by how much an item is better, not only that it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from spofr_core.errors import DataError
from spofr_core.registry import Registry

FloatArray = npt.NDArray[np.float64]

_NEWTON_STEPS = 100
_RIDGE = 1e-6
_ORDER = 1e-6
"""How much of the score stays in an isotonic estimate, so that its steps do not make equals of unequals."""


class Calibration(ABC):
    """A nondecreasing map from scores to estimates of relevance."""

    name: ClassVar[str]

    @classmethod
    @abstractmethod
    def fit(cls, scores: npt.ArrayLike, relevance: npt.ArrayLike) -> Self:
        """The map that fits these items best; any labels from 0 up.

        Raises
        ------
        DataError
            When nothing is relevant, or all is equally so.
        """

    @abstractmethod
    def estimates(self, scores: npt.ArrayLike) -> FloatArray:
        """Expected relevance of items with these scores."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain values; `calibration_from_dict` reads them back."""


@dataclass(frozen=True)
class LogisticCalibration(Calibration):
    """estimate = top / (1 + exp(-(slope score + intercept))), as Platt proposed.

    Attributes
    ----------
    slope : float
        0 or more: a score that puts the relevant last is ignored, not turned round.
    intercept : float
    top : float
        The largest label.
    """

    slope: float
    intercept: float
    top: float

    name: ClassVar[str] = "logistic"

    @classmethod
    def fit(cls, scores: npt.ArrayLike, relevance: npt.ArrayLike) -> Self:
        """Least cross-entropy between the labels, as shares of the largest, and the estimates, by Newton's method."""
        score, label, top = _checked(scores, relevance)
        center, spread = float(score.mean()), float(score.std())
        x = (score - center) / spread if spread > 0 else np.zeros(len(score))
        target = label / top
        slope, intercept = 0.0, float(np.log(target.mean() / (1 - target.mean())))
        for _ in range(_NEWTON_STEPS):
            p = _logistic(slope * x + intercept)
            error, weight = p - target, p * (1 - p)
            gradient = np.array([error @ x + _RIDGE * slope, error.sum()])
            cross = float(weight @ x)
            hessian = np.array([[float(weight @ x**2) + _RIDGE, cross], [cross, float(weight.sum()) + _RIDGE]])
            move = np.linalg.solve(hessian, gradient)
            move *= min(1.0, 2.0 / float(np.abs(move).max() or 1.0))  # far from the optimum, the model overshoots
            slope, intercept = slope - float(move[0]), intercept - float(move[1])
            if np.abs(move).max() < 1e-10:
                break
        if slope <= 0 or spread <= 0:
            return cls(0.0, float(np.log(target.mean() / (1 - target.mean()))), top)
        return cls(slope / spread, intercept - slope * center / spread, top)

    def estimates(self, scores: npt.ArrayLike) -> FloatArray:
        """Expected relevance of items with these scores."""
        return self.top * _logistic(self.slope * np.asarray(scores, dtype=np.float64) + self.intercept)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"kind": self.name, "slope": self.slope, "intercept": self.intercept, "top": self.top}


@dataclass(frozen=True, eq=False)
class IsotonicCalibration(Calibration):
    """The nondecreasing function nearest to the labels in squares, straight between its knots.

    Attributes
    ----------
    knots, values : (K,) float
        Beyond the first and the last knot it is flat, but for a millionth of the labels' range that keeps the order.
    """

    knots: FloatArray
    values: FloatArray

    name: ClassVar[str] = "isotonic"

    @classmethod
    def fit(cls, scores: npt.ArrayLike, relevance: npt.ArrayLike) -> Self:
        """Pool what is out of order."""
        from sklearn.isotonic import IsotonicRegression  # here: it takes a second to import

        score, label, _ = _checked(scores, relevance)
        model = IsotonicRegression(out_of_bounds="clip").fit(score, label)
        return cls(np.asarray(model.X_thresholds_, dtype=np.float64), np.asarray(model.y_thresholds_, dtype=np.float64))

    def estimates(self, scores: npt.ArrayLike) -> FloatArray:
        """Expected relevance of items with these scores."""
        score = np.asarray(scores, dtype=np.float64)
        middle, width = float(self.knots.mean()), float(np.ptp(self.knots)) or 1.0
        ordered = np.arctan((score - middle) / width)
        return np.interp(score, self.knots, self.values) + _ORDER * (float(np.ptp(self.values)) or 1.0) * ordered

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"kind": self.name, "knots": self.knots.tolist(), "values": self.values.tolist()}


CALIBRATIONS: Registry[type[Calibration]] = Registry("calibration", {})
"""Every kind of map by its name."""
for _kind in (LogisticCalibration, IsotonicCalibration):
    CALIBRATIONS.register(_kind)


def calibration_from_dict(content: Mapping[str, Any]) -> Calibration:
    """A map from what `to_dict` gave.

    Raises
    ------
    DataError
        When it is anything else.
    """
    try:
        numbers = {name: np.asarray(value, dtype=np.float64) for name, value in content.items() if name != "kind"}
        if all(np.isfinite(value).all() for value in numbers.values()):
            if content["kind"] == LogisticCalibration.name:
                return LogisticCalibration(**{name: float(value) for name, value in numbers.items()})
            if content["kind"] == IsotonicCalibration.name and len(numbers["knots"]) == len(numbers["values"]) > 0:
                return IsotonicCalibration(**numbers)
    except (KeyError, TypeError, ValueError):
        pass
    raise DataError(f"The calibration of the model is damaged: {str(content)[:80]!r}. Save the model again.")


def _checked(scores: npt.ArrayLike, relevance: npt.ArrayLike) -> tuple[FloatArray, FloatArray, float]:
    score, label = np.asarray(scores, dtype=np.float64), np.asarray(relevance, dtype=np.float64)
    if score.shape != label.shape or score.ndim != 1:
        raise DataError(f"A calibration needs a label for each score, got {score.size} scores and {label.size} labels.")
    if not (np.isfinite(score).all() and np.isfinite(label).all()) or (label < 0).any():
        raise DataError("A calibration needs finite scores and labels from 0 up.")
    top = float(label.max(initial=0.0))
    if not 0 < label.mean() < top:
        kind = "relevant" if top == 0 else "of another relevance than the others"
        raise DataError(f"None of the {len(label)} items is {kind}: there is nothing to calibrate by.")
    return score, label, top


def _logistic(x: FloatArray) -> FloatArray:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * x)))
