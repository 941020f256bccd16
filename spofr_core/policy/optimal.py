"""`fair_policy` and `fair_policies`: the optimal policy within the bounds of a notion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt
import pandas as pd

from spofr_core.data import RankingDataset
from spofr_core.data.groups.labels import GroupLabels, MissingLabels, label_array
from spofr_core.data.score_array import ranking_scores, refuse_unlike_indexes, score_array
from spofr_core.errors import DataError
from spofr_core.fairness import Discount, Fairness
from spofr_core.policy.policies import Policies
from spofr_core.policy.policy import Policy
from spofr_core.policy.programme import (
    FloatArray,
    LinearConstraint,
    OnInfeasible,
    Programme,
    call_either,
    prepare,
    refuse_quota_beside,
)
from spofr_core.policy.solvers.solver import Solver, make_solver


def fair_policy(
    scores: npt.ArrayLike,
    groups: GroupLabels,
    fairness: Fairness,
    *,
    solver: str | Solver = "exact",
    discount: Discount | Sequence[float] | FloatArray | None = None,
    seed: int = 0,
    on_infeasible: OnInfeasible = "raise",
    constraints: Sequence[LinearConstraint] = (),
    missing: MissingLabels = "error",
) -> Policy:
    """The policy of greatest utility scores' Pi w that keeps one list within the bounds of `fairness`.

    Parameters
    ----------
    scores : (n,) float
    groups : (n,) labels
        Any labels; groups are named by their text.
    fairness : Fairness
    solver : {"exact", "glop"} or Solver
        A solver object keeps what makes its next call faster.
    discount : Discount or vector
        `Discount()` is DCG, `Discount(cutoff=10)` DCG@10.
    seed : int
        Breaks ties between scores: the same seed, the same policy.
    on_infeasible : {"raise", "relax"}
        Raise `InfeasibleFairness` where no policy satisfies the bounds, or use the smallest feasible delta and say so.
    constraints : sequence of LinearConstraint
        Conditions of one's own, with solver="glop" and without a quota; no delta is relaxed for their sake.
    missing : {"error", "keep"}
        Refuse a group of None, NaN or NA, or keep such items in their places, without a bound.

    Examples
    --------
    A lottery over two rankings, items from the top down: in one of six, both items of b come before the second of a.

    >>> policy = fair_policy([0.9, 0.8, 0.4, 0.1], ["a", "a", "b", "b"], Fairness(delta=0.05))
    >>> policy.rankings.tolist(), policy.probabilities.round(3).tolist()
    ([[0, 2, 1, 3], [0, 2, 3, 1]], [0.833, 0.167])
    >>> {group: round(violation, 3) for group, violation in policy.violations.items()}
    {'a': 0.05, 'b': -0.05}
    """
    Fairness.require(fairness)
    refuse_quota_beside(constraints, fairness)
    refuse_unlike_indexes(scores=scores, groups=groups)
    items = label_array(groups)
    offsets = np.array([0, len(items) if items.ndim else 0])
    lists = prepare(items, offsets, fairness, discount=discount, on_infeasible=on_infeasible, missing=missing)
    chosen = make_solver(solver) if isinstance(solver, str) else solver
    programme = Programme(lists, score_array(scores), seed, tuple(constraints))
    return Policies(lists, programme.scores, chosen.solve(programme))[0]


@overload
def fair_policies(
    data: RankingDataset,
    fairness: Fairness,
    /,
    *,
    scores: npt.ArrayLike | pd.Series | pd.DataFrame | None = None,
    solver: str | Solver = "exact",
    discount: Discount | Sequence[float] | FloatArray | None = None,
    seed: int = 0,
    on_infeasible: OnInfeasible = "raise",
    warm: Policies | None = None,
) -> Policies: ...


@overload
def fair_policies(
    scores: npt.ArrayLike,
    groups: GroupLabels,
    offsets: npt.ArrayLike,
    fairness: Fairness,
    *,
    solver: str | Solver = "exact",
    discount: Discount | Sequence[float] | FloatArray | None = None,
    seed: int = 0,
    on_infeasible: OnInfeasible = "raise",
    group_names: Sequence[str] | None = None,
    query_ids: Sequence[Any] | npt.NDArray[Any] | None = None,
    item_ids: npt.NDArray[Any] | None = None,
    warm: Policies | None = None,
    missing: MissingLabels = "error",
) -> Policies: ...


def fair_policies(*lists: Any, **settings: Any) -> Policies:
    """The optimal policies of a batch of lists: `fair_policies(data, fairness)`, or flat arrays.

    Parameters
    ----------
    data : RankingDataset
        Its lists, ranked by its own scores or by `scores`, which may come in all ways that `data.with_scores` takes.
    scores : (N,) float
        Flat scores; list q is `offsets[q]:offsets[q + 1]`. Series beside each other must have one index.
    groups : (N,) labels
        Any labels; with `group_names`, codes into it, `UNKNOWN` or `NO_GROUP`.
    offsets : (Q + 1,) int
    fairness, solver, discount, seed, on_infeasible
        As for `fair_policy`. Relaxed lists are named in `Policies.relaxed`.
    group_names : sequence of str, optional
    query_ids, item_ids : optional
        For messages and tables; a dataset brings its own.
    warm : Policies, optional
        Policies of the same lists for other scores or another delta, to start from.
    missing : {"error", "keep"}
        Of flat arrays, as for `fair_policy`.

    Raises
    ------
    DataError
        When the lists cannot be used, such as a dataset without scores.
    ConfigError
        When the arguments are neither a dataset and a fairness, nor flat arrays and a fairness.
    """
    ways = "'fair_policies' takes (data, fairness), or (scores, groups, offsets, fairness)"
    return call_either(_policies_of_data, _policies_of_arrays, ways, lists, settings)


def _policies_of_data(
    data: RankingDataset,
    fairness: Fairness,
    /,
    *,
    scores: npt.ArrayLike | pd.Series | pd.DataFrame | None = None,
    solver: str | Solver = "exact",
    discount: Discount | Sequence[float] | FloatArray | None = None,
    seed: int = 0,
    on_infeasible: OnInfeasible = "raise",
    warm: Policies | None = None,
) -> Policies:
    if data.each_item:
        fairness.check_items()
    return _policies_of_arrays(
        ranking_scores(data, scores),
        data.groups,
        data.offsets,
        fairness,
        solver=solver,
        discount=discount,
        seed=seed,
        on_infeasible=on_infeasible,
        group_names=data.group_names,
        query_ids=data.query_ids,
        item_ids=data.item_ids,
        warm=warm,
    )


def _policies_of_arrays(
    scores: npt.ArrayLike,
    groups: GroupLabels,
    offsets: npt.ArrayLike,
    fairness: Fairness,
    *,
    solver: str | Solver = "exact",
    discount: Discount | Sequence[float] | FloatArray | None = None,
    seed: int = 0,
    on_infeasible: OnInfeasible = "raise",
    group_names: Sequence[str] | None = None,
    query_ids: Sequence[Any] | npt.NDArray[Any] | None = None,
    item_ids: npt.NDArray[Any] | None = None,
    warm: Policies | None = None,
    missing: MissingLabels = "error",
) -> Policies:
    refuse_unlike_indexes(scores=scores, groups=groups, item_ids=item_ids)
    lists = prepare(
        groups,
        offsets,
        fairness,
        discount=discount,
        group_names=group_names,
        query_ids=query_ids,
        on_infeasible=on_infeasible,
        missing=missing,
    )
    chosen = make_solver(solver) if isinstance(solver, str) else solver
    programme = Programme(lists, score_array(scores), seed)
    if item_ids is not None and len(item_ids) != lists.n_items:
        raise DataError(f"There are {len(item_ids)} item ids for {lists.n_items} items; give one per item.")
    if warm is not None and not (
        np.array_equal(warm.lists.offsets, lists.offsets) and np.array_equal(warm.lists.codes, lists.codes)
    ):
        raise DataError("'warm' holds policies of other lists; it must have the same offsets and groups.")
    solution = chosen.solve(programme, warm=None if warm is None else warm.solution)
    return Policies(lists, programme.scores, solution, None if item_ids is None else np.asarray(item_ids))
