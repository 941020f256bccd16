"""What readers may be shown, as whole rankings: a few weighted orders for every list of a batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray
from pandas.util import hash_array

from spofr_core.policy.compiled_threads import threads_for
from spofr_core.sizes import unit_of
from spofr_core.splitmix import GOLDEN, splitmix64

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

MOST_ORDERS = 64
"""Up to so many orders the ties of a list are gone through one by one; where there are more, so many are drawn."""


@dataclass(frozen=True, eq=False)
class Lotteries:
    """Weighted rankings of every list; what is a function of a whole ranking has its expectation over them.

    Attributes
    ----------
    rows : (M,) int32
        Rows of the batch (flat item indices) from the top down, ranking after ranking.
    starts : (R + 1,) int
        Ranking r is `rows[starts[r]:starts[r + 1]]`.
    first : (Q + 1,) int
        The rankings of list q are `first[q]:first[q + 1]`.
    weights : (R,) float
        Probabilities; those of a list sum to 1.
    sampled : (Q,) bool
        Lists whose rankings were drawn, so that expectations over them have a sampling error.
    """

    rows: NDArray[np.int32]
    starts: IntArray
    first: IntArray
    weights: FloatArray
    sampled: NDArray[np.bool_]

    def __len__(self) -> int:
        """Number of rankings."""
        return len(self.weights)

    @property
    def lists(self) -> IntArray:
        """(R,): the list that each ranking belongs to."""
        return np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))

    def expectation(self, values: FloatArray) -> FloatArray:
        """(Q,): expected value of a list, from the value of each of its rankings."""
        if len(self) == len(self.first) - 1:
            return np.asarray(values, dtype=np.float64)
        return np.asarray(np.add.reduceat(self.weights * values, self.first[:-1]))

    def standard_error(self, values: FloatArray) -> FloatArray:
        """(Q,): standard error of `expectation` where the rankings were drawn; 0 where they are all there are."""
        if not self.sampled.any():
            return np.zeros(len(self.sampled))
        drawn = np.diff(self.first)
        away = values - self.expectation(values)[self.lists]
        unit = unit_of(away)
        variance = np.add.reduceat(self.weights * (away / unit) ** 2, self.first[:-1])
        return np.where(self.sampled, unit * np.sqrt(variance / np.maximum(drawn - 1, 1)), 0.0)


def sorted_lotteries(
    scores: FloatArray, offsets: IntArray, kinds: IntArray, *, seed: int = 0, ids: NDArray[Any] | None = None
) -> Lotteries:
    """Each list sorted by score, with the orders of its ties.

    Items of one kind are alike to whoever asks, so the orders of a tie are those of the kinds in it: a tie of a man
    and two women has three, all equally likely. A list with at most `MOST_ORDERS` orders has each of them once;
    of a list with more, so many are drawn.

    Parameters
    ----------
    scores : (N,) float
        Flat scores, higher stands further up.
    offsets : (Q + 1,) int
    kinds : (N,) int
        Which items are alike, such as codes of groups.
    seed : int
        Of the draws.
    ids : (Q,) array, optional
        Of the lists: with them the draws of a list do not depend on which lists it is read with.
    """
    scores = np.require(scores, np.float64, ["C", "W"])
    offsets = np.require(offsets, np.int64, ["C", "W"])
    kinds = np.require(kinds, np.int64, ["C", "W"])
    with threads_for(len(scores), enough=5_000):
        order, orders = _sort(scores, offsets, kinds, MOST_ORDERS)
        sampled = orders < 0
        counts = np.abs(orders)
        first = np.concatenate([[0], np.cumsum(counts)])
        if first[-1] == len(orders):  # no tie matters
            return Lotteries(order, offsets, first, np.ones(len(orders)), sampled)
        lengths = np.repeat(np.diff(offsets), counts)
        starts = np.concatenate([[0], np.cumsum(lengths)])
        rows = np.empty(starts[-1], dtype=np.int32)
        named = np.arange(1, len(counts) + 1) if ids is None else hash_array(np.asarray(ids))
        states = np.uint64(seed) + GOLDEN * named.astype(np.uint64)
        _orders_of_ties(scores, offsets, kinds, order, first, starts, sampled, states, rows)
    return Lotteries(rows, starts, first, np.repeat(1.0 / counts, counts), sampled)


def lotteries_of(
    rankings: NDArray[np.int32], probabilities: FloatArray, counts: NDArray[np.int32], offsets: IntArray
) -> Lotteries:
    """Lotteries as a solver keeps them (`Solution`), one ranking after the other."""
    chosen = np.arange(probabilities.shape[1]) < counts[:, None]
    queries, which = np.nonzero(chosen)
    lengths = np.diff(offsets)[queries]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    begins = np.repeat(offsets[queries], lengths)
    places = begins + np.arange(starts[-1]) - np.repeat(starts[:-1], lengths)
    rows = (begins + rankings[np.repeat(which, lengths), places]).astype(np.int32)
    first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Lotteries(rows, starts, first, probabilities[chosen], np.zeros(len(counts), dtype=bool))


@njit(parallel=True, cache=True)
def _sort(
    scores: FloatArray, offsets: IntArray, kinds: IntArray, most: int
) -> tuple[NDArray[np.int32], IntArray]:  # pragma: no cover
    """Rows from the top down, ties by kind and then by place; how many orders of kinds they have, -most if more."""
    order = np.empty(len(scores), dtype=np.int32)
    orders = np.empty(len(offsets) - 1, dtype=np.int64)
    for q in prange(len(offsets) - 1):
        start, n = offsets[q], offsets[q + 1] - offsets[q]
        mine = np.arange(start, start + n)
        if n > 48:
            by_kind = np.argsort(kinds[start : start + n], kind="mergesort")
            by_score = np.argsort(-scores[start : start + n][by_kind], kind="mergesort")
            mine = start + by_kind[by_score]
        else:
            for i in range(1, n):  # by insertion, which lists of this length like best
                row, place = mine[i], i
                while place > 0 and (
                    scores[mine[place - 1]] < scores[row]
                    or (scores[mine[place - 1]] == scores[row] and kinds[mine[place - 1]] > kinds[row])
                ):
                    mine[place] = mine[place - 1]
                    place -= 1
                mine[place] = row
        found = 1.0
        tied = alike = 1  # items of the present tie so far, and of the present kind in it
        for i in range(n):
            order[start + i] = mine[i]
            if i > 0 and scores[mine[i]] == scores[mine[i - 1]]:
                tied += 1
                alike = alike + 1 if kinds[mine[i]] == kinds[mine[i - 1]] else 1
                if found <= most * 1e6:  # a product of binomials: exact for as long as it matters
                    found = found * tied / alike
            else:
                tied = alike = 1
        orders[q] = -most if found > most + 0.5 else np.int64(np.round(found))
    return order, orders


@njit(parallel=True, cache=True)
def _orders_of_ties(
    scores: FloatArray,
    offsets: IntArray,
    kinds: IntArray,
    order: NDArray[np.int32],
    first: IntArray,
    starts: IntArray,
    sampled: NDArray[np.bool_],
    states: NDArray[np.uint64],
    rows: NDArray[np.int32],
) -> None:  # pragma: no cover
    """All orders of the ties of each list, in lexicographic order of the kinds, or as many as there is room for."""
    for q in prange(len(offsets) - 1):
        n = offsets[q + 1] - offsets[q]
        now = order[offsets[q] : offsets[q + 1]].copy()
        state = splitmix64(states[q])
        for r in range(first[q], first[q + 1]):
            if sampled[q]:
                state = _shuffle_ties(scores, now, state)
            for i in range(n):
                rows[starts[r] + i] = now[i]
            if not sampled[q] and r + 1 < first[q + 1]:
                _next_order(scores, kinds, now)


@njit(cache=True)
def _shuffle_ties(scores: FloatArray, now: NDArray[np.int32], state: np.uint64) -> np.uint64:  # pragma: no cover
    top, n = 0, len(now)
    while top < n:
        end = top + 1
        while end < n and scores[now[end]] == scores[now[top]]:
            end += 1
        for i in range(end - 1, top, -1):
            state += GOLDEN
            # The upper half of a 64-bit number, scaled to 0..i-top by multiply and shift.
            span = np.uint64(i - top + 1)
            j = top + np.int64(((splitmix64(state) >> np.uint64(32)) * span) >> np.uint64(32))
            now[i], now[j] = now[j], now[i]
        top = end
    return state


@njit(cache=True)
def _next_order(scores: FloatArray, kinds: IntArray, now: NDArray[np.int32]) -> None:  # pragma: no cover
    """The next order of the kinds: of the last tie that has one, with the ties below it back at their first."""
    end = len(now)
    while end > 0:
        top = end - 1
        while top > 0 and scores[now[top - 1]] == scores[now[end - 1]]:
            top -= 1
        pivot = end - 2
        while pivot >= top and kinds[now[pivot]] >= kinds[now[pivot + 1]]:
            pivot -= 1
        if pivot >= top:
            swap = end - 1
            while kinds[now[swap]] <= kinds[now[pivot]]:
                swap -= 1
            now[pivot], now[swap] = now[swap], now[pivot]
            low, high = pivot + 1, end - 1
        else:
            low, high = top, end - 1
        while low < high:
            now[low], now[high] = now[high], now[low]
            low, high = low + 1, high - 1
        if pivot >= top:
            return
        end = top
