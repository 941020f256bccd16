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
from spofr_core.sizes import LARGEST, unit_of

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
    def fit(cls, scores: npt.ArrayLike, relevance: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Self:
        """The map that fits these items best; any labels from 0 up, and items may count more than once.

        Raises
        ------
        DataError
            When nothing is relevant, or all is equally so.
        """

    @property
    @abstractmethod
    def flat(self) -> bool:
        """Whether nothing was found in the scores: the same relevance is expected of all items."""

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
    def fit(cls, scores: npt.ArrayLike, relevance: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Self:
        """Least cross-entropy between the labels, as shares of the largest, and the estimates, by Newton's method."""
        score, label, top, unit = _checked(scores, relevance)
        counts = np.ones(len(score)) if weights is None else np.asarray(weights, dtype=np.float64)
        center = float(np.average(score, weights=counts))
        spread = float(np.sqrt(np.average((score - center) ** 2, weights=counts)))
        x = (score - center) / spread if spread > 0 else np.zeros(len(score))
        target = label / top
        share = float(np.average(target, weights=counts))
        slope, intercept = 0.0, float(np.log(share / (1 - share)))
        for _ in range(_NEWTON_STEPS):
            p = _logistic(slope * x + intercept)
            error, weight = counts * (p - target), counts * p * (1 - p)
            gradient = np.array([error @ x + _RIDGE * slope, error.sum()])
            cross = float(weight @ x)
            hessian = np.array([[float(weight @ x**2) + _RIDGE, cross], [cross, float(weight.sum()) + _RIDGE]])
            move = np.linalg.solve(hessian, gradient)
            move *= min(1.0, 2.0 / float(np.abs(move).max() or 1.0))  # far from the optimum, the model overshoots
            slope, intercept = slope - float(move[0]), intercept - float(move[1])
            if np.abs(move).max() < 1e-10:
                break
        if slope <= 0 or spread <= 0:
            return cls(0.0, float(np.log(share / (1 - share))), top)
        return cls(slope / spread / unit, intercept - slope * center / spread, top)

    @property
    def flat(self) -> bool:
        """Whether the slope is 0."""
        return self.slope == 0

    def estimates(self, scores: npt.ArrayLike) -> FloatArray:
        """Expected relevance of items with these scores."""
        with np.errstate(over="ignore"):  # of infinity the function is 0 or 1, as it should be
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
    def fit(cls, scores: npt.ArrayLike, relevance: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Self:
        """Pool what is out of order."""
        from sklearn.isotonic import IsotonicRegression  # here: it takes a second to import

        score, label, _, unit = _checked(scores, relevance)
        distinct, place = np.unique(score, return_inverse=True)
        # by places: scikit-learn takes scores less than 1e-15 apart for equal, whatever their unit
        model = IsotonicRegression(out_of_bounds="clip").fit(place, label, sample_weight=weights)
        knots = unit * distinct[np.asarray(model.X_thresholds_, dtype=np.int64)]
        return cls(knots, np.asarray(model.y_thresholds_, dtype=np.float64))

    @property
    def flat(self) -> bool:
        """Whether all values are the same."""
        return float(np.ptp(self.values)) == 0

    def estimates(self, scores: npt.ArrayLike) -> FloatArray:
        """Expected relevance of items with these scores."""
        score = np.asarray(scores, dtype=np.float64)
        middle, width = float(self.knots.mean()), float(np.ptp(self.knots)) or 1.0
        height = float(np.ptp(self.values)) or float(np.abs(self.values).max()) or 1.0
        with np.errstate(over="ignore"):  # the arc tangent of infinity is what is wanted
            ordered = np.arctan((score - middle) / width)
        return np.interp(score, self.knots, self.values) + _ORDER * height * ordered

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"kind": self.name, "knots": self.knots.tolist(), "values": self.values.tolist()}


@dataclass(frozen=True)
class Scaling(Calibration):
    """estimate = factor * score: scores are left what they are, in another unit.

    Attributes
    ----------
    factor : float
    """

    factor: float

    name: ClassVar[str] = "scaling"

    @classmethod
    def fit(cls, scores: npt.ArrayLike, relevance: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Self:
        """Least squares through the origin."""
        score, label, _, unit = _checked(scores, relevance)
        counts = np.ones(len(score)) if weights is None else np.asarray(weights, dtype=np.float64)
        squares = float(counts @ score**2)
        return cls(max(float(counts @ (score * label)), 0.0) / squares / unit if squares > 0 else 0.0)

    @property
    def flat(self) -> bool:
        """Whether the factor is 0."""
        return self.factor == 0

    def estimates(self, scores: npt.ArrayLike) -> FloatArray:
        """The scores in the other unit."""
        return self.factor * np.asarray(scores, dtype=np.float64)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"kind": self.name, "factor": self.factor}


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
                fitted = LogisticCalibration(**{name: float(value) for name, value in numbers.items()})
                if fitted.slope >= 0 and fitted.top > 0:
                    return fitted
            if content["kind"] == Scaling.name and numbers["factor"] >= 0:
                return Scaling(float(numbers["factor"]))
            if content["kind"] == IsotonicCalibration.name and _rises(numbers["knots"], numbers["values"]):
                return IsotonicCalibration(**numbers)
    except (AttributeError, KeyError, TypeError, ValueError):
        pass
    raise DataError(f"The calibration of the model is damaged: {str(content)[:80]!r}. Save the model again.")


def _rises(knots: FloatArray, values: FloatArray) -> bool:
    """Whether values over knots are a map that turns no order round."""
    return bool(
        knots.ndim == values.ndim == 1
        and len(knots) == len(values) > 0
        and (np.diff(knots) >= 0).all()
        and (np.diff(values) >= 0).all()
    )


def check_calibratable(scores: npt.ArrayLike, relevance: npt.ArrayLike) -> None:
    """Refuse what no map can be fitted to.

    Raises
    ------
    DataError
        When nothing is relevant, or all is equally so, or a number cannot be used.
    """
    _checked(scores, relevance)


def _checked(scores: npt.ArrayLike, relevance: npt.ArrayLike) -> tuple[FloatArray, FloatArray, float, float]:
    """Scores over a power of two near the largest of them, labels, the largest label, and that power."""
    score, label = np.asarray(scores, dtype=np.float64), np.asarray(relevance, dtype=np.float64)
    if score.shape != label.shape or score.ndim != 1:
        raise DataError(f"A calibration needs a label for each score, got {score.size} scores and {label.size} labels.")
    if not (np.isfinite(score).all() and np.isfinite(label).all()) or (label < 0).any():
        raise DataError("A calibration needs finite scores and labels from 0 up.")
    if not len(label):
        raise DataError("There is no item to calibrate by: give some with a score and a label.")
    for what, values in (("score", score), ("label", label)):
        largest = float(np.abs(values).max())
        if largest != 0 and not 1 / LARGEST <= largest <= LARGEST:
            raise DataError(
                f"The largest {what} to calibrate by is {largest:.3g} in size, and must be 0 or lie from "
                f"{1 / LARGEST:g} to {LARGEST:g}: multiply all {what}s by a constant, which changes no order.",
                column="score" if what == "score" else "relevance",
            )
    top = float(label.max())
    # the mean of equal labels may be rounded below them, and that of nearly equal ones up to the largest
    if label.min() == top or not 0 < label.mean() < top:
        kind = "relevant" if top == 0 else "of another relevance than the others"
        raise DataError(
            f"None of the {len(label)} items is {kind}: there is nothing to calibrate by. Give items whose labels "
            "differ, or do without calibration."
        )
    unit = unit_of(score)
    return score / unit, label, top, unit  # in this unit squares of tiny and huge scores neither vanish nor overflow


def _logistic(x: FloatArray) -> FloatArray:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * x)))
