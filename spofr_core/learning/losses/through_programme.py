"""Losses through the fair-ranking programme: SPO+ and the perturbed Fenchel-Young loss."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from spofr_core.learning.lists import Batch, Lists
from spofr_core.learning.losses.links import Link, RawScores
from spofr_core.learning.losses.relevance import DirectLoss, State
from spofr_core.policy import PreparedLists, WeightSolver

FloatArray = NDArray[np.float64]


def spo_plus(scores: FloatArray, labels: FloatArray, worth: FloatArray, ideal: FloatArray) -> tuple[float, FloatArray]:
    """SPO+ loss, summed over lists, and its subgradient in the scores; all arrays flat.

    With Pi*(c) a policy that maximises c' Pi w within the bounds,

        l(yhat, y) = max_Pi (2 yhat - y)' Pi w - 2 yhat' Pi*(y) w + y' Pi*(y) w

    is a convex upper bound of the regret y' Pi*(y) w - y' Pi*(yhat) w, and 2 (Pi*(2 yhat - y) - Pi*(y)) w is a
    subgradient. Its entries sum to 0 over each list, because both policies hand out the same total worth.

    Parameters
    ----------
    scores, labels : (N,) float
        yhat and y.
    worth : (N,) float
        Pi*(2 yhat - y) w.
    ideal : (N,) float
        Pi*(y) w.
    """
    difference = worth - ideal
    value = 2.0 * float(scores @ difference) - float(labels @ difference)
    return value, 2.0 * difference


class ProgrammeLoss(DirectLoss):
    """A loss of what the programme is given: estimates that a link makes from the scores."""

    def __init__(self, link: Link) -> None:
        self._link = link

    @abstractmethod
    def of_estimates(self, estimates: FloatArray, batch: Batch) -> tuple[float, FloatArray]:
        """Sum over the lists of the batch, and its gradient in the estimates."""

    def value_and_gradient(self, scores: FloatArray, batch: Batch) -> tuple[float, FloatArray]:
        """The same in the scores, by the chain rule."""
        estimates = self._link.estimates(scores, batch.offsets)
        value, gradient = self.of_estimates(estimates, batch)
        return value, self._link.score_gradient(estimates, gradient, batch.offsets)


class SPOPlus(ProgrammeLoss):
    """The loss of the SPOFR paper, through the exact solver.

    Parameters
    ----------
    lists : Lists
        The training lists.
    programme : PreparedLists
        Their bounds and vectors.
    ties : {"random", "scores"}
        Labels are mostly 0, so Pi*(y) is far from unique. "random" solves it once, with ties broken by a seed; "scores"
        breaks ties by the current scores, at the price of a second solution in each step.
    link : Link, optional
        From scores to estimates; the scores themselves by default.
    seed : int
    """

    def __init__(
        self,
        lists: Lists,
        programme: PreparedLists,
        *,
        ties: str = "random",
        link: Link | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(link or RawScores())
        self._seed = seed
        self._solver = WeightSolver(programme)
        self._by_scores = WeightSolver(programme) if ties == "scores" else None
        self._labels = self._link.labels(lists)
        self._ideal = WeightSolver(programme)(self._labels, seed=seed)
        self._rows = RowsOfBatch(lists)

    def of_estimates(self, estimates: FloatArray, batch: Batch) -> tuple[float, FloatArray]:
        """Sum over the lists of the batch, and a subgradient."""
        labels = self._rows.take(self._labels, batch)
        worth = self._solver(2.0 * estimates - labels, seed=self._seed, queries=batch.queries)
        return spo_plus(estimates, labels, worth, self._ideal_of(estimates, labels, batch))

    def _ideal_of(self, scores: FloatArray, labels: FloatArray, batch: Batch) -> FloatArray:
        if self._by_scores is None:
            return self._rows.take(self._ideal, batch)
        broken = tie_broken(labels, scores, batch.offsets)
        return self._by_scores(broken, seed=self._seed, queries=batch.queries)

    def state(self) -> State:
        """Where the solvers start from."""
        return _solver_state({"solver": self._solver, "by_scores": self._by_scores})

    def restore(self, state: State) -> None:
        """Continue from `state`."""
        _restore_solvers({"solver": self._solver, "by_scores": self._by_scores}, state)


class FenchelYoung(ProgrammeLoss):
    """Perturbed Fenchel-Young loss through the programme.

    With F(c) = max_Pi c' Pi w and Z standard normal, for estimates c and a target t,

        l(c) = E F(c + sigma Z) - c' t,    gradient  E Pi*(c + sigma Z) w - t,

    estimated with `draws` draws per list and step; convex in the estimates.

    Parameters
    ----------
    lists, programme, link
        As for `SPOPlus`.
    sigma : float
        Size of the perturbation.
    draws : int
    target : {"labels", "policy"}
        "policy" is t = Pi*(y) w. "labels" is t = y, scaled to the total worth of the positions: linear in the labels,
        so that noise in them averages out, which it does not in the policy that they ask for.
    weighting : {"lists", "labels"}
        Whether lists weigh the same, or as much as the sum of their labels (the unbiased choice with inverse-propensity
        labels, at the price of more variance).
    """

    def __init__(
        self,
        lists: Lists,
        programme: PreparedLists,
        *,
        sigma: float,
        draws: int,
        target: str = "labels",
        weighting: str = "lists",
        link: Link | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(link or RawScores())
        self._seed = seed
        self._solver = WeightSolver(programme)
        self._sigma, self._draws = sigma, draws
        self._rng = np.random.default_rng(seed)
        self._rows = RowsOfBatch(lists)
        labels = lists.labels.numpy().astype(np.float64)
        if target == "labels":
            total = np.concatenate([[0.0], np.cumsum(programme.w)])[lists.lengths]
            self._target = labels * np.repeat(total / lists.label_totals, lists.lengths)
        else:
            self._target = WeightSolver(programme)(labels, seed=seed)
        self._weight = lists.label_totals / lists.label_totals.mean() if weighting == "labels" else None

    def start_epoch(self, seed: int) -> None:
        """Seed the perturbations."""
        self._rng = np.random.default_rng(seed)

    def of_estimates(self, estimates: FloatArray, batch: Batch) -> tuple[float, FloatArray]:
        """Sum over the lists of the batch, and its gradient."""
        target = self._rows.take(self._target, batch)
        weight = None if self._weight is None else np.repeat(self._weight[batch.queries], np.diff(batch.offsets))
        if weight is not None:
            target = weight * target
        value, gradient = -float(estimates @ target), -target
        for _ in range(self._draws):
            perturbed = self._rng.standard_normal(len(estimates), dtype=np.float32) * self._sigma + estimates
            worth = self._solver(perturbed, seed=self._seed, queries=batch.queries)
            if weight is not None:
                worth *= weight
            value += float(perturbed @ worth) / self._draws
            gradient += worth if self._draws == 1 else worth / self._draws
        return value, gradient

    def state(self) -> State:
        """Where the solver starts from."""
        return _solver_state({"solver": self._solver})

    def restore(self, state: State) -> None:
        """Continue from `state`."""
        _restore_solvers({"solver": self._solver}, state)


def tie_broken(labels: FloatArray, scores: FloatArray, offsets: NDArray[np.int64]) -> FloatArray:
    """Labels plus so little of the scores that only ties between labels are decided by them.

    The scores of each list are mapped to [0, 1] and multiplied by a thousandth of the list's largest label.
    """
    broken = np.empty(len(labels))
    _tie_broken(labels, scores, offsets, broken)
    return broken


@njit(cache=True, nogil=True)
def _tie_broken(labels: Any, scores: Any, offsets: Any, broken: Any) -> None:  # pragma: no cover
    for q in range(len(offsets) - 1):
        start, end = offsets[q], offsets[q + 1]
        low = high = scores[start]
        top = labels[start]
        for i in range(start, end):
            low, high, top = min(low, scores[i]), max(high, scores[i]), max(top, labels[i])
        unit = 1e-3 * top / max(high - low, 1e-300)
        for i in range(start, end):
            broken[i] = labels[i] + unit * (scores[i] - low)


class RowsOfBatch:
    """Picks the rows of a batch out of a flat array over all lists."""

    def __init__(self, lists: Lists) -> None:
        self._offsets, self._width = lists.offsets, lists.width

    def take(self, flat: NDArray[Any], batch: Batch) -> NDArray[Any]:
        """The entries of the lists of the batch, in its order."""
        if self._width is not None:
            return np.asarray(flat.reshape(-1, self._width)[batch.queries].reshape(-1))
        shift = np.repeat(self._offsets[batch.queries] - batch.offsets[:-1], np.diff(batch.offsets))
        return np.asarray(flat[np.arange(batch.offsets[-1]) + shift])


def _solver_state(solvers: dict[str, WeightSolver | None]) -> State:
    return {
        f"{name}.{key}": array
        for name, solver in solvers.items()
        if solver is not None
        for key, array in solver.state().items()
    }


def _restore_solvers(solvers: dict[str, WeightSolver | None], state: State) -> None:
    for name, solver in solvers.items():
        if solver is not None:
            prefix = f"{name}."
            solver.restore({key.removeprefix(prefix): a for key, a in state.items() if key.startswith(prefix)})
