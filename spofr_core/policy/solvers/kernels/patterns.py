"""Patterns: which group takes which position. Finding one that improves the Lagrangian, or proving that none does.

For multipliers lambda a pattern is worth f_r + sum_g lambda_g E_rg, an assignment problem with the values
y_i w_j + lambda_g(i) v_j:

- A merge that fills the positions from the top, each time with the group whose next item loses most by waiting,
  repaired by swaps of neighbours, nearly always finds an improving column.
- When it does not, a pattern is tested exactly. It is optimal if and only if there are prices of the positions at which
  every item prefers its own. They are sought by sweeps over the positions (the method of Bellman and Ford). Items of a
  group are sorted, so a move past the next item of one's own group is never better than two moves, his and one's own:
  it is enough to compare a position with the nearest item of every group above and below it, and a sweep takes O(n G).
  If the sweeps meet a cycle, moving the items along it improves the pattern; if they settle, the prices are the proof.

Every member of a group has a window of positions (all of them, where there are no quotas), and windows of a group rise
from member to member. So a move past the next item of one's own group is permitted only if both of the two moves are,
and all of this holds for patterns within windows, once there is one to begin with.
"""

import numpy as np

from spofr_core.policy.solvers.kernels.list_desk import (
    ALIVE,
    BUYER,
    DROP_V,
    DROP_W,
    EARLIEST,
    EXPOSURE,
    FIRST,
    HEAD,
    LAM,
    LATEST,
    MARK,
    MEMBER,
    MEMBER_SCORE,
    NEAR,
    NEAR_SCORE,
    NEAR_SURPLUS,
    ORIGIN,
    PATTERN,
    PRICE,
    PROMISING,
    SEATED,
    SITTER,
    Floats,
    Ints,
    V,
    W,
    jit,
)

_SETTLED = 1e-14  # smallest rise of a position's price, relative to the size of the costs


@jit
def seat_items(place: Floats, seat: Ints, row: Floats, marks: Ints, n: int, n_groups: int) -> float:
    """Seat the items of each group in their order; returns the pattern's utility and fills its exposures."""
    for g in range(n_groups):
        marks[HEAD, g] = marks[FIRST, g]
        row[EXPOSURE, g] = 0.0
    utility = 0.0
    for j in range(n):
        g = seat[PATTERN, j]
        y = place[MEMBER_SCORE, marks[HEAD, g]]
        seat[SITTER, j] = marks[HEAD, g]
        marks[HEAD, g] += 1
        place[SEATED, j] = y
        row[EXPOSURE, g] += place[V, j]
        utility += y * place[W, j]
    return utility


@jit
def merge_groups(place: Floats, seat: Ints, row: Floats, marks: Ints, n: int, n_groups: int) -> None:
    """Fill the positions from the top with the group whose next item loses most by waiting; ties by the plain sort."""
    for g in range(n_groups):
        marks[ALIVE, g] = g
        marks[HEAD, g] = marks[FIRST, g]
        row[NEAR_SCORE, g] = place[MEMBER_SCORE, marks[FIRST, g]]
    left = n_groups
    for j in range(n):
        drop_w, drop_v = place[DROP_W, j], place[DROP_V, j]
        chosen, best = 0, -np.inf
        for a in range(left):
            g = marks[ALIVE, a]
            loss = row[NEAR_SCORE, g] * drop_w + row[LAM, g] * drop_v
            if loss > best:
                chosen, best = a, loss
            elif loss == best:
                other = marks[ALIVE, chosen]
                if seat[MEMBER, marks[HEAD, g]] < seat[MEMBER, marks[HEAD, other]]:
                    chosen = a
        g = marks[ALIVE, chosen]
        seat[PATTERN, j] = g
        place[SEATED, j] = row[NEAR_SCORE, g]
        seat[SITTER, j] = marks[HEAD, g]
        head = marks[HEAD, g] + 1
        marks[HEAD, g] = head
        if head < marks[FIRST, g + 1]:
            row[NEAR_SCORE, g] = place[MEMBER_SCORE, head]
        else:
            left -= 1
            marks[ALIVE, chosen] = marks[ALIVE, left]


@jit
def permitted(seat: Ints, n: int) -> bool:
    """Whether everybody sits within the own window."""
    within = True
    for j in range(n):
        within &= seat[EARLIEST, seat[SITTER, j]] <= j <= seat[LATEST, seat[SITTER, j]]
    return within


@jit
def merge_within(place: Floats, seat: Ints, row: Floats, marks: Ints, n: int, n_groups: int) -> None:
    """As `merge_groups`, within the windows.

    A prefix is *full* when it has as many positions as members who sit in it already or must: then nobody else may
    take one. So of the groups whose next member may sit here, those remain whose member is due before the first full
    prefix ends; there is always one, because all who are due can be seated.
    """
    demand = seat[MARK]  # of the prefix that ends at each position: members seated before, or due within it
    end = 0  # nobody is due after this and before the end of the list
    for j in range(n):
        demand[j] = 0
    for g in range(n_groups):
        marks[HEAD, g] = marks[FIRST, g]
        for k in range(marks[FIRST, g], marks[FIRST, g + 1]):
            due = seat[LATEST, k]
            if due < n - 1:
                demand[due] += 1
                end = max(end, due + 1)
    for j in range(1, end):
        demand[j] += demand[j - 1]
    full = _next_full(demand, 0, end, n)
    for j in range(n):
        drop_w, drop_v = place[DROP_W, j], place[DROP_V, j]
        chosen, best = -1, -np.inf
        for g in range(n_groups):
            head = marks[HEAD, g]
            if head < marks[FIRST, g + 1] and seat[EARLIEST, head] <= j and seat[LATEST, head] <= full:
                loss = place[MEMBER_SCORE, head] * drop_w + row[LAM, g] * drop_v
                if chosen < 0 or loss > best:
                    chosen, best = g, loss
                elif loss == best and seat[MEMBER, head] < seat[MEMBER, marks[HEAD, chosen]]:
                    chosen = g
        head = marks[HEAD, chosen]
        seat[PATTERN, j], seat[SITTER, j] = chosen, head
        place[SEATED, j] = place[MEMBER_SCORE, head]
        marks[HEAD, chosen] += 1
        before = full
        for k in range(j, min(seat[LATEST, head], end)):  # who is seated before being due fills these prefixes
            demand[k] += 1
            if j < k < full and demand[k] > k:
                full = k
        if full == before == j:
            full = _next_full(demand, j + 1, end, n)


@jit
def _next_full(demand: Ints, start: int, end: int, n: int) -> int:
    """The last position of the first full prefix that ends at `start` or later; the whole list is always full."""
    for k in range(start, end):
        if demand[k] > k:
            return k
    return n - 1


@jit
def swap_neighbours(place: Floats, seat: Ints, row: Floats, n: int) -> None:
    """Swap neighbours of different groups while the Lagrangian rises and the windows permit it."""
    j, swaps = 0, 0
    while j < n - 1 and swaps < 4 * n:
        g, h = seat[PATTERN, j], seat[PATTERN, j + 1]
        if g != h:
            gain = (place[SEATED, j + 1] - place[SEATED, j]) * (place[W, j] - place[W, j + 1])
            gain += (row[LAM, h] - row[LAM, g]) * (place[V, j] - place[V, j + 1])
            down, up = seat[SITTER, j], seat[SITTER, j + 1]
            if gain > 1e-13 and seat[LATEST, down] > j and seat[EARLIEST, up] <= j:
                seat[PATTERN, j], seat[PATTERN, j + 1] = h, g
                seat[SITTER, j], seat[SITTER, j + 1] = up, down
                place[SEATED, j], place[SEATED, j + 1] = place[SEATED, j + 1], place[SEATED, j]
                swaps += 1
                j = max(j - 1, 0)
                continue
        j += 1


@jit
def midpoint_prices(place: Floats, seat: Ints, row: Floats, n: int) -> None:
    """Prices of the positions, halfway between what the two neighbours would pay for the better place."""
    place[PRICE, n - 1] = 0.0
    for j in range(n - 2, -1, -1):
        dw, dv = place[W, j] - place[W, j + 1], place[V, j] - place[V, j + 1]
        worth = (place[SEATED, j] + place[SEATED, j + 1]) * dw + (
            row[LAM, seat[PATTERN, j]] + row[LAM, seat[PATTERN, j + 1]]
        ) * dv
        place[PRICE, j] = place[PRICE, j + 1] + 0.5 * worth


@jit
def _sweep(
    place: Floats, seat: Ints, row: Floats, marks: Ints, n: int, n_groups: int, down: bool, least: float,
) -> bool:  # fmt: skip
    """Raise each position's price to what the nearest item of every group above it (below it, if not `down`) would pay.

    An item with price p at its own position k would pay p + (its value at j) - (its value at k) for position j, if j
    lies in its window.
    """
    for g in range(n_groups):
        row[NEAR_SURPLUS, g] = -np.inf
        row[NEAR_SCORE, g] = 0.0
    changed = False
    for step in range(n):
        j = step if down else n - 1 - step
        vj, wj = place[V, j], place[W, j]
        best, buyer = place[PRICE, j] + least, -1
        for g in range(n_groups):
            pays = row[NEAR_SURPLUS, g] + row[NEAR_SCORE, g] * wj + row[LAM, g] * vj
            if pays > best:
                member = seat[SITTER, marks[NEAR, g]]
                if seat[LATEST, member] >= j if down else seat[EARLIEST, member] <= j:
                    best, buyer = pays, g
        if buyer >= 0:
            place[PRICE, j] = best
            seat[BUYER, j] = marks[NEAR, buyer]
            changed = True
        own = seat[PATTERN, j]
        marks[NEAR, own] = j
        row[NEAR_SCORE, own] = place[SEATED, j]
        row[NEAR_SURPLUS, own] = place[PRICE, j] - place[SEATED, j] * wj - row[LAM, own] * vj
    return changed


@jit
def _rotate(seat: Ints, n: int) -> bool:
    """Move the items along the cycles among the positions' buyers, if there are any."""
    for j in range(n):
        seat[MARK, j] = -1
    found = False
    for start in range(n):
        j = start
        while j >= 0 and seat[MARK, j] < 0:
            seat[MARK, j] = start
            j = seat[BUYER, j]
        if j >= 0 and seat[MARK, j] == start:  # the walk from `start` has closed a cycle through j
            found = True
            moved, k = seat[PATTERN, j], j
            while seat[BUYER, k] != j:
                seat[PATTERN, k] = seat[PATTERN, seat[BUYER, k]]
                k = seat[BUYER, k]
            seat[PATTERN, k] = moved
    return found


@jit
def reduced_cost(row: Floats, utility: float, n_groups: int) -> float:
    """Reduced cost of the pattern at work."""
    gain: float = utility - row[ORIGIN, n_groups] - row[LAM, n_groups]
    for g in range(n_groups):
        gain += row[LAM, g] * (row[EXPOSURE, g] - row[ORIGIN, g])
    return gain


@jit
def perfect(place: Floats, seat: Ints, row: Floats, marks: Ints, n: int, n_groups: int, size: float) -> bool:
    """Improve the pattern until it is worth a column (False) or prices prove that it is optimal (True)."""
    least = _SETTLED * size
    for _ in range(20 + 2 * n):
        for j in range(n):
            seat[BUYER, j] = -1
        rotated = False
        for _ in range(2 + n):
            changed = _sweep(place, seat, row, marks, n, n_groups, True, least)
            changed |= _sweep(place, seat, row, marks, n, n_groups, False, least)
            if not changed:
                return True
            rotated = _rotate(seat, n)
            if rotated:
                break
        if not rotated:
            return False
        seat_items(place, seat, row, marks, n, n_groups)
        swap_neighbours(place, seat, row, n)
        utility = seat_items(place, seat, row, marks, n, n_groups)
        if reduced_cost(row, utility, n_groups) > PROMISING * size:
            return False
    return False


@jit
def lagrangian_bound(place: Floats, seat: Ints, row: Floats, marks: Ints, n: int, n_groups: int) -> float:
    """Upper bound on the Lagrangian of all rankings: the prices, and what each item gains at its best position."""
    total = 0.0
    for j in range(n):
        total += place[PRICE, j]
    for g in range(n_groups):
        for k in range(marks[FIRST, g], marks[FIRST, g + 1]):
            y, best = place[MEMBER_SCORE, k], -np.inf
            for j in range(seat[EARLIEST, k], seat[LATEST, k] + 1):
                gain = y * place[W, j] + row[LAM, g] * place[V, j] - place[PRICE, j]
                best = max(best, gain)
            total += best
    return total
