"""The random ranking: the other end of every comparison."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from spofr_core.data import RankingDataset
from spofr_core.fairness import Discount, Fairness
from spofr_core.learning.estimator import Learned
from spofr_core.learning.events import Callback
from spofr_core.learning.lists import Lists, refuse_items
from spofr_core.learning.methods import METHODS, Method
from spofr_core.learning.methods.sorted_by_score import SortedEstimator
from spofr_core.learning.scorers import SCORERS, Scorer
from spofr_core.learning.scorers.scaling import Scaler
from spofr_core.learning.trainer import Outcome, Stage

FloatArray = NDArray[np.float64]


ZEROS = {"0.weight": np.zeros((1, 1), dtype=np.float32), "0.bias": np.zeros(1, dtype=np.float32)}
"""A network that scores nothing, for the files of a model."""


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
        refuse_items(train)
        outcome = Outcome("nothing to learn", 0, 0, 0, 0.0, {}, [])
        self._learned = Learned(
            scorer=self._scorer_type.from_arrays({"n_features": 1, "widths": ()}, ZEROS),
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

    @property
    def _scorer_type(self) -> type[Scorer]:
        return SCORERS["network"]  # which is never asked, whatever the settings say

    def _stages(self, lists: Lists) -> list[Stage]:
        return []


METHODS.register(
    Method(
        name="uniform",
        title="random ranking",
        about="The random ranking.",
        colour="#7d8896",
        shape="cross",
        role="baseline",
        learns=False,
        estimator=Uniform,
    )
)
