"""The largest Lagrangian of any ranking, from above: by potentials that every pair of item and position is held to.

Item i at position j is worth c_ij = y_i w_j + lambda_i v_j, lambda_i that of its group. For ANY prices b_j, with a_i =
max over j of c_ij - b_j, no ranking is worth more than sum a + sum b: that is `potential_bound`, which looks at all n^2
pairs and needs no reason why the prices are what they are. It is the largest Lagrangian itself where the prices are an
optimal dual of the assignment problem, and `prices` looks for such.

Given a ranking, prices fit it when nobody gains by moving: b_j - b_p >= c_ij - c_ip for the item i at p and every j.
Within a group items stand in the order of their scores, so it is enough to look as far as the neighbours of the same
group on either side (what a longer move gains, a chain of such moves gains as well): for a position j that is one item
of each group above it and one below. Prices that fit are longest paths in this graph, found by sweeping down and up
the list until nothing rises; where there is none, a cycle of moves gains something, and making these moves is a
better ranking, to go on from.

Where quotas leave each item a window of positions, only pairs within windows are looked at. Windows of a group rise
from item to item, so the reason for looking at neighbours alone is as good as before.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

LOOK = 8
"""Sweeps after which a cycle is looked for; more, the longer none is found."""
MOST_LOOKS = 10_000
"""Then the prices are what they are: a bound all the same."""


def largest_lagrangian(
    scores: FloatArray,
    codes: IntArray,
    multipliers: FloatArray,
    v: FloatArray,
    w: FloatArray,
    windows: tuple[IntArray, IntArray] | None = None,
    ranking: IntArray | None = None,
) -> float:
    """An upper bound on the Lagrangian of every ranking, rounding included; tight unless the search was given up.

    Parameters
    ----------
    scores, codes : (n,)
        Groups are numbered from 0.
    multipliers : (G,)
    v, w : (n,)
        Any order: positions are gone through from the largest discount down.
    windows : pair of (n,) int, optional
        First and last position of the items, group by group and in each from the highest score down; `w` does not rise.
    ranking : (n,) int, optional
        One within the windows, to begin with.
    """
    down = np.argsort(-w, kind="stable")
    v, w = v[down], w[down]
    by_group = np.lexsort((-scores, codes))
    starts = np.searchsorted(codes[by_group], np.arange(len(multipliers) + 1))
    ordered = scores[by_group]
    if windows is None or ranking is None:
        pattern = _greedy(ordered, starts, multipliers, v, w)
        first, last = np.zeros(len(w), dtype=np.int64), np.full(len(w), len(w) - 1)
        b = prices(ordered, starts, multipliers, v, w, pattern, first, last)
        a, rounding = potential_bound(ordered, starts, multipliers, v, w, b)
    else:
        b = prices(ordered, starts, multipliers, v, w, codes[ranking].astype(np.int64), *windows)
        a, rounding = potential_bound(ordered, starts, multipliers, v, w, b, windows)
    return float(np.sum(a) + np.sum(b)) + rounding


def potential_bound(
    ordered: FloatArray,
    starts: IntArray,
    multipliers: FloatArray,
    v: FloatArray,
    w: FloatArray,
    b: FloatArray,
    windows: tuple[IntArray, IntArray] | None = None,
) -> tuple[FloatArray, float]:
    """a_i = max over j of c_ij - b_j of every item, and what rounding may have taken from sum a + sum b.

    `ordered` has the scores group by group, group g from `starts[g]` on. With windows, j lies in that of the item.
    """
    a = np.empty(len(ordered))
    largest = 0.0
    for g in range(len(multipliers)):
        rows = slice(int(starts[g]), int(starts[g + 1]))
        worth = multipliers[g] * v - b
        if windows is None:
            a[rows] = _largest_lines(ordered[rows], w, worth)
        else:
            a[rows] = _largest_within(ordered[rows], w, worth, windows[0][rows], windows[1][rows])
        largest = max(largest, float(np.abs(worth).max()), float(np.abs(multipliers[g] * v).max()))
    largest += float(np.abs(ordered).max()) * float(np.abs(w).max()) + float(np.abs(b).max())
    # Three operations a term, then sums of n terms in pairs.
    return a, float(np.finfo(float).eps) * len(a) * largest * (4.0 + np.log2(len(a) + 1))


@njit(cache=True)
def _largest_lines(y: FloatArray, w: FloatArray, worth: FloatArray) -> FloatArray:  # pragma: no cover
    """Max over j of y_i w_j + worth_j, for each i: all pairs, eight positions at a time."""
    n, m = len(y), len(w)
    found = np.empty(n)
    lanes = np.empty(8)
    for i in range(n):
        score = y[i]
        for k in range(8):
            lanes[k] = -np.inf
        for start in range(0, m - m % 8, 8):
            for k in range(8):
                value = score * w[start + k] + worth[start + k]
                lanes[k] = value if value > lanes[k] else lanes[k]
        best = -np.inf
        for k in range(8):
            best = max(best, lanes[k])
        for j in range(m - m % 8, m):
            best = max(best, score * w[j] + worth[j])
        found[i] = best
    return found


@njit(cache=True)
def _largest_within(
    y: FloatArray, w: FloatArray, worth: FloatArray, first: IntArray, last: IntArray
) -> FloatArray:  # pragma: no cover
    """The same over the positions of each item's window."""
    found = np.full(len(y), -np.inf)
    for i in range(len(y)):
        for j in range(first[i], last[i] + 1):
            found[i] = max(found[i], y[i] * w[j] + worth[j])
    return found


@njit(cache=True)
def prices(
    ordered: FloatArray,
    starts: IntArray,
    multipliers: FloatArray,
    v: FloatArray,
    w: FloatArray,
    pattern: IntArray,
    first: IntArray,
    last: IntArray,
) -> FloatArray:  # pragma: no cover
    """Prices of the positions that fit the best ranking within the windows, found from that of `pattern` on.

    A pattern has the group at each position; its items are those of the group in the order of their scores.
    """
    n = len(w)
    seated, trial = np.empty(n), np.empty(n)
    low, high = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    value = _seat(pattern, ordered, starts, multipliers, v, w, seated)
    _seat_windows(pattern, starts, first, last, low, high)
    b = _between_neighbours(pattern, seated, multipliers, v, w)
    scale = np.abs(b).max() + np.abs(ordered).max() * np.abs(w).max() + np.abs(multipliers).max() * np.abs(v).max()
    least = 16 * np.finfo(np.float64).eps * scale
    before = np.full(n, -1)
    look = LOOK
    for _ in range(MOST_LOOKS):
        for _ in range(look):
            if not _sweep(pattern, seated, low, high, multipliers, v, w, b, before, least):
                return b
        changed = pattern.copy()
        if not _turn_cycles(pattern, before, changed):
            look *= 2
            continue
        other = _seat(changed, ordered, starts, multipliers, v, w, trial)
        if other > value:
            value, pattern, look = other, changed, LOOK
            seated, trial = trial, seated
            _seat_windows(pattern, starts, first, last, low, high)
        else:
            least *= 2  # a gain of rounding alone
        b = _between_neighbours(pattern, seated, multipliers, v, w)
        before[:] = -1
    return b


@njit(cache=True)
def _greedy(
    ordered: FloatArray, starts: IntArray, multipliers: FloatArray, v: FloatArray, w: FloatArray
) -> IntArray:  # pragma: no cover
    """From the top down, the group whose next item loses most by standing one position lower."""
    n = len(w)
    pattern, taken = np.empty(n, dtype=np.int64), starts[:-1].copy()
    for j in range(n):
        below = min(j + 1, n - 1)
        best, most = -1, -np.inf
        for g in range(len(multipliers)):
            if taken[g] < starts[g + 1]:
                loss = ordered[taken[g]] * (w[j] - w[below]) + multipliers[g] * (v[j] - v[below])
                if loss > most:
                    best, most = g, loss
        pattern[j] = best
        taken[best] += 1
    return pattern


@njit(cache=True)
def _seat(
    pattern: IntArray,
    ordered: FloatArray,
    starts: IntArray,
    multipliers: FloatArray,
    v: FloatArray,
    w: FloatArray,
    seated: FloatArray,
) -> float:  # pragma: no cover
    """Write the score at each position; the Lagrangian of the ranking."""
    taken = starts[:-1].copy()
    value = 0.0
    for j in range(len(pattern)):
        g = pattern[j]
        seated[j] = ordered[taken[g]]
        taken[g] += 1
        value += seated[j] * w[j] + multipliers[g] * v[j]
    return value


@njit(cache=True)
def _seat_windows(
    pattern: IntArray, starts: IntArray, first: IntArray, last: IntArray, low: IntArray, high: IntArray
) -> None:  # pragma: no cover
    """Write the window of the item at each position."""
    taken = starts[:-1].copy()
    for j in range(len(pattern)):
        item = taken[pattern[j]]
        low[j], high[j] = first[item], last[item]
        taken[pattern[j]] += 1


@njit(cache=True)
def _between_neighbours(
    pattern: IntArray, seated: FloatArray, multipliers: FloatArray, v: FloatArray, w: FloatArray
) -> FloatArray:  # pragma: no cover
    """Prices that fit all swaps of neighbours, if any do: half way between what the two would pay."""
    b = np.zeros(len(pattern))
    for j in range(len(pattern) - 2, -1, -1):
        pay = 0.5 * (seated[j] + seated[j + 1]) * (w[j] - w[j + 1])
        pay += 0.5 * (multipliers[pattern[j]] + multipliers[pattern[j + 1]]) * (v[j] - v[j + 1])
        b[j] = b[j + 1] + pay
    return b


@njit(cache=True)
def _sweep(
    pattern: IntArray,
    seated: FloatArray,
    low: IntArray,
    high: IntArray,
    multipliers: FloatArray,
    v: FloatArray,
    w: FloatArray,
    b: FloatArray,
    before: IntArray,
    least: float,
) -> bool:  # pragma: no cover
    """Raise every price to what the nearest item of each group above would pay, then below; whether one rose."""
    n, risen = len(pattern), False
    last = np.empty(len(multipliers), dtype=np.int64)
    for step in (1, -1):
        last[:] = -1
        for k in range(n):
            j = k if step == 1 else n - 1 - k
            for g in range(len(multipliers)):
                p = last[g]
                if p < 0 or not low[p] <= j <= high[p]:
                    continue
                offer = b[p] + seated[p] * (w[j] - w[p]) + multipliers[g] * (v[j] - v[p])
                if offer > b[j] + least:
                    b[j] = offer
                    before[j] = p
                    risen = True
            last[pattern[j]] = j
    return risen


@njit(cache=True)
def _turn_cycles(pattern: IntArray, before: IntArray, changed: IntArray) -> bool:  # pragma: no cover
    """Move the items along every cycle of `before`; whether there was one."""
    n, found = len(pattern), False
    seen = np.full(n, -1)
    for start in range(n):
        j = start
        while j >= 0 and seen[j] < 0:
            seen[j] = start
            j = before[j]
        if j < 0 or seen[j] != start:
            continue
        found = True
        first = j
        while True:
            changed[j] = pattern[before[j]]
            j = before[j]
            if j == first:
                break
    return found
