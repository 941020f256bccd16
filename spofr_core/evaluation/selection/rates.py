"""`selection_rates`: who is selected from each list, and how the rates of categories compare under named rules.

Schema 1 of `SelectionRates.summary` (JSON types; null where a number does not exist):

- ``kind``: "top", "threshold" or "scoring"; ``k``, ``threshold``, ``median`` (of all scores, for "scoring"): how items
  are selected; ``expected``: whether a lottery's probabilities were summed
- ``items``, ``selected`` (expected), ``lists``: of everything; ``short_lists``: with k items or fewer, where everybody
  is selected; ``one_group_lists``: with items of a single group; ``unknown``: items whose category is not known, in the
  data or left out of it
- ``rules``: per rule name, title, source, text, small, not_said, and ``tables``: title, crossing, highest (category)
  and ``categories``, the rows of `CategoryRow`
  (with rate_range, [least, most] of the rate whatever the unknown categories of items are, only where some are)
- ``notes``: sentences; ``not_said``: what no such number says, whatever the rule
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from spofr_core.config import checked_seed
from spofr_core.data import GroupSpec, RankingDataset, write_csv
from spofr_core.data.reading.assemble import without_a_group
from spofr_core.errors import ConfigError, DataError
from spofr_core.evaluation.selection import RULES, SelectionRule
from spofr_core.evaluation.selection.category_tables import Categories, category_tables
from spofr_core.evaluation.selection.impact_ratios import (
    FEWEST_LISTS,
    HIGHEST,
    CategoryRates,
    CategoryRow,
    judge_rates,
)
from spofr_core.evaluation.selection.selected import Counts, Selection, median_score, selection_dict
from spofr_core.policy import RankingPolicies

SCHEMA = 1
NOT_SAID = (
    "A rate counts who is selected, not who should have been: it says nothing about who is qualified.",
    "It says nothing about exposure or delta: lists can hold delta and fall below four fifths, or the other way round.",
    "It is an expectation where there is a lottery, and says nothing about a single draw, which selects whole items.",
    "It does not say why: where k are selected from each list, items in longer lists are selected less often, whatever "
    "their group. An item that stands in several lists is counted in each of them.",
    "It is no legal advice: whether a rule applies to this use, and what follows from it, is for a lawyer to say.",
)
"""What no selection rate says."""


@dataclass(frozen=True, eq=False)
class RuleTable:
    """The categories of one table as one rule judges them."""

    rule: SelectionRule
    title: str
    crossing: bool
    rows: tuple[CategoryRow, ...]

    @property
    def highest(self) -> str | None:
        """The category that the others are compared with."""
        return next((row.category for row in self.rows if row.verdict == HIGHEST), None)


@dataclass(frozen=True, eq=False, kw_only=True)
class SelectionRates:
    """Selection rates and impact ratios.

    Attributes
    ----------
    selection : Selection
        How items are selected.
    counts : Counts
        Selected and all items of each list and group.
    group_names : tuple of str
    group_spec : GroupSpec, optional
        How the groups were made: those that cross columns are compared column by column too.
    rules : tuple of SelectionRule
        Those that speak of this kind of selection.
    median : float, optional
        Of all scores, where who scores above it is selected.
    expected : bool
        Whether policies were given, whose probabilities are summed.
    left_out : int
        Items of no category, in their places or left out of the data, because their group is missing.
    seed : int
        Of the intervals.
    """

    selection: Selection
    counts: Counts
    group_names: tuple[str, ...]
    group_spec: GroupSpec | None
    rules: tuple[SelectionRule, ...]
    median: float | None = None
    expected: bool = False
    left_out: int = 0
    seed: int = 0

    @cached_property
    def tables(self) -> tuple[RuleTable, ...]:
        """Every table under every rule, rule by rule; where columns are crossed, each column alone comes first."""
        categories, _ = self._categories
        rates = [self._rates(table) for table in categories]
        return tuple(
            RuleTable(rule, table.title, table.crossing, tuple(judge_rates(table.names, found, rule)))
            for rule in self.rules
            for table, found in zip(categories, rates, strict=True)
        )

    @cached_property
    def frame(self) -> pd.DataFrame:
        """A row per rule, table and category: the fields of `CategoryRow`, intervals as two columns each."""
        rows = []
        for table in self.tables:
            for row in table.rows:
                found = row.to_dict()
                ends = {"rate_ci": ("rate_low", "rate_high"), "ratio_ci": ("ratio_low", "ratio_high")}
                for name, columns in (ends | {"rate_range": ("rate_least", "rate_most")}).items():
                    if name in found:
                        place, pair = list(found).index(name), found.pop(name) or (None, None)
                        cells = list(found.items())
                        cells[place:place] = zip(columns, pair, strict=True)
                        found = dict(cells)
                rows.append({"rule": table.rule.name, "table": table.title, **found})
        frame = pd.DataFrame(rows)
        numbers = ("rate_low", "rate_high", "impact_ratio", "ratio_low", "ratio_high")
        return frame.astype(dict.fromkeys(numbers, "float64")) if len(frame) else frame

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Plain, JSON-able dict; its schema stands at the top of this module."""
        return {
            "schema": SCHEMA,
            **selection_dict(self.selection, self.median),
            "expected": self.expected,
            "items": int(self.counts.items.sum()),
            "selected": float(self.counts.selected.sum()),
            "lists": len(self.counts.items),
            "short_lists": self.short_lists,
            "one_group_lists": self.one_group_lists,
            "unknown": self.unknown,
            "rules": [self._rule_dict(rule) for rule in self.rules],
            "notes": list(self.notes),
            "not_said": list(NOT_SAID),
        }

    @property
    def short_lists(self) -> int:
        """Lists of k items or fewer: everybody in them is selected."""
        if self.selection.k is None:
            return 0
        return int(np.sum(self.counts.lengths <= self.selection.k))

    @property
    def one_group_lists(self) -> int:
        """Lists with items of a single group, in which nobody competes with another group."""
        return int(np.sum(np.count_nonzero(self.counts.items, axis=1) == 1))

    @property
    def unknown(self) -> int:
        """Items whose category is not known: those in the data, and those that were left out of it."""
        categories, _ = self._categories
        nowhere = categories[-1].codes < 0
        return int(self.counts.items[:, nowhere].sum()) + self.left_out

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know about the counts."""
        lists, (_, found) = len(self.counts.items), self._categories
        notes = list(found)
        if self.short_lists == lists:
            notes.append(f"No list has more than {self.selection.k} items, so everybody is selected: k says nothing.")
        elif self.short_lists:
            notes.append(
                f"{self.short_lists:,} of {lists:,} lists have {self.selection.k} items or fewer: everybody in them is "
                "selected, and counted."
            )
        if self.one_group_lists:
            notes.append(
                f"{self.one_group_lists:,} of {lists:,} lists have items of a single group, so that nobody competes "
                "with another group there; they are counted in the rates."
            )
        if self.unknown:
            ranged = " Each rate has a range: what it could be if they were." if len(self.counts.unknown) else ""
            notes.append(f"{self.unknown:,} items of an unknown category are not compared.{ranged}")
        if lists < FEWEST_LISTS:
            notes.append(
                f"There are only {lists:,} lists: intervals over fewer than {FEWEST_LISTS} are too short, and nothing "
                "is said to be more than chance shows."
            )
        if self.selection.k is None and self.counts.scores[1] == -1:
            notes.append(
                "The scores look like ranks, which are kept with a minus sign: the same rank is a high one in a long "
                "list and a low one in a short list."
            )
        if self.expected:
            notes.append(
                "Of a lottery, the selected are expected numbers: a single draw selects whole items, and may select "
                "others."
            )
        return tuple(notes)

    def to_csv(self, path: str | Path) -> None:
        """The frame as CSV; cells that a spreadsheet would run as a formula are neutralised."""
        write_csv(self.frame, path)

    def __repr__(self) -> str:
        return (
            f"SelectionRates({self.selection!r}: {self.counts.selected.sum():,.6g} of {self.counts.items.sum():,.0f} "
            f"items selected, rules {[rule.name for rule in self.rules]})"
        )

    @cached_property
    def _categories(self) -> tuple[list[Categories], list[str]]:
        return category_tables(self.group_names, self.group_spec)

    def _rates(self, table: Categories) -> CategoryRates:
        selected, items = table.sums(self.counts.selected), table.sums(self.counts.items)
        return CategoryRates(selected, items, seed=self.seed, unknown=self.counts.unknown)

    def _rule_dict(self, rule: SelectionRule) -> dict[str, Any]:
        tables = [
            {
                "title": table.title,
                "crossing": table.crossing,
                "highest": table.highest,
                "categories": [row.to_dict() for row in table.rows],
            }
            for table in self.tables
            if table.rule is rule
        ]
        declared = {name: getattr(rule, name) for name in ("name", "title", "source", "text", "small")}
        return declared | {"not_said": list(rule.not_said), "tables": tables}


def selection_rates(
    data: RankingDataset,
    *,
    k: int | None = None,
    threshold: float | None = None,
    policies: RankingPolicies | None = None,
    rules: Sequence[str | SelectionRule] | None = None,
    seed: int = 0,
) -> SelectionRates:
    """Selection rate of each group, and its impact ratio under the rules that ask for it.

    Parameters
    ----------
    data : RankingDataset
        With a score (or rank) column, unless `policies` are given. Groups that cross columns are compared for each
        column alone as well.
    k : int, optional
        The first k of each list are selected; items with equal scores share their chance.
    threshold : float, optional
        Items with this score or more are selected instead. With neither, those that score above the median of all
        items: the scoring rate of Local Law 144.
    policies : Policies, optional
        Lotteries over rankings of the same lists: an item is selected with the probability that it stands among the
        first k.
    rules : sequence of str or SelectionRule, optional
        Names in `RULES`, or rules of one's own; all that speak of this kind of selection where nothing is said.
    seed : int, default 0
        Of the bootstrap intervals.

    Raises
    ------
    ConfigError
        For k and threshold at once, and for policies without k.
    DataError
        When there is nothing to select by, or nobody is selected.

    Examples
    --------
    >>> from spofr_core import load_sample
    >>> rates = selection_rates(load_sample("hiring").test, k=5, rules=["four-fifths"])
    >>> [(row.category, round(row.rate, 3), row.verdict) for row in rates.tables[0].rows]
    [('female', 0.174, 'below, and more than chance shows'), ('male', 0.288, 'highest rate')]
    """
    RankingDataset.require(data)
    selection = Selection(k=k, threshold=threshold)
    counts = Counts.of(data, selection.chances(data, policies))
    return rates_of(
        selection,
        counts,
        group_names=data.group_names,
        group_spec=data.group_spec,
        rules=rules,
        median=median_score(data) if selection.kind == "scoring" else None,
        expected=policies is not None,
        left_out=without_a_group(data),
        seed=seed,
    )


def rates_of(
    selection: Selection, counts: Counts, *, rules: Sequence[str | SelectionRule] | None, seed: int, **about: Any
) -> SelectionRates:
    """Rates of what has been counted; `about` are the other attributes of `SelectionRates`.

    Raises
    ------
    ConfigError
        For a rule that there is not, and where no rule speaks of this kind of selection.
    DataError
        When nobody is selected.
    """
    named = RULES.names if rules is None else rules
    asked = [rule if isinstance(rule, SelectionRule) else RULES[rule] for rule in named]
    spoken = tuple(rule for rule in asked if selection.kind in rule.kinds)
    if not spoken:
        raise ConfigError(
            f"None of the rules {[rule.name for rule in asked]} speaks of a selection by {selection.words}; take "
            "another rule, or select by k or by a threshold."
        )
    if not counts.selected.sum() + counts.rest[:, 0].sum() > 0:
        low, high = counts.scores
        raise DataError(
            f"Nobody is selected by {selection.words}: the scores run from {low:g} to {high:g} (ranks are kept with a "
            "minus sign). Give a lower threshold, or k.",
            column="score",
        )
    return SelectionRates(selection=selection, counts=counts, rules=spoken, seed=checked_seed(seed), **about)
