"""What training needs of a scorer, whatever it is made of."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from spofr_core.errors import SpofrError
from spofr_core.registry import Registry

if TYPE_CHECKING:
    from spofr_core.learning.lists import Batch, IntArray, Lists
    from spofr_core.learning.losses.relevance import Loss
    from spofr_core.learning.training_settings import TrainingSettings

FloatArray = NDArray[np.float64]
Features = NDArray[np.float32]
Arrays = dict[str, NDArray[Any]]


class Scorer(ABC):
    """Gives items scores, and learns from the gradient of a loss in these scores.

    Any scorer works with any loss. One that learns in another way than by a gradient in the scores of a batch overrides
    `step`.
    """

    name: ClassVar[str]
    """In settings and files, such as "network"."""

    usual_settings: ClassVar[Mapping[str, Any]] = {}
    """Settings that it wants where nobody chooses others."""

    text_files: ClassVar[Mapping[str, str]] = {}
    """Arrays of bytes that are a text, by the names of the files that they are saved in, beside the other arrays."""

    when_collapsed: ClassVar[tuple[str, ...]] = ()
    """What to try where it gives all items the same score, besides another seed and a smaller learning rate."""

    checkpoint_every: ClassVar[int] = 1
    """Epochs between two states of an unfinished fit."""

    @classmethod
    @abstractmethod
    def build(cls, n_features: int, settings: TrainingSettings) -> Self:
        """An untrained scorer; the same for the same settings, seed included."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, architecture: Mapping[str, Any], arrays: Arrays) -> Self:
        """A trained scorer from what `architecture` and `arrays` gave."""

    @abstractmethod
    def architecture(self) -> dict[str, Any]:
        """What `from_arrays` must know besides the arrays, as plain values; "n_features" at least."""

    @abstractmethod
    def arrays(self) -> Arrays:
        """A copy of all that was learned, by name: what is kept of the best step, and saved."""

    @abstractmethod
    def restore(self, arrays: Arrays) -> None:
        """Go back to what `arrays` gave."""

    @abstractmethod
    def scores(self, features: Features) -> FloatArray:
        """(T,): scores of items with these scaled features (T, F), higher is better."""

    @abstractmethod
    def start(self, learning_rate: float) -> None:
        """Begin a stage of training: keep what was learned, forget the momentum of the last stage."""

    def finish(self) -> None:
        """Training is over: let go of what only it needs."""
        return

    def batches(self, lists: Lists, order: IntArray, size: int) -> Iterator[Batch]:
        """What an epoch learns from, step by step: the lists in this order, `size` at a time."""
        return lists.batches(order, size)

    def step(self, loss: Loss, batch: Batch) -> float:
        """Learn from a batch of lists; returns the mean loss before that. A loss that is no number moves nothing."""
        features = batch.features.numpy()
        value, gradient = loss.value_and_gradient(self.scores(features), batch)
        if math.isfinite(value):
            self.apply_gradient(features, gradient / len(batch))
        return value / len(batch)

    @abstractmethod
    def apply_gradient(self, features: Features, gradient: FloatArray) -> None:
        """Move the scores of items with these features (T, F) against this gradient (T,)."""

    def optimiser_arrays(self) -> Arrays:
        """What coming steps depend on besides `arrays`: an interrupted fit goes on from both, bit by bit."""
        return {}

    def restore_optimiser(self, arrays: Arrays) -> None:
        """Go on from what `optimiser_arrays` gave, after `start`."""
        return

    def onnx_nodes(self, features: str, scores: str) -> tuple[list[Any], Arrays]:
        """Nodes of an ONNX graph from scaled features (items, F) to scores (items,), and their constants.

        Raises
        ------
        SpofrError
            When this scorer cannot be exported.
        """
        raise SpofrError(
            f"The scorer {self.name!r} cannot be exported to ONNX: use the saved model, or train with scorer='network'."
        )


SCORERS: Registry[type[Scorer]] = Registry(
    "scorer",
    {"network": "spofr_core.learning.scorers.network", "trees": "spofr_core.learning.scorers.trees"},
)
"""Every kind of scorer."""
