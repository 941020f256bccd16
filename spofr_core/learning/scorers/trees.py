"""Boosted trees, grown by LightGBM on the gradient of any loss in the scores."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import torch

from spofr_core.errors import DataError, SpofrError, first_line
from spofr_core.learning.scorers.scorer import SCORERS, Arrays, Features, FloatArray, Scorer
from spofr_core.learning.scorers.tree_text import Forest, constant_tree, grown_tree

if TYPE_CHECKING:
    from spofr_core.learning.lists import Batch, IntArray, Lists
    from spofr_core.learning.losses.relevance import Loss
    from spofr_core.learning.training_settings import TrainingSettings

LISTS_SHARE = 0.8
"""Share of the lists that each tree is grown on."""
FEATURES_SHARE = 0.8
"""Share of the features that each tree may split by."""


class TreeScorer(Scorer):
    """A sum of trees, each grown on the gradient and curvature of the loss at the sum of those before it.

    With g and h the gradient and the curvature of the loss in the scores, summed over the lists that an item is in, a
    leaf adds -rate sum g / (sum h + weight_decay) to the scores of its items; splits are where this lowers the
    quadratic model of the loss the most. Each tree sees a random 80 % of the lists and of the features.

    LightGBM does nothing but grow one tree at a time from g and h: it keeps no state between two of them, so that a fit
    that was interrupted goes on bit by bit. Scores are summed here, in the same order everywhere.

    Parameters
    ----------
    n_features : int
    leaves : int
        Of each tree at most.
    leaf_items : int
        Distinct items of a leaf at least.
    weight_decay : float
        Added to the curvature of each leaf.
    seed : int
        Of the choice of features.
    """

    name = "trees"
    when_collapsed = ("smaller leaves (leaf_items=5)",)
    usual_settings: ClassVar[Mapping[str, Any]] = {"learning_rate": 0.05, "validate_every": 5, "patience": 10}
    text_files: ClassVar[Mapping[str, str]] = {"model": "trees.txt"}
    checkpoint_every = 10

    def __init__(
        self, n_features: int, *, leaves: int = 31, leaf_items: int = 20, weight_decay: float = 0.0, seed: int = 0
    ) -> None:
        self._forest = Forest(n_features)
        self._growth = {"num_leaves": leaves, "min_data_in_leaf": leaf_items, "lambda_l2": weight_decay}
        self._seed, self._rate = seed, 0.0
        self._sums: list[_RunningSum] = []
        self._binned: tuple[torch.Tensor, Any] | None = None

    @classmethod
    def build(cls, n_features: int, settings: TrainingSettings) -> Self:
        """No trees yet."""
        return cls(
            n_features,
            leaves=settings.leaves,
            leaf_items=settings.leaf_items,
            weight_decay=settings.weight_decay,
            seed=settings.seed,
        )

    @classmethod
    def from_arrays(cls, architecture: Mapping[str, Any], arrays: Arrays) -> Self:
        """The trees of this text."""
        scorer = cls(architecture["n_features"])
        scorer.restore(arrays)
        return scorer

    def architecture(self) -> dict[str, Any]:
        """Number of features."""
        return {"n_features": self._forest.n_features}

    @property
    def n_trees(self) -> int:
        """How many trees there are."""
        return len(self._forest.trees)

    def arrays(self) -> Arrays:
        """The text that LightGBM would save, as bytes."""
        return {"model": np.frombuffer(self._forest.to_text().encode("ascii"), dtype=np.uint8).copy()}

    def restore(self, arrays: Arrays) -> None:
        """The trees of this text, and no others."""
        try:
            text = arrays["model"].tobytes().decode("ascii")
        except (KeyError, UnicodeDecodeError):
            raise DataError(
                "The trees of the model are damaged: they are no ASCII text. Save the model again."
            ) from None
        self._forest = Forest.from_text(text, self._forest.n_features)
        self._sums = []

    def scores(self, features: Features) -> FloatArray:
        """The sum of all trees."""
        if self._rate:
            return self._sum_of(features).copy()
        return _RunningSum(features).up_to_date(self._forest)

    def start(self, learning_rate: float) -> None:
        """Trees keep what they have; the next ones learn at this rate."""
        self._rate = learning_rate

    def finish(self) -> None:
        """Let go of the tables of the training."""
        self._rate, self._sums, self._binned = 0.0, [], None

    def batches(self, lists: Lists, order: IntArray, size: int) -> Iterator[Batch]:
        """One batch an epoch, most of the lists: a tree wants to see them at once."""
        yield lists.batch(order[: max(1, math.ceil(LISTS_SHARE * len(order)))])

    def step(self, loss: Loss, batch: Batch) -> float:
        """Grow a tree on the lists of the batch."""
        rows = batch.rows.numpy()
        table = batch.table.numpy()
        if not self._forest.trees:
            self._forest.trees.append(constant_tree(loss.usual_score(batch)))
        scores = self._sum_of(table)[rows]
        value, gradient = loss.value_and_gradient(scores, batch)
        if math.isfinite(value):
            curvature = loss.curvature(scores, batch)
            per_row = [np.bincount(rows, each, len(table)).astype(np.float64) for each in (gradient, curvature)]
            self._grow(batch.table, per_row[0], per_row[1])
        return value / len(batch)

    def apply_gradient(self, features: Features, gradient: FloatArray) -> None:
        """Grow a tree on the gradient of a loss whose curvature is 1 everywhere."""
        self._grow(torch.from_numpy(features), gradient, np.ones(len(gradient)))

    def _grow(self, table: torch.Tensor, gradient: FloatArray, curvature: FloatArray) -> None:
        """Add the tree that LightGBM grows; none if no split is worth it."""
        import lightgbm

        dataset = self._dataset(table)
        if dataset is None:
            return
        given = gradient.astype(np.float32), curvature.astype(np.float32)
        choice = np.random.SeedSequence([self._seed, self.n_trees]).generate_state(1)[0] >> 1
        settings = _FIXED | self._growth | {"learning_rate": self._rate, "feature_fraction_seed": int(choice)}
        try:
            booster = lightgbm.Booster(settings, dataset)
            booster.update(fobj=lambda *_: given)
        except lightgbm.basic.LightGBMError as error:
            raise SpofrError(f"LightGBM could not grow a tree: {first_line(error)}.") from error
        tree = grown_tree(booster.model_to_string(), self._forest.n_features)
        if len(tree.feature):
            self._forest.trees.append(tree)

    def _dataset(self, table: torch.Tensor) -> Any:
        """The features in bins, made once for a table; None if there is nothing to split by."""
        import lightgbm

        if self._binned is None or self._binned[0] is not table:
            features = table.numpy()
            varies = bool((features != features[:1]).any())
            self._binned = (table, lightgbm.Dataset(features, params=_FIXED).construct() if varies else None)
        return self._binned[1]

    def _sum_of(self, features: Features) -> FloatArray:
        """Running sums of the tables that were asked for last, so that a step adds one tree and not all of them."""
        known = next((each for each in self._sums if each.is_of(features)), None)
        if known is None:
            known = _RunningSum(features)
            self._sums = [*self._sums[-2:], known]
        return known.up_to_date(self._forest)


class _RunningSum:
    """The scores of a table by the first trees of a forest."""

    def __init__(self, features: Features) -> None:
        self._features, self._scores, self._trees = features, np.zeros(len(features)), 0

    def is_of(self, features: Features) -> bool:
        """Whether these are the same numbers in memory, which are kept alive here."""
        mine = self._features
        return (
            mine.ctypes.data == features.ctypes.data
            and mine.shape == features.shape
            and mine.strides == features.strides
        )

    def up_to_date(self, forest: Forest) -> FloatArray:
        """Add the trees that came since."""
        forest.add_to(self._scores, self._features, self._trees)
        self._trees = len(forest.trees)
        return self._scores


_FIXED = {
    "objective": "none",
    "verbosity": -1,
    "num_threads": 1,  # a tree of the bundled samples takes milliseconds, and runs are shared out among processes
    "deterministic": True,
    "force_row_wise": True,
    "feature_pre_filter": False,
    "min_data_in_bin": 1,
    "feature_fraction": FEATURES_SHARE,
}

SCORERS.register(TreeScorer)
