"""Predict, then optimise: a scorer that learns relevance alone, then the fair-ranking programme."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from spofr_core.learning.links import Probabilities
from spofr_core.learning.lists import Lists
from spofr_core.learning.losses.relevance import ListNet, Logistic
from spofr_core.learning.methods import METHODS, Method
from spofr_core.learning.methods.guaranteed import ProgrammeEstimator, list_softmax
from spofr_core.learning.trainer import Stage
from spofr_core.learning.training_settings import TrainingSettings

FloatArray = NDArray[np.float64]


class PredictThenOptimizeSettings(TrainingSettings):
    """Settings of `PredictThenOptimize`.

    Parameters
    ----------
    scorer : {"listnet", "logistic"}
        The loss: over the list, or for each item on its own.
    estimates : {"probabilities", "scores"}
        What the programme is given: the softmax over the list (ListNet) or the probability of relevance (logistic), or
        the raw scores. The programme weighs relevance against exposure, so the scale within a list matters.
    weighting : {"labels", "lists"}
        Of ListNet: whether lists weigh as much as the sum of their labels, or all the same.
    """

    scorer: Literal["listnet", "logistic"] = "listnet"
    estimates: Literal["probabilities", "scores"] = "probabilities"
    weighting: Literal["labels", "lists"] = "labels"


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
        if self.settings.scorer == "logistic":
            return [self._stage("logistic", Logistic(), lists)]
        return [self._stage("listnet", ListNet(per_list=self.settings.weighting == "lists"), self._teaching(lists))]

    def _estimates(self, scores: FloatArray, offsets: NDArray[np.int64]) -> FloatArray:
        if self.settings.estimates == "scores":
            return scores
        if self.settings.scorer == "logistic":
            return Probabilities().estimates(scores, offsets)
        return list_softmax(scores, offsets)


METHODS.register(
    Method(
        name="pto",
        title="predict, then optimise",
        about="Predict, then optimise learns the relevance first and is re-ranked exactly: it holds delta as well.",
        colour="#d07c1f",
        shape="square",
        steered_by="delta",
        guaranteed=True,
        estimator=PredictThenOptimize,
    )
)
