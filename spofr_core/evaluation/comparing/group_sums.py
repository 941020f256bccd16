"""What two rankings give each group, list by list, beside what the mean of the lists would give it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from spofr_core.evaluation.comparing.pairing import Pair
from spofr_core.evaluation.comparing.sides import Side, same_setting
from spofr_core.evaluation.query_table import BoolArray, FloatArray, JudgedTable

_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Sums:
    """What the lists of one ranking give its groups.

    Attributes
    ----------
    names : tuple of str
        Groups that have an item.
    got : (Q, G) float
        Exposure, summed over the group's items in the list; 0 where it is absent.
    due : (Q, G) float
        The number of these items times the list's mean exposure.
    small : (G,) bool
        Too small to speak of.
    """

    names: tuple[str, ...]
    got: FloatArray
    due: FloatArray
    small: BoolArray

    @property
    def large(self) -> NDArray[np.intp]:
        """Places of the groups that are not small."""
        return np.flatnonzero(~self.small)


@dataclass(frozen=True, eq=False)
class GroupSums:
    """Both sides of a comparison, over the lists that have two groups or more on both."""

    before: Sums
    after: Sums

    @classmethod
    def of(cls, pair: Pair) -> GroupSums | None:
        """None where one side is no audit or has each item on its own, or the exposure models differ.

        Groups of the same names are in the same order on both sides, and small where they are so on one.
        """
        before, after = pair.before, pair.after
        if before.table is None or after.table is None or before.table.each_item or after.table.each_item:
            return None
        if not same_setting(before.settings["position_bias"], after.settings["position_bias"]):
            return None
        both = before.table.applicable & after.table.applicable
        first = _sums(before, before.table, before.group_names, both)
        second = _sums(after, after.table, before.group_names if pair.same_groups else after.group_names, both)
        if pair.same_groups:
            small = first.small | second.small
            return cls(replace(first, small=small), replace(second, small=small))
        return cls(first, second)

    @property
    def same_names(self) -> bool:
        """Whether both sides have the same groups."""
        return self.before.names == self.after.names

    def same(self, g: int) -> bool:
        """Whether a group of the same name gets the same in every list, but for rounding."""
        before, after = self.before, self.after
        return bool(np.all(alike(before.got[:, g], after.got[:, g]) & alike(before.due[:, g], after.due[:, g])))

    def pooled_differences(self, g: int) -> FloatArray:
        """(Q,): (got - r due) after, less the same before, with r what the group got of its due on both sides.

        Exchanging the two sides of a query changes the sign of its difference and nothing else. The differences sum to
        2 D D' / (D + D') times the difference of the relative exposures, D and D' being what was due in all.
        """
        before, after = self.before, self.after
        due = before.due[:, g].sum() + after.due[:, g].sum()
        pooled = (before.got[:, g].sum() + after.got[:, g].sum()) / due if due > 0 else 0.0
        mine, theirs = (side.got[:, g] - pooled * side.due[:, g] for side in (before, after))
        return np.where(alike(mine, theirs), 0.0, theirs - mine)


def _sums(side: Side, table: JudgedTable, order: tuple[str, ...], lists: BoolArray) -> Sums:
    names = tuple(name for name in order if name in side.groups)
    columns = [table.group_names.index(name) for name in names]
    sizes = np.where(lists[:, None], table.sizes, 0)
    got = np.where(sizes > 0, sizes * table.exposure, 0.0)
    due = sizes * table.list_exposure[:, None]
    return Sums(names, got[:, columns], due[:, columns], side.small.of(table[lists])[columns])


def alike(before: FloatArray, after: FloatArray) -> BoolArray:
    """Where two arrays are the same but for rounding."""
    size = np.maximum(1.0, np.maximum(np.abs(before), np.abs(after)))
    return np.asarray(np.abs(after - before) <= _ROUNDING * size)


def over(got: FloatArray, due: FloatArray) -> FloatArray:
    """got / due; NaN where nothing is due."""
    return np.asarray(np.divide(got, due, out=np.full(got.shape, np.nan), where=due > 0))
