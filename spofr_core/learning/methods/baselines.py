"""The two ends of every comparison: the scorer without fairness, and the random ranking."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray

from spofr_core.data import RankingDataset
from spofr_core.fairness import Discount, Fairness
from spofr_core.learning.estimator import Learned
from spofr_core.learning.events import Callback
from spofr_core.learning.lists import Lists
from spofr_core.learning.losses.relevance import ListNet, Logistic
from spofr_core.learning.methods.sorted_by_score import SortedEstimator
from spofr_core.learning.scorers.network import Scaler, build_network
from spofr_core.learning.trainer import Outcome, Stage
from spofr_core.learning.training_settings import TrainingSettings

FloatArray = NDArray[np.float64]


class UnfairSettings(TrainingSettings):
    """Settings of `Unfair`.

    Parameters
    ----------
    scorer : {"listnet", "logistic"}
    weighting : {"labels", "lists"}
        The loss of the scorer, as in `PredictThenOptimize`.
    """

    scorer: Literal["listnet", "logistic"] = "listnet"
    weighting: Literal["labels", "lists"] = "labels"


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
        if self.settings.scorer == "logistic":
            return [self._stage("logistic", Logistic(), lists)]
        return [self._stage("listnet", ListNet(per_list=self.settings.weighting == "lists"), self._teaching(lists))]


class Uniform(SortedEstimator):
    """The random ranking: perfectly fair under the exposure notion, and blind.

    It learns nothing, so `fit` only records that it was called and `scores` are all 0.
    """

    method = "uniform"

    def __init__(self, fairness: Fairness | None = None, *, discount: Discount | None = None, **settings: Any) -> None:
        super().__init__(fairness or Fairness(delta=0.05), discount=discount, **settings)

    def fit(
        self,
        train: RankingDataset,
        validation: RankingDataset | None = None,
        callbacks: Sequence[Callback] = (),
        *,
        checkpoint: str | Path | None = None,
    ) -> Self:
        """Take the names of the groups; features and labels are not needed."""
        network = build_network(1, (), 0)
        torch.nn.init.zeros_(next(network.parameters()))
        outcome = Outcome("nothing to learn", 0, 0, 0, 0.0, {}, [])
        self._learned = Learned(
            network=network,
            widths=(),
            scaler=Scaler(np.zeros(1), np.ones(1)),
            feature_names=(),
            group_names=train.group_names,
            group_spec=train.group_spec,
            report=self._report(outcome, {"training_lists": len(train)}, [], train, validation),
        )
        return self

    def scores(self, data: RankingDataset) -> FloatArray:
        """Zero for every item."""
        return np.zeros(data.n_items)

    def _stages(self, lists: Lists) -> list[Stage]:
        return []
