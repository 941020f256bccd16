"""What a measure sees: the rankings or policies of a dataset."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spofr_core.data import RankingDataset
from spofr_core.data.rows import list_sums
from spofr_core.errors import ConfigError
from spofr_core.fairness import Composition, Discount, PositionBias, Terms
from spofr_core.measures.measure import BoolArray, FloatArray, Values
from spofr_core.policy import Lotteries, tied_expectation

Target = str | Mapping[str, float]
TARGETS = ("list", "data", "uniform", "relevant")
"""Shares that groups are compared with: of the list's items, of all items, equal, of the list's relevance."""
ONE_GROUP = "only one group in the list"
NOTHING_RELEVANT = "no relevant item in the list"
NO_TARGET = "the target leaves nothing to the groups of the list"
NO_GROUP = "an item belongs to no group"


@dataclass(frozen=True, eq=False)
class Patterns:
    """Whole rankings, as the groups that stand at their positions.

    Attributes
    ----------
    groups : (M,) int32
        Group at each position, ranking after ranking; -1 for an item without one.
    rows : (M,) int32
        The items themselves, as rows of the data.
    starts : (R + 1,) int
        Ranking r is `groups[starts[r]:starts[r + 1]]`.
    lists : (R,) int
        The list that each ranking belongs to.
    """

    groups: NDArray[np.int32]
    rows: NDArray[np.int32]
    starts: NDArray[np.int64]
    lists: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RankingView:
    """The rankings or policies of a dataset, as a measure sees them.

    Attributes
    ----------
    data : RankingDataset
    composition : Composition
        Items of each group in each list.
    position_bias : PositionBias
        The exposure model v.
    discount : Discount
        Worth of positions w.
    cutoff : int
        Depth of nDCG where none is said.
    terms : Terms
        Of the notion whose violations are measured.
    expectations : callable
        From vectors over positions (K, n_max) to their expectations per item (K, N).
    draw : callable
        From kinds of items (N,) to the rankings as `Lotteries`, in which items of a kind are alike.
    target : str or mapping of str to float
        What shares of groups are compared with, where a measure does not say.
    protected : str, optional
        The group that measures of one group are about, where a measure does not say; otherwise the one with the fewest
        items in the data.
    """

    data: RankingDataset
    composition: Composition
    position_bias: PositionBias
    discount: Discount
    cutoff: int
    terms: Terms
    expectations: Callable[[FloatArray], FloatArray]
    draw: Callable[[NDArray[np.int64]], Lotteries]
    target: Target = "list"
    protected: str | None = None
    _known: dict[bytes, FloatArray] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        # One pass over the rankings for all vectors that are sure to be asked for: sorting takes longer than adding.
        models: list[PositionBias | Discount] = [self.position_bias]
        if self.data.relevance is not None:
            models += [self.discount, self.discount_at(self.cutoff)]
        vectors = np.stack([model.vector(self.longest) for model in models])
        for vector, expected in zip(vectors, self.expectations(vectors), strict=True):
            self._known[vector.tobytes()] = expected

    # -- expectations over positions -----------------------------------------------------------------

    @cached_property
    def longest(self) -> int:
        """Items of the longest list, n_max."""
        return int(self.composition.lengths.max(initial=0))

    def discount_at(self, depth: int | None) -> Discount:
        """The discount of the first positions; 0 below them."""
        return self.discount if depth is None else Discount(cutoff=depth, values=self.discount.values)

    def expectation(self, vector: FloatArray) -> FloatArray:
        """(Pi x)_i: the expected x[position] of every item i, flat (N,), for a vector x over positions (n_max,).

        Vectors that were asked for before cost nothing.
        """
        values = np.ascontiguousarray(vector, dtype=np.float64)
        key = values.tobytes()
        if key not in self._known:
            self._known[key] = self.expectations(values[None, :])[0]
        return self._known[key]

    @cached_property
    def item_exposure(self) -> FloatArray:
        """(N,): expected exposure Pi v of every item."""
        return self.expectation(self.position_bias.vector(self.longest))

    @cached_property
    def item_discount(self) -> FloatArray:
        """(N,): expected discount Pi w of every item."""
        return self.expectation(self.discount.vector(self.longest))

    @cached_property
    def group_exposure(self) -> FloatArray:
        """(Q, G): mean exposure e_g over the items of each group; NaN where the group is absent."""
        return self.group_means(self.item_exposure)

    @cached_property
    def relevance(self) -> FloatArray:
        """(N,): relevance of every item, for measures that need it; any number."""
        return np.asarray(self.data.relevance)

    @cached_property
    def gains(self) -> FloatArray:
        """(N,): relevance of every item, shifted so that none is below 0, for measures that need that."""
        return np.asarray(self.data.gains)

    @cached_property
    def ideal_exposure(self) -> FloatArray:
        """(N,): exposure in the order by relevance, items of equal relevance sharing their positions evenly."""
        return tied_expectation(self.relevance, self.data.offsets, self.position_bias.vector(self.longest))

    @cached_property
    def list_gains(self) -> FloatArray:
        """(Q,): summed gains of each list."""
        return list_sums(self.gains, self.data.offsets)

    def group_means(self, values: FloatArray) -> FloatArray:
        """(Q, G): mean over the items of each group; NaN where the group is absent."""
        return self.composition.group_means(values, self.data.groups, self.data.offsets)

    # -- whole rankings ------------------------------------------------------------------------------

    @cached_property
    def lotteries(self) -> Lotteries:
        """Rankings in which items of a group are alike."""
        return self.draw(self.data.groups.astype(np.int64))

    @cached_property
    def patterns(self) -> Patterns:
        """The groups at the positions of `lotteries`."""
        return self._patterns(self.lotteries)

    @cached_property
    def relevant_lotteries(self) -> Lotteries:
        """Rankings in which items of a group and a relevance are alike."""
        grades, found = pd.factorize(self.relevance, sort=True)  # a part of the data has the same order
        return self.draw(self.data.groups.astype(np.int64) * len(found) + grades)

    @cached_property
    def relevant_patterns(self) -> Patterns:
        """The groups at the positions of `relevant_lotteries`."""
        return self._patterns(self.relevant_lotteries)

    def _patterns(self, drawn: Lotteries) -> Patterns:
        codes = np.maximum(self.data.groups, -1, dtype=np.int32)
        return Patterns(codes[drawn.rows], drawn.rows, np.asarray(drawn.starts, dtype=np.int64), drawn.lists)

    def expected(
        self,
        per_ranking: FloatArray,
        why: Mapping[str, BoolArray] | None = None,
        *,
        lotteries: Lotteries | None = None,
        overall: float | None = None,
    ) -> Values:
        """Expectation over the rankings of each list; NaN where `why` has a reason (one entry per list)."""
        drawn = lotteries or self.lotteries
        values, reasons = drawn.expectation(per_ranking), dict(why or {})
        for where in reasons.values():
            values = np.where(where, np.nan, values)
        error = np.nan_to_num(drawn.standard_error(per_ranking)) if drawn.sampled.any() else None
        return Values(values, reasons, error, overall)

    def any_ranking(self, of_ranking: BoolArray, *, lotteries: Lotteries | None = None) -> BoolArray:
        """(Q,): whether something is so in one of a list's rankings."""
        drawn = lotteries or self.lotteries
        return np.asarray(np.logical_or.reduceat(of_ranking, drawn.first[:-1]))

    # -- what groups are compared with ---------------------------------------------------------------

    @cached_property
    def one_group(self) -> BoolArray:
        """(Q,): lists in which nobody can be compared."""
        return ~self.composition.applicable

    @cached_property
    def unknown_group(self) -> BoolArray:
        """(Q,): lists in which the group of an item is not known."""
        return list_sums(self.data.unknown.astype(np.float64), self.data.offsets) > 0

    @cached_property
    def no_group(self) -> BoolArray:
        """(Q,): lists in which an item belongs to no group."""
        return (self.composition.lengths > self.composition.grouped) & ~self.unknown_group

    def target_shares(self, target: Target | None = None) -> FloatArray:
        """(Q, G): the share that each group should have; rows of NaN where the target says nothing about a list.

        Raises
        ------
        ConfigError
            For a target that is none.
        """
        wanted = self.target if target is None else target
        sizes = self.composition.sizes.astype(np.float64)
        if isinstance(wanted, Mapping):
            weights = np.broadcast_to(self._given_shares(wanted), sizes.shape)
        elif wanted == "list":
            weights = sizes
        elif wanted == "data":
            weights = np.broadcast_to(sizes.sum(axis=0), sizes.shape)
        elif wanted == "uniform":
            weights = (sizes > 0).astype(np.float64)
        elif wanted == "relevant":
            if self.data.relevance is None:
                raise ConfigError("target is 'relevant', but the data has no relevance; take another target.")
            weights = np.nan_to_num(self.group_means(self.gains)) * sizes
        else:
            raise ConfigError(f"'target' must be one of {list(TARGETS)} or shares by group, got {wanted!r}.")
        totals = weights.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(weights, totals, out=np.full(sizes.shape, np.nan), where=totals > 0))

    def _given_shares(self, shares: Mapping[str, float]) -> FloatArray:
        names = self.data.group_names
        unknown = [name for name in shares if name not in names]
        lacking = [name for name in names if name not in shares]
        if unknown or lacking:
            what = f"names {unknown[0]!r}, which is no group" if unknown else f"does not name the group {lacking[0]!r}"
            raise ConfigError(f"The target {what}; give a share for each of {list(names)}.")
        values = np.array([_share(name, shares[name]) for name in names])
        if values.sum() <= 0:
            raise ConfigError(f"The shares of the target {dict(shares)} sum to 0; give one group more than 0.")
        return values

    def group_code(self, group: str | None = None) -> int:
        """The group that a measure of one group is about.

        Raises
        ------
        ConfigError
            When there is no such group.
        """
        wanted, names = self.protected if group is None else str(group), self.data.group_names
        if wanted is None:
            items = self.composition.sizes.sum(axis=0)  # a slice of the queries may have none of a group
            return int(np.where(items > 0, items, np.inf).argmin())
        if wanted not in names:
            raise ConfigError(f"There is no group {wanted!r} to measure; the groups are {list(names)}.")
        return names.index(wanted)


def _share(name: str, value: Any) -> float:
    try:
        share = float(value)
    except (TypeError, ValueError):
        share = -1.0
    if not 0 <= share < np.inf:
        raise ConfigError(f"The share of group {name!r} in the target is {value!r}; give a number of 0 or more.")
    return share
