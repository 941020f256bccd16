"""Predict, then optimise: a scorer that learns relevance alone, then the fair-ranking programme."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import field_validator, model_validator

from spofr_core.data.calibration import Calibration, LogisticCalibration
from spofr_core.fairness import Discount
from spofr_core.learning.decisions import Decision, FairDecision
from spofr_core.learning.lists import Lists
from spofr_core.learning.losses import LOSSES
from spofr_core.learning.losses.links import Probabilities
from spofr_core.learning.losses.relevance import Loss
from spofr_core.learning.methods import METHODS, Method
from spofr_core.learning.methods.guaranteed import EstimatedDecision, ProgrammeEstimator, list_softmax
from spofr_core.learning.scorers import Scorer
from spofr_core.learning.trainer import Stage
from spofr_core.learning.training_settings import TrainingSettings, renamed_settings

FloatArray = NDArray[np.float64]


class RelevanceSettings(TrainingSettings):
    """Settings of a scorer that learns relevance alone.

    Parameters
    ----------
    loss : str, default "listnet"
        One of `LOSSES`: over the list, over the items of each group of the list, for each item on its own, or over
        pairs, for the order alone. `scorer="logistic"` of older settings is read as this.
    weighting : {"labels", "lists"}
        Of ListNet: whether lists weigh as much as the sum of their labels, or all the same.
    """

    loss: str = "listnet"
    weighting: Literal["labels", "lists"] = "labels"

    @model_validator(mode="before")
    @classmethod
    def _older_names(cls, settings: dict[str, Any]) -> dict[str, Any]:
        return renamed_settings(settings)

    @field_validator("loss")
    @classmethod
    def _known_loss(cls, loss: str) -> str:
        if loss not in LOSSES:
            raise ValueError(LOSSES.refusal(loss))
        return loss

    def relevance_loss(self, lists: Lists, discount: Discount) -> Loss:
        """The loss of these settings, for these training lists."""
        return LOSSES[self.loss].build(lists, discount, self.weighting == "lists")


class PredictThenOptimizeSettings(RelevanceSettings):
    """Settings of `PredictThenOptimize`.

    Parameters
    ----------
    estimates : {"probabilities", "calibrated", "scores"}
        What the programme is given: the softmax over the list (ListNet) or the probability of relevance (logistic); a
        logistic function of the score that was fitted to the validation lists, which LambdaRank and ListNet within
        groups always need; or the raw scores. The programme weighs relevance against exposure, so the scale within a
        list matters.
    """

    estimates: Literal["probabilities", "calibrated", "scores"] = "probabilities"

    @property
    def calibrated(self) -> bool:
        """Whether the way from scores to estimates is fitted after the training."""
        return self.estimates == "calibrated" or (
            self.estimates == "probabilities" and LOSSES[self.loss].learns == "order"
        )


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
        loss = self.settings.relevance_loss(self._teaching(lists), self.discount)
        return [self._stage(self.settings.loss, loss, lists)]

    def _estimates(self, scores: FloatArray, offsets: NDArray[np.int64]) -> FloatArray:
        if self.settings.estimates == "scores":
            return scores
        if self.settings.calibrated:
            calibration = self.learned.calibration
            return scores if calibration is None else calibration.estimates(scores)
        if LOSSES[self.settings.loss].learns == "odds":
            return Probabilities().estimates(scores, offsets)
        return list_softmax(scores, offsets)

    def _decision(self, lists: Lists) -> Decision:
        """Validation calibrates by its own labels: two numbers, which thousands of items do not remember."""
        if not self.settings.calibrated:
            return super()._decision(lists)
        labels = lists.labels.numpy().astype(np.float64)
        return EstimatedDecision(
            FairDecision(lists, self.fairness, self.discount),
            lambda scores, _: LogisticCalibration.fit(scores, labels).estimates(scores),
            lists.offsets,
        )

    def _calibration(self, lists: Lists, scorer: Scorer) -> Calibration | None:
        if not self.settings.calibrated:
            return None
        return LogisticCalibration.fit(lists.scores(scorer), lists.labels.numpy().astype(np.float64))


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
