"""Who gets the exposure in each slice: every group's relative exposure, and the ratio of the lowest to the highest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spofr_core.evaluation.intervals import CONFIDENCE
from spofr_core.evaluation.query_table import FloatArray, QueryTable
from spofr_core.evaluation.slicing.crossing import Crossing, cross
from spofr_core.evaluation.slicing.slices import checked_confidence, known, pair
from spofr_core.evaluation.slicing.spreads import student_quantile
from spofr_core.evaluation.summary import SmallGroups


@dataclass(frozen=True, eq=False)
class SlicedExposure:
    """Relative exposure of groups by slices.

    A group's relative exposure in a slice is r = sum_q a_q / sum_q b_q over its lists with two groups or more: a_q is
    the exposure of its items in list q, b_q what they would get if each item had its list's mean. To first order list q
    moves r by p_q = (a_q - r b_q) / sum b, and the ratio r_g / r_h by (p_q,g - (r_g / r_h) p_q,h) / r_h. The standard
    error is the root of n / (n - 1) sum_q of the squares, the interval Student's t with n - 1 degrees of freedom over
    the n lists; Bonferroni over all groups of all slices that are not small, and for ratios over all pairs of these.
    """

    table: QueryTable
    crossing: Crossing
    small: SmallGroups
    confidence: float = CONFIDENCE

    @cached_property
    def _codes(self) -> NDArray[np.int64]:
        """The slice of each list with two groups or more."""
        return self.crossing.codes[self.table.applicable]

    @cached_property
    def _found(self) -> _Found:
        table, lists, codes = self.table, self.table.applicable, self._codes
        sizes = table.sizes[lists].astype(np.float64)
        exposure = np.where(sizes > 0, sizes * np.nan_to_num(table.exposure[lists]), 0.0)
        due = sizes * table.list_exposure[lists][:, None]
        total = self._summed(due)
        with np.errstate(invalid="ignore", divide="ignore"):
            relative = np.where(total > 0, self._summed(exposure) / total, np.nan)
            pulls = np.nan_to_num((exposure - relative[codes] * due) / total[codes])
        return _Found(self._summed(sizes), self._summed((sizes > 0).astype(np.float64)), relative, pulls)

    def _summed(self, values: FloatArray) -> FloatArray:
        """Sums over the lists of each slice."""
        sums = np.zeros((len(self.crossing), *values.shape[1:]))
        np.add.at(sums, self._codes, values)
        return sums

    @cached_property
    def is_small(self) -> NDArray[np.bool_]:
        """(K, G): groups with too few items or lists in a slice."""
        items, lists = self._found.items, self._found.lists
        return np.asarray((items < self.small.items) | (lists < max(self.small.lists, 2)))

    @cached_property
    def _halves(self) -> FloatArray:
        """(K, G): half the width of each interval; NaN for small groups."""
        compared, lists = ~self.is_small, self._found.lists
        half = self._half(self._summed(self._found.pulls**2), lists, int(compared.sum()))
        return np.where(compared, half, np.nan)

    def _half(self, squares: FloatArray, lists: FloatArray, compared: int) -> FloatArray:
        level = 1 - (1 - self.confidence) / max(compared, 1)
        spare = np.maximum(lists - 1, 1)
        return student_quantile(level, spare) * np.sqrt(squares * lists / spare)

    @cached_property
    def groups(self) -> pd.DataFrame:
        """A row per slice and group in it: slice, group, items, lists, relative, lower, upper, small."""
        found = self._found
        places, group = np.nonzero(found.lists > 0)
        relative, half = found.relative[places, group], self._halves[places, group]
        columns = {
            "slice": np.array(self.crossing.labels, dtype=object)[places],
            "group": np.array(self.table.group_names, dtype=object)[group],
            "items": found.items[places, group].astype(np.int64),
            "lists": found.lists[places, group].astype(np.int64),
            "relative": relative,
            "lower": np.maximum(relative - half, 0.0),
            "upper": relative + half,
            "small": self.is_small[places, group],
        }
        return pd.DataFrame(columns)

    @cached_property
    def ratios(self) -> pd.DataFrame:
        """A row per slice: slice, lowest and highest of the groups that are not small, ratio, lower, upper.

        None and NaN where fewer than two groups are large enough, or none gets any exposure.
        """
        relative = np.where(self.is_small, np.nan, self._found.relative)
        large = np.count_nonzero(~np.isnan(relative), axis=1)
        low = np.where(np.isnan(relative), np.inf, relative).argmin(axis=1)
        high = np.where(np.isnan(relative), -np.inf, relative).argmax(axis=1)
        last = relative.shape[1] - 1 - np.argmax(~np.isnan(relative[:, ::-1]), axis=1)
        high = np.where(low == high, last, high)  # where all get the same, no group is compared with itself
        slices = np.arange(len(relative))
        top = np.where((large >= 2) & (relative[slices, high] > 0), relative[slices, high], np.nan)
        ratio = relative[slices, low] / top
        rows = np.arange(len(self._codes))
        lowest, highest = (self._found.pulls[rows, pick[self._codes]] for pick in (low, high))
        with np.errstate(invalid="ignore"):
            squares = self._summed(((lowest - ratio[self._codes] * highest) / top[self._codes]) ** 2)
        lists = np.minimum(self._found.lists[slices, low], self._found.lists[slices, high])
        half = self._half(squares, lists, int((large * (large - 1) // 2).sum()))
        names = np.array(self.table.group_names, dtype=object)
        columns = {
            "slice": self.crossing.labels,
            "lowest": pd.Series(np.where(np.isnan(ratio), None, names[low]), dtype=object),  # None stays None
            "highest": pd.Series(np.where(np.isnan(ratio), None, names[high]), dtype=object),
            "ratio": ratio,
            "lower": np.maximum(ratio - half, 0.0),
            "upper": ratio + half,
        }
        return pd.DataFrame(columns)

    @cached_property
    def summary(self) -> list[dict[str, Any]]:
        """Per slice, plain: slice, values, lowest, highest, ratio, ci, groups.

        The groups are {name: {items, lists, relative, ci, small}}.
        """
        rows = self.ratios.to_dict("records")
        return [
            {
                "slice": row["slice"],
                "values": self.crossing.chosen(place),
                "lowest": row["lowest"],
                "highest": row["highest"],
                "ratio": known(row["ratio"]),
                "ci": pair(row["lower"], row["upper"]),
                "groups": self._groups_of(place),
            }
            for place, row in enumerate(rows)
        ]

    def _groups_of(self, place: int) -> dict[str, dict[str, Any]]:
        found = self._found
        return {
            self.table.group_names[group]: {
                "items": int(found.items[place, group]),
                "lists": int(found.lists[place, group]),
                "relative": known(found.relative[place, group]),
                "ci": _around(found.relative[place, group], self._halves[place, group]),
                "small": bool(self.is_small[place, group]),
            }
            for group in np.flatnonzero(found.lists[place]).tolist()
        }


@dataclass(frozen=True, eq=False)
class _Found:
    """(K, G) items, lists and relative exposure; (Q, G) by how much each list moves the latter."""

    items: FloatArray
    lists: FloatArray
    relative: FloatArray
    pulls: FloatArray


def _around(centre: float, half: float) -> list[float] | None:
    return pair(max(centre - half, 0.0), centre + half) if np.isfinite(half) else None


def sliced_exposure(
    table: QueryTable,
    by: str | Sequence[str],
    *,
    small: SmallGroups | None = None,
    confidence: float = CONFIDENCE,
) -> SlicedExposure:
    """Every group's exposure, relative to that of its lists, in each slice of the queries.

    Parameters
    ----------
    table : QueryTable
        `AuditResult.table`.
    by : str or sequence of str
        An attribute of the queries, or several to cross.
    small : SmallGroups, optional
        Groups with fewer items or lists in a slice are listed there and not compared.
    confidence : float
        With which all intervals hold at once.
    """
    return SlicedExposure(table, cross(table.attributes, by), small or SmallGroups(), checked_confidence(confidence))
