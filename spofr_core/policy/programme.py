"""The fair-ranking programme of a batch of lists, free of any solver.

For each list, with y its scores, w the discount and v the position bias:

    maximise  y' Pi w   over doubly stochastic Pi,   lower_g <= E_g <= upper_g,   E_g = sum over items of g of (Pi v)_i.

With quotas, Pi is a mixture of rankings that keep within them: the i-th item of a group, by score, stands within the
i-th window of that group.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from spofr_core.config import checked_seed
from spofr_core.data import RankingDataset
from spofr_core.data.groups.labels import NO_GROUP, GroupLabels, MissingLabels, codes_of_labels, label_array
from spofr_core.data.ids import plain
from spofr_core.errors import ConfigError, DataError, InfeasibleFairness
from spofr_core.fairness import (
    Composition,
    Discount,
    Fairness,
    Terms,
    Windows,
    feasible,
    format_delta,
    is_nonincreasing,
    smallest_delta,
)
from spofr_core.policy.quotas import OnInfeasible as OnInfeasible
from spofr_core.policy.quotas import feasible_delta, permitted_windows
from spofr_core.policy.solvers.score_sizes import checked_scores, require_scale

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class PreparedLists:
    """All of the programme but the scores: groups, bounds and vectors of a batch of lists, checked and feasible.

    Training keeps one of these and solves it for new scores at every step. Made by `prepare`; picklable.

    Attributes
    ----------
    codes : (N,) int32
        Group of each item: an index into `group_names`, or their number where an item has none.
    offsets : (Q + 1,) int64
        List q is `offsets[q]:offsets[q + 1]`.
    fairness, discount
        What was asked for.
    terms : Terms
        The notion per list and group, with the delta in force (raised in relaxed lists).
    lower, upper : (Q, G) float
        Bounds on each group's total exposure; infinite where nothing is asked. Where items have no group, one more
        column is theirs.
    v, w : (n_max,) float
        Position bias and discount; a list of n items uses the first n.
    query_ids : sequence, optional
        Names of the lists; without them a list is named by its place in the batch.
    relaxed : dict of int to float
        Lists whose delta was raised, with the smallest delta that each of them can satisfy.
    windows : Windows, optional
        Positions that the quota leaves to the members of each group.
    lifted : dict of int to int
        Lists without a quota because no ranking can meet it, with the first prefix that fails.
    """

    codes: npt.NDArray[np.int32]
    group_names: tuple[str, ...]
    offsets: IntArray
    fairness: Fairness
    discount: Discount
    terms: Terms
    lower: FloatArray
    upper: FloatArray
    v: FloatArray
    w: FloatArray
    query_ids: Sequence[Any] | npt.NDArray[Any] | None = None
    relaxed: Mapping[int, float] = field(default_factory=dict)
    windows: Windows | None = None
    lifted: Mapping[int, int] = field(default_factory=dict)

    def __len__(self) -> int:
        """Number of lists."""
        return len(self.offsets) - 1

    @property
    def n_items(self) -> int:
        """Items summed over the lists."""
        return int(self.offsets[-1])

    @property
    def sizes(self) -> IntArray:
        """(Q, G): items of each group in each list, and in one more column those of none, where there may be some."""
        return self.terms.composition.blocks

    @cached_property
    def n_present(self) -> IntArray:
        """(Q,): groups with an item in the list; items without one count as a group."""
        return np.asarray(np.count_nonzero(self.sizes, axis=1), dtype=np.int64)

    @cached_property
    def max_rankings(self) -> int:
        """Rankings that an optimal vertex of any list may need: one more than its groups."""
        return int(self.n_present.max(initial=1)) + 1

    @cached_property
    def increasing(self) -> tuple[str, ...]:
        """Names of the vectors that increase somewhere, which the exact solver does not take."""
        named = (("position bias", self.v), ("discount", self.w))
        return tuple(name for name, vector in named if not is_nonincreasing(vector))

    def query_name(self, q: int) -> Any:
        """The id of list q, or its place where it has none."""
        return q if self.query_ids is None else plain(self.query_ids[q])

    def with_fairness(self, fairness: Fairness, *, on_infeasible: OnInfeasible = "raise") -> PreparedLists:
        """The same lists under another delta, notion, quota or position bias."""
        v = fairness.position_bias.vector(len(self.w))
        _check_quota_vector(fairness, self.w)
        demand = _written_out(fairness, self.terms.composition, on_infeasible, self.query_name)
        return replace(self, fairness=fairness, v=v, **demand)


def prepare(
    groups: GroupLabels,
    offsets: npt.ArrayLike,
    fairness: Fairness,
    *,
    discount: Discount | Sequence[float] | FloatArray | None = None,
    group_names: Sequence[str] | None = None,
    query_ids: Sequence[Any] | npt.NDArray[Any] | None = None,
    on_infeasible: OnInfeasible = "raise",
    missing: MissingLabels = "error",
) -> PreparedLists:
    """Check a batch of lists and write out its bounds.

    Parameters
    ----------
    groups : (N,) labels
        Any labels; groups are named by their text and numbered in sorted order. With `group_names`: codes into it,
        `UNKNOWN` or `NO_GROUP`.
    offsets : (Q + 1,) int
        List q is `offsets[q]:offsets[q + 1]`.
    fairness : Fairness
    discount : Discount or vector, optional
        DCG by default.
    group_names : sequence of str, optional
    query_ids : sequence, optional
        Used in messages and tables.
    on_infeasible : {"raise", "relax"}
        What to do with a list that has no policy within its bounds: raise an error, or lift its delta to the smallest
        feasible one and say so in `relaxed`.
    missing : {"error", "keep"}
        Refuse labels that are missing, or keep those items in their places, without a bound.

    Raises
    ------
    DataError, ConfigError
        When the input cannot be used.
    InfeasibleFairness
        When a list has no policy within its bounds and `on_infeasible` is "raise".
    """
    Fairness.require(fairness)
    codes, names = group_codes(groups, group_names, missing)
    places = checked_offsets(offsets, len(codes))
    if query_ids is not None and len(query_ids) != len(places) - 1:
        raise DataError(f"There are {len(query_ids)} query ids for {len(places) - 1} lists; give one per list.")
    chosen = Discount() if discount is None else Discount.coerce(discount)
    longest = int(np.diff(places).max(initial=0))
    composition = Composition.of(codes, places, names)

    def name_of(q: int) -> Any:
        return q if query_ids is None else plain(query_ids[q])

    w = chosen.vector(longest)
    _check_quota_vector(fairness, w)
    demand = _written_out(fairness, composition, on_infeasible, name_of)
    return PreparedLists(
        codes=composition.block_codes(codes),
        group_names=names,
        offsets=places,
        fairness=fairness,
        discount=chosen,
        v=fairness.position_bias.vector(longest),
        w=w,
        query_ids=query_ids,
        **demand,
    )


@dataclass(frozen=True, eq=False)
class LinearConstraint:
    """A condition of one's own on a policy: lower <= <matrix, Pi> <= upper, <A, Pi> = sum over i, j of A_ij Pi_ij.

    Attributes
    ----------
    matrix : (n, n) float
        Coefficient of each item (row) at each position (column).
    lower, upper : float
        Infinite where there is no limit.
    """

    matrix: FloatArray
    lower: float = -np.inf
    upper: float = np.inf

    def __post_init__(self) -> None:
        matrix = np.array(self.matrix, dtype=np.float64)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise ConfigError(f"The matrix of a constraint has shape {matrix.shape}; give one of (n, n).")
        if not np.all(np.isfinite(matrix)):
            i, j = np.argwhere(~np.isfinite(matrix))[0]
            raise ConfigError(f"The matrix of a constraint holds {matrix[i, j]} at item {i}, position {j + 1}.")
        if not self.lower <= self.upper:
            raise ConfigError(
                f"A constraint has lower {self.lower:g} and upper {self.upper:g}; lower must not exceed upper."
            )
        object.__setattr__(self, "matrix", matrix)


@dataclass(frozen=True, eq=False)
class Programme:
    """A batch to solve: prepared lists, their scores, and the seed that breaks ties.

    Raises
    ------
    DataError
        When a score is missing or not finite.
    ConfigError
        When a constraint does not fit its list, or stands beside a quota.
    """

    lists: PreparedLists
    scores: FloatArray
    seed: int = 0
    constraints: tuple[LinearConstraint, ...] = ()

    def __post_init__(self) -> None:
        lists = self.lists
        scores = checked_scores(self.scores, lists.offsets, lists.query_name)
        require_scale(scores, lists.offsets, lists.v, lists.w, lists.query_name)
        object.__setattr__(self, "scores", scores)
        object.__setattr__(self, "constraints", tuple(self.constraints))
        object.__setattr__(self, "seed", checked_seed(self.seed))
        if self.constraints and len(self.lists) != 1:
            raise ConfigError("Constraints of one's own are for one list at a time: call fair_policy for each list.")
        refuse_quota_beside(self.constraints, lists.fairness)
        for constraint in self.constraints:
            if len(constraint.matrix) != self.lists.n_items:
                raise ConfigError(
                    f"The matrix of a constraint has shape {constraint.matrix.shape}, "
                    f"but the list has {self.lists.n_items} items."
                )


def refuse_quota_beside(constraints: Sequence[LinearConstraint], fairness: Fairness) -> None:
    """`ConfigError` for a quota beside constraints: its windows hold for groups in the order of their scores alone."""
    if constraints and fairness.every_ranking is not None:
        raise ConfigError(
            "A quota and constraints of one's own cannot be had together: a quota is kept with each group in the "
            "order of its scores, and a constraint may need another order. Drop every_ranking= or constraints=."
        )


def _written_out(
    fairness: Fairness, composition: Composition, on_infeasible: OnInfeasible, name_of: Callable[[int], Any]
) -> dict[str, Any]:
    """What is asked of every list, as the fields of `PreparedLists`."""
    if on_infeasible not in ("raise", "relax"):
        raise ConfigError(f"'on_infeasible' must be one of ['raise', 'relax'], got {on_infeasible!r}.")
    windows, lifted = permitted_windows(fairness, composition, on_infeasible, name_of)
    # With a quota the smallest delta is that of both together: what is raised without it is not the end of it.
    terms, relaxed = feasible_terms(fairness, composition, on_infeasible if windows is None else "relax", name_of)
    if windows is not None:
        within = feasible_delta(fairness, terms, windows, on_infeasible, name_of, relaxed)
        terms, relaxed = _raised(terms, within), relaxed | within
    lower, upper = terms.block_bounds()
    return {
        "terms": terms,
        "lower": lower,
        "upper": upper,
        "relaxed": relaxed,
        "windows": windows,
        "lifted": lifted,
    }


def _check_quota_vector(fairness: Fairness, w: FloatArray) -> None:
    """Quotas become windows because a group's better items stand above its others: a discount that rises forbids it."""
    if fairness.every_ranking is not None and not is_nonincreasing(w):
        raise ConfigError("A quota needs a discount that never increases from one position to the next.")


def feasible_terms(
    fairness: Fairness, composition: Composition, on_infeasible: OnInfeasible, name_of: Callable[[int], Any]
) -> tuple[Terms, dict[int, float]]:
    """The notion written out, with delta raised to max(delta_g, min_delta) where nothing less will do."""
    terms = fairness.terms(composition)
    impossible = np.flatnonzero(~feasible(fairness, terms))
    if not len(impossible):
        return terms, {}
    smallest = smallest_delta(fairness, terms)
    if on_infeasible == "raise":
        q = int(impossible[0])
        least = format_delta(smallest[q], fairness.unit)
        others = f" ({len(impossible)} of {len(composition)} lists are like this)" if len(composition) > 1 else ""
        raise InfeasibleFairness(
            f"No policy of query {name_of(q)!r} satisfies delta = {fairness.delta_text} "
            f"under the {fairness.notion!r} notion; its smallest feasible delta is {least}{others}. "
            "Ask for a larger delta, or use on_infeasible='relax' to let those lists have their smallest one.",
            query=name_of(q),
            min_delta=float(smallest[q]),
        )
    relaxed = {int(q): float(smallest[q]) for q in impossible}
    return _raised(terms, relaxed), relaxed


def _raised(terms: Terms, relaxed: Mapping[int, float]) -> Terms:
    """These lists with at least these deltas."""
    if not relaxed:
        return terms
    delta = np.array(terms.delta)
    for q, smallest in relaxed.items():
        delta[q] = np.maximum(delta[q], smallest)
    return replace(terms, delta=delta)


def group_codes(
    groups: GroupLabels, group_names: Sequence[str] | None = None, missing: MissingLabels = "error"
) -> tuple[npt.NDArray[np.int32], tuple[str, ...]]:
    """Codes of arbitrary labels and the names of the codes, in their sorted order; see `codes_of_labels`."""
    labels = label_array(groups)
    if labels.ndim != 1:
        raise DataError(f"'groups' has shape {labels.shape}; give one label per item.", column="groups")
    if group_names is not None:
        return _checked_codes(labels, tuple(str(name) for name in group_names))
    return codes_of_labels(labels, missing)


def _checked_codes(labels: npt.NDArray[Any], names: tuple[str, ...]) -> tuple[npt.NDArray[np.int32], tuple[str, ...]]:
    if len(set(names)) < len(names):
        raise DataError(f"Group names must differ from each other, got {list(names)}.", column="groups")
    if labels.dtype.kind not in "iu":
        raise DataError("With group_names, 'groups' holds integer codes into it.", column="groups")
    if labels.size and (labels.min() < NO_GROUP or labels.max() >= len(names)):
        raise DataError(
            f"Group codes run from {labels.min()} to {labels.max()}, but there are {len(names)} group names.",
            column="groups",
        )
    return np.array(labels, dtype=np.int32), names


def checked_offsets(offsets: npt.ArrayLike, n_items: int) -> IntArray:
    """Offsets that start at 0, increase, and end at the number of items."""
    given = np.asarray(offsets)
    if given.ndim != 1 or given.dtype.kind not in "iu" or len(given) == 0:
        raise DataError("'offsets' must be a vector of integers: the first item of each list, and the end of the last.")
    places = np.array(given, dtype=np.int64)
    steps = np.diff(places)
    if places[0] != 0:
        raise DataError(f"'offsets' starts at {places[0]}; the first list must start at item 0.")
    if np.any(steps < 1):
        q = int(np.argmax(steps < 1))
        raise DataError(
            f"'offsets' goes from {places[q]} to {places[q + 1]} at list {q}; every list needs at least one item."
        )
    if places[-1] != n_items:
        raise DataError(f"'offsets' ends at {places[-1]}, but there are {n_items} items.")
    return places


def call_either(
    of_data: Callable[..., Result],
    of_arrays: Callable[..., Result],
    ways: str,
    given: tuple[Any, ...],
    settings: Mapping[str, Any],
) -> Result:
    """Call the one that `given` is meant for: `of_data` where there is a dataset among it.

    Raises
    ------
    ConfigError
        When its parameters are others; `ways` says what may be given.
    """
    chosen = of_data if any(isinstance(value, RankingDataset) for value in given) else of_arrays
    try:
        inspect.signature(chosen).bind(*given, **settings)
    except TypeError:
        seen = ", ".join([*(type(value).__name__ for value in given), *(f"{name}=" for name in settings)])
        raise ConfigError(f"{ways}, and settings by name; got ({seen}).") from None
    return chosen(*given, **settings)
