"""Quotas: how many items of each group may stand among the first k positions, in every ranking that is drawn.

Within a group items stand in the order of their scores, so counts of a group in all prefixes and positions of its items
say the same: the i-th item of a group stands at the first k at which the count reaches i. A quota is therefore a
*window* of positions for each member of a group, from the first prefix that may hold i of them to the first that must.
Windows of a group never shrink backwards (both ends rise with i), so an assignment of members to positions within their
windows that puts a better item of a group below a worse one can be improved by swapping the two, and stays permitted:
rankings within quotas are assignments within windows, however many groups there are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Self

import numpy as np
from numba import njit
from numpy.typing import NDArray
from pydantic import Field, field_validator, model_validator

from spofr_core.config import MOST_COUNT, StrictModel
from spofr_core.errors import ConfigError
from spofr_core.fairness.composition import Composition

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


class Quota(StrictModel):
    """Limits on the counts of each group among the first k positions, for every ranking of a lottery.

    With n items in a list, n_g of them of group g, and c_g(k) those among the first k:

    - ``slack``: floor(k n_g / n) - slack <= c_g(k) <= ceil(k n_g / n) + slack for k = 1 .. top. Slack 0 keeps every
      prefix as close to proportional as whole items allow, and is always possible.
    - ``minimum``: c_g(k) >= the number given for that group and depth, as in {"women": {10: 2}}. It need not be
      possible: a list may have fewer items of the group.

    Both may be given; then both hold. Groups that a list does not have, and lists of a single group, have no quota
    there. A depth beyond the end of a list is its end.

    Parameters
    ----------
    slack : int, optional
        Items by which a count may differ from its share, rounded either way.
    top : int, optional
        Prefixes up to this one count; all of them where it is left out. With `slack`.
    minimum : dict of group to dict of depth to count, optional

    Examples
    --------
    >>> Quota(slack=1, top=10).text
    'at most 1 from its share in every prefix of the top 10'
    >>> Quota(minimum={"women": {10: 2}}).text
    'at least 2 of women in the top 10'
    """

    slack: int | None = Field(default=None, le=MOST_COUNT)
    top: int | None = Field(default=None, le=MOST_COUNT)
    minimum: dict[str, dict[Annotated[int, Field(le=MOST_COUNT)], int]] | None = None

    @field_validator("minimum", mode="before")
    @classmethod
    def _names_as_text(cls, given: Any) -> Any:
        return {str(name): depths for name, depths in given.items()} if isinstance(given, Mapping) else given

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.slack is None and not self.minimum:
            raise ValueError("give slack, such as slack=1, or a minimum, such as minimum={'women': {10: 2}}.")
        if self.slack is not None and self.slack < 0:
            raise ValueError(f"slack is {self.slack}; give 0 (as close to its share as whole items allow) or more.")
        if self.top is not None and self.slack is None:
            raise ValueError("top goes with slack; a minimum has its own depths.")
        if self.top is not None and self.top < 1:
            raise ValueError(f"top is {self.top}; give 1 or more, or leave it out for the whole list.")
        for name, depths in (self.minimum or {}).items():
            if not depths:
                raise ValueError(f"the minimum of group {name!r} has no depth; give one, such as {{10: 2}}.")
            for depth, count in depths.items():
                if depth < 1 or not 0 <= count <= depth:
                    raise ValueError(
                        f"the minimum of group {name!r} is {count} among the first {depth}; "
                        "give a depth of at least 1 and a count from 0 to the depth."
                    )
        return self

    def to_dict(self) -> dict[str, Any]:
        """Plain, JSON-able dict, without what is not set."""
        return self.model_dump(mode="json", exclude_none=True)

    @property
    def always_possible(self) -> bool:
        """Whether every list has a ranking within it, and a lottery in which every item expects the same exposure.

        The shares k n_g / n themselves are the mean of rankings that round them up or down in every prefix: positions
        and prefixes of each group are two laminar families, so the shares are a mixture of whole solutions.
        """
        return not self.minimum

    @property
    def text(self) -> str:
        """The quota in words, to follow "each group is" or to stand alone."""
        parts = []
        if self.slack is not None:
            where = "in every prefix" if self.top is None else f"in every prefix of the top {self.top}"
            parts.append(f"at most {self.slack} from its share {where}")
        for name, depths in (self.minimum or {}).items():
            parts += [f"at least {count} of {name} in the top {depth}" for depth, count in sorted(depths.items())]
        return ", ".join(parts)

    @property
    def definition(self) -> str:
        """What it asks, in a sentence for readers who know no prefixes."""
        parts = []
        if self.slack is not None:
            reach = "down to the end" if self.top is None else f"up to {self.top}"
            near = "as nearly as whole items allow" if self.slack == 0 else f"give or take {self.slack}"
            first = "first place" if self.top == 1 else f"first 1, 2, 3 places and so on {reach}"
            parts.append(f"each group has its share of the {first}, {near}")
        for name, depths in (self.minimum or {}).items():
            parts += [f"at least {count} of {name} are among the first {k}" for k, count in sorted(depths.items())]
        return f"In every list that is drawn, {', and '.join(parts)}."

    @property
    def broken_text(self) -> str:
        """What is so of a ranking that breaks it: "has a group more than 1 away from its share in the top 10"."""
        parts = []
        if self.slack is not None:
            away = f"more than {self.slack} away from its share" if self.slack else "off its share, rounded either way,"
            parts.append(f"a group {away} in {'some prefix' if self.top is None else f'the top {self.top}'}")
        for name, depths in (self.minimum or {}).items():
            parts += [f"fewer than {count} of {name} in the top {depth}" for depth, count in sorted(depths.items())]
        return f"has {' or '.join(parts)}"

    def with_slack(self, slack: int) -> Quota:
        """The same with another slack."""
        return Quota(**{**self.to_dict(), "slack": slack})

    def among(self, names: Collection[str]) -> Quota | None:
        """What it asks of lists that have these groups only; None where that is nothing."""
        minimum = {name: depths for name, depths in (self.minimum or {}).items() if name in names}
        if self.slack is None and not minimum:
            return None
        return Quota(slack=self.slack, top=self.top, minimum=minimum or None)

    def windows(self, composition: Composition) -> Windows:
        """The positions that each member of each group may take, list by list.

        Raises
        ------
        ConfigError
            When a minimum names a group that the data does not have.
        """
        names = composition.group_names
        unknown = [name for name in self.minimum or {} if name not in names]
        if unknown:
            raise ConfigError(
                f"The quota has a minimum for group {unknown[0]!r}; the groups of the data are {list(names)}."
            )
        minima = np.array(
            [
                (names.index(name), depth, count)
                for name, depths in (self.minimum or {}).items()
                for depth, count in sorted(depths.items())
            ],
            dtype=np.int64,
        ).reshape(-1, 3)
        lengths = composition.lengths
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        earliest, latest = np.zeros(offsets[-1], dtype=np.int32), np.zeros(offsets[-1], dtype=np.int32)
        impossible = np.zeros(len(lengths), dtype=np.int64)
        slack = -1 if self.slack is None else self.slack
        top = int(lengths.max(initial=1)) if self.top is None else self.top
        blocks = composition.blocks
        _set_windows(blocks, len(names), offsets, slack, top, minima, earliest, latest, impossible)
        return Windows(offsets, earliest, latest, impossible)


@dataclass(frozen=True, eq=False)
class Windows:
    """Positions, from 0, that the members of the groups of each list may take.

    Attributes
    ----------
    offsets : (Q + 1,) int64
        List q is `offsets[q]:offsets[q + 1]`; within it group by group in the order of their codes, and in each group
        from the best item down, those without a group last.
    earliest, latest : (N,) int32
        First and last position of each.
    impossible : (Q,) int64
        The first prefix that no ranking of the list can meet, from 1; 0 where there is a ranking within all windows.
    """

    offsets: Longs
    earliest: Ints
    latest: Ints
    impossible: Longs

    def lifted(self, queries: Longs) -> Windows:
        """The same with no quota in these lists."""
        earliest, latest, impossible = self.earliest.copy(), self.latest.copy(), self.impossible.copy()
        for q in queries.tolist():
            rows = slice(int(self.offsets[q]), int(self.offsets[q + 1]))
            earliest[rows], latest[rows], impossible[q] = 0, rows.stop - rows.start - 1, 0
        return Windows(self.offsets, earliest, latest, impossible)

    def part(self, query: int) -> Windows:
        """Those of one list."""
        rows = slice(int(self.offsets[query]), int(self.offsets[query + 1]))
        return Windows(
            np.array([0, rows.stop - rows.start]),
            self.earliest[rows],
            self.latest[rows],
            self.impossible[query : query + 1],
        )


@njit(cache=True)
def _set_windows(
    sizes: Longs, named: int, offsets: Longs, slack: int, top: int, minima: Longs, earliest: Ints, latest: Ints,
    impossible: Longs,
) -> None:  # fmt: skip  # pragma: no cover
    """Fill in the windows; `slack` is -1 where there is none, `minima` has rows of group, depth and count.

    Columns of `sizes` behind those of `named` groups are of items without a group, which nothing is asked of.
    """
    n_groups = sizes.shape[1]
    head, end = np.empty(n_groups, np.int64), np.empty(n_groups, np.int64)
    for q in range(len(sizes)):
        n = offsets[q + 1] - offsets[q]
        row = offsets[q]
        present = 0
        for g in range(n_groups):
            size = sizes[q, g]
            head[g], end[g] = row, row + size
            present += size > 0 and g < named
            for i in range(1, size + 1):
                first, last = 1, n
                if slack >= 0 and g < named:
                    # ceil(k size / n) + slack >= i, and floor(k size / n) - slack >= i, solved for k
                    if i > slack + 1:
                        first = min(n * (i - slack - 1) // size, top) + 1
                    due = (n * (i + slack) + size - 1) // size
                    if due <= min(top, n):
                        last = due
                earliest[row], latest[row] = first - 1, last - 1
                row += 1
        if present < 2:
            for k in range(offsets[q], offsets[q + 1]):
                earliest[k], latest[k] = 0, n - 1
            continue
        missing = n + 1  # the first prefix that asks for more items of a group than there are
        for m in range(len(minima)):
            g, depth, count = minima[m, 0], min(minima[m, 1], n), minima[m, 2]
            if sizes[q, g] > 0:
                if count > sizes[q, g]:
                    missing = min(missing, depth)
                for k in range(head[g], min(head[g] + count, end[g])):
                    latest[k] = min(latest[k], depth - 1)
        late = _first_late(head, end, n, n_groups, earliest, latest)
        if missing <= n and (late == 0 or missing < late):
            late = missing
        impossible[q] = late


@njit(cache=True)
def _first_late(
    head: Longs, end: Longs, n: int, n_groups: int, earliest: Ints, latest: Ints
) -> int:  # pragma: no cover
    """The first prefix that no ranking can meet, 0 if there is none: whoever is due first goes first (`head` moves on).

    Members are unit jobs with release times and deadlines, for which the earliest deadline first misses none that can
    be met; when one is missed, those due up to then cannot all be met by anybody.
    """
    for position in range(n):
        chosen, due = -1, n
        for g in range(n_groups):
            if head[g] < end[g] and earliest[head[g]] <= position and latest[head[g]] < due:
                chosen, due = g, latest[head[g]]
        if chosen < 0:
            return position + 1
        if due < position:
            return due + 1
        head[chosen] += 1
    return 0
