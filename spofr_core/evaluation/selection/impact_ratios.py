"""Rates of categories with their intervals, and their ratios to the highest rate as a rule wants them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spofr_core.evaluation.intervals import CONFIDENCE, Interval, RatiosOfSums, wilson_many
from spofr_core.evaluation.selection.selection_rule import FOUR_FIFTHS, SelectionRule
from spofr_core.fairness import TOLERANCE, mean_range

FloatArray = NDArray[np.float64]

FEWEST_LISTS = 10
"""In fewer lists than this nothing is said to be more than chance shows: intervals over so few lists are too short."""
FEWEST = 5
"""With fewer items selected, or not selected, a bootstrap interval is too short."""

HIGHEST = "highest rate"
SURELY_BELOW = "below, and more than chance shows"
BELOW = "below in this sample"
NOT_BELOW = "not below"
SMALL = "too small to be compared"
ALONE = "nobody to compare with"
NOBODY = "nobody is selected"


class CategoryRates:
    """Selection rate of each category, (sum over lists of the selected) / (sum over lists of the items).

    The intervals resample whole lists, not items. Who is selected from a list depends on who else is in it: exactly k
    are, whoever they are, and what a list is about moves all of its items together. Items are therefore no independent
    draws, as a Wilson interval would take them to be, and it would be too short or too long by an unknown amount.
    Where fewer than `FEWEST` of a category are selected, or are not, resampling shows too little spread, and none at
    all where nobody is: there a Wilson interval counts each list as one draw, which is cautious, because it is what
    remains if the items of a list always go together.

    Parameters
    ----------
    selected, items : (Q, K) float
        Of each list and category.
    seed : int
        Of the resampling.
    unknown : (U,) float, optional
        How probably items are selected that may be of any category.
    """

    def __init__(
        self, selected: FloatArray, items: FloatArray, *, seed: int, unknown: FloatArray | None = None
    ) -> None:
        self._unknown = np.zeros(0) if unknown is None else unknown
        self.selected, self.items = selected.sum(axis=0), items.sum(axis=0)
        self.lists = np.count_nonzero(items, axis=0)
        self._ratios = RatiosOfSums(selected, items, seed=seed)
        self.values = self._ratios.values
        self._few = np.minimum(self.selected, self.items - self.selected) < FEWEST - TOLERANCE

    def interval(self, k: int, *, confidence: float = CONFIDENCE) -> Interval | None:
        """Of the rate of category k; None in fewer than two lists."""
        if self.lists[k] < 2:
            return None
        if self._few[k]:
            lists = int(self.lists[k])
            low, high = wilson_many(np.array([self.values[k] * lists]), lists, confidence=confidence)
            return float(low[0]), float(high[0])
        found = self._ratios.interval(k, confidence=confidence)
        return None if found is None else (max(found[0], 0.0), min(found[1], 1.0))

    def range(self, k: int) -> Interval | None:
        """Least and most that the rate of category k can be, whatever the unknown categories are; None without them."""
        if not len(self._unknown):
            return None
        ones = np.ones(len(self._unknown))
        return mean_range(float(self.selected[k]), float(self.items[k]), self._unknown, ones)

    def ratio_interval(self, k: int, highest: int, *, confidence: float) -> Interval | None:
        """Of the rate of k over that of another category.

        Where few of one of them are selected, the two intervals of the rates, each with half of the error, bound it.
        """
        if min(self.lists[k], self.lists[highest]) < 2 or not self.values[highest] > 0:
            return None
        if not (self._few[k] or self._few[highest]):
            found = self._ratios.quotient_interval(k, highest, confidence=confidence)
            return None if found is None else (max(found[0], 0.0), found[1])
        both = 1 - (1 - confidence) / 2
        mine, other = self.interval(k, confidence=both), self.interval(highest, confidence=both)
        if mine is None or other is None or not other[0] > 0:
            return None
        return mine[0] / other[1], mine[1] / other[0]


@dataclass(frozen=True, kw_only=True)
class CategoryRow:
    """What a rule says about one category.

    Attributes
    ----------
    items, lists : int
        Items of the category, and the lists that they are in.
    share : float
        Of all items whose category is known.
    selected, rate : float
        Expected number of selected items, and the same over `items`.
    rate_ci : pair of float, optional
        95 % interval of the rate, over lists.
    counts : bool
        Whether the category is large enough for its rate to be the highest one.
    impact_ratio : float, optional
        Rate over the highest rate; None where the rule computes none.
    ratio_ci : pair of float, optional
        95 % interval, which allows for the highest category having been picked among those that count.
    below : bool, optional
        Whether the ratio is less than four fifths; None where nothing is marked.
    sure : bool
        Whether the whole interval lies below, over `FEWEST_LISTS` lists or more.
    verdict : str
        Both in words.
    rate_range : pair of float, optional
        Least and most that the rate can be, whatever the categories of items are that are not known.
    """

    category: str
    items: int
    lists: int
    share: float
    selected: float
    rate: float
    rate_ci: Interval | None
    counts: bool
    impact_ratio: float | None
    ratio_ci: Interval | None
    below: bool | None
    sure: bool
    verdict: str
    rate_range: Interval | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain; intervals are lists, and where every category is known there is no range."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in ((name, getattr(self, name)) for name in self.__dataclass_fields__)
            if (name, value) != ("rate_range", None)
        }


def judge_rates(names: tuple[str, ...], rates: CategoryRates, rule: SelectionRule) -> list[CategoryRow]:
    """A row for each category that has items, in the order of the names.

    The impact ratio is rate_k / max over the categories j that count of rate_j. The highest category is the one of the
    sample, and with m that count it was picked among m - 1 rivals of each; so the interval of a ratio is taken at a
    confidence of 1 - 0.05 / (m - 1).
    """
    there = np.flatnonzero(rates.items > 0)
    shares = rates.items / max(rates.items.sum(), 1.0)
    counts = (shares >= rule.smallest_share - TOLERANCE) & (rates.items > 0)
    rivals = np.flatnonzero(counts)
    highest = int(rivals[np.argmax(rates.values[rivals])]) if len(rivals) else None
    confidence = 1 - (1 - CONFIDENCE) / max(len(rivals) - 1, 1)
    rows = []
    for k in there.tolist():
        ratio = _ratio(rates, k, highest) if counts[k] or rule.ratio_of_small else None
        interval, few = None, True
        if highest is not None and k != highest and ratio is not None:
            interval = rates.ratio_interval(k, highest, confidence=confidence)
            few = min(rates.lists[k], rates.lists[highest]) < FEWEST_LISTS
        alone, first = len(rivals) < 2, k == highest
        verdict = _verdict(ratio, interval, counts=bool(counts[k]), alone=alone, first=first, few=few)
        rows.append(
            CategoryRow(
                category=names[k],
                items=int(rates.items[k]),
                lists=int(rates.lists[k]),
                share=float(shares[k]),
                selected=float(rates.selected[k]),
                rate=float(rates.values[k]),
                rate_ci=rates.interval(k),
                counts=bool(counts[k]),
                impact_ratio=ratio,
                ratio_ci=interval,
                below=None if verdict not in (SURELY_BELOW, BELOW, NOT_BELOW) else verdict != NOT_BELOW,
                sure=verdict == SURELY_BELOW,
                verdict=verdict,
                rate_range=rates.range(k),
            )
        )
    return rows


def _ratio(rates: CategoryRates, k: int, highest: int | None) -> float | None:
    if highest is None or not rates.values[highest] > 0:
        return None
    return float(rates.values[k] / rates.values[highest])


def _verdict(
    ratio: float | None, interval: Interval | None, *, counts: bool, alone: bool, first: bool, few: bool
) -> str:
    if not counts:
        return SMALL
    if alone:
        return ALONE
    if ratio is None:
        return NOBODY
    if first:
        return HIGHEST
    if ratio >= FOUR_FIFTHS - TOLERANCE:
        return NOT_BELOW
    sure = interval is not None and interval[1] < FOUR_FIFTHS and not few
    return SURELY_BELOW if sure else BELOW
