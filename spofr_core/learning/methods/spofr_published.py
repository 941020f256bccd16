"""SPOFR by the recipe that was published with it, whatever other settings have turned out to be better."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from spofr_core.learning.methods import METHODS, Method
from spofr_core.learning.methods.spofr import SPOFR, SPOFRSettings


class PublishedSettings(SPOFRSettings):
    """The hyper-parameters of the paper's appendix; `SPOFRSettings` says what each means.

    They are the recipe, also those that are what `SPOFR` has by default: what a sweep sets for all methods leaves them.
    """

    loss: Literal["spo+", "fenchel-young"] = "spo+"
    warm_up: str | None = "none"
    hidden: tuple[int, ...] | Literal["halving"] = "halving"
    learning_rate: float = Field(default=1e-5, gt=0)
    batch_size: int = Field(default=64, ge=1)


class PublishedSPOFR(SPOFR):
    """SPO+ from the first step, Adam at 1e-5, batches of 64, layers that halve from the width of the features.

    What the paper does not say is as in `SPOFR`: scaled features, PyTorch's initial weights, early stopping on the
    validation lists.
    """

    method = "spofr-published"
    settings_type = PublishedSettings
    settings: PublishedSettings


METHODS.register(
    Method(
        name="spofr-published",
        title="SPOFR as published",
        about="The paper's recipe: SPO+ from the first step, no warm-up, a learning rate of 1e-5, halving layers.",
        colour="#4aa3a3",
        shape="circle-open",
        steered_by="delta",
        guaranteed=True,
        estimator=PublishedSPOFR,
        scorers="network",
        variant_of="spofr",
    )
)
