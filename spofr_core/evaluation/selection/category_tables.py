"""Which categories rates are compared in: the groups, and where they cross columns, each column alone as well."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from spofr_core.data import GroupSpec
from spofr_core.data.group_spec import MISSING_NAME

BETWEEN = " & "
"""What stands between the values of a crossing in the name of a group."""
UNNAMED = "group"


@dataclass(frozen=True, eq=False)
class Categories:
    """One way to sort the groups into categories.

    Attributes
    ----------
    title : str
        The column, or the columns that are crossed.
    names : tuple of str
        The categories.
    codes : (G,) int
        The category of each group; -1 where it is unknown.
    crossing : bool
        Whether columns are crossed.
    """

    title: str
    names: tuple[str, ...]
    codes: NDArray[np.int64]
    crossing: bool = False

    def sums(self, by_group: NDArray[np.float64]) -> NDArray[np.float64]:
        """(Q, K): what the groups of each category have together, from (Q, G)."""
        summed = np.zeros((len(by_group), len(self.names)))
        for group, code in enumerate(self.codes.tolist()):
            if code >= 0:
                summed[:, code] += by_group[:, group]
        return summed


def category_tables(names: Sequence[str], spec: GroupSpec | None) -> tuple[list[Categories], list[str]]:
    """Every table of categories, and what a reader should know about them.

    Groups that cross columns give a table for each column alone and one for the crossing. What a group's value in a
    column is, its name says: "female & north". Renamed groups are looked up under the names that they had.

    Parameters
    ----------
    names : sequence of str
        The groups.
    spec : GroupSpec, optional
        How they were made.
    """
    columns = () if spec is None else spec.columns
    whole = _one_table(names, BETWEEN.join(columns) or UNNAMED, crossing=len(columns) > 1)
    if spec is None or len(columns) < 2:
        return [whole], []
    parts = _parts_of_groups(names, spec)
    if parts is None:
        why = "the names of the groups do not tell the values of the columns apart; keep “&” out of the values"
        return [whole], [f"There is no table for each of {_quoted(columns)} alone: {why}."]
    tables, notes = [], []
    for place, column in enumerate(columns):
        values = [None if group is None else {old[place] for old in group} for group in parts]
        if any(value is not None and len(value) > 1 for value in values):
            why = "groups were merged across its values"
            notes.append(f"There is no table for {column!r} alone: {why}.")
            continue
        found = [None if value is None else next(iter(value)) for value in values]
        kept = tuple(dict.fromkeys(value for value in found if value is not None))
        codes = [-1 if value is None else kept.index(value) for value in found]
        tables.append(Categories(column, kept, np.array(codes, dtype=np.int64)))
    return [*tables, whole], notes


def _one_table(names: Sequence[str], title: str, *, crossing: bool) -> Categories:
    known = tuple(name for name in names if name != MISSING_NAME)
    codes = [-1 if name == MISSING_NAME else known.index(name) for name in names]
    return Categories(title, known, np.array(codes, dtype=np.int64), crossing)


def _parts_of_groups(names: Sequence[str], spec: GroupSpec) -> list[set[tuple[str, ...]] | None] | None:
    """Per group, the values of the crossings that it is made of; None for a group without, or if they cannot be told.

    The name of a group before it was renamed is its values with " & " between them.
    """
    before: dict[str, set[str]] = {}
    for old in (*spec.names, *spec.renamed):
        before.setdefault(spec.renamed.get(old, old), set()).add(old)
    olds = [before.get(name, {name}) for name in names]
    crossed = sorted({old for group in olds for old in group if old != MISSING_NAME})
    split = _split_names(crossed, len(spec.columns))
    if split is None:
        return None
    return [None if MISSING_NAME in group else {split[old] for old in group} for group in olds]


def _split_names(names: Sequence[str], count: int) -> dict[str, tuple[str, ...]] | None:
    """Each name as so many values; None where one can be read in two ways.

    A name with more signs in it than there are columns has several readings; the one whose values most names share is
    taken: "M & Black & Hispanic" beside "F & Black & Hispanic" and "M & White" is ("M", "Black & Hispanic").
    """
    readings = {name: _readings(name, count) for name in names}
    if not all(readings.values()):
        return None
    shared = Counter(pair for found in readings.values() for pair in {pair for r in found for pair in enumerate(r)})
    chosen = {}
    for name, found in readings.items():
        support = [min(shared[pair] for pair in enumerate(reading)) for reading in found]
        if support.count(max(support)) > 1:
            return None
        chosen[name] = found[support.index(max(support))]
    return chosen


def _readings(name: str, count: int) -> list[tuple[str, ...]]:
    pieces = name.split(BETWEEN)
    cuts = combinations(range(1, len(pieces)), count - 1)
    bounds = ((0, *cut, len(pieces)) for cut in cuts)
    return [tuple(BETWEEN.join(pieces[a:b]) for a, b in pairwise(at)) for at in bounds]


def _quoted(columns: Sequence[str]) -> str:
    return " and ".join(map(repr, columns))
