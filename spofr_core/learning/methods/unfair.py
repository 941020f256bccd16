"""The scorer without fairness: one end of every comparison."""

from __future__ import annotations

from typing import Any

from spofr_core.fairness import Discount, Fairness
from spofr_core.learning.lists import Lists
from spofr_core.learning.methods import METHODS, Method
from spofr_core.learning.methods.predict_then_optimize import RelevanceSettings
from spofr_core.learning.methods.sorted_by_score import SortedEstimator
from spofr_core.learning.trainer import Stage


class UnfairSettings(RelevanceSettings):
    """Settings of `Unfair`: those of the scorer of `PredictThenOptimize`."""


class Unfair(SortedEstimator):
    """The scorer of `PredictThenOptimize`, sorted: what utility costs when nobody asks for fairness.

    Parameters
    ----------
    fairness : Fairness, optional
        Used for reports only.
    discount : Discount, optional
    **settings
        See `UnfairSettings`.
    """

    method = "unfair"
    settings_type = UnfairSettings
    settings: UnfairSettings

    def __init__(self, fairness: Fairness | None = None, *, discount: Discount | None = None, **settings: Any) -> None:
        super().__init__(fairness or Fairness(delta=0.05), discount=discount, **settings)

    def _stages(self, lists: Lists) -> list[Stage]:
        loss = self.settings.relevance_loss(self._teaching(lists), self.discount)
        return [self._stage(self.settings.loss, loss, lists)]


METHODS.register(
    Method(
        name="unfair",
        title="sorted by score",
        about="A scorer sorted without regard to groups.",
        colour="#c8434b",
        shape="x",
        role="baseline",
        estimator=Unfair,
    )
)
