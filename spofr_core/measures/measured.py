"""What a measure is, and what it sees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from spofr_core.data import RankingDataset
from spofr_core.errors import ConfigError
from spofr_core.fairness import Composition, Discount, PositionBias

FloatArray = NDArray[np.float64]
Better = Literal["higher", "lower", ""]

COLUMNS = frozenset(
    ("query", "group", "n", "exposure", "lower", "upper", "violation", "delta_fair", "applicable", "feasible")
)
"""Columns that the table of an audit has besides those of the measures."""


@dataclass(frozen=True, eq=False)
class Measured:
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
        Depth of measures "@k".
    expectations : callable
        From vectors over positions (K, n_max) to their expectations per item (K, N).
    """

    data: RankingDataset
    composition: Composition
    position_bias: PositionBias
    discount: Discount
    cutoff: int
    expectations: Callable[[FloatArray], FloatArray]
    _known: dict[bytes, FloatArray] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        # One pass over the rankings for all vectors that are sure to be asked for: sorting takes longer than adding.
        models: list[PositionBias | Discount] = [self.position_bias]
        if self.data.relevance is not None:
            models += [self.discount, self.discount_at_cutoff]
        vectors = np.stack([model.vector(self.longest) for model in models])
        for vector, expected in zip(vectors, self.expectations(vectors), strict=True):
            self._known[vector.tobytes()] = expected

    @cached_property
    def longest(self) -> int:
        """Items of the longest list, n_max."""
        return int(self.composition.lengths.max(initial=0))

    @cached_property
    def discount_at_cutoff(self) -> Discount:
        """The discount of the first `cutoff` positions; 0 below them."""
        return Discount(cutoff=self.cutoff, values=self.discount.values)

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
    def item_discount_at_cutoff(self) -> FloatArray:
        """(N,): expected discount of every item where positions below the cutoff are worth nothing."""
        return self.expectation(self.discount_at_cutoff.vector(self.longest))

    @cached_property
    def group_exposure(self) -> FloatArray:
        """(Q, G): mean exposure e_g over the items of each group; NaN where the group is absent."""
        return self.composition.group_means(self.item_exposure, self.data.groups, self.data.offsets)


@dataclass(frozen=True)
class Measure:
    """One measure, with everything that is said about it.

    Parameters
    ----------
    name : str
        In summaries, and as a column of tables.
    label : str
        On screens and in reports; "@k" in it becomes the cutoff, as in "nDCG@10".
    per_query : callable
        From `Measured` to one value per query, (Q,); NaN where it is undefined.
    unit : str
        What the numbers count, such as "exposure"; empty where they have no unit.
    better : {"higher", "lower", ""}
        Which way is better, if one is.
    needs : tuple of str
        Attributes of `RankingDataset` that must be there, such as "relevance".
    description : str
        A sentence.
    """

    name: str
    label: str
    per_query: Callable[[Measured], FloatArray]
    unit: str = ""
    better: Better = ""
    needs: tuple[str, ...] = ()
    description: str = ""

    def __post_init__(self) -> None:
        if self.name in COLUMNS:
            raise ConfigError(f"A measure cannot be called {self.name!r}: the table of an audit has that column.")

    def applies(self, data: RankingDataset) -> bool:
        """Whether the data has what the measure needs."""
        return all(getattr(data, need) is not None for need in self.needs)

    def values(self, measured: Measured) -> FloatArray:
        """One value per query.

        Raises
        ------
        ConfigError
            When the measure returns another number of values.
        """
        found = np.asarray(self.per_query(measured), dtype=np.float64)
        if found.shape != (len(measured.data),):
            raise ConfigError(
                f"The measure {self.name!r} returned values of shape {found.shape} for {len(measured.data)} queries; "
                "return one value per query, NaN where it is undefined."
            )
        return found

    def title(self, cutoff: int) -> str:
        """The label with the cutoff in it."""
        return self.label.replace("@k", f"@{cutoff}")
