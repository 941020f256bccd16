"""The exact solver for lists in which one or two groups are present.

Within a group items stand in the order of their scores, so a ranking is a merge of two sorted lists ``A`` and ``B``,
and the unknown is the *chain* ``a_0 = 0, ..., a_n = n_A``: how many of the first ``j`` places ``A`` holds, each step 0
or 1. With ``SA``, ``SB`` the prefix sums of the sorted scores, summation by parts makes sums over the places of both::

    utility    = w_n (SA[n_A] + SB[n_B]) + sum_{j<n} (w_j - w_{j+1}) (SA[a_j] + SB[j - a_j])
    exposure_A = v_n n_A                 + sum_{j<n} (v_j - v_{j+1}) a_j

For a price ``lam`` on the exposure of ``A`` the Lagrangian is therefore a sum of concave functions ``F_j(a_j)`` that
only the steps of the chain tie together. Place by place the best ``k_j`` is where ``yA[k] + lam r_j`` falls below
``yB[j-1-k]``, ``r_j = (v_j - v_{j+1}) / (w_j - w_{j+1})``. If ``k`` is a chain, it is the optimum. If not, some
optimal chain lies between the greatest chain below ``k`` and the least chain above it (chains form a lattice, and a
move towards ``k_j`` never lowers ``F_j``): a dynamic programme in that band, nearly everywhere empty, finds it. So to
evaluate a price takes about one pass over the list, whatever the sizes of the groups.

The optimal chains rise with ``lam``. Two chains that enclose the exposure asked for thus also enclose all that can be
optimal between their prices, and the search over ``lam`` narrows them until no ranking lies above their chord.

Quotas on prefixes are a lowest and a highest permitted chain. Permitted chains form a lattice too, so the best one for
``lam = 0`` is the plain sort moved between the two, and the search begins there instead of at the plain sort, and ends
at the highest permitted chain instead of at all of ``A`` first.
"""

# mypy: allow-untyped-defs, allow-untyped-decorators, allow-untyped-calls
# The types of the inner functions are numba's to infer.

from typing import NamedTuple

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from spofr_core.policy.solvers.kernels.arguments import Answer, Problem
from spofr_core.policy.solvers.kernels.group_sort import at, sort_group, tie_key

_SHARES = 32  # pieces of a batch: enough to balance the threads, few enough to allocate memory for each
_BLOCK = 16  # neighbouring queries that stay in one share
_ROUNDS = 500  # prices tried before a query is given up; about ten is usual, at any length
_STEEP = 1e300  # stands for exposure / utility where the discount is flat

# rows of `steps`: what place j is worth more than place j + 1
_DV, _DW, _RATIO = 0, 1, 2
# rows of `chains`
_FLOOR, _CEILING, _CHAIN, _LOW, _HIGH, _PEAK, _BREAK, _LOWEST, _HIGHEST = 0, 1, 2, 3, 4, 5, 6, 7, 8


class _Desk(NamedTuple):
    """Working memory of one list after another, allocated once; `sums` and `steps` are the same for all of them."""

    sums: NDArray[np.float64]
    steps: NDArray[np.float64]
    y: NDArray[np.float64]
    item: NDArray[np.int32]
    total: NDArray[np.float64]
    tie: NDArray[np.float64]
    chains: NDArray[np.int32]
    values: NDArray[np.float64]
    spare_keys: NDArray[np.float64]
    spare_items: NDArray[np.int32]
    ranks: NDArray[np.int32]


@njit(cache=True, nogil=True, error_model="numpy")
def _plain_sort(n, y, item, total, steps, chains, seed, query):
    """The plain sort, ties between the groups by their tie keys, as the chain of group 0 in the floor; its `_value`."""
    f, e, size, a = 0.0, 0.0, 0, 0
    chains[_FLOOR, 0] = 0
    for j in range(1, n + 1):
        y_0, y_1 = y[0, at(a + 1)], y[1, at(j - a)]
        ahead = y_0 > y_1
        if y_0 == y_1:
            ahead = tie_key(seed, query, item[0, a + 1]) > tie_key(seed, query, item[1, j - a])
        a += ahead
        chains[_FLOOR, j] = a
        if j < n:
            f += steps[_DW, j] * (total[0, at(a)] + total[1, at(j - a)])
            e += steps[_DV, j] * a
            size += a
    return f, e, size


@njit(cache=True, nogil=True, error_model="numpy")
def _value(row, n, one, two, total, steps, chains):
    """Utility and exposure of group `one`, without what all chains share, and the sum of the chain."""
    f, e, size = 0.0, 0.0, 0
    for j in range(1, n):
        a = chains[row, j]
        f += steps[_DW, j] * (total[one, at(a)] + total[two, at(j - a)])
        e += steps[_DV, j] * a
        size += a
    return f, e, size


@njit(cache=True, nogil=True, error_model="numpy")
def _set_quota(n, n_one, one, two, earliest, latest, chains):
    """Lowest and highest permitted chain; the windows of the two groups begin at `one` and `two`."""
    due_one, due_two, may_one, may_two = 0, 0, 0, 0
    n_two = n - n_one
    for j in range(n + 1):
        while due_one < n_one and latest[one + due_one] < j:
            due_one += 1
        while due_two < n_two and latest[two + due_two] < j:
            due_two += 1
        while may_one < n_one and earliest[one + may_one] < j:
            may_one += 1
        while may_two < n_two and earliest[two + may_two] < j:
            may_two += 1
        chains[_LOWEST, j] = max(due_one, j - may_two)
        chains[_HIGHEST, j] = min(may_one, j - due_two)
    for j in range(1, n + 1):
        chains[_LOWEST, j] = max(chains[_LOWEST, j], chains[_LOWEST, j - 1])
        chains[_HIGHEST, j] = min(chains[_HIGHEST, j], chains[_HIGHEST, j - 1] + 1)
    for j in range(n - 1, -1, -1):
        chains[_LOWEST, j] = max(chains[_LOWEST, j], chains[_LOWEST, j + 1] - 1)
        chains[_HIGHEST, j] = min(chains[_HIGHEST, j], chains[_HIGHEST, j + 1])


@njit(cache=True, nogil=True, error_model="numpy")
def _move_into_quota(n, chains):
    """Move the floor between the lowest and the highest permitted chain; whether it had to be."""
    moved = False
    for j in range(1, n):
        a = min(max(chains[_FLOOR, j], chains[_LOWEST, j]), chains[_HIGHEST, j])
        moved |= a != chains[_FLOOR, j]
        chains[_FLOOR, j] = a
    return moved


@njit(cache=True, nogil=True, error_model="numpy")
def _widen(breaks, chains):
    """Between the low and the high row, enclose all chains that a move towards the places' optima cannot improve.

    Both rows hold these optima, and ``chains[_BREAK, :breaks]`` the places at which they drop, or rise by more than 1.
    """
    for i in range(breaks):
        j = chains[_BREAK, i]
        while chains[_HIGH, j] < chains[_HIGH, j - 1]:
            chains[_HIGH, j] = chains[_HIGH, j - 1]
            j += 1
        j = chains[_BREAK, i] - 1
        while chains[_LOW, j] > chains[_LOW, j + 1]:
            chains[_LOW, j] = chains[_LOW, j + 1]
            j -= 1
    for i in range(breaks):
        j = chains[_BREAK, i]
        while chains[_LOW, j] > chains[_LOW, j - 1] + 1:
            chains[_LOW, j] = chains[_LOW, j - 1] + 1
            j += 1
        j = chains[_BREAK, i] - 1
        while chains[_HIGH, j] < chains[_HIGH, j + 1] - 1:
            chains[_HIGH, j] = chains[_HIGH, j + 1] - 1
            j -= 1


@njit(cache=True, nogil=True, error_model="numpy")
def _mend(start, lam, one, two, total, steps, chains, values):
    """Best stretch of chain through the band that opens after place `start`; returns the place at which it closes.

    ``values[_, k + 1]`` is the most that the places since `start` give to a chain that stands at ``k``. It is concave
    in ``k``: of the two values that a chain can come from, the one nearer to the peak is the better, so the peaks
    alone lead back.
    """
    new, old = 0, 1
    j = start + 1
    bottom, top = chains[_LOW, j], chains[_HIGH, j]
    best = chains[_LOW, start]
    values[old, best], values[old, best + 1], values[old, best + 2] = -np.inf, 0.0, -np.inf
    while bottom < top:
        price, discount = lam * steps[_DV, j], steps[_DW, j]
        for k in range(bottom, top + 1):
            gain = discount * (total[one, at(k)] + total[two, at(j - k)]) + price * k
            values[new, at(k + 1)] = max(values[old, at(k)], values[old, at(k + 1)]) + gain
        values[new, bottom] = values[new, top + 2] = -np.inf
        best = min(max(best, bottom), top)
        while values[new, best + 2] > values[new, best + 1]:
            best += 1
        while values[new, best] > values[new, best + 1]:
            best -= 1
        chains[_PEAK, j] = best
        new, old = old, new
        j += 1
        bottom, top = chains[_LOW, j], chains[_HIGH, j]
    a = bottom
    for i in range(j - 1, start, -1):
        a -= chains[_PEAK, i] < a
        chains[_CHAIN, i] = a
    return j


@njit(cache=True, nogil=True, error_model="numpy")
def _best_chain(lam, n, one, two, y, total, steps, chains, values):
    """Best chain between floor and ceiling for the price `lam`; returns what `_value` says of it."""
    f, e, size = 0.0, 0.0, 0
    k, last, breaks = 0, 0, 0
    for j in range(1, n):
        shift = lam * steps[_RATIO, j]
        k += y[one, at(k + 1)] + shift > y[two, at(j - k)]
        # mostly this one step was right, and the sentinels keep the loops within the lists
        while y[one, at(k + 1)] + shift > y[two, at(j - k)]:
            k += 1
        while y[one, at(k)] + shift <= y[two, at(j - k + 1)]:
            k -= 1
        a = min(max(k, chains[_FLOOR, j]), chains[_CEILING, j])
        chains[_CHAIN, j] = a
        chains[_BREAK, at(breaks)] = j
        breaks += (a < last) | (a > last + 1)
        last = a
        f += steps[_DW, j] * (total[one, at(a)] + total[two, at(j - a)])
        e += steps[_DV, j] * a
        size += a
    if breaks == 0:
        return f, e, size

    for j in range(n + 1):
        chains[_LOW, j] = chains[_HIGH, j] = chains[_CHAIN, j]
    _widen(breaks, chains)
    mended = 0
    for i in range(breaks):
        j = chains[_BREAK, i]
        if j > mended:
            while chains[_LOW, j] < chains[_HIGH, j]:
                j -= 1
            mended = _mend(j, lam, one, two, total, steps, chains, values)
    return _value(_CHAIN, n, one, two, total, steps, chains)


@njit(cache=True, nogil=True, error_model="numpy")
def _raise_exposure(
    target, tolerance, f_low, e_low, size_low, n, n_one, one, two, y, total, steps, chains, values, limited
):
    """Give group `one` the exposure `target`, more than the best chain without a price (the floor, with its `_value`)
    does; no chain rises above the highest permitted one if they are `limited`.

    The dual ``g(lam) = max over chains of f + lam (e - target)`` is convex and piecewise linear. Floor and ceiling are
    two of its lines, one falling, one rising. Where they cross is the next price: either nothing lies above them there,
    then this is the least of ``g``, or the chain that does replaces one of them.

    Returns the probability of the floor (the ceiling has the rest), the price, the dual bound (both without what all
    chains share) and whether the bound is proved to be the optimum.
    """
    for j in range(n + 1):
        chains[_CEILING, j] = chains[_CHAIN, j] = chains[_HIGHEST, j] if limited else min(j, n_one)
    f_high, e_high, size_high = _value(_CEILING, n, one, two, total, steps, chains)
    if e_high - e_low <= tolerance:
        return 1.0, 0.0, f_low, True
    target = min(target, e_high)
    f_plain, scale = f_low, 1.0 + abs(f_low)
    lam, excess, proved = 0.0, 0.0, False
    for _ in range(_ROUNDS):
        lam = max(0.0, (f_low - f_high) / (e_high - e_low))
        if size_high - size_low <= 1:  # no chain lies between the two
            excess, proved = 0.0, True
            break
        f, e, size = _best_chain(lam, n, one, two, y, total, steps, chains, values)
        excess = max(0.0, (f - f_high) + lam * (e - e_high))
        if excess <= 1e-13 * scale or size in (size_low, size_high):
            proved = excess <= 1e-10 * scale + lam * tolerance  # what rounding in the exposures is worth
            break
        if e < target - tolerance:
            for j in range(1, n):
                chains[_FLOOR, j] = chains[_CHAIN, j]
            f_low, e_low, size_low = f, e, size
        else:
            for j in range(1, n):
                chains[_CEILING, j] = chains[_CHAIN, j]
            f_high, e_high, size_high = f, e, size
    # a second ranking is not worth its while for less exposure than rounding moves
    theta = (e_high - target) / (e_high - e_low) if e_high - target > tolerance else 0.0
    if f_low - f_high <= 1e-14 * scale:  # rankings of equal utility: the bound costs nothing
        return theta, 0.0, f_plain, proved
    return theta, lam, f_high + lam * (e_high - target) + excess, proved


@njit(cache=True, nogil=True, error_model="numpy")
def _split(scores, codes, start, n, y, item):
    """Put the items of a list into row 0 or 1 by their group, the scores mapped to [0, 1].

    Returns the size of row 0, the codes of the two groups (the second is -1 if there is none), the least score and the
    spread of the scores.
    """
    least = greatest = scores[start]
    code, other = codes[start], np.int32(-1)
    for i in range(n):
        score, group = scores[at(start + i)], codes[at(start + i)]
        least, greatest = min(least, score), max(greatest, score)
        other = group if group != code else other
    spread = greatest - least
    unit = spread if spread > 0.0 else 1.0
    a = 0
    for i in range(n):
        # written to both rows, kept in the one whose counter moves: no branch that nobody can predict
        y[0, at(a + 1)] = y[1, at(i - a + 1)] = (scores[at(start + i)] - least) / unit
        item[0, at(a + 1)] = item[1, at(i - a + 1)] = i
        a += codes[at(start + i)] == code
    return a, code, other, least, spread


@njit(cache=True, nogil=True, error_model="numpy")
def _write(chain, probability, ranking, one, two, n, start, w, item, chains, rankings, weight):
    """Write one ranking, if rankings are wanted, and add its share to the items' expected discounts."""
    wanted = rankings.shape[0] > 0
    for j in range(n):
        a = chains[chain, j]
        ahead = chains[chain, j + 1] - a
        i = item[at(two + ahead * (one - two)), at(1 + j - a + ahead * (2 * a - j))]
        if wanted:
            rankings[ranking, at(start + j)] = i
        share = probability * w[j]
        if ranking > 0:
            share += weight[at(start + i)]
        weight[at(start + i)] = share


@njit(cache=True, nogil=True, error_model="numpy")
def _solve_query(q, name, problem, seed, answer, desk):
    """Solve query `q`, whose ties `name` decides: the plain sort if it holds the bounds, else the best mixture; within
    quotas, what comes nearest to it."""
    scores, codes, offsets, lower, upper, v, w, earliest, latest = problem
    rankings, probabilities, counts, multipliers, weight, bound, status = answer
    sums, steps, y, item, total, tie, chains, values, spare_keys, spare_items, ranks = desk
    start, n = offsets[q], offsets[q + 1] - offsets[q]
    for g in range(multipliers.shape[1]):
        multipliers[q, g] = 0.0
    n_0, code, other, least, spread = _split(scores, codes, start, n, y, item)
    sort_group(0, n_0, y, item, total, tie, seed, name, spare_keys, spare_items, ranks)
    sort_group(1, n - n_0, y, item, total, tie, seed, name, spare_keys, spare_items, ranks)
    f, e, size = _plain_sort(n, y, item, total, steps, chains, seed, name)
    limited = len(earliest) > 0 and n_0 < n
    if limited:
        first, second = (start, start + n_0) if code < other else (start + n - n_0, start)
        _set_quota(n, n_0, first, second, earliest, latest, chains)
        if _move_into_quota(n, chains):
            f, e, size = _value(_FLOOR, n, 0, 1, total, steps, chains)

    one, theta, lam, best, proved = 0, 1.0, 0.0, f, True
    if n_0 < n:
        everything = sums[0, n]
        tolerance = 2e-15 * everything
        # what a group must have at least: its own lower bound, or what the other's upper bound leaves over
        need_0 = max(lower[q, code], everything - upper[q, other])
        need_1 = max(lower[q, other], everything - upper[q, code])
        e_0 = e + v[n - 1] * n_0
        e_1 = everything - e_0
        if e_0 < need_0 - tolerance or e_1 < need_1 - tolerance:
            need, n_one = need_0, n_0
            if e_0 >= need_0 - tolerance:
                one, need, n_one = 1, need_1, n - n_0
                code, other = other, code
                e, size = e_1 - v[n - 1] * n_one, n * (n - 1) // 2 - size
                for j in range(n + 1):
                    chains[_FLOOR, j] = j - chains[_FLOOR, j]
                    if limited:
                        chains[_HIGHEST, j] = j - chains[_LOWEST, j]
            theta, lam, best, proved = _raise_exposure(
                need - v[n - 1] * n_one, tolerance, f, e, size, n, n_one, one, 1 - one, y, total, steps, chains, values,
                limited,
            )  # fmt: skip
            if lower[q, code] >= everything - upper[q, other] - tolerance:
                multipliers[q, code] = lam * spread
            else:
                multipliers[q, other] = -lam * spread

    for r in range(probabilities.shape[1]):
        probabilities[q, r] = 0.0
    counts[q] = 0
    for chain, probability in ((_FLOOR, theta), (_CEILING, 1.0 - theta)):
        if probability > 0.0:
            _write(chain, probability, counts[q], one, 1 - one, n, start, w, item, chains, rankings, weight)
            probabilities[q, counts[q]] = probability
            counts[q] += 1
    shared = w[n - 1] * (total[0, n_0] + total[1, n - n_0])
    bound[q] = least * sums[1, n] + spread * (shared + best)
    status[q] = 0 if proved else 1


@njit(cache=True, nogil=True, error_model="numpy")
def _steps_down(v, w):
    """Prefix sums of v and w, and what each place is worth more than the next: rows of `sums` and `steps`."""
    m = len(v) + 3
    sums, steps = np.zeros((2, m)), np.zeros((3, m))
    for j in range(len(v)):
        sums[0, j + 1], sums[1, j + 1] = sums[0, j] + v[j], sums[1, j] + w[j]
    for j in range(1, len(v)):
        dv, dw = v[j - 1] - v[j], w[j - 1] - w[j]
        steps[_DV, j], steps[_DW, j] = dv, dw
        if dv > 0.0:
            steps[_RATIO, j] = dv / dw if dv < _STEEP * dw else _STEEP
    return sums, steps


@njit(cache=True, nogil=True, error_model="numpy")
def _solve_some(first, stop, stride, names, queries, problem, seed, answer):
    """Solve blocks of `queries`, `stride` apart, in memory that is allocated once."""
    m = len(problem.v) + 3
    sums, steps = _steps_down(problem.v, problem.w)
    desk = _Desk(
        sums, steps, np.empty((2, m)), np.empty((2, m), np.int32), np.empty((2, m)), np.empty((2, m)),
        np.empty((9, m), np.int32), np.empty((2, m)), np.empty(m), np.empty(m, np.int32), np.empty(m, np.int32),
    )  # fmt: skip
    for block in range(first, stop, stride):
        for i in range(block, min(block + _BLOCK, stop)):
            _solve_query(queries[i], names[i], problem, seed, answer, desk)


def weights(
    problem: Problem,
    queries: NDArray[np.int64],
    seed: int,
    weight: NDArray[np.float64],
    status: NDArray[np.int8],
) -> None:
    """What `solve` writes to `weight` and `status`, for a small batch on one thread and in memory of the batch's size.

    The arrays of a training set are far apart in memory; to touch them once, in the order of the batch, is half of
    what a small batch costs. `problem.scores`, `weight` and `status` are those of the lists in `queries`, in that
    order; the rest belongs to all lists.
    """
    # Arrays one by one: to find out the type of a tuple takes numba longer than to solve a list.
    _weights(*problem, queries, np.uint64(seed), weight, status)


@njit(cache=True, nogil=True, error_model="numpy")
def _weights(scores, codes, offsets, lower, upper, v, w, earliest, latest, queries, seed, weight, status):
    k, groups = len(queries), lower.shape[1]
    starts, lows, highs = np.zeros(k + 1, np.int64), np.empty((k, groups)), np.empty((k, groups))
    near = np.empty(len(scores), np.int32)
    limited = len(earliest) > 0
    first, last = np.empty(len(scores) * limited, np.int32), np.empty(len(scores) * limited, np.int32)
    for i in range(k):
        start, n = offsets[queries[i]], offsets[queries[i] + 1] - offsets[queries[i]]
        starts[i + 1] = starts[i] + n
        for j in range(n):
            near[starts[i] + j] = codes[start + j]
            if limited:
                first[starts[i] + j], last[starts[i] + j] = earliest[start + j], latest[start + j]
        for g in range(groups):
            lows[i, g], highs[i, g] = lower[queries[i], g], upper[queries[i], g]
    problem = Problem(scores, near, starts, lows, highs, v, w, first, last)
    answer = Answer(
        np.empty((0, 0), np.int32), np.empty((k, 2)), np.empty(k, np.int32), np.empty((k, groups)), weight,
        np.empty(k), status,
    )  # fmt: skip
    _solve_some(0, k, _BLOCK, queries, np.arange(k), problem, seed, answer)


def solve(problem: Problem, queries: NDArray[np.int64], seed: int, answer: Answer, *, warm: bool = False) -> None:
    """Solve the lists named in `queries`, in each of which one or two groups are present, in parallel.

    Parameters
    ----------
    problem, answer
        See there. An answer has one or two rankings.
    queries : (K,)
        The lists to solve.
    seed : int
        Of the lots that order equal scores: with the list's and the item's index it fixes them.
    warm : bool
        Not used: the search needs no start. Here for the call that both kernels share.
    """
    # Arrays one by one: to find out the type of a tuple takes numba longer than to solve a list.
    _solve(*problem, queries, np.uint64(seed), *answer)


@njit(parallel=True, cache=True, nogil=True, error_model="numpy")
def _solve(
    scores, codes, offsets, lower, upper, v, w, earliest, latest, queries, seed, rankings, probabilities, counts,
    multipliers, weight, bound, status,
):  # fmt: skip
    shares = min(_SHARES, (len(queries) + _BLOCK - 1) // _BLOCK)
    for share in prange(shares):
        problem = Problem(scores, codes, offsets, lower, upper, v, w, earliest, latest)
        answer = Answer(rankings, probabilities, counts, multipliers, weight, bound, status)
        _solve_some(share * _BLOCK, len(queries), shares * _BLOCK, queries, queries, problem, seed, answer)
