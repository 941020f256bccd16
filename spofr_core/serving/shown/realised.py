"""What impressions add up to: realised exposure and violation of groups, and what their schedules promised.

An impression t shows a list; with e_g(t) the mean exposure of the items of group g in it, its violation is
scale_g e_g(t) - target_g, as for any ranking. Over several impressions the realised violation is the mean over those
that show the group: where the list stays the same, the violation of the realised mean exposure.

A schedule promises abs(realised violation) <= delta + (sum over the policies of `added`) / T. Impressions of a policy
that are logged from its first on keep to `added`; those from a later one on are a difference of two such, hence twice
that. Where numbers between the first and the last are missing, nothing is known to be promised.

Where groups are not known, the realised violation lies between the means of what they could make of each impression;
one that they may leave without the group is among those or not, whichever goes further. An item may be of another group
in each impression there, so that the ends need not be reached.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spofr_core.data import UNKNOWN
from spofr_core.fairness import Composition, Fairness, Labellings, cannot_fail, largest_first, mean_range
from spofr_core.serving.shown.places import places_of, shared_exposure
from spofr_core.serving.shown.shown_log import OwnColumns, ShownLog

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Realised:
    """What cells of impressions, such as those of a query, add up to; NaN where a group was not shown.

    Attributes
    ----------
    impressions : (C,) int
    shown : (C, G) int
        Impressions that show the group.
    exposure, violations : (C, G) float
        Realised mean exposure, and realised violation of the notion.
    bounds : (C, G) float
        What the schedules may add to delta; NaN where none is known.
    promised : (C, G) float
        Mean delta in force.
    could_fail : (C,) bool
        Whether some impression shows two groups or more, and some order of its items would exceed delta.
    lacking : (C,) int
        Impressions that the numbers of the others speak of, and that are not there.
    least, most : (C, G) float
        Between what `violations` lie, whatever the groups are that are not known; the same where all are.
    """

    impressions: IntArray
    shown: IntArray
    exposure: FloatArray
    violations: FloatArray
    bounds: FloatArray
    promised: FloatArray
    could_fail: NDArray[np.bool_]
    lacking: IntArray
    least: FloatArray
    most: FloatArray


@dataclass(frozen=True, eq=False)
class Impressions:
    """Each impression on its own.

    Attributes
    ----------
    exposure, violations : (I, G) float
        Mean exposure and violation of each group; NaN where it was not shown, or there was nobody to compare with.
    delta : (I, G) float
        In force: of the log where it says so, else as audited.
    could_fail : (I,) bool
    own : OwnColumns, optional
    ends : (2, I, G) float
        Least and most that `violations` can be, whatever the groups are that are not known.
    """

    exposure: FloatArray
    violations: FloatArray
    delta: FloatArray
    could_fail: NDArray[np.bool_]
    own: OwnColumns | None
    ends: FloatArray

    @classmethod
    def of(cls, log: ShownLog, fairness: Fairness) -> Impressions:
        """Measure every impression of a log."""
        composition = Composition.of(log.groups, log.offsets, log.group_names)
        places = places_of(log.positions, log.offsets)
        vector = fairness.position_bias.vector(int(places.max(initial=0)))
        exposure = shared_exposure(log.positions, places, log.offsets, vector)
        mean = np.add.reduceat(exposure, log.offsets[:-1]) / composition.lengths
        terms = fairness.terms(composition, mean)
        groups = composition.group_means(exposure, log.groups, log.offsets)
        violations = np.where(terms.constrained, terms.violations(groups), np.nan)
        delta = np.broadcast_to(terms.delta if log.own is None else log.own.delta[:, None], groups.shape)
        # What other orders of the items could do is known of lists that begin at the top and leave nothing out.
        from_the_top = places[log.offsets[1:] - 1] == composition.lengths
        cannot = from_the_top & cannot_fail(fairness, fairness.terms(composition))
        could_fail, ends = composition.applicable & ~cannot, np.stack([violations, violations])
        unknown = largest_first(exposure, log.groups == UNKNOWN, log.offsets)
        rows = np.flatnonzero(np.fromiter(map(len, unknown), dtype=np.int64, count=len(unknown)))
        if len(rows):
            lists = Labellings(composition[rows], groups[rows], unknown[rows])
            could_fail[rows] = lists.applicable
            known = np.array(lists.ranges)
            ends[:, rows] = np.where(np.isnan(known), np.nan, np.array([-np.inf, np.inf])[:, None, None])
            if fairness.rule.bounds_by_length:
                cannot_fail_any = cannot_fail(fairness, fairness.terms(lists.least)) & from_the_top[rows]
                could_fail[rows] &= ~cannot_fail_any
                ends[:, rows] = known * terms.scale[rows] - terms.target[rows]
        return cls(groups, violations, np.asarray(delta), could_fail, log.own, ends)

    def together(self, cells: IntArray, n: int) -> Realised:
        """What the impressions of each cell add up to; `cells` has the cell of each impression, 0..n-1."""
        present = ~np.isnan(self.exposure)
        shown = _totals(cells, n, present.astype(np.float64)).astype(np.int64)
        bounds, lacking = self._bounds(cells, n, present, shown)
        return Realised(
            impressions=np.bincount(cells, minlength=n).astype(np.int64),
            shown=shown,
            exposure=_means(cells, n, self.exposure),
            violations=_means(cells, n, self.violations),
            bounds=bounds,
            promised=_means(cells, n, np.where(present, self.delta, np.nan)),
            could_fail=np.bincount(cells, weights=self.could_fail, minlength=n) > 0,
            lacking=lacking,
            **self._range(cells, n),
        )

    def _range(self, cells: IntArray, n: int) -> dict[str, FloatArray]:
        """(C, G) each: least and most of the realised violation."""
        sure = ~np.isnan(self.violations)
        found = [_means(cells, n, np.where(sure, end, np.nan)) for end in self.ends]
        maybe = np.argwhere(~sure & ~np.isnan(self.ends[0]))
        for cell, g in np.unique(np.column_stack([cells[maybe[:, 0]], maybe[:, 1]]), axis=0).tolist():
            rows = cells == cell
            in_any, perhaps = rows & sure[:, g], rows & ~sure[:, g] & ~np.isnan(self.ends[0, :, g])
            for side, end in enumerate(self.ends[:, :, g]):
                if np.isinf(end[perhaps]).any():
                    found[side][cell, g] = end[perhaps][0]
                    continue
                ones, total = np.ones(int(perhaps.sum())), float(end[in_any].sum())
                found[side][cell, g] = mean_range(total, float(in_any.sum()), end[perhaps], ones)[side]
        return dict(zip(("least", "most"), found, strict=True))

    def _bounds(
        self, cells: IntArray, n: int, present: NDArray[np.bool_], shown: IntArray
    ) -> tuple[FloatArray, IntArray]:
        """(C, G): the sum of `added` over the policies that show the group, over the impressions that do."""
        own = self.own
        if own is None:
            return np.full(shown.shape, np.nan), np.zeros(n, np.int64)
        frame = pd.DataFrame({"cell": cells, "policy": own.policies, "added": own.added, "number": own.numbers})
        frame["place"] = np.arange(len(frame))
        frame["known"] = frame["added"].notna()
        each = frame.groupby(["cell", "policy"], as_index=False, sort=False).agg(
            added=("added", "max"),
            first=("number", "min"),
            last=("number", "max"),
            count=("number", "nunique"),
            place=("place", "first"),
            known=("known", "all"),
        )
        lacking = np.where(each["policy"] == "", 0, each["last"] - each["first"] + 1 - each["count"])
        whole = each["added"].where(each["first"] == 1, 2 * each["added"])
        allowed = whole.where(each["known"] & (lacking == 0)).to_numpy(np.float64)
        at = each["cell"].to_numpy()
        total = np.zeros(shown.shape)
        np.add.at(total, at, np.where(present[each["place"].to_numpy()], allowed[:, None], 0.0))
        missing = np.bincount(at, weights=lacking, minlength=n).astype(np.int64)
        return np.asarray(total / np.maximum(shown, 1)), missing


def _totals(cells: IntArray, n: int, values: FloatArray) -> FloatArray:
    return np.column_stack([np.bincount(cells, weights=column, minlength=n) for column in values.T])


def _means(cells: IntArray, n: int, values: FloatArray) -> FloatArray:
    """Mean over the impressions of each cell that have a value; NaN where none has."""
    known = ~np.isnan(values)
    counts = _totals(cells, n, known.astype(np.float64))
    totals = _totals(cells, n, np.where(known, values, 0.0))
    return np.asarray(np.divide(totals, counts, out=np.full(totals.shape, np.nan), where=counts > 0))
