"""The whole tradeoff of a batch: what every delta costs every list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spofr_core.data.rows import list_sums
from spofr_core.data.score_array import refuse_unlike_indexes
from spofr_core.errors import ConfigError
from spofr_core.fairness import Discount, Fairness
from spofr_core.policy.programme import FloatArray, OnInfeasible, prepare
from spofr_core.policy.solvers.score_sizes import checked_scores, require_scale
from spofr_core.policy.solvers.weights import WeightSolver


@dataclass(frozen=True, eq=False)
class UtilityCurve:
    """Optimal utility of every list at every delta.

    Attributes
    ----------
    deltas : (D,) float
    utility : (D, Q) float
        Under the optimal policy of that delta.
    relaxed : (D, Q) bool
        Lists that cannot satisfy the delta and got their smallest feasible one instead.
    """

    deltas: FloatArray
    utility: FloatArray
    relaxed: npt.NDArray[np.bool_]

    @property
    def mean(self) -> FloatArray:
        """(D,): mean utility over lists."""
        return np.asarray(self.utility.mean(axis=1))


def utility_curve(
    scores: npt.ArrayLike,
    groups: npt.ArrayLike,
    offsets: npt.ArrayLike,
    fairness: Fairness,
    deltas: Sequence[float] | FloatArray,
    *,
    discount: Discount | Sequence[float] | None = None,
    group_names: Sequence[str] | None = None,
    seed: int = 0,
    on_infeasible: OnInfeasible = "raise",
) -> UtilityCurve:
    """Solve all lists for each delta; everything but the bounds is prepared once, and each delta starts from the last.

    Parameters are those of `fair_policies`; the delta of `fairness` itself is not used.
    """
    wanted = np.asarray(deltas, dtype=np.float64).ravel()
    if not len(wanted):
        raise ConfigError("'deltas' is empty; give at least one delta.")
    refuse_unlike_indexes(scores=scores, groups=groups)
    lists = prepare(
        groups,
        offsets,
        fairness.with_delta(float(wanted[0])),
        discount=discount,
        group_names=group_names,
        on_infeasible=on_infeasible,
    )
    values = checked_scores(scores, lists.offsets, lists.query_name)
    require_scale(values, lists.offsets, lists.v, lists.w, lists.query_name)
    utility = np.empty((len(wanted), len(lists)))
    relaxed = np.zeros((len(wanted), len(lists)), dtype=np.bool_)
    solver = WeightSolver(lists)
    for row, delta in enumerate(wanted.tolist()):
        at_delta = lists.with_fairness(fairness.with_delta(delta), on_infeasible=on_infeasible)
        solver.rebind(at_delta)
        utility[row] = list_sums(values * solver(values, seed=seed), lists.offsets)
        relaxed[row, list(at_delta.relaxed)] = True
    return UtilityCurve(wanted, utility, relaxed)
