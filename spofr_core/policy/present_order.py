"""Policies that leave alone what nobody asked to change: lists that hold their bounds, and the order of equal items."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
from numba import njit, prange

from spofr_core.fairness import rounding_of_violations
from spofr_core.policy.compiled_threads import threads_for
from spofr_core.policy.plain_sort import FloatArray, tied_expectation
from spofr_core.policy.policies import Policies
from spofr_core.policy.programme import IntArray
from spofr_core.policy.quotas import sorts_within

MOST_CELLS = 2**25
"""Places in the rankings of a batch, rankings times items, up to which ties are shared evenly."""
ROUNDING = 1e-3
"""What sums of exposures may add to a violation, of what a verdict lets pass."""


def keep_present_order(policies: Policies) -> Policies:
    """The same policies, except where the sort by score needs no change.

    A list whose sort holds its bounds keeps it, ties shared evenly as an audit counts them: items of equal score take
    turns on their positions, in a lottery of at most as many rankings as there are tied items. It is as good as any, so
    optimal, at multipliers of 0. In other lists, items of one group and one score stand in the order of the data.
    """
    lists, scores = policies.lists, policies.scores
    ordered = _items_in_data_order(policies)
    if "discount" in lists.increasing or not len(lists):
        return ordered
    exposure = tied_expectation(scores, lists.offsets, lists.v)
    violations = lists.terms.violations(lists.terms.composition.group_means(exposure, lists.codes, lists.offsets))
    off = np.where(lists.terms.constrained, np.abs(violations) - lists.terms.delta, -np.inf).max(
        axis=1, initial=-np.inf
    )
    rounding = ROUNDING * rounding_of_violations(lists.fairness, lists.terms)
    return _with_shared_ties(ordered, (off <= rounding) & _sorts_within_quota(policies))


def _sorts_within_quota(policies: Policies) -> npt.NDArray[np.bool_]:
    """(Q,): lists whose items may be sorted by score, however their ties are broken."""
    lists = policies.lists
    if lists.windows is None:
        return np.ones(len(lists), dtype=np.bool_)
    return sorts_within(policies.scores, lists.codes, lists.sizes, lists.windows)


def _with_shared_ties(policies: Policies, kept: npt.NDArray[np.bool_]) -> Policies:
    """Even sharing of ties in these lists, unless that takes too many rankings."""
    lists, solution, scores = policies.lists, policies.solution, policies.scores
    with threads_for(lists.n_items, enough=5_000):
        needed = _turns(scores, lists.offsets, kept)
    fits = needed <= max(MOST_CELLS // lists.n_items, solution.rankings.shape[0])
    shared = kept & fits
    height = max(int(needed[shared].max(initial=0)), solution.rankings.shape[0])
    rankings = np.zeros((height, lists.n_items), dtype=np.int32)
    rankings[: solution.rankings.shape[0]] = solution.rankings
    probabilities = np.zeros((len(lists), height))
    probabilities[:, : solution.probabilities.shape[1]] = solution.probabilities
    probabilities[shared] = 0.0
    with threads_for(lists.n_items, enough=5_000):
        _share(scores, lists.offsets, shared, rankings, probabilities)
    best = tied_expectation(scores, lists.offsets, lists.w)
    utility = np.add.reduceat(scores * best, lists.offsets[:-1])
    changed = replace(
        solution,
        rankings=rankings,
        probabilities=probabilities,
        counts=np.where(shared, needed, solution.counts).astype(np.int32),
        multipliers=np.where(shared[:, None], 0.0, solution.multipliers),
        bound=np.where(shared, utility, solution.bound),
        notes=(*solution.notes, *_note(int(np.sum(kept & ~fits)), len(lists))),
    )
    return replace(policies, solution=changed)


def _note(left: int, total: int) -> tuple[str, ...]:
    if not left:
        return ()
    return (
        f"{left} of {total} lists hold delta as they are, but too many of their items are tied to share the positions "
        "evenly: their ties are broken, within delta.",
    )


def _items_in_data_order(policies: Policies) -> Policies:
    """Items of one list, group and score in the order of the data, on the positions that they have."""
    lists, solution = policies.lists, policies.solution
    rankings = solution.rankings.copy()
    with threads_for(lists.n_items, enough=5_000):
        _reorder(policies.scores, lists.codes, lists.offsets, solution.counts, lists.sizes.shape[1], rankings)
    return replace(policies, solution=replace(solution, rankings=rankings))


@njit(parallel=True, cache=True)
def _reorder(
    scores: FloatArray,
    codes: npt.NDArray[np.int32],
    offsets: IntArray,
    counts: npt.NDArray[np.int32],
    groups: int,
    rankings: npt.NDArray[np.int32],
) -> None:  # pragma: no cover
    """An insertion sort along each group, by the place in the data, that passes equal scores only."""
    for q in prange(len(counts)):
        start, n = offsets[q], offsets[q + 1] - offsets[q]
        last, above = np.empty(groups, dtype=np.int64), np.empty(n, dtype=np.int64)
        for r in range(counts[q]):
            ranking = rankings[r, start : start + n]
            last[:] = -1
            for place in range(n):
                group = codes[start + ranking[place]]
                above[place] = last[group]
                last[group] = place
                here, upper = place, above[place]
                while (
                    upper >= 0
                    and ranking[upper] > ranking[here]
                    and scores[start + ranking[upper]] == scores[start + ranking[here]]
                ):
                    ranking[upper], ranking[here] = ranking[here], ranking[upper]
                    here, upper = upper, above[upper]


@njit(cache=True)
def _blocks(scores: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:  # pragma: no cover
    """Items from the highest score down, ties as they come; the first place of every block of ties, and the end; and
    the times in [0, 1) at which a block's items take turns: k / m of a block of m."""
    n = len(scores)
    order = np.argsort(-scores, kind="mergesort")
    tops = np.empty(n + 1, dtype=np.int64)
    blocks, turns = 0, np.zeros(n)
    filled, top = 1, 0
    while top < n:
        end = top + 1
        while end < n and scores[order[end]] == scores[order[top]]:
            end += 1
        tops[blocks] = top
        blocks += 1
        for k in range(1, end - top):
            turns[filled] = k / (end - top)
            filled += 1
        top = end
    tops[blocks] = n
    return order, tops[: blocks + 1], np.unique(turns[:filled])


@njit(parallel=True, cache=True)
def _turns(scores: FloatArray, offsets: IntArray, kept: npt.NDArray[np.bool_]) -> IntArray:  # pragma: no cover
    """Rankings that sharing the ties of each list takes; 0 of those that are not kept."""
    needed = np.zeros(len(kept), dtype=np.int64)
    for q in prange(len(kept)):
        if kept[q]:
            needed[q] = len(_blocks(scores[offsets[q] : offsets[q + 1]])[2])
    return needed


@njit(parallel=True, cache=True)
def _share(
    scores: FloatArray,
    offsets: IntArray,
    shared: npt.NDArray[np.bool_],
    rankings: npt.NDArray[np.int32],
    probabilities: FloatArray,
) -> None:  # pragma: no cover
    """Write the lotteries: from one time to the next, every block is turned by as many places as it has had turns."""
    for q in prange(len(shared)):
        if not shared[q]:
            continue
        start = offsets[q]
        order, tops, times = _blocks(scores[start : offsets[q + 1]])
        for r in range(len(times)):
            probabilities[q, r] = (times[r + 1] if r + 1 < len(times) else 1.0) - times[r]
            for block in range(len(tops) - 1):
                top, size = tops[block], tops[block + 1] - tops[block]
                turned = int(times[r] * size + 1e-6)  # k / m * m may fall short of k
                for place in range(size):
                    rankings[r, start + top + place] = order[top + (place + turned) % size]
