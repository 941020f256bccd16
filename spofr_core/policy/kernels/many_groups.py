"""The exact solver for lists in which any number of groups is present.

Within a group items stand in the order of their scores, whatever the groups' multipliers, so a ranking is a *pattern*:
which group takes which position. The policy is a lottery over patterns, the optimum of the linear programme ::

    max sum_r theta_r f_r   s.t.   sum_r theta_r E_rg = s_g,  lower_g <= s_g <= upper_g,  sum_r theta_r = 1,  theta >= 0

with f_r the utility of pattern r and E_rg the exposure that it gives to group g. It has a row per group and a column per
pattern; columns are generated as they are needed. For multipliers lambda a new column must maximise the Lagrangian
f_r + sum_g lambda_g E_rg, an assignment problem with the cost y_i w_j + lambda_g(i) v_j:

- a merge that fills the positions from the top, each time with the group whose next item loses most by waiting, repaired
  by swaps of neighbours, nearly always finds an improving column;
- when it does not, the pattern is tested exactly. It is optimal if and only if there are prices of the positions at which
  every item prefers its own. They are sought by sweeps over the positions (Bellman and Ford's method): items of a group
  are sorted, so it is enough to compare a position with the nearest item of every group above and below it. If the sweeps
  meet a cycle, moving the items along it improves the pattern; if they settle, the prices prove the optimum.

The master programme is a primal simplex with an explicit basis inverse, in which s_g may leave its bounds at a penalty.

Everything lives in one file because the cache of a compiled caller does not notice a change in another module.
"""

from typing import NamedTuple

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Groups = NDArray[np.int16]
Bytes = NDArray[np.int8]

_SLACK = 1e-13  # a bound is met when it is missed by at most this, relative to the list's whole exposure
_HELD = 5e-13  # the same for the finished policy
_ENTER = 1e-11  # smallest reduced cost worth a pivot, relative to the size of the costs
_PROMISING = 1e-9  # smallest reduced cost for which the merge's column is taken without looking for a better one
_GAP = 1e-10  # largest difference to the dual bound, relative to the size of the costs
_PIVOT = 1e-10  # smallest pivot element
_SETTLED = 1e-14  # smallest rise of a position's price, relative to the size of the costs
_RELAXATIONS = 14  # penalty increases before the bounds count as out of reach
_BATCHES = 64  # working memory is made once for each


class _Lists(NamedTuple):
    """One query in units of its own: y, v and w mapped to [0, 1], groups numbered by their best item."""

    v: Floats
    w: Floats
    drop_v: Floats  # loss of v to the next position at which v or w differs
    drop_w: Floats
    order: Ints  # item at each rank of the plain sort
    y: Floats  # its score
    tie: NDArray[np.uint64]
    group: Groups  # its group
    first: Ints  # members of group g are first[g]..first[g + 1]
    member_y: Floats
    member: Ints  # their ranks
    code: Ints  # the group's code in the input
    local: Ints  # and back, -1 for absent groups
    lower: Floats
    upper: Floats


class _Pool(NamedTuple):
    """The columns generated so far, exposures and utilities as differences from the first one's, the origin."""

    pattern: Groups
    exposure: Floats
    utility: Floats
    basic: NDArray[np.bool_]
    origin: Floats  # exposures of the first column, last its utility


class _Master(NamedTuple):
    """The simplex: row g is group g's, the last one says that probabilities sum to one.

    Variable g is s_g, variable n_groups + r is theta_r. `lam` holds the multipliers, last the value of the Lagrangian.
    """

    basis: Ints
    x: Floats
    inverse: Floats
    lam: Floats
    alpha: Floats
    resting: Floats  # value of a nonbasic s_g, nan if it is basic
    square: Floats  # room for a factorisation


class _Trial(NamedTuple):
    """A pattern at work."""

    pattern: Groups
    y: Floats
    exposure: Floats
    price: Floats
    parent: Ints
    mark: Ints
    alive: Ints
    head: Ints
    near: Ints  # nearest item of each group on one side, and what it would pay beyond its position's price
    near_y: Floats
    near_surplus: Floats


_jit = njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})


# --- the query -------------------------------------------------------------------------------------------------------


@_jit
def _tie_key(seed: int, query: int, item: int) -> int:
    """A number that looks random and depends on nothing but its arguments (splitmix64)."""
    x = np.uint64(seed) + np.uint64(query) * np.uint64(0xD1342543DE82EF95)
    for salt in (np.uint64(item), np.uint64(0)):
        x += np.uint64(0x9E3779B97F4A7C15) * (salt + np.uint64(1))
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        x ^= x >> np.uint64(31)
    return x


@_jit
def _sort_items(scores: Floats, n: int, seed: int, query: int, order: Ints, y: Floats, tie: NDArray[np.uint64]) -> None:
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
def _shuffle(order: Ints, start: int, stop: int, seed: int, query: int, tie: NDArray[np.uint64]) -> None:
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
def _set_positions(lists: _Lists, v: Floats, w: Floats, n: int) -> None:
    """Map v and w to [0, 1] and take their drops.

    Inside a block of equal v and w the drop is the one at the block's end: that is what its positions are worth.
    """
    for own, given in ((lists.v, v), (lists.w, w)):
        spread = given[0] - given[n - 1]
        for j in range(n):
            own[j] = (given[j] - given[n - 1]) / spread if spread > 0.0 else 0.0
    lists.drop_v[n - 1] = 0.0
    lists.drop_w[n - 1] = 0.0
    for j in range(n - 2, -1, -1):
        if v[j] == v[j + 1] and w[j] == w[j + 1]:
            lists.drop_v[j] = lists.drop_v[j + 1]
            lists.drop_w[j] = lists.drop_w[j + 1]
        else:
            lists.drop_v[j] = lists.v[j] - lists.v[j + 1]
            lists.drop_w[j] = lists.w[j] - lists.w[j + 1]


@_jit
def _set_groups(lists: _Lists, codes: Ints, n: int) -> int:
    """Number the groups by their best item, so that nothing depends on their codes; returns how many there are."""
    n_groups = 0
    for rank in range(n):
        code = codes[lists.order[rank]]
        g = lists.local[code]
        if g < 0:
            g = n_groups
            lists.local[code] = g
            lists.code[g] = code
            lists.first[g + 1] = 0
            n_groups += 1
        lists.group[rank] = g
        lists.first[g + 1] += 1
    lists.first[0] = 0
    for g in range(n_groups):
        lists.first[g + 1] += lists.first[g]
    for rank in range(n):
        g = lists.group[rank]
        k = lists.first[g]
        lists.member[k] = rank
        lists.member_y[k] = lists.y[rank]
        lists.first[g] += 1
    for g in range(n_groups, 0, -1):
        lists.first[g] = lists.first[g - 1]
    lists.first[0] = 0
    return n_groups


@_jit
def _set_bounds(lists: _Lists, lower: Floats, upper: Floats, n_groups: int, base: float, spread: float) -> None:
    """The bounds in units of the mapped v."""
    for g in range(n_groups):
        size = lists.first[g + 1] - lists.first[g]
        lists.lower[g] = (lower[lists.code[g]] - size * base) / spread
        lists.upper[g] = (upper[lists.code[g]] - size * base) / spread


# --- patterns --------------------------------------------------------------------------------------------------------


@_jit
def _seat(lists: _Lists, trial: _Trial, n: int, n_groups: int) -> float:
    """Seat the items of each group in their order; returns the pattern's utility and fills its exposures."""
    for g in range(n_groups):
        trial.head[g] = lists.first[g]
        trial.exposure[g] = 0.0
    utility = 0.0
    for j in range(n):
        g = trial.pattern[j]
        y = lists.member_y[trial.head[g]]
        trial.head[g] += 1
        trial.y[j] = y
        trial.exposure[g] += lists.v[j]
        utility += y * lists.w[j]
    return utility


@_jit
def _merge(lists: _Lists, trial: _Trial, lam: Floats, n: int, n_groups: int) -> None:
    """Fill the positions from the top with the group whose next item loses most by waiting; ties by the plain sort."""
    for g in range(n_groups):
        trial.alive[g] = g
        trial.head[g] = lists.first[g]
        trial.near_y[g] = lists.member_y[lists.first[g]]
    left = n_groups
    for j in range(n):
        drop_w, drop_v = lists.drop_w[j], lists.drop_v[j]
        chosen, best = 0, -np.inf
        for a in range(left):
            g = trial.alive[a]
            loss = trial.near_y[g] * drop_w + lam[g] * drop_v
            if loss > best:
                chosen, best = a, loss
            elif loss == best:
                other = trial.alive[chosen]
                if lists.member[trial.head[g]] < lists.member[trial.head[other]]:
                    chosen = a
        g = trial.alive[chosen]
        trial.pattern[j] = g
        trial.y[j] = trial.near_y[g]
        head = trial.head[g] + 1
        trial.head[g] = head
        if head < lists.first[g + 1]:
            trial.near_y[g] = lists.member_y[head]
        else:
            left -= 1
            trial.alive[chosen] = trial.alive[left]


@_jit
def _swap_neighbours(lists: _Lists, trial: _Trial, lam: Floats, n: int) -> None:
    """Swap neighbours of different groups while the Lagrangian rises."""
    j, swaps = 0, 0
    while j < n - 1 and swaps < 4 * n:
        g, h = trial.pattern[j], trial.pattern[j + 1]
        if g != h:
            gain = (trial.y[j + 1] - trial.y[j]) * (lists.w[j] - lists.w[j + 1])
            gain += (lam[h] - lam[g]) * (lists.v[j] - lists.v[j + 1])
            if gain > 1e-13:
                trial.pattern[j], trial.pattern[j + 1] = h, g
                trial.y[j], trial.y[j + 1] = trial.y[j + 1], trial.y[j]
                swaps += 1
                j = max(j - 1, 0)
                continue
        j += 1


@_jit
def _midpoint_prices(lists: _Lists, trial: _Trial, lam: Floats, n: int) -> None:
    """Prices of the positions, halfway between what the two neighbours would pay for the better place."""
    trial.price[n - 1] = 0.0
    for j in range(n - 2, -1, -1):
        dw, dv = lists.w[j] - lists.w[j + 1], lists.v[j] - lists.v[j + 1]
        worth = (trial.y[j] + trial.y[j + 1]) * dw + (lam[trial.pattern[j]] + lam[trial.pattern[j + 1]]) * dv
        trial.price[j] = trial.price[j + 1] + 0.5 * worth


@_jit
def _sweep(lists: _Lists, trial: _Trial, lam: Floats, n: int, n_groups: int, down: bool, least: float) -> bool:
    """Raise each position's price to what the nearest item of every group above it (below it, if not `down`) would pay.

    An item with price p at its own position k would pay p + (its value at j) - (its value at k) for position j.
    """
    for g in range(n_groups):
        trial.near_surplus[g] = -np.inf
        trial.near_y[g] = 0.0
    changed = False
    for step in range(n):
        j = step if down else n - 1 - step
        vj, wj = lists.v[j], lists.w[j]
        best, buyer = trial.price[j] + least, -1
        for g in range(n_groups):
            pays = trial.near_surplus[g] + trial.near_y[g] * wj + lam[g] * vj
            if pays > best:
                best, buyer = pays, g
        if buyer >= 0:
            trial.price[j] = best
            trial.parent[j] = trial.near[buyer]
            changed = True
        own = trial.pattern[j]
        trial.near[own] = j
        trial.near_y[own] = trial.y[j]
        trial.near_surplus[own] = trial.price[j] - trial.y[j] * wj - lam[own] * vj
    return changed


@_jit
def _rotate(trial: _Trial, n: int) -> bool:
    """Move the items along the cycles among the positions' buyers, if there are any."""
    for j in range(n):
        trial.mark[j] = -1
    found = False
    for start in range(n):
        j = start
        while j >= 0 and trial.mark[j] < 0:
            trial.mark[j] = start
            j = trial.parent[j]
        if j >= 0 and trial.mark[j] == start:  # the walk from `start` has closed a cycle through j
            found = True
            moved, k = trial.pattern[j], j
            while trial.parent[k] != j:
                trial.pattern[k] = trial.pattern[trial.parent[k]]
                k = trial.parent[k]
            trial.pattern[k] = moved
    return found


@_jit
def _perfect(lists: _Lists, trial: _Trial, lam: Floats, n: int, n_groups: int, size: float) -> bool:
    """Improve the pattern until prices prove that it maximises the Lagrangian; False if they were not found."""
    least = _SETTLED * size
    for _ in range(20 + 2 * n):
        for j in range(n):
            trial.parent[j] = -1
        rotated = False
        for _ in range(2 + n):
            changed = _sweep(lists, trial, lam, n, n_groups, True, least)
            changed |= _sweep(lists, trial, lam, n, n_groups, False, least)
            if not changed:
                return True
            rotated = _rotate(trial, n)
            if rotated:
                break
        if not rotated:
            return False
        _seat(lists, trial, n, n_groups)
    return False


@_jit
def _lagrangian_bound(lists: _Lists, trial: _Trial, lam: Floats, n: int, n_groups: int) -> float:
    """Upper bound on the Lagrangian of every ranking: the prices plus what each item would gain at its best position."""
    total = 0.0
    for j in range(n):
        total += trial.price[j]
    for g in range(n_groups):
        for k in range(lists.first[g], lists.first[g + 1]):
            y, best = lists.member_y[k], -np.inf
            for j in range(n):
                gain = y * lists.w[j] + lam[g] * lists.v[j] - trial.price[j]
                best = max(best, gain)
            total += best
    return total


# --- the master programme --------------------------------------------------------------------------------------------


@_jit
def _add_column(pool: _Pool, trial: _Trial, utility: float, n: int, n_groups: int, count: int) -> int:
    if count == 0:
        for g in range(n_groups):
            pool.origin[g] = trial.exposure[g]
        pool.origin[n_groups] = utility
    for j in range(n):
        pool.pattern[count, j] = trial.pattern[j]
    for g in range(n_groups):
        pool.exposure[count, g] = trial.exposure[g] - pool.origin[g]
    pool.utility[count] = utility - pool.origin[n_groups]
    pool.basic[count] = False
    return count + 1


@_jit
def _reset_basis(master: _Master, pool: _Pool, n_groups: int) -> None:
    """All s_g basic beside the pool's first column, whose coordinates are zero."""
    for i in range(n_groups + 1):
        for k in range(n_groups + 1):
            master.inverse[i, k] = 0.0
        master.inverse[i, i] = -1.0
        master.basis[i] = i
        master.x[i] = 0.0
        master.resting[i] = np.nan
    master.inverse[n_groups, n_groups] = 1.0
    master.x[n_groups] = 1.0
    pool.basic[0] = True


@_jit
def _direction(master: _Master, pool: _Pool, variable: int, n_groups: int) -> None:
    """alpha = inverse times the variable's column."""
    if variable < n_groups:
        for i in range(n_groups + 1):
            master.alpha[i] = -master.inverse[i, variable]
    else:
        column = variable - n_groups
        for i in range(n_groups + 1):
            total = master.inverse[i, n_groups]
            for g in range(n_groups):
                total += master.inverse[i, g] * pool.exposure[column, g]
            master.alpha[i] = total


@_jit
def _replace(master: _Master, pool: _Pool, slot: int, variable: int, n_groups: int) -> None:
    """Put the variable whose direction is in alpha into the basis in place of the one at `slot`."""
    leaving = master.basis[slot]
    if leaving >= n_groups:
        pool.basic[leaving - n_groups] = False
    if variable >= n_groups:
        pool.basic[variable - n_groups] = True
    else:
        master.resting[variable] = np.nan
    master.basis[slot] = variable
    scale = 1.0 / master.alpha[slot]
    for k in range(n_groups + 1):
        master.inverse[slot, k] *= scale
    for i in range(n_groups + 1):
        factor = master.alpha[i]
        if i != slot and factor != 0.0:
            for k in range(n_groups + 1):
                master.inverse[i, k] -= factor * master.inverse[slot, k]


@_jit
def _solve_for_x(master: _Master, n_groups: int) -> None:
    """Values of the basic variables, from the resting ones."""
    for i in range(n_groups + 1):
        total = master.inverse[i, n_groups]
        for g in range(n_groups):
            if not np.isnan(master.resting[g]):
                total += master.inverse[i, g] * master.resting[g]
        master.x[i] = total


@_jit
def _refactor(master: _Master, pool: _Pool, n_groups: int) -> bool:
    """The basis inverse afresh (Gauss and Jordan, row pivots), and the basic variables from it."""
    m = n_groups + 1
    square, inverse = master.square, master.inverse
    for i in range(m):
        for k in range(m):
            square[i, k] = 0.0
            inverse[i, k] = 0.0
        inverse[i, i] = 1.0
    for k in range(m):
        variable = master.basis[k]
        if variable < n_groups:
            square[variable, k] = -1.0
        else:
            square[n_groups, k] = 1.0
            for g in range(n_groups):
                square[g, k] = pool.exposure[variable - n_groups, g]
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
    _solve_for_x(master, n_groups)
    return True


@_jit
def _set_multipliers(lists: _Lists, master: _Master, pool: _Pool, n_groups: int, penalty: float, slack: float) -> float:
    """Multipliers of the basis; returns by how much the bounds are missed."""
    for k in range(n_groups + 1):
        master.lam[k] = 0.0
    missed = 0.0
    for i in range(n_groups + 1):
        variable = master.basis[i]
        if variable >= n_groups:
            cost = pool.utility[variable - n_groups]
        else:
            reached = master.x[i] + pool.origin[variable]
            under, over = lists.lower[variable] - reached, reached - lists.upper[variable]
            cost = penalty if under > slack else (-penalty if over > slack else 0.0)
            missed = max(missed, under, over)
            master.alpha[variable] = cost
        if cost != 0.0:
            for k in range(n_groups + 1):
                master.lam[k] -= cost * master.inverse[i, k]
    for g in range(n_groups):  # exact where it is known
        if np.isnan(master.resting[g]):
            master.lam[g] = master.alpha[g]
    master.lam[n_groups] = -master.lam[n_groups]
    return missed


@_jit
def _clear_wrong_signs(lists: _Lists, master: _Master, pool: _Pool, n_groups: int) -> None:
    """Multipliers that have the wrong sign for their bound, which is rounding once the pool is optimal, become zero."""
    for g in range(n_groups):
        if not np.isnan(master.resting[g]) and lists.lower[g] < lists.upper[g]:
            at_lower = master.resting[g] == lists.lower[g] - pool.origin[g]
            if master.lam[g] < 0.0 if at_lower else master.lam[g] > 0.0:
                master.lam[g] = 0.0


@_jit
def _entering(
    lists: _Lists, master: _Master, pool: _Pool, n_groups: int, count: int, least: float, first: bool
) -> tuple[int, float]:
    """The nonbasic variable that improves most (or the first one that improves) and the sense in which it moves."""
    chosen, sense, best = -1, 1.0, least
    for g in range(n_groups):
        if not np.isnan(master.resting[g]) and lists.lower[g] < lists.upper[g]:
            at_lower = master.resting[g] == lists.lower[g] - pool.origin[g]
            gain = -master.lam[g] if at_lower else master.lam[g]
            if gain > best:
                chosen, sense, best = g, (1.0 if at_lower else -1.0), gain
                if first:
                    return chosen, sense
    for r in range(count):
        if not pool.basic[r]:
            gain = pool.utility[r] - master.lam[n_groups]
            for g in range(n_groups):
                gain += master.lam[g] * pool.exposure[r, g]
            if gain > best:
                chosen, sense, best = n_groups + r, 1.0, gain
                if first:
                    return chosen, sense
    return chosen, sense


@_jit
def _blocking(
    lists: _Lists, master: _Master, pool: _Pool, n_groups: int, sense: float, slack: float, first: bool
) -> tuple[int, float, float]:
    """The basic variable that stops the entering one: its slot (-1 if none does), the step, and its resting value.

    A basic s_g that misses a bound stops where it meets it. Among equal steps the largest pivot wins, or the smallest
    variable if `first`.
    """
    slot, step, rest = -1, np.inf, 0.0
    for i in range(n_groups + 1):
        rate = -sense * master.alpha[i]
        if abs(rate) < _PIVOT:
            continue
        variable = master.basis[i]
        if variable >= n_groups:
            if rate > 0.0:
                continue
            target = 0.0
        else:
            low = lists.lower[variable] - pool.origin[variable]
            high = lists.upper[variable] - pool.origin[variable]
            if rate > 0.0:
                target = low if master.x[i] < low - slack else high
                if master.x[i] > high + slack:
                    continue
            else:
                target = high if master.x[i] > high + slack else low
                if master.x[i] < low - slack:
                    continue
            if np.isinf(target):
                continue
        own = max((target - master.x[i]) / rate, 0.0)
        if slot >= 0 and abs(own - step) <= 1e-13:
            if first:
                better = variable < master.basis[slot]
            else:
                better = abs(rate) > abs(master.alpha[slot])
        else:
            better = own < step
        if better:
            slot, step, rest = i, own, target
    return slot, step, rest


@_jit
def _pivot(
    lists: _Lists, master: _Master, pool: _Pool, n_groups: int, variable: int, sense: float, slack: float, first: bool
) -> float:
    """One step of the simplex; returns its length, negative if the numbers allow none."""
    _direction(master, pool, variable, n_groups)
    slot, step, rest = _blocking(lists, master, pool, n_groups, sense, slack, first)
    start = 0.0
    if variable < n_groups:
        start = master.resting[variable]
        width = lists.upper[variable] - lists.lower[variable]
        if step >= width:  # it reaches its other bound before anything stops it
            for i in range(n_groups + 1):
                master.x[i] -= sense * width * master.alpha[i]
            end = lists.upper[variable] if sense > 0.0 else lists.lower[variable]
            master.resting[variable] = end - pool.origin[variable]
            return width
    if slot < 0:
        return -1.0
    for i in range(n_groups + 1):
        master.x[i] -= sense * step * master.alpha[i]
    leaving = master.basis[slot]
    _replace(master, pool, slot, variable, n_groups)
    if leaving < n_groups:
        master.resting[leaving] = rest
    master.x[slot] = start + sense * step
    return step


@_jit
def _simplex(
    lists: _Lists, master: _Master, pool: _Pool, n_groups: int, count: int, penalty: float, slack: float
) -> tuple[float, bool]:
    """Optimise over the pool; returns by how much the bounds are missed, and whether it went well."""
    stalled = 0
    patience = 2 * n_groups + 10
    missed = _set_multipliers(lists, master, pool, n_groups, penalty, slack)
    for pivots in range(1, 200 + 60 * n_groups):
        first = stalled > patience
        variable, sense = _entering(lists, master, pool, n_groups, count, _ENTER * (1.0 + _size(master, n_groups)), first)
        if variable < 0:
            return missed, True
        step = _pivot(lists, master, pool, n_groups, variable, sense, slack, first)
        if step < 0.0:
            return missed, False
        stalled = stalled + 1 if step <= 1e-13 else 0
        if pivots % (30 + n_groups) == 0 and not _refactor(master, pool, n_groups):
            return missed, False
        missed = _set_multipliers(lists, master, pool, n_groups, penalty, slack)
    return missed, False


@_jit
def _size(master: _Master, n_groups: int) -> float:
    """Largest multiplier: the size of the costs beyond the scores' own."""
    size = 0.0
    for g in range(n_groups):
        size = max(size, abs(master.lam[g]))
    return size


@_jit
def _compact(pool: _Pool, master: _Master, n: int, n_groups: int, count: int) -> int:
    """Forget the columns that are not in the basis, except the first, which is the origin."""
    kept = 1
    for r in range(1, count):
        if pool.basic[r]:
            if r != kept:
                for i in range(n_groups + 1):
                    if master.basis[i] == n_groups + r:
                        master.basis[i] = n_groups + kept
                for j in range(n):
                    pool.pattern[kept, j] = pool.pattern[r, j]
                for g in range(n_groups):
                    pool.exposure[kept, g] = pool.exposure[r, g]
                pool.utility[kept] = pool.utility[r]
                pool.basic[kept] = True
            kept += 1
    return kept


# --- from the first column to the policy -----------------------------------------------------------------------------


@_jit
def _recall(
    lists: _Lists, pool: _Pool, trial: _Trial, codes: Ints, rankings: Ints, start: int, n: int, n_groups: int, known: int
) -> int:
    """Fill the pool with the patterns of an earlier solution."""
    count = 0
    for r in range(known):
        for j in range(n):
            trial.pattern[j] = lists.local[codes[start + rankings[r, start + j]]]
        utility = _seat(lists, trial, n, n_groups)
        count = _add_column(pool, trial, utility, n, n_groups, count)
    return count


@_jit
def _recall_basis(
    lists: _Lists, pool: _Pool, master: _Master, probabilities: Floats, n_groups: int, count: int, slack: float
) -> None:
    """The basis of an earlier solution: exposures do not depend on scores, so it is still feasible if the bounds are.

    Each column takes the place of an s_g that its mixture holds at a bound. Without a feasible mixture the basis stays
    as `_reset_basis` leaves it.
    """
    _reset_basis(master, pool, n_groups)
    for g in range(n_groups):
        total = 0.0
        for r in range(count):
            total += probabilities[r] * pool.exposure[r, g]
        master.lam[g] = total + pool.origin[g]
    for r in range(1, count):
        _direction(master, pool, n_groups + r, n_groups)
        slot, largest = -1, 1e-7
        for g in range(n_groups):
            if master.basis[g] == g and abs(master.alpha[g]) > largest:
                if min(abs(master.lam[g] - lists.lower[g]), abs(master.lam[g] - lists.upper[g])) < 100.0 * slack:
                    slot, largest = g, abs(master.alpha[g])
        if slot >= 0:
            _replace(master, pool, slot, n_groups + r, n_groups)
            near_lower = abs(master.lam[slot] - lists.lower[slot]) <= abs(master.lam[slot] - lists.upper[slot])
            bound = lists.lower[slot] if near_lower else lists.upper[slot]
            master.resting[slot] = bound - pool.origin[slot]
    _solve_for_x(master, n_groups)
    for i in range(n_groups + 1):
        if master.basis[i] >= n_groups and master.x[i] < 0.0:
            if master.x[i] < -1e-12:
                for r in range(count):
                    pool.basic[r] = False
                _reset_basis(master, pool, n_groups)
                return
            master.x[i] = 0.0


@_jit
def _first_penalty(lists: _Lists, n: int) -> float:
    """Twice the largest utility that a unit of exposure costs between neighbours."""
    penalty = 1.0
    for j in range(n):
        if lists.drop_w[j] < 1e4 * lists.drop_v[j]:
            penalty = max(penalty, 2.0 * lists.drop_w[j] / lists.drop_v[j])
    return penalty


@_jit
def _reduced_cost(pool: _Pool, master: _Master, trial: _Trial, utility: float, n_groups: int) -> float:
    gain = utility - pool.origin[n_groups] - master.lam[n_groups]
    for g in range(n_groups):
        gain += master.lam[g] * (trial.exposure[g] - pool.origin[g])
    return gain


@_jit
def _take_basic(lists: _Lists, pool: _Pool, master: _Master, trial: _Trial, n: int, n_groups: int) -> float:
    """Put the likeliest pattern of the basis to work; its reduced cost is zero."""
    slot, largest = n_groups, -1.0
    for i in range(n_groups + 1):
        if master.basis[i] >= n_groups and master.x[i] > largest:
            slot, largest = i, master.x[i]
    column = master.basis[slot] - n_groups
    for j in range(n):
        trial.pattern[j] = pool.pattern[column, j]
    return _seat(lists, trial, n, n_groups)


@_jit
def _generate(
    lists: _Lists, pool: _Pool, master: _Master, trial: _Trial, n: int, n_groups: int, count: int, slack: float
) -> tuple[bool, float]:
    """Column generation; returns whether the optimum is proven, and the bound on the Lagrangian that proves it."""
    penalty = _first_penalty(lists, n)
    relaxations = 0
    for _ in range(200 + 100 * n_groups):
        missed, fine = _simplex(lists, master, pool, n_groups, count, penalty, slack)
        if not fine:
            return False, np.inf
        _clear_wrong_signs(lists, master, pool, n_groups)
        size = 1.0 + _size(master, n_groups)
        _merge(lists, trial, master.lam, n, n_groups)
        _swap_neighbours(lists, trial, master.lam, n)
        utility = _seat(lists, trial, n, n_groups)
        gain = _reduced_cost(pool, master, trial, utility, n_groups)
        if gain <= _PROMISING * size:
            if gain < 0.0:
                _take_basic(lists, pool, master, trial, n, n_groups)
            _midpoint_prices(lists, trial, master.lam, n)
            proven = _perfect(lists, trial, master.lam, n, n_groups, size)
            utility = _seat(lists, trial, n, n_groups)
            gain = _reduced_cost(pool, master, trial, utility, n_groups)
            if gain <= _ENTER * size:
                if not proven:
                    return False, np.inf
                if missed <= slack:
                    return True, _lagrangian_bound(lists, trial, master.lam, n, n_groups)
                relaxations += 1
                if relaxations > _RELAXATIONS:
                    return False, np.inf
                penalty *= 8.0
                continue
        if count == len(pool.utility):
            count = _compact(pool, master, n, n_groups, count)
        count = _add_column(pool, trial, utility, n, n_groups, count)
    return False, np.inf


@_jit
def _refine(master: _Master, pool: _Pool, n_groups: int) -> None:
    """One step of iterative refinement of the basic variables."""
    for g in range(n_groups):
        master.alpha[g] = 0.0 if np.isnan(master.resting[g]) else master.resting[g]
    master.alpha[n_groups] = 1.0
    for i in range(n_groups + 1):
        variable = master.basis[i]
        if variable < n_groups:
            master.alpha[variable] += master.x[i]
        else:
            master.alpha[n_groups] -= master.x[i]
            for g in range(n_groups):
                master.alpha[g] -= master.x[i] * pool.exposure[variable - n_groups, g]
    for i in range(n_groups + 1):
        for k in range(n_groups + 1):
            master.x[i] += master.inverse[i, k] * master.alpha[k]


@_jit
def _finish_probabilities(lists: _Lists, master: _Master, pool: _Pool, n_groups: int, held: float) -> tuple[bool, float]:
    """Probabilities in full precision; returns whether they hold the bounds, and their utility.

    Vanishing probabilities are dropped and the others scaled to sum to one, then the bounds are checked on the result.
    """
    _refine(master, pool, n_groups)
    _refine(master, pool, n_groups)
    total = 0.0
    for i in range(n_groups + 1):
        if master.basis[i] >= n_groups:
            if master.x[i] < 1e-13:
                master.x[i] = 0.0
            total += master.x[i]
    for g in range(n_groups):
        master.alpha[g] = pool.origin[g]
    utility = pool.origin[n_groups]
    for i in range(n_groups + 1):
        column = master.basis[i] - n_groups
        if column >= 0:
            master.x[i] /= total
            utility += master.x[i] * pool.utility[column]
            for g in range(n_groups):
                master.alpha[g] += master.x[i] * pool.exposure[column, g]
    good = True
    for g in range(n_groups):
        good &= lists.lower[g] - held <= master.alpha[g] <= lists.upper[g] + held
    return good, utility


@_jit
def _sort_blocks(lists: _Lists, ranks: Ints, n: int) -> None:
    """Order positions of equal v and equal w by the plain sort: nothing else tells their items apart."""
    start = 0
    while start < n:
        stop = start + 1
        while stop < n and lists.v[stop] == lists.v[start] and lists.w[stop] == lists.w[start]:
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
    lists: _Lists, trial: _Trial, pattern: Groups, probability: float, w: Floats, n: int, n_groups: int,
    ranking: Ints, weight: Floats,
) -> None:  # fmt: skip
    """Write one ranking of the policy, and add its share to the weights."""
    ranks = trial.mark
    for g in range(n_groups):
        trial.head[g] = lists.first[g]
    for j in range(n):
        g = pattern[j]
        ranks[j] = lists.member[trial.head[g]]
        trial.head[g] += 1
    _sort_blocks(lists, ranks, n)
    for j in range(n):
        item = lists.order[ranks[j]]
        ranking[j] = item
        weight[item] += probability * w[j]


@_jit
def _missed(lists: _Lists, exposure: Floats, n_groups: int) -> float:
    missed = 0.0
    for g in range(n_groups):
        missed = max(missed, lists.lower[g] - exposure[g], exposure[g] - lists.upper[g])
    return missed


@_jit
def _bounds_term(lists: _Lists, lam: Floats, n_groups: int) -> float:
    """What the multipliers charge for the bounds."""
    total = 0.0
    for g in range(n_groups):
        if lam[g] != 0.0:
            total += lam[g] * (lists.lower[g] if lam[g] > 0.0 else lists.upper[g])
    return total


@_jit
def _open_query(
    lists: _Lists, scores: Floats, codes: Ints, n: int, seed: int, query: int
) -> tuple[int, float, float, float]:
    """Sort and group the items and map their scores to [0, 1]; returns groups, least score, spread, sum of the mapped."""
    _sort_items(scores, n, seed, query, lists.order, lists.y, lists.tie)
    least = lists.y[n - 1]
    spread = lists.y[0] - least
    total = 0.0
    for k in range(n):
        lists.y[k] = (lists.y[k] - least) / spread if spread > 0.0 else 0.0
        total += lists.y[k]
    return _set_groups(lists, codes, n), least, spread, total


@_jit
def _solve_query(
    lists: _Lists, pool: _Pool, master: _Master, trial: _Trial,
    scores: Floats, codes: Ints, start: int, n: int, query: int, lower: Floats, upper: Floats, v: Floats, w: Floats,
    seed: int, warm: bool, rankings: Ints, probabilities: Floats, known: int, multipliers: Floats, weight: Floats,
) -> tuple[int, float, int]:  # fmt: skip
    """Solve one query; returns the number of rankings, the dual bound and the status."""
    n_groups, least, spread, total = _open_query(lists, scores, codes[start : start + n], n, seed, query)
    spread_v, spread_w = v[0] - v[n - 1], w[0] - w[n - 1]
    scale = spread * spread_w
    base, whole = spread * w[n - 1] * total, 0.0
    for j in range(n):
        base += least * w[j]
        whole += v[j]
    for k in range(n):
        trial.pattern[k] = lists.group[k]
        weight[k] = 0.0
    utility = _seat(lists, trial, n, n_groups)
    slack = np.inf
    if spread_v > 0.0:
        slack = _SLACK * max(whole, 1.0) / spread_v
        _set_bounds(lists, lower, upper, n_groups, v[n - 1], spread_v)
    if slack == np.inf or _missed(lists, trial.exposure, n_groups) <= slack:
        _write_ranking(lists, trial, trial.pattern, 1.0, w, n, n_groups, rankings[0, start:], weight)
        probabilities[0] = 1.0
        for g in range(n_groups):
            multipliers[lists.code[g]] = 0.0
            lists.local[lists.code[g]] = -1
        return 1, base + scale * utility, 0

    if warm and known > 1:
        count = _recall(lists, pool, trial, codes, rankings, start, n, n_groups, known)
        _recall_basis(lists, pool, master, probabilities, n_groups, count, slack)
    else:
        count = _add_column(pool, trial, utility, n, n_groups, 0)
        _reset_basis(master, pool, n_groups)
    proven, bound = _generate(lists, pool, master, trial, n, n_groups, count, slack)
    good, utility = _finish_probabilities(lists, master, pool, n_groups, slack * _HELD / _SLACK)
    bound -= _bounds_term(lists, master.lam, n_groups)
    good &= proven and bound - utility <= _GAP * (1.0 + _size(master, n_groups))
    for g in range(n_groups):
        multipliers[lists.code[g]] = master.lam[g] * scale / spread_v
        lists.local[lists.code[g]] = -1
    written = 0
    for i in range(n_groups + 1):
        column = master.basis[i] - n_groups
        if column >= 0 and master.x[i] > 0.0:
            pattern = pool.pattern[column]
            _write_ranking(lists, trial, pattern, master.x[i], w, n, n_groups, rankings[written, start:], weight)
            probabilities[written] = master.x[i]
            written += 1
    return written, base + scale * bound, 0 if good else 1


@_jit
def _room(n: int, n_codes: int) -> tuple[_Lists, _Pool, _Master, _Trial]:
    """Working memory for lists of up to n items."""
    m = min(n, n_codes) + 1
    columns = 48 + 6 * m
    lists = _Lists(
        np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n, np.int32), np.empty(n), np.empty(n, np.uint64),
        np.empty(n, np.int16), np.empty(m, np.int32), np.empty(n), np.empty(n, np.int32), np.empty(m, np.int32),
        np.full(n_codes, -1, np.int32), np.empty(m), np.empty(m),
    )  # fmt: skip
    pool = _Pool(
        np.empty((columns, n), np.int16), np.empty((columns, m)), np.empty(columns), np.empty(columns, np.bool_), np.empty(m)
    )
    master = _Master(
        np.empty(m, np.int32), np.empty(m), np.empty((m, m)), np.empty(m), np.empty(m), np.empty(m), np.empty((m, m))
    )
    trial = _Trial(
        np.empty(n, np.int16), np.empty(n), np.empty(m), np.empty(n), np.empty(n, np.int32), np.empty(n, np.int32),
        np.empty(m, np.int32), np.empty(m, np.int32), np.empty(m, np.int32), np.empty(m), np.empty(m),
    )  # fmt: skip
    return lists, pool, master, trial


@njit(parallel=True, cache=True, nogil=True, error_model="numpy")
def solve(
    scores: Floats, codes: Ints, offsets: Longs, queries: Longs, lower: Floats, upper: Floats, v: Floats, w: Floats,
    seed: int, warm: bool, rankings: Ints, probabilities: Floats, counts: Ints, multipliers: Floats, weight: Floats,
    bound: Floats, status: Bytes,
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
        lists, pool, master, trial = _room(len(v), lower.shape[1])
        prepared = -1
        for k in range(batch * len(queries) // batches, (batch + 1) * len(queries) // batches):
            q = queries[k]
            start, n = offsets[q], offsets[q + 1] - offsets[q]
            if n != prepared:
                _set_positions(lists, v, w, n)
                prepared = n
            counts[q], bound[q], status[q] = _solve_query(
                lists, pool, master, trial, scores[start : start + n], codes, start, n, q, lower[q], upper[q], v, w,
                seed, warm, rankings, probabilities[q], counts[q], multipliers[q], weight[start : start + n],
            )  # fmt: skip
