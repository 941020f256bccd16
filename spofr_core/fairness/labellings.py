"""What the groups of items could be where they are not known, and what that does to exposures and violations.

A labelling gives every unknown item of a list one of the dataset's groups, also one that no known item of the list is
of. One that leaves a single group in the list says nothing about it, as a list with a single group does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from spofr_core.fairness.composition import Composition
from spofr_core.fairness.exposure import FloatArray
from spofr_core.fairness.feasibility import largest_delta, rounding_of_violations

if TYPE_CHECKING:
    from spofr_core.fairness.fairness import Fairness

BoolArray = NDArray[np.bool_]

MOST_LABELLINGS = 100_000
"""A list is gone through labelling by labelling where there are no more of them than this."""
_CELLS = 2_000_000
"""Numbers that are held at a time while labellings are gone through."""


def largest_first(values: FloatArray, chosen: BoolArray, offsets: NDArray[np.int64]) -> NDArray[np.object_]:
    """(Q,): of each list the chosen values, the largest first, as an array.

    Parameters
    ----------
    values : (N,) float
    chosen : (N,) bool
    offsets : (Q + 1,) int
        List q is `offsets[q]:offsets[q + 1]`.
    """
    lists = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))[chosen]
    kept = values[chosen]
    kept = kept[np.lexsort((-kept, lists))]
    ends = np.cumsum(np.bincount(lists, minlength=len(offsets) - 1))
    arrays = np.empty(len(offsets) - 1, dtype=object)
    for q, (start, end) in enumerate(zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)):
        arrays[q] = kept[start:end]
    return arrays


def mean_range(total: float, weight: float, values: FloatArray, weights: FloatArray) -> tuple[float, float]:
    """Smallest and largest (total + sum_S values) / (weight + sum_S weights) over all sets S of items; NaN without one.

    At the best ratio r an item belongs to S where value - r weight is above 0, so S is a prefix of the items in the
    order of value / weight. Weights are above 0, and with all of them 1 it is a mean.
    """
    order = np.argsort(values / weights) if len(values) else np.zeros(0, dtype=np.int64)
    ends = []
    for way in (order, order[::-1]):
        above = total + np.concatenate([[0.0], np.cumsum(values[way])])
        below = weight + np.concatenate([[0.0], np.cumsum(weights[way])])
        means = above[below > 0] / below[below > 0]
        ends.append(means)
    return (float(ends[0].min()), float(ends[1].max())) if len(ends[0]) else (np.nan, np.nan)


@dataclass(frozen=True, eq=False)
class Labellings:
    """Lists with what is known of their groups, and the exposures of the items whose group is not known.

    Attributes
    ----------
    composition : Composition
        Of the items whose group is known.
    exposure : (Q, G) float
        Mean exposure of these; NaN where the group has none.
    unknown : (Q,) object
        Exposures of the others, the largest first, an array for each list.
    """

    composition: Composition
    exposure: FloatArray
    unknown: NDArray[np.object_]

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """(Q,): unknown items."""
        return np.fromiter(map(len, self.unknown), dtype=np.int64, count=len(self.unknown))

    @cached_property
    def totals(self) -> FloatArray:
        """(Q, G): summed exposure of the known items."""
        return np.asarray(np.where(self.composition.present, self.exposure, 0.0) * self.composition.sizes)

    @cached_property
    def applicable(self) -> BoolArray:
        """(Q,): whether some labelling leaves two groups or more."""
        known = self.composition.present.sum(axis=1)
        several = len(self.composition.group_names) > 1
        return np.asarray((known >= 2) | (several & (np.minimum(known, 1) + self.counts >= 2)))

    @cached_property
    def least(self) -> Composition:
        """The fewest items that each group can have where it has any."""
        sizes = self.composition.sizes
        sizes = np.where((self.counts > 0)[:, None], np.maximum(sizes, 1), sizes)
        return Composition(sizes, self.composition.group_names, self.composition.lengths - sizes.sum(axis=1))

    @cached_property
    def ranges(self) -> tuple[FloatArray, FloatArray]:
        """(Q, G) twice: smallest and largest mean exposure that each group has in a labelling with two groups or more.

        The largest mean takes the largest k of the unknown exposures, for the best k; the smallest the k smallest.
        NaN where the group cannot be in the list, or no labelling has two groups.
        """
        sizes, totals, counts = self.composition.sizes, self.totals, self.counts
        # All unknown items may be of the group only where another group has a known item.
        others = self.composition.grouped[:, None] > sizes
        most = np.where(others, counts[:, None], counts[:, None] - 1)
        low, high = (np.where(self.composition.present, self.exposure, end) for end in (np.inf, -np.inf))
        sums, lows = np.zeros((2, len(counts)))
        longest = np.argsort(-counts, kind="stable")
        padded = self._padded(longest)
        for k in range(1, int(counts.max(initial=0)) + 1):
            rows = longest[: int(np.sum(counts >= k))]
            sums[rows] += padded[: len(rows), k - 1]
            lows[rows] += padded[np.arange(len(rows)), counts[rows] - k]
            allowed = k <= most[rows]
            for end, added, better in ((low, lows, np.minimum), (high, sums, np.maximum)):
                means = (totals[rows] + added[rows, None]) / (sizes[rows] + k)
                end[rows] = np.where(allowed, better(end[rows], means), end[rows])
        none = ~np.isfinite(low) | ~self.applicable[:, None]
        return np.where(none, np.nan, low), np.where(none, np.nan, high)

    def excess(self, fairness: Fairness, deltas: Any = 0.0) -> tuple[FloatArray, FloatArray]:
        """(Q,) twice: by how much the group furthest off exceeds its delta, least and most over the labellings.

        Negative where it stays below; what floating point adds is not counted. A list holds delta whatever its groups
        are where the most is 0 or less, and breaks it whatever they are where the least is above 0. Where the notion's
        bounds hang on the length of a list alone, the most is exact and the least is too where the labellings can be
        gone through; beyond that it is what the groups cannot be below one by one. For other notions nothing is known
        beyond it: the ends are -inf and inf. Lists that no labelling can judge have NaN.

        Parameters
        ----------
        fairness : Fairness
            Its delta plays no part.
        deltas : float or (G,) float
        """
        least, most = np.full(len(self.counts), -np.inf), np.full(len(self.counts), np.inf)
        if fairness.rule.bounds_by_length:
            terms = fairness.terms(self.least)
            ends = [np.abs(terms.scale * end - terms.target) for end in self.ranges]
            across = np.logical_xor(*(terms.scale * end > terms.target for end in self.ranges))
            # A group without a known item need not be in the list, and then asks for nothing.
            nearest = np.where(self.composition.present, np.where(across, 0.0, np.minimum(*ends)), np.nan)
            rounding = rounding_of_violations(fairness, terms)
            least, most = (
                np.where(np.isnan(off), -np.inf, off - deltas).max(axis=1, initial=-np.inf)
                for off in (nearest, np.maximum(*ends))
            )
            of_each = np.ascontiguousarray(np.broadcast_to(deltas, terms.scale.shape), dtype=np.float64)
            starts, flat = np.concatenate([[0], np.cumsum(self.counts)]), np.concatenate([np.zeros(0), *self.unknown])
            known = np.ascontiguousarray(self.composition.sizes), np.ascontiguousarray(self.totals)
            asked = np.ascontiguousarray(terms.scale), np.ascontiguousarray(terms.target), of_each
            least = np.maximum(least, _least_excess(*known, flat, starts, *asked, MOST_LABELLINGS)) - rounding
            return np.where(self.applicable, least, np.nan), np.where(self.applicable, most - rounding, np.nan)
        for rows, composition, exposure in self._enumerated():
            terms = fairness.terms(composition)
            off = np.abs(np.where(composition.present, terms.scale * exposure - terms.target, np.nan))
            beyond = np.where(np.isnan(off), -np.inf, off - deltas).max(axis=1)
            beyond -= rounding_of_violations(fairness, terms)
            beyond, counts = beyond.reshape(len(rows), -1), composition.applicable.reshape(len(rows), -1)
            least[rows] = np.where(counts, beyond, np.inf).min(axis=1)
            most[rows] = np.where(counts, beyond, -np.inf).max(axis=1)
        return np.where(self.applicable, least, np.nan), np.where(self.applicable, most, np.nan)

    def largest_delta(self, fairness: Fairness) -> FloatArray:
        """(Q,): the delta that no ranking of the list breaks, whatever the groups are; inf where that is not known."""
        if fairness.rule.bounds_by_length:
            # A group moves furthest where it has the fewest items.
            return np.where(self.applicable, largest_delta(fairness, fairness.terms(self.least)), 0.0)
        largest = np.where(
            self.applicable & (self.counts > 0), np.inf, largest_delta(fairness, fairness.terms(self.composition))
        )
        for rows, composition, _ in self._enumerated():
            reach = largest_delta(fairness, fairness.terms(composition))
            largest[rows] = reach.reshape(len(rows), -1).max(axis=1)
        return largest

    def _padded(self, rows: NDArray[np.int64]) -> FloatArray:
        """The unknown exposures of these lists, filled up with 0."""
        padded = np.zeros((len(rows), int(self.counts[rows].max(initial=0))))
        filled = np.arange(padded.shape[1]) < self.counts[rows, None]
        if filled.any():
            padded[filled] = np.concatenate(self.unknown[rows].tolist())
        return padded

    def _enumerated(self) -> Iterator[tuple[NDArray[np.int64], Composition, FloatArray]]:
        """Lists with all their labellings: rows, and (rows x labellings) compositions with their mean exposures."""
        n_groups = len(self.composition.group_names)
        for count in np.unique(self.counts[self.applicable & (self.counts > 0)]).tolist():
            if n_groups**count > MOST_LABELLINGS:
                return
            labels = np.stack(np.unravel_index(np.arange(n_groups**count), (n_groups,) * count), axis=1)
            chosen = labels[:, :, None] == np.arange(n_groups)  # (labellings, unknown, groups)
            lists = np.flatnonzero(self.applicable & (self.counts == count))
            for part in np.array_split(lists, -(-len(lists) * len(labels) * n_groups // _CELLS)):
                sums = np.einsum("qu,lug->qlg", self._padded(part), chosen.astype(np.float64), optimize=True)
                sizes = (self.composition.sizes[part, None, :] + chosen.sum(axis=1)).reshape(-1, n_groups)
                totals = (self.totals[part, None, :] + sums).reshape(-1, n_groups)
                lengths = np.repeat(self.composition.lengths[part], len(labels))
                made = Composition(sizes, self.composition.group_names, lengths - sizes.sum(axis=1))
                yield part, made, totals / np.maximum(sizes, 1)


@njit(parallel=True, cache=True)
def _least_excess(
    sizes: NDArray[np.int64],
    totals: FloatArray,
    unknown: FloatArray,
    starts: NDArray[np.int64],
    scale: FloatArray,
    target: FloatArray,
    deltas: FloatArray,
    limit: int,
) -> FloatArray:  # pragma: no cover
    """(Q,): least excess over all labellings with two groups or more; -inf where there are more than `limit`.

    Labels count up like the digits of a number, so that about two items change sides from one labelling to the next.
    """
    n_groups = sizes.shape[1]
    least = np.full(len(sizes), -np.inf)
    for q in prange(len(sizes)):
        count = starts[q + 1] - starts[q]
        if float(n_groups) ** count > limit:
            continue
        items, sums, labels = sizes[q].copy(), totals[q].copy(), np.zeros(count, dtype=np.int64)
        items[0] += count
        sums[0] += unknown[starts[q] : starts[q + 1]].sum()
        best = np.inf
        while True:
            present, furthest = 0, -np.inf
            for g in range(n_groups):
                if items[g] > 0:
                    present += 1
                    off = abs(scale[q, g] * sums[g] / items[g] - target[q, g]) - deltas[q, g]
                    furthest = max(furthest, off)
            if present > 1:
                best = min(best, furthest)
            digit = 0
            while digit < count:
                value, old = unknown[starts[q] + digit], labels[digit]
                new = old + 1 if old + 1 < n_groups else 0
                items[old] -= 1
                items[new] += 1
                sums[old] -= value
                sums[new] += value
                labels[digit] = new
                if new:
                    break
                digit += 1
            if digit == count:
                break
        least[q] = best
    return least
