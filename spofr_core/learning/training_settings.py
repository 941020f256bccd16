"""Settings that all methods share: the scorer, the optimiser, early stopping."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from spofr_core.config import StrictModel
from spofr_core.learning.scorers import SCORERS

_WIDEST = 100_000
"""Neurons of a layer."""


class TrainingSettings(StrictModel):
    """How a scorer is trained. Every method takes these settings, so that comparisons give all of them the same.

    Parameters
    ----------
    scorer : str, default "network"
        What gives the scores; one of `SCORERS`. Trees learn a tree a step, and have defaults of their own:
        learning_rate 0.05, validate_every 5, patience 10.
    hidden : tuple of int or "halving", default (32,)
        Of a network: widths of the hidden layers; () is a linear scorer. "halving" halves the number of features until
        one is left (58 features: 29-14-7-3), as the SPOFR paper does; such narrow ends collapse on some seeds.
    learning_rate : float, default 1e-3
        Of Adam; of trees, what share of each is added.
    batch_size : int, default 64
        Lists per step; trees see most lists in each.
    weight_decay : float, default 0
        Decoupled from the gradient (AdamW); of trees, added to the curvature of each leaf.
    leaves : int, default 31
        Of each tree at most.
    leaf_items : int, default 20
        Distinct items of a leaf at least.
    max_steps : int, default 3000
        Steps of each stage of training at most; early stopping usually ends it sooner.
    max_epochs : int, optional
        Passes over the training lists of each stage at most.
    validate_every : int, default 20
        Steps between two validations.
    patience : int, default 20
        Validations in a row without a new best after which a stage ends.
    validation_share : float, default 0.2
        Share of the training queries that is held out for early stopping when `fit` gets no validation data.
        0 trains for `max_steps` or `max_epochs` and keeps the last weights.
    scaling : {"standard", "none"}
        "standard": each feature minus its training mean, over its standard deviation, limited to ten of them.
    exclude_features : tuple of str
        Names of features that the scorer must not see, such as the group itself.
    seed : int, default 0
        Of the initial weights, the order of the lists and all sampling in training.
    """

    scorer: str = "network"
    hidden: tuple[int, ...] | Literal["halving"] = (32,)
    learning_rate: float = Field(default=1e-3, gt=0)
    batch_size: int = Field(default=64, ge=1)
    weight_decay: float = Field(default=0.0, ge=0)
    leaves: int = Field(default=31, ge=2, le=4096)
    leaf_items: int = Field(default=20, ge=1, lt=2**31)  # LightGBM counts in 32 bits
    max_steps: int = Field(default=3000, ge=1)
    max_epochs: int | None = Field(default=None, ge=1)
    validate_every: int = Field(default=20, ge=1)
    patience: int = Field(default=20, ge=1)
    validation_share: float = Field(default=0.2, ge=0, lt=1)
    scaling: Literal["standard", "none"] = "standard"
    exclude_features: tuple[str, ...] = ()
    seed: int = Field(default=0, ge=0, lt=2**64)

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Every setting that nobody has to choose, at its default."""
        return {name: field.default for name, field in cls.model_fields.items() if not field.is_required()}

    @model_validator(mode="before")
    @classmethod
    def _usual_of_scorer(cls, settings: dict[str, Any]) -> dict[str, Any]:
        """What nobody chose is as the scorer wants it."""
        scorer = settings.get("scorer", "network")
        if scorer == "network" or scorer not in SCORERS:
            return settings
        return {**SCORERS[scorer].usual_settings, **settings}

    @field_validator("scorer")
    @classmethod
    def _known(cls, scorer: str) -> str:
        if scorer not in SCORERS:
            raise ValueError(SCORERS.refusal(scorer))
        return scorer

    @field_validator("hidden")
    @classmethod
    def _positive(cls, hidden: tuple[int, ...] | str) -> tuple[int, ...] | str:
        if not isinstance(hidden, str) and any(not 1 <= width <= _WIDEST for width in hidden):
            raise ValueError(f"hidden is {list(hidden)}; every layer needs a width of 1 or more, up to {_WIDEST:,}.")
        return hidden


class NetworkSettings(TrainingSettings):
    """Settings of a method whose loss is sampled or penalised step by step, too noisy to grow trees on."""

    @field_validator("scorer")
    @classmethod
    def _no_trees(cls, scorer: str) -> str:
        if scorer == "trees":
            raise ValueError(
                "DELTR and FULTR learn with a network; scorer 'trees' is for SPOFR, predict-then-optimise and the "
                "plain sort. Leave these two out here, and train them with the network in a run or sweep of their own."
            )
        return scorer


LOSSES_CALLED_SCORERS = ("listnet", "logistic")
"""Losses that once were values of the setting `scorer`."""


def renamed_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings from before there was a choice of scorers, in the words of now: `scorer` named the loss then."""
    scorer, loss = settings.get("scorer"), settings.get("loss")
    if scorer not in LOSSES_CALLED_SCORERS:
        return dict(settings)
    if loss is not None and loss != scorer:
        raise ValueError(
            f"scorer={scorer!r} is an older name of loss={scorer!r}, but the loss is said to be {loss!r}: leave one of "
            "them out, or set scorer to 'network' or 'trees'."
        )
    return {**{name: value for name, value in settings.items() if name != "scorer"}, "loss": settings["scorer"]}


def settings_in_names(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as they go into the names of runs and the identity of a fit: in the words of the first release.

    Names are hashes of all settings. Runs and checkpoints of before must keep theirs, so what did not exist then is
    left out at its default, and what was renamed since goes by its old name.
    """
    if settings.get("scorer", "network") != "network":
        return dict(settings)
    kept = {name: value for name, value in settings.items() if name not in ("scorer", "leaves", "leaf_items")}
    if kept.get("mix") == 0:
        del kept["mix"]
    if kept.get("loss") in LOSSES_CALLED_SCORERS:
        kept["scorer"] = kept.pop("loss")
    return kept
