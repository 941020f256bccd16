"""Two rankings paired by query: what is in one and not in the other is counted, never dropped in silence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spofr_core.data.ids import id_texts, plain
from spofr_core.data.reading.spelling import written_alike
from spofr_core.errors import DataError
from spofr_core.evaluation.comparing.sides import Side

LISTED = 5
"""Queries without a partner that are named."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Pair:
    """The queries that both rankings have, in the order of the first.

    Attributes
    ----------
    before, after : Side
        The first ranking and its rival, restricted to these queries.
    only_before, only_after : tuple
        Ids of the queries that only one of them has.
    notes : tuple of str
        What the reader of the comparison should know about the pairing.
    """

    before: Side
    after: Side
    only_before: tuple[Any, ...]
    only_after: tuple[Any, ...]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.before)

    @property
    def same_groups(self) -> bool:
        """Whether both speak of the same groups, by name."""
        return self.before.groups == self.after.groups

    def counts(self) -> dict[str, Any]:
        """How many queries were paired, and how many were not; the first of those by name."""
        return {
            "both": len(self),
            "only_first": len(self.only_before),
            "only_rival": len(self.only_after),
            "only_first_ids": [plain(name) for name in self.only_before[:LISTED]],
            "only_rival_ids": [plain(name) for name in self.only_after[:LISTED]],
        }


def pair(before: Side, after: Side) -> Pair:
    """Pair two rankings by the ids of their queries.

    Where no id is the same but their texts are, as 7 in one file and "7" in the other, the texts are paired.

    Raises
    ------
    DataError
        When they have no query in common.
    """
    notes: tuple[str, ...] = ()
    first, second = before.query_ids.tolist(), after.query_ids.tolist()
    if set(first).isdisjoint(second):
        first, second = (id_texts(side.query_ids).tolist() for side in (before, after))
        notes = (
            f"The ids of queries are of another kind in {after.name!r} than in {before.name!r}: they were paired by "
            "how they are written.",
        )
    place = {name: position for position, name in enumerate(second)}
    mine = [position for position, name in enumerate(first) if name in place]
    if not mine:
        raise DataError(
            f"{before.name!r} and {after.name!r} have no query in common: the first ids are {_first(before)} and "
            f"{_first(after)}; compare rankings of the same queries.{_alike('queries', first, second)}"
        )
    theirs = [place[first[position]] for position in mine]
    known = set(first)
    alone = [name for name in first if name not in place], [name for name in second if name not in known]
    groups = sorted(before.groups - after.groups), sorted(after.groups - before.groups)
    hints = _alike("queries", *alone), _alike("groups", *groups)
    return Pair(
        before=before.at(np.asarray(mine, dtype=np.int64)),
        after=after.at(np.asarray(theirs, dtype=np.int64)),
        only_before=tuple(before.query_ids[_others(mine, len(first))].tolist()),
        only_after=tuple(
            name for name, text in zip(after.query_ids.tolist(), second, strict=True) if text not in known
        ),
        notes=(*notes, *(hint.strip() for hint in hints if hint)),
    )


def _alike(what: str, first: Sequence[Any], second: Sequence[Any]) -> str:
    """What there is to say of names that were not paired, though they are written alike."""
    pairs = written_alike([str(name) for name in first], [str(name) for name in second])
    if not pairs:
        return ""
    (one, other), more = pairs[0], f" and {len(pairs) - 1:,} more such {what}" if len(pairs) > 1 else ""
    return f" The {what} {one!r} and {other!r}{more} are written alike, but were not paired: write them in one way."


def _first(side: Side) -> str:
    return repr(plain(side.query_ids[0])) if len(side) else "(none)"


def _others(chosen: list[int], length: int) -> NDArray[np.bool_]:
    mask = np.ones(length, dtype=bool)
    mask[chosen] = False
    return mask
