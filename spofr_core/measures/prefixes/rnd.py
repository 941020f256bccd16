"""rND: how far the protected group's share in the first 10, 20, ... items is from its share in the list."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange

from spofr_core.config import checked_count
from spofr_core.measures import MEASURES, Measure, RankingView, Values
from spofr_core.measures.ranking_view import NO_GROUP, ONE_GROUP


def _per_query(view: RankingView, *, group: str | None, step: int) -> Values:
    checked_count(step, "The step of rND")
    chosen, patterns = view.group_code(group), view.patterns
    protected = view.composition.sizes[:, chosen].astype(np.int64)
    lengths = view.composition.lengths.astype(np.int64)
    values = np.asarray(_rnd(patterns.groups, patterns.starts, patterns.lists, chosen, protected, lengths, step))
    # Lists of the same size and composition share their normaliser.
    base = view.longest + 1
    shapes, which = np.unique(lengths * base + protected, return_inverse=True)
    most = np.array([_largest(int(shape // base), int(shape % base), step) for shape in shapes])[which]
    apart = view.no_group & ~view.one_group
    absent = ~apart & ~view.one_group & ((protected == 0) | (protected == lengths))
    short = ~view.one_group & ~apart & ~absent & (most <= 0)
    scaled = values / np.where(most > 0, most, 1.0)[patterns.lists]
    name = view.data.group_names[chosen]
    return view.expected(
        scaled,
        {
            ONE_GROUP: view.one_group,
            NO_GROUP: apart,
            f"group {name!r} is not in the list": absent,
            f"the list has no more than {step} items": short,
        },
    )


@njit(parallel=True, cache=True)
def _rnd(
    groups: Any, starts: Any, lists: Any, chosen: int, protected: Any, lengths: Any, step: int
) -> Any:  # pragma: no cover
    """sum over i = step, 2 step, ... of |protected among the first i / i - protected / n| / log2(i)."""
    values = np.zeros(len(lists))
    for r in prange(len(lists)):
        q, count = lists[r], 0
        for j in range(lengths[q]):
            count += groups[starts[r] + j] == chosen
            i = j + 1
            if i % step == 0 and i > 1:
                values[r] += abs(count / i - protected[q] / lengths[q]) / np.log2(float(i))
    return values


@njit(cache=True)
def _largest(n: int, protected: int, step: int) -> Any:  # pragma: no cover
    """The largest value that any order has: the best way through the counts at the positions that are looked at."""
    best = np.full(protected + 1, -np.inf)
    best[0] = 0.0
    for i in range(step, n + 1, step):
        reached = np.full(protected + 1, -np.inf)
        # At most `step` more since the last look, and no more of either side than there are.
        for count in range(max(0, i - (n - protected)), min(i, protected) + 1):
            before = -np.inf
            for last in range(max(0, count - step), count + 1):
                before = max(before, best[last])
            term = abs(count / i - protected / n) / np.log2(float(i)) if i > 1 else 0.0
            reached[count] = before + term
        best = reached
    return best.max()


MEASURES.register(
    Measure(
        name="rND",
        of_groups=True,
        label="rND",
        better="lower",
        ideal=0.0,
        limits=(0.0, 1.0),
        parameters={"group": None, "step": 10},
        description="How far a group's share among the first 10, 20, ... items is from its share in the list, over the "
        "furthest that it could be.",
        formula="(1/Z) sum over i = 10, 20, ... of |share in the first i - share in the list| / log2(i)",
        source="Yang, Stoyanovich 2017",
        in_audit=False,
        per_query=_per_query,
    )
)
