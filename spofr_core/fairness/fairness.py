"""Notions of fairness, each an interval on the mean exposure of every group of a list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator, model_validator

from spofr_core.config import StrictModel
from spofr_core.errors import ConfigError
from spofr_core.fairness.composition import Composition
from spofr_core.fairness.exposure import FloatArray, PositionBias

Notion = Literal["exposure", "merit", "gap"]

DEFINITIONS: Mapping[str, str] = {
    "exposure": "In every list, each group's mean exposure differs from the list's mean exposure by at most delta.",
    "merit": (
        "In every list, each group's mean exposure is proportional to the group's merit, "
        "up to a difference of at most delta."
    ),
    "gap": "In every list, the mean exposures of the two groups differ by at most delta.",
}
FORMULAS: Mapping[str, str] = {
    "exposure": "|e_g - e| <= delta",
    "merit": "|mu e_g - mu_g e| <= delta",
    "gap": "|e_0 - e_1| <= delta",
}


class Fairness(StrictModel):
    """What is asked of every list.

    With e_g the mean over the items of group g of their expected exposure, and e the mean over all items:

    ==========  ==============================  =====================================================
    notion      condition for each group g      remark
    ==========  ==============================  =====================================================
    exposure    abs(e_g - e) <= delta           always feasible
    merit       abs(mu e_g - mu_g e) <= delta   mu = mean merit of the list's own items
    gap         abs(e_0 - e_1) <= delta         lists with two groups
    ==========  ==============================  =====================================================

    A group absent from a list has no condition there; a list with a single group has none at all.

    Parameters
    ----------
    delta : float or dict of group to float
        The largest violation allowed, the same for all groups or one for each.
    notion : {"exposure", "merit", "gap"}
    merits : dict of group to float, optional
        mu_g >= 0 of every group, for the merit notion (see `group_merits`).
    position_bias : PositionBias or sequence of float
        The exposure model; a plain vector is taken as its values from the top down.
    """

    delta: float | dict[str, float]
    notion: Notion = "exposure"
    merits: dict[str, float] | None = None
    position_bias: PositionBias = Field(default_factory=PositionBias)

    @field_validator("delta", "merits", mode="before")
    @classmethod
    def _names_as_text(cls, given: Any) -> Any:
        return {str(name): value for name, value in given.items()} if isinstance(given, Mapping) else given

    @field_validator("position_bias", mode="before")
    @classmethod
    def _vector_as_model(cls, given: Any) -> Any:
        return given if isinstance(given, dict) else PositionBias.coerce(given)

    @field_validator("delta")
    @classmethod
    def _nonnegative_delta(cls, delta: float | dict[str, float]) -> float | dict[str, float]:
        per_group = delta if isinstance(delta, dict) else {"": delta}
        for name, value in per_group.items():
            if value < 0:
                where = f" of group {name!r}" if name else ""
                raise ValueError(f"delta{where} is {value:g}; give a number >= 0 (0 asks for no gap at all).")
        return delta

    @model_validator(mode="after")
    def _merits_where_needed(self) -> Self:
        if self.notion == "merit" and not self.merits:
            raise ValueError(
                "the merit notion needs merits={group: mu_g}; group_merits(train) computes them from labels."
            )
        if self.notion != "merit" and self.merits is not None:
            raise ValueError(f"merits are given but the notion is {self.notion!r}; set notion='merit'.")
        for name, merit in (self.merits or {}).items():
            if merit < 0:
                raise ValueError(f"the merit of group {name!r} is {merit:g}; give a number >= 0.")
        return self

    @staticmethod
    def require(given: object) -> None:
        """`ConfigError` for anything but a `Fairness`, such as a bare delta."""
        if not isinstance(given, Fairness):
            raise ConfigError(
                f"'fairness' must be a Fairness, got {type(given).__name__}; for example Fairness(delta=0.05)."
            )

    @property
    def definition(self) -> str:
        """The notion in words."""
        return DEFINITIONS[self.notion]

    @property
    def formula(self) -> str:
        """The notion as a formula."""
        return FORMULAS[self.notion]

    def with_delta(self, delta: float | Mapping[str, float]) -> Fairness:
        """The same notion with another delta."""
        return Fairness(**{**self._settings(), "delta": delta})

    def _settings(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in type(self).model_fields}

    def terms(self, composition: Composition) -> Terms:
        """Write the notion for each list and group as abs(scale * e_g - target) <= delta.

        exposure: scale 1, target e. merit: scale mu, target mu_g e. gap: since n_0 e_0 + n_1 e_1 = n e,
        e_0 - e_1 = (n / n_1) (e_0 - e), so scale n / n_other and target scale * e.

        Raises
        ------
        ConfigError
            When a group of the data has no delta or merit, or a list has more than two groups under "gap".
        """
        sizes, lengths = composition.sizes, composition.lengths
        longest = int(lengths.max(initial=0))
        cumulated = np.concatenate([[0.0], np.cumsum(self.position_bias.vector(longest))])
        mean = cumulated[lengths] / np.maximum(lengths, 1)
        shape = sizes.shape
        if self.notion == "merit":
            merits = self._per_group(self.merits or {}, composition.group_names, "merit")
            scale = np.broadcast_to(((sizes @ merits) / np.maximum(lengths, 1))[:, None], shape)
            target = merits[None, :] * mean[:, None]
        elif self.notion == "gap":
            self._at_most_two(composition)
            other = np.where(composition.applicable[:, None], lengths[:, None] - sizes, 1)
            scale = np.where(composition.applicable[:, None], lengths[:, None] / np.maximum(other, 1), 1.0)
            target = scale * mean[:, None]
        else:
            scale = np.ones(shape)
            target = np.broadcast_to(mean[:, None], shape)
        return Terms(
            composition=composition,
            scale=scale,
            target=target,
            delta=np.broadcast_to(self.deltas(composition.group_names), shape),
            mean_exposure=mean,
        )

    def deltas(self, group_names: tuple[str, ...]) -> FloatArray:
        """delta of each group."""
        if isinstance(self.delta, dict):
            return self._per_group(self.delta, group_names, "delta")
        return np.full(len(group_names), self.delta)

    @staticmethod
    def _per_group(given: Mapping[str, float], group_names: tuple[str, ...], what: str) -> FloatArray:
        missing = [name for name in group_names if name not in given]
        if missing:
            raise ConfigError(
                f"No {what} is given for group {missing[0]!r}; "
                f"the groups of the data are {list(group_names)}, {what} names {list(given)}."
            )
        return np.array([given[name] for name in group_names], dtype=np.float64)

    @staticmethod
    def _at_most_two(composition: Composition) -> None:
        present = composition.present.sum(axis=1)
        if np.any(present > 2):
            query = int(np.argmax(present > 2))
            names = [n for n, here in zip(composition.group_names, composition.present[query], strict=True) if here]
            raise ConfigError(
                f"The gap notion compares two groups, but list {query} has {len(names)} of them "
                f"({', '.join(names[:5])}); use notion='exposure', which takes any number."
            )


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

        A list whose items all have merit 0 has scale 0: its condition 0 <= delta holds whatever the policy.
        """
        asked = self.constrained & (self.scale > 0)
        scale = np.where(asked, self.scale, 1.0)
        lower = np.where(asked, (self.target - self.delta) / scale, -np.inf)
        upper = np.where(asked, (self.target + self.delta) / scale, np.inf)
        return lower, upper

    def total_bounds(self) -> tuple[FloatArray, FloatArray]:
        """The same interval on the group's total exposure E_g = n_g e_g."""
        lower, upper = self.bounds()
        sizes = np.maximum(self.composition.sizes, 1)
        return lower * sizes, upper * sizes
