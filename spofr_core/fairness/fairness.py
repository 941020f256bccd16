"""What is asked of every list: a notion of fairness, its delta and the exposure model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator, model_validator

from spofr_core.config import StrictModel
from spofr_core.errors import ConfigError
from spofr_core.fairness.composition import Composition
from spofr_core.fairness.delta_text import Unit, format_delta, share_settings
from spofr_core.fairness.exposure import LEAST_SCALE, MOST_SCALE, FloatArray, PositionBias, is_usable_scale
from spofr_core.fairness.notions import NOTIONS, Notion
from spofr_core.fairness.quota import Quota
from spofr_core.fairness.terms import Terms


class Told(NamedTuple):
    """A notion with its unit: in words, as a formula in plain text, and in LaTeX."""

    definition: str
    formula: str
    latex: str


MOST_MERITS = 1e12
"""How many times another a merit may be: beyond it the smaller has no digits left beside the larger."""


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

    With ``unit="share"`` violation and delta are divided by the list's mean exposure e (merit: by mu e), so that 0.1
    means "within 10 %" in a list of 12 as in one of 480. The same number as an absolute delta forbids less and less
    as lists grow, because e falls with their length.

    Parameters
    ----------
    delta : float, str or dict of group to either
        The largest violation allowed, the same for all groups or one for each. A text such as "10%" is a share.
    unit : "absolute" or "share"
        Whether violations and delta are exposures, or shares of what `Notion.share_base` says.
    notion : str
        One of `NOTIONS`: "exposure", "merit", "gap", or one that was registered.
    merits : dict of group to float, optional
        mu_g >= 0 of every group, for the merit notion (see `group_merits`).
    position_bias : PositionBias or sequence of float
        The exposure model; a plain vector is taken as its values from the top down.
    every_ranking : Quota, optional
        What must hold in each ranking that is drawn, beside delta, which holds on average over the draws.
    """

    delta: float | dict[str, float]
    unit: Unit = "absolute"
    notion: str = "exposure"
    merits: dict[str, float] | None = None
    position_bias: PositionBias = Field(default_factory=PositionBias)
    every_ranking: Quota | None = None

    @model_validator(mode="before")
    @classmethod
    def _shares_as_numbers(cls, given: Any) -> Any:
        return share_settings(given, "delta")

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

    @field_validator("notion")
    @classmethod
    def _known(cls, notion: str) -> str:
        if notion not in NOTIONS:
            raise ValueError(NOTIONS.refusal(notion))
        return notion

    @model_validator(mode="after")
    def _merits_where_needed(self) -> Self:
        if self.rule.needs_merits and not self.merits:
            raise ValueError(
                f"the {self.notion} notion needs merits={{group: mu_g}}; group_merits(train) computes them from labels."
            )
        if not self.rule.needs_merits and self.merits is not None:
            takers = " or ".join(repr(notion.name) for notion in NOTIONS.values() if notion.needs_merits)
            raise ValueError(f"merits are given but the notion is {self.notion!r}; set notion={takers}.")
        for name, merit in (self.merits or {}).items():
            if merit < 0:
                raise ValueError(f"the merit of group {name!r} is {merit:g}; give a number >= 0.")
            if not is_usable_scale(merit):
                raise ValueError(
                    f"the merit of group {name!r} is {merit:g}; give 0, or a number from {LEAST_SCALE:g} to "
                    f"{MOST_SCALE:g}: only the proportions of merits matter."
                )
        given = [merit for merit in (self.merits or {}).values() if merit > 0]
        if given and max(given) > MOST_MERITS * min(given):
            raise ValueError(
                f"merits go from {min(given):g} to {max(given):g}; one may be {MOST_MERITS:g} times another at most: "
                "give 0 where there is no merit to speak of."
            )
        return self

    @staticmethod
    def require(given: object) -> None:
        """`ConfigError` for anything but a `Fairness`, such as a bare delta."""
        if not isinstance(given, Fairness):
            raise ConfigError(
                f"'fairness' must be a Fairness, got {type(given).__name__}; for example Fairness(delta=0.05)."
            )

    @property
    def rule(self) -> Notion:
        """The notion itself: its words, its formula and its terms."""
        return NOTIONS[self.notion]

    @property
    def definition(self) -> str:
        """The notion in words."""
        return self.told().definition

    @property
    def formula(self) -> str:
        """The notion as a formula."""
        return self.told().formula

    @property
    def latex(self) -> str:
        """The notion as a formula in LaTeX."""
        return self.told().latex

    def told(self, *, each_item: bool = False) -> Told:
        """The notion in words, as a formula and in LaTeX: of groups, or with each item on its own."""
        rule = self.rule
        words, formula, latex = rule.definition, rule.formula, rule.latex
        if each_item:
            words = rule.item_definition or f"{words} Each item is a group of its own."
            formula, latex = rule.item_formula or formula, rule.item_latex or latex
        if self.unit == "absolute":
            return Told(words, formula, latex)
        share = f"{words[:-1]}, as a share of {rule.share_of}."
        return Told(share, f"{formula} {rule.share_formula}", rf"{latex}\, {rule.share_latex}")

    def check_items(self) -> None:
        """Refuse what makes no sense where each item is on its own.

        Raises
        ------
        ConfigError
            For a notion of groups, one delta for each group, or a quota.
        """
        if self.rule.no_items:
            raise ConfigError(f"{self.rule.no_items} Use notion='exposure'.")
        if isinstance(self.delta, dict):
            raise ConfigError("With each item on its own there are no groups to give a delta each: give one number.")
        if self.every_ranking is not None:
            raise ConfigError(
                "A quota counts the items of groups, and with each item on its own there are none: leave it out, or "
                "choose a group column."
            )

    @property
    def delta_text(self) -> str:
        """delta for people, in its unit: "0.05", "10 %", "women 10 %, men 5 %"."""
        return format_delta(self.delta, self.unit)

    def with_delta(self, delta: float | Mapping[str, float], unit: Unit | None = None) -> Fairness:
        """The same notion with another delta, in the same unit unless another is named."""
        return Fairness(**{**self._settings(), "delta": delta, "unit": unit or self.unit})

    def with_quota(self, quota: Quota | None) -> Fairness:
        """The same demand with another quota, or none."""
        return Fairness(**{**self._settings(), "every_ranking": quota})

    def to_dict(self) -> dict[str, Any]:
        """Plain, JSON-able dict; without a quota it has no word of one, and equals what older versions wrote."""
        plain = self.model_dump(mode="json", exclude={"every_ranking"})
        return plain if self.every_ranking is None else plain | {"every_ranking": self.every_ranking.to_dict()}

    def _settings(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in type(self).model_fields}

    def terms(self, composition: Composition, mean_exposure: FloatArray | None = None) -> Terms:
        """Write the notion for each list and group as abs(scale * e_g - target) <= delta, in its unit.

        Parameters
        ----------
        composition : Composition
        mean_exposure : (Q,) float, optional
            Mean exposure over the items of each list, where they do not stand on the positions 1..n.

        Raises
        ------
        ConfigError
            When the notion does not fit the groups: one has no delta or merit, a list has more of them than it takes.
        """
        mean = self._means_from_the_top(composition.lengths) if mean_exposure is None else mean_exposure
        scale, target = self.rule.scale_and_target(self, composition, mean)
        if scale.size and scale.min() < 0:
            raise ConfigError(
                f"The notion {self.notion!r} has the scale {scale.min():g}; a notion multiplies exposures by 0 or more."
            )
        if self.unit == "share":
            base = self.rule.share_base(self, composition, mean)[:, None]
            base = np.where(base > 0, base, 1.0)
            scale, target = scale / base, target / base
        return Terms(
            composition=composition,
            scale=scale,
            target=target,
            delta=np.broadcast_to(self.deltas(composition.group_names), composition.sizes.shape),
            mean_exposure=mean,
        )

    def _means_from_the_top(self, lengths: NDArray[np.int64]) -> FloatArray:
        """(Q,): mean exposure of lists that take up the positions 1..n."""
        cumulated = np.concatenate([[0.0], np.cumsum(self.position_bias.vector(int(lengths.max(initial=0))))])
        return np.asarray(cumulated[lengths] / np.maximum(lengths, 1))

    def deltas(self, group_names: tuple[str, ...]) -> FloatArray:
        """delta of each group."""
        if isinstance(self.delta, dict):
            return self._per_group(self.delta, group_names, "delta")
        return np.full(len(group_names), self.delta)

    def group_merits(self, group_names: tuple[str, ...]) -> FloatArray:
        """Merit of each group."""
        return self._per_group(self.merits or {}, group_names, "merit")

    @staticmethod
    def _per_group(given: Mapping[str, float], group_names: tuple[str, ...], what: str) -> FloatArray:
        missing = [name for name in group_names if name not in given]
        if missing:
            raise ConfigError(
                f"No {what} is given for group {missing[0]!r}; "
                f"the groups of the data are {list(group_names)}, {what} names {list(given)}."
            )
        return np.array([given[name] for name in group_names], dtype=np.float64)
