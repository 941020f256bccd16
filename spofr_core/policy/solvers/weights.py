"""The light path of training: the expected discount of every item under the fair policy, and nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from spofr_core.data.rows import list_sums, rows_of
from spofr_core.data.score_array import refuse_unlike_indexes
from spofr_core.errors import DataError
from spofr_core.fairness import Discount, Fairness
from spofr_core.policy.expectation import expectation
from spofr_core.policy.programme import (
    FloatArray,
    IntArray,
    OnInfeasible,
    PreparedLists,
    Programme,
    prepare,
)
from spofr_core.policy.solvers.exact import Workspace, problem_of
from spofr_core.policy.solvers.kernels import two_groups
from spofr_core.policy.solvers.score_sizes import checked_scores

if TYPE_CHECKING:
    from spofr_core.policy.solvers.glop import GlopSolver


_SMALL = 20_000
"""Items of two groups in so many that one thread needs a millisecond or two: less would not pay for waking others."""


class WeightSolver:
    """(Pi w)_i of every item for ever new scores of the same lists.

    Keeps the last solution of each list and starts from it, so one solver per training set, kept over all epochs, is
    the fastest use; batches name the lists that they hold.

    Parameters
    ----------
    lists : PreparedLists
        From `prepare`: groups, bounds and vectors, written out once.
    """

    def __init__(self, lists: PreparedLists) -> None:
        self.lists = lists
        self._workspace = Workspace(lists, keep_rankings=False)
        self._glop: GlopSolver | None = None
        self._scores = np.zeros(lists.n_items)
        self._lengths = np.diff(lists.offsets)
        same_length = len(lists) > 0 and bool(np.all(self._lengths == self._lengths[0]))
        self._width = int(self._lengths[0]) if same_length else None
        self._by_merging = not lists.increasing and bool(np.all(lists.n_present <= 2))

    def rebind(self, lists: PreparedLists) -> None:
        """Solve under other bounds of the same lists (`PreparedLists.with_fairness`) from now on."""
        self.lists = self._workspace.lists = lists

    def __call__(self, scores: FloatArray, *, seed: int = 0, queries: IntArray | None = None) -> FloatArray:
        """Solve all lists, or some.

        Parameters
        ----------
        scores : (N,) float
            Flat scores of the lists solved, in their order.
        seed : int
            Breaks ties.
        queries : (K,) int, optional
            The lists that the scores belong to, each at most once; all of them by default.

        Returns
        -------
        (N,) float
            Pi w of the same items. The gradient of the optimal utility in the scores.
        """
        if queries is None:
            self._scores = checked_scores(scores, self.lists.offsets, self.lists.query_name)
            self._solve(seed, None)
            return self._workspace.weight.copy()
        self._check(scores, queries)
        if self._by_merging and len(scores) <= _SMALL:
            weight, status = np.empty(len(scores)), np.empty(len(queries), np.int8)
            self._solve_small(scores, queries, seed, weight, status)
            if not status.any():
                return weight
        if self._width is None:
            rows, _ = rows_of(self.lists.offsets, queries)
            self._scores[rows] = scores
            self._solve(seed, queries)
            return self._workspace.weight[rows]
        self._scores.reshape(-1, self._width)[queries] = scores.reshape(-1, self._width)
        self._solve(seed, queries)
        return self._workspace.weight.reshape(-1, self._width)[queries].reshape(-1)

    def _check(self, scores: FloatArray, queries: IntArray) -> None:
        n_items = len(queries) * self._width if self._width is not None else int(self._lengths[queries].sum())
        # a sum that is finite has finite terms: the exact check is needed only when it is not
        if scores.shape == (n_items,) and (math.isfinite(scores.sum()) or np.all(np.isfinite(scores))):
            return
        raise DataError(
            f"Scores of shape {scores.shape} for {n_items} items, {int(np.sum(~np.isfinite(scores)))} of them "
            "not finite; give one finite score per item of the named lists.",
            column="scores",
        )

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """The last solutions, from which the next ones start; empty if no list has more than two groups."""
        work = self._workspace
        if not np.any(self.lists.n_present > 2):
            return {}
        return {"rankings": work.rankings, "probabilities": work.probabilities, "counts": work.counts}

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Start from an earlier `state` of the same lists, so that what follows repeats to the last bit."""
        for name, array in state.items():
            getattr(self._workspace, name)[...] = array

    def _solve_small(
        self, scores: FloatArray, queries: IntArray, seed: int, weight: FloatArray, status: npt.NDArray[np.int8]
    ) -> None:
        lists = self.lists
        values = np.ascontiguousarray(scores, dtype=np.float64)
        two_groups.weights(problem_of(lists, values), queries, seed, weight, status)

    def _solve(self, seed: int, queries: IntArray | None) -> None:
        lists, workspace = self.lists, self._workspace
        if lists.increasing:
            unsolved = np.arange(len(lists)) if queries is None else queries
        else:
            unsolved = workspace.run(self._scores, seed, queries)
        if not len(unsolved):
            return
        if self._glop is None:
            from spofr_core.policy.solvers.glop import GlopSolver

            self._glop = GlopSolver(after_exact=True)
        found = self._glop.solve_some(Programme(lists, self._scores, seed), unsolved)
        weight = expectation(found.rankings, found.probabilities, found.counts, lists.offsets, lists.w)
        rows, _ = rows_of(lists.offsets, unsolved)
        workspace.weight[rows] = weight[rows]
        workspace.counts[unsolved] = 0  # nothing to start from


def solve_weights(scores: FloatArray, lists: PreparedLists, *, seed: int = 0) -> FloatArray:
    """Pi w of every item of prepared lists, solved once."""
    return WeightSolver(lists)(scores, seed=seed)


def fair_weights(
    scores: npt.ArrayLike,
    groups: npt.ArrayLike,
    offsets: npt.ArrayLike,
    fairness: Fairness,
    *,
    discount: Discount | Sequence[float] | None = None,
    group_names: Sequence[str] | None = None,
    seed: int = 0,
    on_infeasible: OnInfeasible = "raise",
) -> tuple[FloatArray, FloatArray]:
    """Expected discount (Pi w)_i of every item (N,) and utility of every list (Q,), under the optimal fair policies."""
    refuse_unlike_indexes(scores=scores, groups=groups)
    lists = prepare(groups, offsets, fairness, discount=discount, group_names=group_names, on_infeasible=on_infeasible)
    values = checked_scores(scores, lists.offsets)
    weights = solve_weights(values, lists, seed=seed)
    return weights, list_sums(values * weights, lists.offsets)
