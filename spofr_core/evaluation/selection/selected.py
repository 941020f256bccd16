"""Who is selected: those among the first k, those who score a threshold or more, those above the median score."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spofr_core.data import RankingDataset
from spofr_core.data.ids import plain
from spofr_core.data.rows import list_sums
from spofr_core.errors import ConfigError, DataError
from spofr_core.evaluation.selection.selection_rule import SelectionKind
from spofr_core.fairness import Composition
from spofr_core.policy import RankingPolicies, SortedPolicies

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Selection:
    """How items are selected from each list.

    Parameters
    ----------
    k : int, optional
        Those at the first k positions of their list.
    threshold : float, optional
        Those with this score or more, whatever their list.

    With neither, those that score above the median of all scores: what Local Law 144 calls the scoring rate.

    Raises
    ------
    ConfigError
        For both at once, a k below 1, or a threshold that is no number.
    """

    k: int | None = None
    threshold: float | None = None

    def __post_init__(self) -> None:
        if self.k is not None and self.threshold is not None:
            raise ConfigError(
                f"Both k = {self.k!r} and threshold = {self.threshold!r} are given; select by position or by score, "
                "not by both."
            )
        if self.k is not None and (isinstance(self.k, bool) or not isinstance(self.k, int | np.integer) or self.k < 1):
            raise ConfigError(f"'k' is {self.k!r}; select the first 1 or more of each list.")
        number = isinstance(self.threshold, int | float | np.number) and not isinstance(self.threshold, bool)
        if self.threshold is not None and not (number and math.isfinite(self.threshold)):
            raise ConfigError(f"'threshold' is {self.threshold!r}; give a score, such as 0.7.")

    @property
    def kind(self) -> SelectionKind:
        """Which of the three it is."""
        return "top" if self.k is not None else "threshold" if self.threshold is not None else "scoring"

    @property
    def words(self) -> str:
        """What is selected by, within a sentence."""
        if self.k is not None:
            return "being first in a list" if self.k == 1 else f"being among the first {self.k:,} of a list"
        if self.threshold is not None:
            return f"a score of {self.threshold:g} or more"
        return "a score above the median of all items"

    def chances(self, data: RankingDataset, policies: RankingPolicies | None = None) -> FloatArray:
        """(N,): the probability that each item is selected.

        Among the first k of its list, p_i = sum over positions j <= k of Pi[i, j], with Pi that of the policy or of
        the sort by score, in which items of equal score stand in every order with the same probability: of a block of
        ties at positions a..b with a <= k < b each is selected with probability (k - a + 1) / (b - a + 1). By score,
        0 or 1.

        Raises
        ------
        ConfigError
            For policies, where the selection is by score.
        DataError
            Without a score, and for policies of other lists.
        """
        if self.k is not None:
            return _among_the_first(int(self.k), data, policies)
        if policies is not None:
            raise ConfigError(
                "Policies are given, but who scores enough does not depend on where they stand; give k, or leave the "
                "policies out."
            )
        score = _scores(data)
        if self.threshold is None:
            return np.asarray(score > median_score(data), dtype=np.float64)
        return np.asarray(score >= self.threshold, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Counts:
    """Who is selected, counted list by list; parts of one dataset can be joined.

    Attributes
    ----------
    selected : (Q, G) float
        Expected number of items of each group that are selected.
    items : (Q, G) float
        Items of each group.
    rest : (Q, 2) float
        Items of each list without a group: how many are expected to be selected, and how many there are.
    scores : pair of float
        The lowest and the highest score; not a number where there are none.
    unknown : (U,) float
        The probability that it is selected, of each item whose group is not known, in all lists.
    """

    selected: FloatArray
    items: FloatArray
    rest: FloatArray
    scores: tuple[float, float] = (math.nan, math.nan)
    unknown: FloatArray = field(default_factory=lambda: np.zeros(0))

    @property
    def lengths(self) -> FloatArray:
        """(Q,): items of each list."""
        return np.asarray(self.items.sum(axis=1) + self.rest[:, 1])

    @classmethod
    def of(cls, data: RankingDataset, chances: FloatArray) -> Counts:
        """Summed over the items of each list and group.

        Raises
        ------
        ConfigError
            Where each item is on its own.
        """
        if data.each_item:
            raise ConfigError(
                "Selection rates, and the rules of law that ask for them, compare groups, and with each item on its "
                "own there are none: choose a group column."
            )
        composition = Composition.of(data.groups, data.offsets, data.group_names)
        selected = composition.group_totals(chances, data.groups, data.offsets)
        others = list_sums(np.where(data.grouped, 0.0, chances), data.offsets)
        rest = np.column_stack([others, composition.lengths - composition.grouped])
        scores = (math.nan, math.nan) if data.score is None else (float(data.score.min()), float(data.score.max()))
        return cls(selected, composition.sizes.astype(np.float64), rest, scores, np.sort(chances[data.unknown]))

    @classmethod
    def concatenate(cls, parts: Sequence[Counts], order: NDArray[np.intp]) -> Counts:
        """Parts of one dataset as one, its lists in this order."""
        names = ("selected", "items", "rest")
        selected, items, rest = (np.concatenate([getattr(part, name) for part in parts]) for name in names)
        low, high = zip(*(part.scores for part in parts), strict=True)
        unknown = np.sort(np.concatenate([part.unknown for part in parts]))
        return cls(selected[order], items[order], rest[order], (min(low), max(high)), unknown)


def median_score(data: RankingDataset) -> float:
    """The median of the scores of all items, in all lists together."""
    return float(np.median(_scores(data)))


def selection_dict(selection: Selection, median: float | None) -> Mapping[str, Any]:
    """Plain, for the summary."""
    return {"kind": selection.kind, "k": plain(selection.k), "threshold": plain(selection.threshold), "median": median}


def _scores(data: RankingDataset) -> FloatArray:
    if data.score is None:
        raise DataError(
            "There is nothing to select by: the data has no score or rank column. "
            "Map one (score=..., rank=...), or give policies and k."
        )
    return data.score


def _among_the_first(k: int, data: RankingDataset, policies: RankingPolicies | None) -> FloatArray:
    ranked = policies if policies is not None else SortedPolicies(_scores(data), data.offsets)
    if len(ranked) != len(data):
        raise DataError(
            f"The policies are of {len(ranked)} lists but the data has {len(data)}; give the policies of these lists."
        )
    first = np.zeros(int(data.list_lengths.max(initial=0)))
    first[:k] = 1.0
    chances = ranked.expectation(first)
    if len(chances) != data.n_items:
        raise DataError(
            f"The policies rank {len(chances)} items but the data has {data.n_items}; give the policies of these lists."
        )
    unknown = np.isnan(chances)
    if unknown.any():
        query = int(np.searchsorted(data.offsets, np.argmax(unknown), side="right")) - 1
        raise DataError(
            f"The policy of query {plain(data.query_ids[query])!r} is no lottery: rankings or probabilities are "
            "missing, so nobody knows who is selected. Check the policies with verify first."
        )
    return np.clip(chances, 0.0, 1.0)
