"""From scores to what a method's policies do with prepared lists: the worth (Pi w) and exposure (Pi v) of each item."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from spofr_core.fairness import Discount, Fairness
from spofr_core.learning.lists import Lists
from spofr_core.policy import Policies, PreparedLists, Programme, make_solver, prepare, tied_expectation

FloatArray = NDArray[np.float64]


class Decision(Protocol):
    """How a method ranks the lists that it was made for."""

    def expectations(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Pi w and Pi v, flat, for flat scores."""
        ...


def prepared(lists: Lists, fairness: Fairness, discount: Discount) -> PreparedLists:
    """The programme of these lists. A list that cannot meet delta gets its smallest feasible one, and is counted."""
    return prepare(
        lists.codes,
        lists.offsets,
        fairness,
        discount=discount,
        group_names=lists.group_names,
        on_infeasible="relax",
    )


class FairDecision:
    """The optimal fair policies, always solved from scratch: the answer depends on the scores alone."""

    def __init__(self, lists: Lists, fairness: Fairness, discount: Discount, *, seed: int = 0) -> None:
        self.lists = prepared(lists, fairness, discount)
        self._solver = make_solver("exact")
        self._seed = seed

    def expectations(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Pi w and Pi v of the optimal policies."""
        programme = Programme(self.lists, scores, self._seed)
        policies = Policies(self.lists, programme.scores, self._solver.solve(programme))
        return policies.discounted, policies.exposure


class PlainSort:
    """Rank by score; items of equal score share their positions."""

    def __init__(self, lists: Lists, fairness: Fairness, discount: Discount) -> None:
        self._offsets = lists.offsets
        self._vectors = (discount.vector(lists.longest), fairness.position_bias.vector(lists.longest))

    def expectations(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Pi w and Pi v of the sort, ties averaged."""
        worth, exposure = (tied_expectation(scores, self._offsets, vector) for vector in self._vectors)
        return worth, exposure
