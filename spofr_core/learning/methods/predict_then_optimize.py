"""Predict, then optimise: a scorer that learns relevance alone, then the fair-ranking programme."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator

from spofr_core.learning.lists import Lists
from spofr_core.learning.losses.links import Probabilities
from spofr_core.learning.losses.relevance import ListNet, Logistic, Loss
from spofr_core.learning.methods import METHODS, Method
from spofr_core.learning.methods.guaranteed import ProgrammeEstimator, list_softmax
from spofr_core.learning.trainer import Stage
from spofr_core.learning.training_settings import TrainingSettings, renamed_settings

FloatArray = NDArray[np.float64]


class RelevanceSettings(TrainingSettings):
    """Settings of a scorer that learns relevance alone.

    Parameters
    ----------
    loss : {"listnet", "logistic"}
        Over the list, or for each item on its own. `scorer="logistic"` of older settings is read as this.
    weighting : {"labels", "lists"}
        Of ListNet: whether lists weigh as much as the sum of their labels, or all the same.
    """

    loss: Literal["listnet", "logistic"] = "listnet"
    weighting: Literal["labels", "lists"] = "labels"

    @model_validator(mode="before")
    @classmethod
    def _older_names(cls, settings: dict[str, Any]) -> dict[str, Any]:
        return renamed_settings(settings)

    def relevance_loss(self) -> Loss:
        """The loss of these settings."""
        return Logistic() if self.loss == "logistic" else ListNet(per_list=self.weighting == "lists")


class PredictThenOptimizeSettings(RelevanceSettings):
    """Settings of `PredictThenOptimize`.

    Parameters
    ----------
    estimates : {"probabilities", "scores"}
        What the programme is given: the softmax over the list (ListNet) or the probability of relevance (logistic), or
        the raw scores. The programme weighs relevance against exposure, so the scale within a list matters.
    """

    estimates: Literal["probabilities", "scores"] = "probabilities"


class PredictThenOptimize(ProgrammeEstimator):
    """Learn relevance without a thought for fairness, then choose the best fair policy for what was learned.

    The guarantee is the programme's and the same as SPOFR's: delta holds in every list. What training through the
    programme adds is the difference between SPOFR and this.

    Parameters
    ----------
    fairness : Fairness
    discount : Discount, optional
    **settings
        See `PredictThenOptimizeSettings`.
    """

    method = "pto"
    settings_type = PredictThenOptimizeSettings
    settings: PredictThenOptimizeSettings

    def _stages(self, lists: Lists) -> list[Stage]:
        return [self._stage(self.settings.loss, self.settings.relevance_loss(), lists)]

    def _estimates(self, scores: FloatArray, offsets: NDArray[np.int64]) -> FloatArray:
        if self.settings.estimates == "scores":
            return scores
        if self.settings.loss == "logistic":
            return Probabilities().estimates(scores, offsets)
        return list_softmax(scores, offsets)


METHODS.register(
    Method(
        name="pto",
        title="predict-then-optimise",
        about="Predict-then-optimise learns the relevance first and is re-ranked exactly: it holds delta as well.",
        colour="#d07c1f",
        shape="square",
        steered_by="delta",
        guaranteed=True,
        estimator=PredictThenOptimize,
    )
)
