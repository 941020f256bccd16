"""The exact solver for lists in which any number of groups is present.

Within a group items stand in the order of their scores, whatever the groups' multipliers, so a ranking is a *pattern*:
which group takes which position. The policy is a lottery over patterns, the optimum of the linear programme ::

    max sum_r theta_r f_r   s.t.   sum_r theta_r E_rg = s_g,  lower_g <= s_g <= upper_g,  sum_r theta_r = 1, theta >= 0

with f_r the utility of pattern r and E_rg the exposure that it gives to group g. It has a row per group and a column
per pattern; columns are generated as they are needed. For multipliers lambda a new column must maximise the Lagrangian
f_r + sum_g lambda_g E_rg, an assignment problem with the values y_i w_j + lambda_g(i) v_j:

- A merge that fills the positions from the top, each time with the group whose next item loses most by waiting,
  repaired by swaps of neighbours, nearly always finds an improving column.
- When it does not, a pattern is tested exactly. It is optimal if and only if there are prices of the positions at which
  every item prefers its own. They are sought by sweeps over the positions (the method of Bellman and Ford). Items of a
  group are sorted, so a move past the next item of one's own group is never better than two moves, his and one's own:
  it is enough to compare a position with the nearest item of every group above and below it, and a sweep takes O(n G).
  If the sweeps meet a cycle, moving the items along it improves the pattern; if they settle, the prices are the proof.

The master programme is a primal simplex with an explicit basis inverse, in which s_g may leave its bounds at a penalty.
A basic s_g needs no multiplier, so a policy has at most one ranking more than it has active bounds, and the row that
is redundant when all bounds are equations (exposures add up to the same total in every ranking) stays basic by itself.

Groups are numbered by their best item and ties between scores are broken by hashing, so nothing depends on the codes
of the groups or on the order of the input. Everything lives in one file because the cache of a compiled function does
not notice a change in another module.
"""

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Keys = NDArray[np.uint64]
Bytes = NDArray[np.int8]

_SLACK = 2e-13  # a bound is met when it is missed by at most this, in units of v (or of its largest value, if above 1)
_HELD = 9e-13  # the same for the finished policy
_ENTER = 1e-11  # smallest reduced cost worth a pivot, relative to the size of the costs
_PROMISING = 1e-9  # smallest reduced cost for which the merge's column is taken without looking for a better one
_GAP = 1e-10  # largest difference to the dual bound, relative to the size of the costs
_PIVOT = 1e-9  # smallest pivot element
_HAIR = 1e-13  # what a basic variable may exceed its bound by for the sake of a larger pivot
_SETTLED = 1e-14  # smallest rise of a position's price, relative to the size of the costs
_RELAXATIONS = 14  # penalty increases before the bounds count as out of reach
_STEPS = 2  # steps of the multipliers per group before the first master programme
_BATCHES = 64  # working memory is made once for each


# One query at work: arrays by what their columns run over, so that few of them travel through the calls.
# `place` (numbers by position, rank or member) and `seat` (indices).
_V, _W, _DROP_V, _DROP_W, _SCORE, _MEMBER_SCORE, _SEATED, _PRICE = range(8)
_ORDER, _GROUP, _MEMBER, _PATTERN, _BUYER, _MARK = range(6)
# `row` (numbers by row of the master: one per group, the last for the sum of probabilities) and `marks` (indices).
_LOWER, _UPPER, _X, _LAM, _ALPHA, _RESTING, _ORIGIN, _EXPOSURE, _NEAR_SCORE, _NEAR_SURPLUS = range(10)
_FIRST, _CODE, _BASIS, _ALIVE, _HEAD, _NEAR, _AGE = range(7)

_jit = njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
_sum_jit = njit(
    cache=True, nogil=True, error_model="numpy", fastmath={"contract", "reassoc"}
)  # lets sums be vectorised


# --- the query -------------------------------------------------------------------------------------------------------


@_jit
def _tie_key(seed: int, query: int, item: int) -> np.uint64:
    """A number that looks random and depends on nothing but its arguments (splitmix64)."""
    x = np.uint64(seed) + np.uint64(query) * np.uint64(0xD1342543DE82EF95)
    for salt in (np.uint64(item), np.uint64(0)):
        x += np.uint64(0x9E3779B97F4A7C15) * (salt + np.uint64(1))
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        x ^= x >> np.uint64(31)
    return x


@_jit
def _sort_items(scores: Floats, n: int, seed: int, query: int, order: Ints, y: Floats, tie: Keys) -> None:
    """Items by (score descending, tie key); `y` becomes the sorted scores."""
    if n <= 40:
        for i in range(n):
            score = scores[i]
            k = i
            while k > 0 and y[k - 1] < score:
                y[k], order[k] = y[k - 1], order[k - 1]
                k -= 1
            y[k], order[k] = score, i
    else:
        ascending = np.argsort(scores[:n])
        for k in range(n):
            order[k] = ascending[n - 1 - k]
            y[k] = scores[order[k]]
    start = 0
    while start < n:
        stop = start + 1
        while stop < n and y[stop] == y[start]:
            stop += 1
        if stop - start > 1:
            _shuffle(order, start, stop, seed, query, tie)
        start = stop


@_jit
def _shuffle(order: Ints, start: int, stop: int, seed: int, query: int, tie: Keys) -> None:
    """Order a run of equal scores by the tie keys."""
    for k in range(start, stop):
        tie[k] = _tie_key(seed, query, order[k])
    if stop - start <= 40:
        for i in range(start + 1, stop):
            key, item, k = tie[i], order[i], i
            while k > start and tie[k - 1] > key:
                tie[k], order[k] = tie[k - 1], order[k - 1]
                k -= 1
            tie[k], order[k] = key, item
    else:
        sequence = np.argsort(tie[start:stop])
        order[start:stop] = order[start:stop][sequence]


@_jit
def _set_positions(place: Floats, v: Floats, w: Floats, n: int) -> None:
    """Map v and w to [0, 1] and take their drops.

    Inside a block of equal v and w the drop is the one at the block's end: that is what its positions are worth.
    """
    spread_v, spread_w = v[0] - v[n - 1], w[0] - w[n - 1]
    for j in range(n):
        place[_V, j] = (v[j] - v[n - 1]) / spread_v if spread_v > 0.0 else 0.0
        place[_W, j] = (w[j] - w[n - 1]) / spread_w if spread_w > 0.0 else 0.0
    place[_DROP_V, n - 1] = 0.0
    place[_DROP_W, n - 1] = 0.0
    for j in range(n - 2, -1, -1):
        if v[j] == v[j + 1] and w[j] == w[j + 1]:
            place[_DROP_V, j] = place[_DROP_V, j + 1]
            place[_DROP_W, j] = place[_DROP_W, j + 1]
        else:
            place[_DROP_V, j] = place[_V, j] - place[_V, j + 1]
            place[_DROP_W, j] = place[_W, j] - place[_W, j + 1]


@_jit
def _set_groups(place: Floats, seat: Ints, marks: Ints, local: Ints, codes: Ints, n: int) -> int:
    """Number the groups by their best item, so that nothing depends on their codes; returns how many there are."""
    n_groups = 0
    for rank in range(n):
        code = codes[seat[_ORDER, rank]]
        g = local[code]
        if g < 0:
            g = n_groups
            local[code] = g
            marks[_CODE, g] = code
            marks[_FIRST, g + 1] = 0
            n_groups += 1
        seat[_GROUP, rank] = g
        marks[_FIRST, g + 1] += 1
    marks[_FIRST, 0] = 0
    for g in range(n_groups):
        marks[_FIRST, g + 1] += marks[_FIRST, g]
    for rank in range(n):
        g = seat[_GROUP, rank]
        k = marks[_FIRST, g]
        seat[_MEMBER, k] = rank
        place[_MEMBER_SCORE, k] = place[_SCORE, rank]
        marks[_FIRST, g] += 1
    for g in range(n_groups, 0, -1):
        marks[_FIRST, g] = marks[_FIRST, g - 1]
    marks[_FIRST, 0] = 0
    return n_groups


@_jit
def _set_bounds(
    row: Floats, marks: Ints, lower: Floats, upper: Floats, n_groups: int, base: float, spread: float,
) -> None:  # fmt: skip
    """The bounds in units of the mapped v."""
    for g in range(n_groups):
        size = marks[_FIRST, g + 1] - marks[_FIRST, g]
        row[_LOWER, g] = (lower[marks[_CODE, g]] - size * base) / spread
        row[_UPPER, g] = (upper[marks[_CODE, g]] - size * base) / spread


# --- patterns --------------------------------------------------------------------------------------------------------


@_jit
def _seat(place: Floats, seat: Ints, row: Floats, marks: Ints, n: int, n_groups: int) -> float:
    """Seat the items of each group in their order; returns the pattern's utility and fills its exposures."""
    for g in range(n_groups):
        marks[_HEAD, g] = marks[_FIRST, g]
        row[_EXPOSURE, g] = 0.0
    utility = 0.0
    for j in range(n):
        g = seat[_PATTERN, j]
        y = place[_MEMBER_SCORE, marks[_HEAD, g]]
        marks[_HEAD, g] += 1
        place[_SEATED, j] = y
        row[_EXPOSURE, g] += place[_V, j]
        utility += y * place[_W, j]
    return utility


@_jit
def _merge(place: Floats, seat: Ints, row: Floats, marks: Ints, n: int, n_groups: int) -> None:
    """Fill the positions from the top with the group whose next item loses most by waiting; ties by the plain sort."""
    for g in range(n_groups):
        marks[_ALIVE, g] = g
        marks[_HEAD, g] = marks[_FIRST, g]
        row[_NEAR_SCORE, g] = place[_MEMBER_SCORE, marks[_FIRST, g]]
    left = n_groups
    for j in range(n):
        drop_w, drop_v = place[_DROP_W, j], place[_DROP_V, j]
        chosen, best = 0, -np.inf
        for a in range(left):
            g = marks[_ALIVE, a]
            loss = row[_NEAR_SCORE, g] * drop_w + row[_LAM, g] * drop_v
            if loss > best:
                chosen, best = a, loss
            elif loss == best:
                other = marks[_ALIVE, chosen]
                if seat[_MEMBER, marks[_HEAD, g]] < seat[_MEMBER, marks[_HEAD, other]]:
                    chosen = a
        g = marks[_ALIVE, chosen]
        seat[_PATTERN, j] = g
        place[_SEATED, j] = row[_NEAR_SCORE, g]
        head = marks[_HEAD, g] + 1
        marks[_HEAD, g] = head
        if head < marks[_FIRST, g + 1]:
            row[_NEAR_SCORE, g] = place[_MEMBER_SCORE, head]
        else:
            left -= 1
            marks[_ALIVE, chosen] = marks[_ALIVE, left]


@_jit
def _swap_neighbours(place: Floats, seat: Ints, row: Floats, n: int) -> None:
    """Swap neighbours of different groups while the Lagrangian rises."""
    j, swaps = 0, 0
    while j < n - 1 and swaps < 4 * n:
        g, h = seat[_PATTERN, j], seat[_PATTERN, j + 1]
        if g != h:
            gain = (place[_SEATED, j + 1] - place[_SEATED, j]) * (place[_W, j] - place[_W, j + 1])
            gain += (row[_LAM, h] - row[_LAM, g]) * (place[_V, j] - place[_V, j + 1])
            if gain > 1e-13:
                seat[_PATTERN, j], seat[_PATTERN, j + 1] = h, g
                place[_SEATED, j], place[_SEATED, j + 1] = place[_SEATED, j + 1], place[_SEATED, j]
                swaps += 1
                j = max(j - 1, 0)
                continue
        j += 1


@_jit
def _midpoint_prices(place: Floats, seat: Ints, row: Floats, n: int) -> None:
    """Prices of the positions, halfway between what the two neighbours would pay for the better place."""
    place[_PRICE, n - 1] = 0.0
    for j in range(n - 2, -1, -1):
        dw, dv = place[_W, j] - place[_W, j + 1], place[_V, j] - place[_V, j + 1]
        worth = (place[_SEATED, j] + place[_SEATED, j + 1]) * dw + (
            row[_LAM, seat[_PATTERN, j]] + row[_LAM, seat[_PATTERN, j + 1]]
        ) * dv
        place[_PRICE, j] = place[_PRICE, j + 1] + 0.5 * worth


@_jit
def _sweep(
    place: Floats, seat: Ints, row: Floats, marks: Ints, n: int, n_groups: int, down: bool, least: float,
) -> bool:  # fmt: skip
    """Raise each position's price to what the nearest item of every group above it (below it, if not `down`) would pay.

    An item with price p at its own position k would pay p + (its value at j) - (its value at k) for position j.
    """
    for g in range(n_groups):
        row[_NEAR_SURPLUS, g] = -np.inf
        row[_NEAR_SCORE, g] = 0.0
    changed = False
    for step in range(n):
        j = step if down else n - 1 - step
        vj, wj = place[_V, j], place[_W, j]
        best, buyer = place[_PRICE, j] + least, -1
        for g in range(n_groups):
            pays = row[_NEAR_SURPLUS, g] + row[_NEAR_SCORE, g] * wj + row[_LAM, g] * vj
            if pays > best:
                best, buyer = pays, g
        if buyer >= 0:
            place[_PRICE, j] = best
            seat[_BUYER, j] = marks[_NEAR, buyer]
            changed = True
        own = seat[_PATTERN, j]
        marks[_NEAR, own] = j
        row[_NEAR_SCORE, own] = place[_SEATED, j]
        row[_NEAR_SURPLUS, own] = place[_PRICE, j] - place[_SEATED, j] * wj - row[_LAM, own] * vj
    return changed


@_jit
def _rotate(seat: Ints, n: int) -> bool:
    """Move the items along the cycles among the positions' buyers, if there are any."""
    for j in range(n):
        seat[_MARK, j] = -1
    found = False
    for start in range(n):
        j = start
        while j >= 0 and seat[_MARK, j] < 0:
            seat[_MARK, j] = start
            j = seat[_BUYER, j]
        if j >= 0 and seat[_MARK, j] == start:  # the walk from `start` has closed a cycle through j
            found = True
            moved, k = seat[_PATTERN, j], j
            while seat[_BUYER, k] != j:
                seat[_PATTERN, k] = seat[_PATTERN, seat[_BUYER, k]]
                k = seat[_BUYER, k]
            seat[_PATTERN, k] = moved
    return found


@_jit
def _reduced_cost(row: Floats, utility: float, n_groups: int) -> float:
    """Reduced cost of the pattern at work."""
    gain: float = utility - row[_ORIGIN, n_groups] - row[_LAM, n_groups]
    for g in range(n_groups):
        gain += row[_LAM, g] * (row[_EXPOSURE, g] - row[_ORIGIN, g])
    return gain


@_jit
def _perfect(place: Floats, seat: Ints, row: Floats, marks: Ints, n: int, n_groups: int, size: float) -> bool:
    """Improve the pattern until it is worth a column (False) or prices prove that it is optimal (True)."""
    least = _SETTLED * size
    for _ in range(20 + 2 * n):
        for j in range(n):
            seat[_BUYER, j] = -1
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
        _seat(place, seat, row, marks, n, n_groups)
        _swap_neighbours(place, seat, row, n)
        utility = _seat(place, seat, row, marks, n, n_groups)
        if _reduced_cost(row, utility, n_groups) > _PROMISING * size:
            return False
    return False


@_jit
def _lagrangian_bound(place: Floats, row: Floats, marks: Ints, n: int, n_groups: int) -> float:
    """Upper bound on the Lagrangian of all rankings: the prices plus what each item gains at its best position."""
    total = 0.0
    for j in range(n):
        total += place[_PRICE, j]
    for g in range(n_groups):
        for k in range(marks[_FIRST, g], marks[_FIRST, g + 1]):
            y, best = place[_MEMBER_SCORE, k], -np.inf
            for j in range(n):
                gain = y * place[_W, j] + row[_LAM, g] * place[_V, j] - place[_PRICE, j]
                best = max(best, gain)
            total += best
    return total


# --- the master programme --------------------------------------------------------------------------------------------


@_jit
def _add_column(
    seat: Ints, row: Floats, columns: Floats, patterns: Ints, utility: float, n: int, n_groups: int, count: int,
) -> int:  # fmt: skip
    """Store the pattern at work as column number `count`; returns the new number of columns."""
    if count == 0:
        for g in range(n_groups):
            row[_ORIGIN, g] = row[_EXPOSURE, g]
        row[_ORIGIN, n_groups] = utility
    for j in range(n):
        patterns[count, j] = seat[_PATTERN, j]
    for g in range(n_groups):
        columns[count, g] = row[_EXPOSURE, g] - row[_ORIGIN, g]
    columns[count, n_groups] = utility - row[_ORIGIN, n_groups]
    columns[count, -1] = 0.0
    return count + 1


@_jit
def _reset_basis(row: Floats, marks: Ints, columns: Floats, inverse: Floats, n_groups: int) -> None:
    """All s_g basic beside the first column, whose coordinates are zero."""
    for i in range(n_groups + 1):
        for k in range(n_groups + 1):
            inverse[i, k] = 0.0
        inverse[i, i] = -1.0
        marks[_BASIS, i] = i
        row[_X, i] = 0.0
        row[_RESTING, i] = np.nan
    inverse[n_groups, n_groups] = 1.0
    row[_X, n_groups] = 1.0
    columns[0, -1] = 1.0
    marks[_AGE, 0] = 0


@_sum_jit
def _direction(row: Floats, columns: Floats, inverse: Floats, variable: int, n_groups: int) -> None:
    """alpha = inverse times the variable's column."""
    if variable < n_groups:
        for i in range(n_groups + 1):
            row[_ALPHA, i] = -inverse[i, variable]
    else:
        r = variable - n_groups
        for i in range(n_groups + 1):
            total = inverse[i, n_groups]
            for g in range(n_groups):
                total += inverse[i, g] * columns[r, g]
            row[_ALPHA, i] = total


@_jit
def _replace(
    row: Floats, marks: Ints, columns: Floats, inverse: Floats, slot: int, variable: int, n_groups: int,
) -> None:  # fmt: skip
    """Put the variable whose direction is in alpha into the basis in place of the one at `slot`."""
    leaving = marks[_BASIS, slot]
    if leaving >= n_groups:
        columns[leaving - n_groups, -1] = 0.0
    if variable >= n_groups:
        columns[variable - n_groups, -1] = 1.0
    else:
        row[_RESTING, variable] = np.nan
    marks[_BASIS, slot] = variable
    marks[_AGE, 0] += 1
    scale = 1.0 / row[_ALPHA, slot]
    for k in range(n_groups + 1):
        inverse[slot, k] *= scale
    for i in range(n_groups + 1):
        factor = row[_ALPHA, i]
        if i != slot and factor != 0.0:
            for k in range(n_groups + 1):
                inverse[i, k] -= factor * inverse[slot, k]


@_jit
def _solve_for_x(row: Floats, inverse: Floats, n_groups: int) -> None:
    """Values of the basic variables, from the resting ones."""
    for i in range(n_groups + 1):
        total = inverse[i, n_groups]
        for g in range(n_groups):
            if not np.isnan(row[_RESTING, g]):
                total += inverse[i, g] * row[_RESTING, g]
        row[_X, i] = total


@_jit
def _refactor(row: Floats, marks: Ints, columns: Floats, inverse: Floats, square: Floats, n_groups: int) -> bool:
    """The basis inverse afresh (Gauss and Jordan, row pivots), and the basic variables from it."""
    m = n_groups + 1
    for i in range(m):
        for k in range(m):
            square[i, k] = 0.0
            inverse[i, k] = 0.0
        inverse[i, i] = 1.0
    for k in range(m):
        variable = marks[_BASIS, k]
        if variable < n_groups:
            square[variable, k] = -1.0
        else:
            square[n_groups, k] = 1.0
            for g in range(n_groups):
                square[g, k] = columns[variable - n_groups, g]
    for k in range(m):
        pivot = k
        for i in range(k + 1, m):
            if abs(square[i, k]) > abs(square[pivot, k]):
                pivot = i
        if abs(square[pivot, k]) < 1e-14:
            return False
        if pivot != k:
            for c in range(m):
                square[k, c], square[pivot, c] = square[pivot, c], square[k, c]
                inverse[k, c], inverse[pivot, c] = inverse[pivot, c], inverse[k, c]
        scale = 1.0 / square[k, k]
        for c in range(m):
            square[k, c] *= scale
            inverse[k, c] *= scale
        for i in range(m):
            factor = square[i, k]
            if i != k and factor != 0.0:
                for c in range(m):
                    square[i, c] -= factor * square[k, c]
                    inverse[i, c] -= factor * inverse[k, c]
    _solve_for_x(row, inverse, n_groups)
    marks[_AGE, 0] = 0
    return True


@_jit
def _set_multipliers(
    row: Floats, marks: Ints, columns: Floats, inverse: Floats, n_groups: int, penalty: float, slack: float,
) -> float:  # fmt: skip
    """Multipliers of the basis; returns by how much the bounds are missed."""
    for k in range(n_groups + 1):
        row[_LAM, k] = 0.0
    missed = 0.0
    for i in range(n_groups + 1):
        variable = marks[_BASIS, i]
        if variable >= n_groups:
            cost = columns[variable - n_groups, n_groups]
        else:
            reached = row[_X, i] + row[_ORIGIN, variable]
            under, over = row[_LOWER, variable] - reached, reached - row[_UPPER, variable]
            cost = penalty if under > slack else (-penalty if over > slack else 0.0)
            missed = max(missed, under, over)
            row[_ALPHA, variable] = cost
        if cost != 0.0:
            for k in range(n_groups + 1):
                row[_LAM, k] -= cost * inverse[i, k]
    for g in range(n_groups):  # exact where it is known
        if np.isnan(row[_RESTING, g]):
            row[_LAM, g] = row[_ALPHA, g]
    row[_LAM, n_groups] = -row[_LAM, n_groups]
    return missed


@_jit
def _clear_wrong_signs(row: Floats, n_groups: int) -> None:
    """Multipliers of the wrong sign for their bound become zero: at the optimum that is rounding, and the bound that
    prices and multipliers prove holds for any of them.
    """
    for g in range(n_groups):
        if not np.isnan(row[_RESTING, g]) and row[_LOWER, g] < row[_UPPER, g]:
            at_lower = row[_RESTING, g] == row[_LOWER, g] - row[_ORIGIN, g]
            if row[_LAM, g] < 0.0 if at_lower else row[_LAM, g] > 0.0:
                row[_LAM, g] = 0.0


@_sum_jit
def _column_gain(row: Floats, columns: Floats, r: int, n_groups: int) -> float:
    """Reduced cost of a column."""
    gain: float = columns[r, n_groups] - row[_LAM, n_groups]
    for g in range(n_groups):
        gain += row[_LAM, g] * columns[r, g]
    return gain


@_jit
def _entering(
    row: Floats, columns: Floats, n_groups: int, count: int, least: float, first: bool,
) -> tuple[int, float]:  # fmt: skip
    """The nonbasic variable that improves most (or the first one that improves) and the sense in which it moves."""
    chosen, sense, best = -1, 1.0, least
    for g in range(n_groups):
        if not np.isnan(row[_RESTING, g]) and row[_LOWER, g] < row[_UPPER, g]:
            at_lower = row[_RESTING, g] == row[_LOWER, g] - row[_ORIGIN, g]
            gain = -row[_LAM, g] if at_lower else row[_LAM, g]
            if gain > best:
                chosen, sense, best = g, (1.0 if at_lower else -1.0), gain
                if first:
                    return chosen, sense
    for r in range(count):
        if columns[r, -1] == 0.0:
            gain = _column_gain(row, columns, r, n_groups)
            if gain > best:
                chosen, sense, best = n_groups + r, 1.0, gain
                if first:
                    return chosen, sense
    return chosen, sense


@_jit
def _stop(row: Floats, marks: Ints, n_groups: int, i: int, rate: float, slack: float) -> float:
    """Where the basic variable in slot i, moving at `rate`, has to stop; not finite if it does not.

    A basic s_g that misses a bound stops where it meets it, and is free to move further away from it.
    """
    variable = marks[_BASIS, i]
    if variable >= n_groups:
        return 0.0 if rate < 0.0 else np.inf
    low = row[_LOWER, variable] - row[_ORIGIN, variable]
    high = row[_UPPER, variable] - row[_ORIGIN, variable]
    if rate > 0.0:
        if row[_X, i] > high + slack:
            return np.inf
        return float(low if row[_X, i] < low - slack else high)
    if row[_X, i] < low - slack:
        return np.inf
    return float(high if row[_X, i] > high + slack else low)


@_jit
def _blocking(
    row: Floats, marks: Ints, n_groups: int, sense: float, slack: float, first: bool,
) -> tuple[int, float, float]:  # fmt: skip
    """The basic variable that stops the entering one: its slot (-1 if none does), the step, and its resting value.

    Among those that stop within a hair of the shortest step the largest pivot is chosen, or the smallest variable if
    `first`.
    """
    reach = np.inf
    for i in range(n_groups + 1):
        rate = -sense * row[_ALPHA, i]
        if abs(rate) > _PIVOT:
            stop = _stop(row, marks, n_groups, i, rate, slack)
            if np.isfinite(stop):
                reach = min(reach, max((stop - row[_X, i]) / rate, 0.0) + _HAIR / abs(rate))
    slot, step, rest = -1, np.inf, 0.0
    for i in range(n_groups + 1):
        rate = -sense * row[_ALPHA, i]
        if abs(rate) > _PIVOT:
            stop = _stop(row, marks, n_groups, i, rate, slack)
            if np.isfinite(stop):
                own = max((stop - row[_X, i]) / rate, 0.0)
                if own <= reach:
                    if slot < 0:
                        better = True
                    elif first:
                        better = marks[_BASIS, i] < marks[_BASIS, slot]
                    else:
                        better = abs(rate) > abs(row[_ALPHA, slot])
                    if better:
                        slot, step, rest = i, own, stop
    return slot, step, rest


@_jit
def _pivot(
    row: Floats, marks: Ints, columns: Floats, inverse: Floats, n_groups: int, variable: int, sense: float,
    slack: float, first: bool,
) -> float:  # fmt: skip
    """One step of the simplex; returns its length, negative if the numbers allow none."""
    _direction(row, columns, inverse, variable, n_groups)
    slot, step, rest = _blocking(row, marks, n_groups, sense, slack, first)
    start = 0.0
    if variable < n_groups:
        start = row[_RESTING, variable]
        width: float = row[_UPPER, variable] - row[_LOWER, variable]
        if width < np.inf and step >= width:  # it reaches its other bound before anything stops it
            for i in range(n_groups + 1):
                row[_X, i] -= sense * width * row[_ALPHA, i]
            end = row[_UPPER, variable] if sense > 0.0 else row[_LOWER, variable]
            row[_RESTING, variable] = end - row[_ORIGIN, variable]
            return width
    if slot < 0:
        return -1.0
    for i in range(n_groups + 1):
        row[_X, i] -= sense * step * row[_ALPHA, i]
    leaving = marks[_BASIS, slot]
    _replace(row, marks, columns, inverse, slot, variable, n_groups)
    if leaving < n_groups:
        row[_RESTING, leaving] = rest
    row[_X, slot] = start + sense * step
    return step


@_jit
def _simplex(
    row: Floats, marks: Ints, columns: Floats, inverse: Floats, square: Floats, n_groups: int, count: int,
    penalty: float, slack: float,
) -> tuple[float, bool]:  # fmt: skip
    """Optimise over the pool; returns by how much the bounds are missed, and whether it went well."""
    stalled = 0
    patience = 2 * n_groups + 10
    missed = _set_multipliers(row, marks, columns, inverse, n_groups, penalty, slack)
    for _ in range(200 + 60 * n_groups):
        first = stalled > patience
        variable, sense = _entering(row, columns, n_groups, count, _ENTER * (1.0 + _size(row, n_groups)), first)
        if variable < 0:
            return missed, True
        step = _pivot(row, marks, columns, inverse, n_groups, variable, sense, slack, first)
        if step < 0.0:
            return missed, False
        stalled = stalled + 1 if step <= 1e-13 else 0
        if marks[_AGE, 0] > 40 and not _refactor(row, marks, columns, inverse, square, n_groups):
            return missed, False
        missed = _set_multipliers(row, marks, columns, inverse, n_groups, penalty, slack)
    return missed, False


@_jit
def _size(row: Floats, n_groups: int) -> float:
    """Largest multiplier: the size of the costs beyond the scores' own."""
    size = 0.0
    for g in range(n_groups):
        size = max(size, abs(row[_LAM, g]))
    return size


@_jit
def _compact(marks: Ints, columns: Floats, patterns: Ints, n: int, n_groups: int, count: int) -> int:
    """Make room: forget the older half of the columns, except those in the basis and the first, the origin."""
    kept = 1
    for r in range(1, count):
        if columns[r, -1] > 0.0 or 2 * r > count:
            if r != kept:
                for i in range(n_groups + 1):
                    if marks[_BASIS, i] == n_groups + r:
                        marks[_BASIS, i] = n_groups + kept
                for j in range(n):
                    patterns[kept, j] = patterns[r, j]
                for g in range(n_groups + 1):
                    columns[kept, g] = columns[r, g]
                columns[kept, -1] = columns[r, -1]
            kept += 1
    return kept


# --- from the first column to the policy -----------------------------------------------------------------------------


@_jit
def _recall(
    place: Floats, seat: Ints, row: Floats, marks: Ints, columns: Floats, patterns: Ints, local: Ints,
    codes: Ints, rankings: Ints, start: int, n: int, n_groups: int, known: int,
) -> int:  # fmt: skip
    """Fill the pool with the patterns of an earlier solution."""
    count = 0
    for r in range(known):
        for j in range(n):
            seat[_PATTERN, j] = local[codes[start + rankings[r, start + j]]]
        utility = _seat(place, seat, row, marks, n, n_groups)
        count = _add_column(seat, row, columns, patterns, utility, n, n_groups, count)
    return count


@_jit
def _recall_basis(
    row: Floats, marks: Ints, columns: Floats, inverse: Floats, probabilities: Floats, n_groups: int, count: int,
    slack: float,
) -> None:  # fmt: skip
    """The basis of an earlier solution: exposures do not depend on scores, so it is still feasible if the bounds are.

    Each column takes the place of an s_g that its mixture holds at a bound. Without a feasible mixture the basis stays
    as `_reset_basis` leaves it.
    """
    _reset_basis(row, marks, columns, inverse, n_groups)
    for g in range(n_groups):
        total = 0.0
        for r in range(count):
            total += probabilities[r] * columns[r, g]
        row[_LAM, g] = total + row[_ORIGIN, g]
    for r in range(1, count):
        _direction(row, columns, inverse, n_groups + r, n_groups)
        slot, largest = -1, 1e-7
        for g in range(n_groups):
            away = min(abs(row[_LAM, g] - row[_LOWER, g]), abs(row[_LAM, g] - row[_UPPER, g]))
            if marks[_BASIS, g] == g and away < 100.0 * slack and abs(row[_ALPHA, g]) > largest:
                slot, largest = g, abs(row[_ALPHA, g])
        if slot >= 0:
            _replace(row, marks, columns, inverse, slot, n_groups + r, n_groups)
            near_lower = abs(row[_LAM, slot] - row[_LOWER, slot]) <= abs(row[_LAM, slot] - row[_UPPER, slot])
            bound = row[_LOWER, slot] if near_lower else row[_UPPER, slot]
            row[_RESTING, slot] = bound - row[_ORIGIN, slot]
    _solve_for_x(row, inverse, n_groups)
    for i in range(n_groups + 1):
        if marks[_BASIS, i] >= n_groups and row[_X, i] < 0.0:
            if row[_X, i] < -1e-12:
                for r in range(count):
                    columns[r, -1] = 0.0
                _reset_basis(row, marks, columns, inverse, n_groups)
                return
            row[_X, i] = 0.0


@_jit
def _first_penalty(place: Floats, n: int) -> float:
    """Twice the largest utility that a unit of exposure costs between neighbours."""
    penalty = 1.0
    for j in range(n):
        if place[_DROP_W, j] < 1e4 * place[_DROP_V, j]:
            penalty = max(penalty, 2.0 * place[_DROP_W, j] / place[_DROP_V, j])
    return penalty


@_jit
def _take_basic(
    place: Floats, seat: Ints, row: Floats, marks: Ints, columns: Floats, patterns: Ints, n: int, n_groups: int,
) -> float:  # fmt: skip
    """Put the likeliest pattern of the basis to work; its reduced cost is zero."""
    slot, largest = n_groups, -1.0
    for i in range(n_groups + 1):
        if marks[_BASIS, i] >= n_groups and row[_X, i] > largest:
            slot, largest = i, row[_X, i]
    r = marks[_BASIS, slot] - n_groups
    for j in range(n):
        seat[_PATTERN, j] = patterns[r, j]
    return _seat(place, seat, row, marks, n, n_groups)


@_jit
def _explore(
    place: Floats, seat: Ints, row: Floats, marks: Ints, columns: Floats, patterns: Ints, n: int, n_groups: int,
) -> int:  # fmt: skip
    """First columns: the plain sort that `seat` holds, then a few steps of the multipliers towards the bounds.

    A group that misses its bound by a share of the mean exposure moves by the same share of the scores' deviation.
    """
    mean, square, level = 0.0, 0.0, 0.0
    for k in range(n):
        mean += place[_SCORE, k] / n
        square += place[_SCORE, k] ** 2 / n
        level += place[_V, k] / n
    deviation = np.sqrt(max(square - mean * mean, 0.0))
    rate = (deviation if deviation > 0.0 else 1.0) / level
    for g in range(n_groups):
        row[_LAM, g] = 0.0
    utility = _seat(place, seat, row, marks, n, n_groups)
    count = _add_column(seat, row, columns, patterns, utility, n, n_groups, 0)
    for step in range(_STEPS * min(n_groups, 16)):
        for g in range(n_groups):
            need = max(row[_LOWER, g] - row[_EXPOSURE, g], 0.0) - max(row[_EXPOSURE, g] - row[_UPPER, g], 0.0)
            row[_LAM, g] += rate / (1.0 + 0.3 * step) * need / (marks[_FIRST, g + 1] - marks[_FIRST, g])
        _merge(place, seat, row, marks, n, n_groups)
        _swap_neighbours(place, seat, row, n)
        utility = _seat(place, seat, row, marks, n, n_groups)
        count = _add_column(seat, row, columns, patterns, utility, n, n_groups, count)
    return count


@_jit
def _drift(row: Floats, marks: Ints, columns: Floats, n_groups: int) -> float:
    """Largest reduced cost of a column in the basis: zero but for the rounding that the inverse has gathered."""
    largest = 0.0
    for i in range(n_groups + 1):
        r = marks[_BASIS, i] - n_groups
        if r >= 0:
            largest = max(largest, abs(_column_gain(row, columns, r, n_groups)))
    return largest


@_jit
def _generate(
    place: Floats, seat: Ints, row: Floats, marks: Ints, columns: Floats, patterns: Ints, inverse: Floats,
    square: Floats, n: int, n_groups: int, count: int, slack: float,
) -> tuple[bool, float]:  # fmt: skip
    """Column generation; returns whether the optimum is proven, and the bound on the Lagrangian that proves it."""
    penalty = _first_penalty(place, n)
    relaxations, restarts = 0, 0
    for _ in range(300 + 300 * n_groups):
        missed, fine = _simplex(row, marks, columns, inverse, square, n_groups, count, penalty, slack)
        if not fine:
            restarts += 1
            if restarts > 3:
                return False, np.inf
            for r in range(count):
                columns[r, -1] = 0.0
            _reset_basis(row, marks, columns, inverse, n_groups)
            continue
        size = 1.0 + _size(row, n_groups)
        _merge(place, seat, row, marks, n, n_groups)
        _swap_neighbours(place, seat, row, n)
        utility = _seat(place, seat, row, marks, n, n_groups)
        gain = _reduced_cost(row, utility, n_groups)
        if gain <= _PROMISING * size:
            if gain < 0.0:
                _take_basic(place, seat, row, marks, columns, patterns, n, n_groups)
            _midpoint_prices(place, seat, row, n)
            proven = _perfect(place, seat, row, marks, n, n_groups, size)
            utility = _seat(place, seat, row, marks, n, n_groups)
            gain = _reduced_cost(row, utility, n_groups)
            if gain <= _ENTER * size:
                if not proven:
                    return False, np.inf
                if _drift(row, marks, columns, n_groups) > _GAP * size and marks[_AGE, 0] > 0:
                    if not _refactor(row, marks, columns, inverse, square, n_groups):
                        return False, np.inf
                    continue
                if missed <= slack:
                    _clear_wrong_signs(row, n_groups)
                    return True, _lagrangian_bound(place, row, marks, n, n_groups)
                relaxations += 1
                if relaxations > _RELAXATIONS:
                    return False, np.inf
                penalty *= 8.0
                continue
        if count == len(columns):
            count = _compact(marks, columns, patterns, n, n_groups, count)
        count = _add_column(seat, row, columns, patterns, utility, n, n_groups, count)
    return False, np.inf


@_jit
def _refine(row: Floats, marks: Ints, columns: Floats, inverse: Floats, n_groups: int) -> None:
    """One step of iterative refinement of the basic variables."""
    for g in range(n_groups):
        row[_ALPHA, g] = 0.0 if np.isnan(row[_RESTING, g]) else row[_RESTING, g]
    row[_ALPHA, n_groups] = 1.0
    for i in range(n_groups + 1):
        variable = marks[_BASIS, i]
        if variable < n_groups:
            row[_ALPHA, variable] += row[_X, i]
        else:
            row[_ALPHA, n_groups] -= row[_X, i]
            for g in range(n_groups):
                row[_ALPHA, g] -= row[_X, i] * columns[variable - n_groups, g]
    for i in range(n_groups + 1):
        for k in range(n_groups + 1):
            row[_X, i] += inverse[i, k] * row[_ALPHA, k]


@_jit
def _finish_probabilities(
    row: Floats, marks: Ints, columns: Floats, inverse: Floats, n_groups: int, held: float,
) -> tuple[bool, float]:  # fmt: skip
    """Probabilities in full precision; returns whether they hold the bounds, and their utility.

    Vanishing probabilities are dropped and the others scaled to sum to one, then the bounds are checked on the result.
    """
    _refine(row, marks, columns, inverse, n_groups)
    _refine(row, marks, columns, inverse, n_groups)
    total = 0.0
    for i in range(n_groups + 1):
        if marks[_BASIS, i] >= n_groups:
            if row[_X, i] < 1e-13:
                row[_X, i] = 0.0
            total += row[_X, i]
    for g in range(n_groups):
        row[_ALPHA, g] = row[_ORIGIN, g]
    utility = row[_ORIGIN, n_groups]
    for i in range(n_groups + 1):
        r = marks[_BASIS, i] - n_groups
        if r >= 0:
            row[_X, i] /= total
            utility += row[_X, i] * columns[r, n_groups]
            for g in range(n_groups):
                row[_ALPHA, g] += row[_X, i] * columns[r, g]
    good = True
    for g in range(n_groups):
        good &= row[_LOWER, g] - held <= row[_ALPHA, g] <= row[_UPPER, g] + held
    return good, utility


@_jit
def _sort_blocks(place: Floats, ranks: Ints, n: int) -> None:
    """Order positions of equal v and equal w by the plain sort: nothing else tells their items apart."""
    start = 0
    while start < n:
        stop = start + 1
        while stop < n and place[_V, stop] == place[_V, start] and place[_W, stop] == place[_W, start]:
            stop += 1
        if stop - start > 40:
            ranks[start:stop] = np.sort(ranks[start:stop])
        else:
            for i in range(start + 1, stop):
                rank, k = ranks[i], i
                while k > start and ranks[k - 1] > rank:
                    ranks[k] = ranks[k - 1]
                    k -= 1
                ranks[k] = rank
        start = stop


@_jit
def _write_ranking(
    place: Floats, seat: Ints, marks: Ints, seats: Ints, probability: float, w: Floats, n: int, n_groups: int,
    ranking: Ints, weight: Floats,
) -> None:  # fmt: skip
    """Write one ranking of the policy, and add its share to the weights."""
    ranks = seat[_MARK]
    for g in range(n_groups):
        marks[_HEAD, g] = marks[_FIRST, g]
    for j in range(n):
        g = seats[j]
        ranks[j] = seat[_MEMBER, marks[_HEAD, g]]
        marks[_HEAD, g] += 1
    _sort_blocks(place, ranks, n)
    for j in range(n):
        item = seat[_ORDER, ranks[j]]
        ranking[j] = item
        weight[item] += probability * w[j]


@_jit
def _missed(row: Floats, exposure: Floats, n_groups: int) -> float:
    """By how much exposures miss their bounds."""
    missed = 0.0
    for g in range(n_groups):
        missed = max(missed, row[_LOWER, g] - exposure[g], exposure[g] - row[_UPPER, g])
    return missed


@_jit
def _bounds_term(row: Floats, n_groups: int) -> float:
    """What the multipliers charge for the bounds."""
    total = 0.0
    for g in range(n_groups):
        if row[_LAM, g] != 0.0:
            total += row[_LAM, g] * (row[_LOWER, g] if row[_LAM, g] > 0.0 else row[_UPPER, g])
    return total


@_jit
def _open_query(
    place: Floats, seat: Ints, marks: Ints, local: Ints, tie: Keys, scores: Floats, codes: Ints, n: int,
    seed: int, query: int,
) -> tuple[int, float, float, float]:  # fmt: skip
    """Sort and group the items, map scores to [0, 1]; returns groups, least score, spread, sum of the mapped."""
    _sort_items(scores, n, seed, query, seat[_ORDER], place[_SCORE], tie)
    least = place[_SCORE, n - 1]
    spread = place[_SCORE, 0] - least
    total = 0.0
    for k in range(n):
        place[_SCORE, k] = (place[_SCORE, k] - least) / spread if spread > 0.0 else 0.0
        total += place[_SCORE, k]
    return _set_groups(place, seat, marks, local, codes, n), least, spread, total


@_jit
def _solve_query(
    place: Floats, seat: Ints, row: Floats, marks: Ints, columns: Floats, patterns: Ints, inverse: Floats,
    square: Floats, local: Ints, tie: Keys, scores: Floats, codes: Ints, start: int, n: int, query: int,
    lower: Floats, upper: Floats, v: Floats, w: Floats, seed: int, warm: bool, rankings: Ints,
    probabilities: Floats, known: int, multipliers: Floats, weight: Floats,
) -> tuple[int, float, int]:  # fmt: skip
    """Solve one query; returns the number of rankings, the dual bound and the status."""
    n_groups, least, spread, total = _open_query(
        place, seat, marks, local, tie, scores, codes[start : start + n], n, seed, query
    )
    spread_v, spread_w = v[0] - v[n - 1], w[0] - w[n - 1]
    scale = spread * spread_w
    base = spread * w[n - 1] * total
    for j in range(n):
        base += least * w[j]
        seat[_PATTERN, j] = seat[_GROUP, j]
        weight[j] = 0.0
    utility = _seat(place, seat, row, marks, n, n_groups)
    slack = np.inf
    if spread_v > 0.0:
        slack = _SLACK * max(v[0], 1.0) / spread_v
        _set_bounds(row, marks, lower, upper, n_groups, v[n - 1], spread_v)
    if slack == np.inf or _missed(row, row[_EXPOSURE], n_groups) <= slack:
        _write_ranking(place, seat, marks, seat[_PATTERN], 1.0, w, n, n_groups, rankings[0, start:], weight)
        probabilities[0] = 1.0
        for g in range(n_groups):
            multipliers[marks[_CODE, g]] = 0.0
            local[marks[_CODE, g]] = -1
        return 1, base + scale * utility, 0

    if warm and known > 1:
        count = _recall(place, seat, row, marks, columns, patterns, local, codes, rankings, start, n, n_groups, known)
        _recall_basis(row, marks, columns, inverse, probabilities, n_groups, count, slack)
    else:
        count = _explore(place, seat, row, marks, columns, patterns, n, n_groups)
        _reset_basis(row, marks, columns, inverse, n_groups)
    proven, bound = _generate(place, seat, row, marks, columns, patterns, inverse, square, n, n_groups, count, slack)
    good, utility = _finish_probabilities(row, marks, columns, inverse, n_groups, slack * _HELD / _SLACK)
    bound -= _bounds_term(row, n_groups)
    good &= proven and bound - utility <= _GAP * (1.0 + _size(row, n_groups))
    for g in range(n_groups):
        multipliers[marks[_CODE, g]] = row[_LAM, g] * scale / spread_v
        local[marks[_CODE, g]] = -1
    written = 0
    for i in range(n_groups + 1):
        r = marks[_BASIS, i] - n_groups
        if r >= 0 and row[_X, i] > 0.0:
            _write_ranking(
                place, seat, marks, patterns[r], row[_X, i], w, n, n_groups, rankings[written, start:], weight
            )
            probabilities[written] = row[_X, i]
            written += 1
    return written, base + scale * bound, 0 if good else 1


@njit(parallel=True, cache=True, nogil=True, error_model="numpy")
def solve(
    scores: Floats, codes: Ints, offsets: Longs, queries: Longs, lower: Floats, upper: Floats, v: Floats,
    w: Floats, seed: int, warm: bool, rankings: Ints, probabilities: Floats, counts: Ints, multipliers: Floats,
    weight: Floats, bound: Floats, status: Bytes,
) -> None:  # fmt: skip
    """Solve the queries named in `queries`, in parallel.

    Parameters
    ----------
    scores, codes : (N,)
        Flat scores and group codes; list q is offsets[q]:offsets[q + 1].
    offsets, queries : (Q + 1,), (K,)
    lower, upper : (Q, G)
        Bounds on each group's total exposure, infinite if there is none; those of absent groups are ignored.
    v, w : (n_max,)
        Position bias and discount, nonincreasing; a list of n items uses the first n.
    seed : int
        Breaks ties between scores.
    warm : bool
        Start from the group patterns of the solution that the output arrays hold.
    rankings, probabilities, counts : (R, N), (Q, R), (Q,)
        Out: ranking r of list q is rankings[r, offsets[q]:offsets[q + 1]], items from the top down, for r < counts[q].
    multipliers : (Q, G)
        Out: d utility / d bound, positive where the lower bound is active and negative where the upper one is.
    weight : (N,)
        Out: Pi w of each item.
    bound : (Q,)
        Out: dual bound on the utility.
    status : (Q,)
        Out: 0 optimal, 1 not solved to tolerance.
    """
    batches = min(len(queries), _BATCHES)
    for batch in prange(batches):
        n_max, m = len(v), min(len(v), lower.shape[1]) + 1
        place, seat = np.empty((8, n_max)), np.empty((6, n_max), np.int32)
        row, marks = np.empty((10, m)), np.empty((7, m), np.int32)
        capacity = 48 + 12 * m
        columns, patterns = np.empty((capacity, m + 1)), np.empty((capacity, n_max), np.int32)
        inverse, square = np.empty((m, m)), np.empty((m, m))
        local, tie = np.full(lower.shape[1], -1, np.int32), np.empty(n_max, np.uint64)
        prepared = -1
        for k in range(batch * len(queries) // batches, (batch + 1) * len(queries) // batches):
            q = queries[k]
            start, n = offsets[q], offsets[q + 1] - offsets[q]
            if n != prepared:
                _set_positions(place, v, w, n)
                prepared = n
            counts[q], bound[q], status[q] = _solve_query(
                place, seat, row, marks, columns, patterns, inverse, square, local, tie,
                scores[start : start + n], codes, start, n, q, lower[q], upper[q], v, w, seed, warm, rankings,
                probabilities[q], counts[q], multipliers[q], weight[start : start + n],
            )  # fmt: skip
