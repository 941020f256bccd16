"""Does a column look like a rank (1 is the top) or like a score (higher is better)? What it holds decides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from spofr_core.errors import DataError

FloatArray = npt.NDArray[np.float64]

SAMPLED_LISTS = 150
"""Lists that are looked at, spread over all: a column is the same thing in every list."""
_ITEMS = 60
"""Items of a list that are compared with each other."""
_STEPS = 8
"""Steps (items after the first of a list) that a count needs to be no coincidence."""
_STEPS_WITH_GAPS = 20
"""The same where numbers are left out, which more columns than ranks do."""
_LENGTH = 3.0
"""Mean list length that a count needs: of two items one is often "1" and the other "2"."""
_NEARLY = 0.95
_APART = 0.8
_DENSE = 0.4
_PAIRS = 30
_STRONG = 0.6


@dataclass(frozen=True)
class Look:
    """What a column looks like.

    Attributes
    ----------
    kind : {"rank", "score", None}
        None where its values could be either.
    reason : str
        What was seen, as the rest of a sentence that begins with the column.
    counts : bool
        Whether it counts the items of each list: then it is a rank whatever it is called.
    """

    kind: Literal["rank", "score"] | None = None
    reason: str = ""
    counts: bool = False


def look_at(
    codes: npt.NDArray[np.integer[Any]], values: FloatArray, anchors: Mapping[str, FloatArray] | None = None
) -> Look:
    """What a column of numbers looks like.

    A rank counts the items of each list (from 1 or from 0, tied items sharing a number in any of the usual ways, some
    numbers missing where rows were left out), or falls where something rises that is better when it is higher. A column
    that rises with such a thing, or holds what no rank is, is a score. One that counts down from the first row of
    each list to the last could be either: points that were given to a list, best first.

    Parameters
    ----------
    codes : array of shape (N,)
        The query of each row.
    values : array of shape (N,)
        The column; rows with a missing value are not looked at.
    anchors : mapping of str to array, optional
        Columns for which higher is better, such as the relevance, by their names.
    """
    known = np.isfinite(values)
    lists = sampled_lists(codes[known])
    if not lists:
        return Look()
    rows = np.flatnonzero(known)
    shown = [values[rows[each]] for each in lists]
    counting = _counts(shown)
    for name, anchor in (anchors or {}).items():
        agreement = _agreement(shown, [anchor[rows[each]] for each in lists])
        if agreement >= _STRONG:
            return Look("score", f"rises where {name!r} rises")
        if agreement <= -_STRONG:
            return Look("rank", f"{f'{counting} and ' if counting else ''}falls where {name!r} rises", bool(counting))
    if counting:
        falling = np.mean([bool((np.diff(each) <= 0).all()) for each in shown])
        return Look() if falling >= _NEARLY else Look("rank", counting, counts=True)
    odd = next((each[bad][0] for each in shown if (bad := (each < 0) | (each % 0.5 != 0)).any()), None)
    if odd is not None:
        return Look("score", f"holds {odd:g}, and ranks are whole numbers from 1")
    return Look()


def doubtful_ranking(column: str, source: str, role: str, look: Look) -> DataError:
    """The question whether a column is a rank or a score, where it looks like the other of what it was taken for."""
    other = "rank" if role == "score" else "score"
    meaning = {"rank": "1 is the top", "score": "higher is better"}
    return DataError(
        f"Column {column!r} of {source} was to be read as a {role} ({meaning[role]}), but it looks like a {other}: it "
        f"{look.reason}.",
        column=column,
        fields=("score", "rank"),
        mend=f"Say {other}={column!r} if {meaning[other]}; if {meaning[role]} all the same, say {role}={column!r} and "
        "insist=True.",
        on_page=f"Choose whether {meaning[other]} or {meaning[role]}.",
        question="rank",
    )


def sampled_lists(codes: npt.NDArray[np.integer[Any]]) -> list[npt.NDArray[np.int64]]:
    """Rows of some lists of two items or more, in the order of the rows."""
    sizes = np.bincount(codes) if len(codes) else np.zeros(0, dtype=np.int64)
    several = np.flatnonzero(sizes >= 2)
    if not len(several):
        return []
    chosen = several[np.unique(np.linspace(0, len(several) - 1, SAMPLED_LISTS).astype(int))]
    wanted = np.zeros(len(sizes), dtype=bool)
    wanted[chosen] = True
    rows = np.flatnonzero(wanted[codes])
    order = np.argsort(codes[rows], kind="stable")
    return np.split(rows[order], np.cumsum(sizes[chosen])[:-1])


def _counts(lists: list[FloatArray]) -> str:
    """In which way the lists are counted, as the rest of a sentence; empty where they are not."""
    items = sum(map(len, lists))
    distinct = [np.unique(each) for each in lists]
    apart = sum(map(len, distinct)) / items
    if items - len(lists) < _STEPS or items < _LENGTH * len(lists) or apart < _APART:
        return ""
    if any((each < 0).any() or (2 * each % 1 != 0).any() for each in lists):
        return ""
    for first in (1, 0):
        counted = np.mean([_is_count(each - first) for each in lists])
        if counted >= _NEARLY:
            start = ", ".join(str(first + k) for k in range(3))
            which = "each list" if counted == 1 else "nearly every list"
            return f"counts {start}, ... in {which}"
    if items - len(lists) < _STEPS_WITH_GAPS:
        return ""
    whole = all((each % 1 == 0).all() for each in lists)
    places = sum(each[-1] - min(1.0, each[0]) + 1 for each in distinct)
    if whole and apart == 1 and items >= _DENSE * places and np.median([each[0] for each in distinct]) <= 2:
        return "holds whole numbers from 1, none twice in a list and few left out"
    return ""


def _is_count(values: FloatArray) -> bool:
    """Whether each value is the number of items before it, with ties counted in one of the usual ways."""
    ordered = np.sort(values)
    distinct, first, sizes = np.unique(ordered, return_index=True, return_counts=True)
    ways = (first, first + sizes - 1, first + (sizes - 1) / 2, np.arange(len(distinct)))
    return any(np.array_equal(distinct, way) for way in ways)


def _agreement(lists: list[FloatArray], anchors: list[FloatArray]) -> float:
    """Among pairs of a list that differ in both, the share in the same order less that in the other; 0 of few."""
    total = pairs = 0.0
    for values, anchor in zip(lists, anchors, strict=True):
        some = np.unique(np.linspace(0, len(values) - 1, _ITEMS).astype(int))
        mine, wanted = (np.greater.outer(each[some], each[some]) for each in (values, anchor))  # nothing overflows
        both = (mine.astype(float) - mine.T) * (wanted.astype(float) - wanted.T)
        total += both.sum() / 2
        pairs += np.abs(both).sum() / 2
    return total / pairs if pairs >= _PAIRS else 0.0
