"""The exact solver for lists in which one or two groups are present.

Within a group items stand in the order of their scores, so a ranking is a merge of two sorted lists ``A`` and ``B``, and
the unknown is the *chain* ``a_0 = 0, ..., a_n = n_A``: how many of the first ``j`` places ``A`` holds, each step 0 or 1.
With ``SA``, ``SB`` the prefix sums of the sorted scores, summation by parts makes both quantities sums over the places::

    utility    = w_n (SA + SB)[n] + sum_{j<n} (w_j - w_{j+1}) (SA[a_j] + SB[j - a_j])
    exposure_A = v_n n_A          + sum_{j<n} (v_j - v_{j+1}) a_j

so for a price ``lam`` on the exposure of ``A`` the Lagrangian is a sum of functions ``F_j(a_j)``, each concave, that only
the steps of the chain tie together. Hence one evaluation is a linear pass. Place by place the best ``k_j`` is where
``yA[k] + lam r_j`` falls below ``yB[j-1-k]``, ``r_j = (v_j - v_{j+1}) / (w_j - w_{j+1})``. If ``k`` is a chain, it is the
optimum. If not, an optimal chain lies between the greatest chain below ``k`` and the smallest chain above it (chains form a
lattice, and moving towards ``k_j`` never lowers ``F_j``): a dynamic programme in that band, mostly empty, finishes it.

The optimal chains rise with ``lam``, so two chains that enclose the target exposure also enclose all that is optimal
between their prices; the search over ``lam`` narrows them until no ranking lies above their chord.
"""

from typing import NamedTuple

import numpy as np
from numba import njit, prange

_BLOCK = 16  # queries that one thread takes in a row
_SHARES = 32  # pieces of a batch: enough to balance the threads, few enough to allocate for
_RUN = 24  # items up to which insertion sorts faster than merging
_ROUNDS = 500  # prices tried before a query is given up; a handful is usual
_FEW = 0.25
_STEEP = 1e300  # exposure per utility where the discount is flat


class Steps(NamedTuple):
    """What one place is worth more than the next, ``j = 1..n-1``: the same for lists of every length."""

    dv: np.ndarray
    dw: np.ndarray
    ratio: np.ndarray  # dv / dw; 0 where both are flat, `_STEEP` where only the discount is


class Half(NamedTuple):
    """One group of a list, best score first, and the prefix sums of its scores."""

    y: np.ndarray
    item: np.ndarray
    total: np.ndarray


class Spare(NamedTuple):
    """Memory that a thread reuses for every query."""

    key: np.ndarray
    item: np.ndarray
    tie: np.ndarray
    low: np.ndarray
    high: np.ndarray
    peak: np.ndarray
    value: np.ndarray
    fresh: np.ndarray


@njit(cache=True, nogil=True, error_model="numpy")
def _tie_key(seed, query, item):
    """Uniform number in [0, 1) that depends on nothing but its three arguments (splitmix64 twice)."""
    x = np.uint64(seed) ^ (np.uint64(query) * np.uint64(0xD1342543DE82EF95))
    for salt in (np.uint64(0), np.uint64(item)):
        x = (x + salt) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x2545F4914F6CDD1D)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        x ^= x >> np.uint64(31)
    return np.float64(x >> np.uint64(11)) * 2.0**-53


@njit(cache=True, nogil=True, error_model="numpy")
def _sort(key, item, start, stop, spare):
    """Sort ``key[start:stop]`` in descending order, `item` along with it: insertion in short runs, then merges."""
    for low in range(start, stop, _RUN):
        for i in range(low + 1, min(low + _RUN, stop)):
            x, moved, j = key[i], item[i], i
            while j > low and key[j - 1] < x:
                key[j], item[j] = key[j - 1], item[j - 1]
                j -= 1
            key[j], item[j] = x, moved
    width = _RUN
    while width < stop - start:
        for low in range(start, stop, 2 * width):
            middle, high = min(low + width, stop), min(low + 2 * width, stop)
            i, j = low, middle
            for out in range(low, high):
                if j >= high or (i < middle and key[i] >= key[j]):
                    spare.key[out], spare.item[out] = key[i], item[i]
                    i += 1
                else:
                    spare.key[out], spare.item[out] = key[j], item[j]
                    j += 1
        key[start:stop] = spare.key[start:stop]
        item[start:stop] = spare.item[start:stop]
        width *= 2


@njit(cache=True, nogil=True, error_model="numpy")
def _sort_half(half, n, seed, query, spare):
    """Sort a group by score, equal scores by their tie keys, and sum the scores up."""
    y, item = half.y, half.item
    _sort(y, item, 0, n, spare)
    start = 0
    while start < n:
        stop = start + 1
        while stop < n and y[stop] == y[start]:
            stop += 1
        if stop - start > 1:
            for i in range(start, stop):
                spare.tie[i] = _tie_key(seed, query, item[i])
            _sort(spare.tie, item, start, stop, spare)
        start = stop
    total = 0.0
    half.total[0] = 0.0
    for i in range(n):
        total += y[i]
        half.total[i + 1] = total


@njit(cache=True, nogil=True, error_model="numpy")
def _merge(chain, first, n_first, second, n_second, seed, query):
    """The chain of the plain sort; ties between the groups by their tie keys."""
    a = 0
    chain[0] = 0
    for j in range(n_first + n_second):
        b = j - a
        if a == n_first:
            ahead = False
        elif b == n_second:
            ahead = True
        elif first.y[a] == second.y[b]:
            ahead = _tie_key(seed, query, first.item[a]) >= _tie_key(seed, query, second.item[b])
        else:
            ahead = first.y[a] > second.y[b]
        a += ahead
        chain[j + 1] = a


@njit(cache=True, nogil=True, error_model="numpy")
def _value(chain, n, first, second, steps):
    """Utility and exposure of the first group, without what all chains share, and the chain's sum."""
    f, e, size = 0.0, 0.0, 0
    for j in range(1, n):
        a = chain[j]
        f += steps.dw[j] * (first.total[a] + second.total[j - a])
        e += steps.dv[j] * a
        size += a
    return f, e, size


@njit(cache=True, nogil=True, error_model="numpy")
def _repair(lam, chain, n, first, second, steps, spare):
    """Replace the optima of the single places in `chain` by the best chain, which lies in the band that they span."""
    low, high, peak, value, fresh = spare.low, spare.high, spare.peak, spare.value, spare.fresh
    low[n], high[0] = chain[n], chain[0]
    for j in range(1, n + 1):
        high[j] = max(chain[j], high[j - 1])
    for j in range(n - 1, -1, -1):
        high[j] = max(high[j], high[j + 1] - 1)
        low[j] = min(chain[j], low[j + 1])
    for j in range(1, n + 1):
        low[j] = min(low[j], low[j - 1] + 1)

    start = 0
    while start < n:
        j = start + 1
        bottom, top = low[j], high[j]
        best = low[start]
        value[best], value[best + 1], value[best + 2] = -np.inf, 0.0, -np.inf
        while bottom < top:
            # value[k + 1]: the most that the places after `start` give to a chain that is at k here
            price, discount = lam * steps.dv[j], steps.dw[j]
            for k in range(bottom, top + 1):
                gain = discount * (first.total[k] + second.total[j - k]) + price * k
                fresh[k + 1] = max(value[k], value[k + 1]) + gain
            value, fresh = fresh, value
            value[bottom] = value[top + 2] = -np.inf
            best = min(max(best, bottom), top)
            while value[best + 2] > value[best + 1]:
                best += 1
            while value[best] > value[best + 1]:
                best -= 1
            peak[j] = best
            j += 1
            bottom, top = low[j], high[j]
        a = chain[j] = bottom
        for i in range(j - 1, start, -1):
            # the value is concave in k, so of the two predecessors the one nearer to its peak is the better
            a -= peak[i] < a
            chain[i] = a
        start = j


@njit(cache=True, nogil=True, error_model="numpy")
def _best_chain(lam, chain, floor, ceiling, n, first, second, steps, spare):
    """Best chain for the price `lam` between the chains `floor` and `ceiling`; returns what `_value` does."""
    f, e, size = 0.0, 0.0, 0
    k, broken = 0, False
    chain[0] = 0
    for j in range(1, n):
        last = k
        least, most = floor[j], ceiling[j]
        k = min(max(k, least), most)
        shift = lam * steps.ratio[j]
        while k < most and first.y[k] + shift > second.y[j - 1 - k]:
            k += 1
        while k > least and first.y[k - 1] + shift <= second.y[j - k]:
            k -= 1
        chain[j] = k
        broken |= (k < last) | (k > last + 1)
        f += steps.dw[j] * (first.total[k] + second.total[j - k])
        e += steps.dv[j] * k
        size += k
    chain[n] = ceiling[n]
    broken |= (chain[n] < k) | (chain[n] > k + 1)
    if broken:
        _repair(lam, chain, n, first, second, steps, spare)
        f, e, size = _value(chain, n, first, second, steps)
    return f, e, size


@njit(cache=True, nogil=True, error_model="numpy")
def _raise_first(target, floor, ceiling, chain, first, n_first, second, n_second, steps, spare):
    """Give the first group the exposure `target`, more than the plain sort, the chain in `floor`, gives it.

    Afterwards the optimum is the mixture of `floor` and `ceiling` that hits the target. Returns the probability of
    `floor`, the price, the dual bound (without what all chains share) and whether it was proved.

    The dual ``g(lam) = max over chains of f + lam (e - target)`` is convex and piecewise linear; `floor` and `ceiling` are
    two of its lines, falling and rising, and it is least where the two that cross on it do. Where two lines cross is the
    safe next price (it ends the search as soon as nothing lies above), but on a smooth stretch it only halves the
    bracket; there the secant of the exposure is used, until few cells are left between the chains.
    """
    n = n_first + n_second
    f_low, e_low, size_low = _value(floor, n, first, second, steps)
    for j in range(n + 1):
        ceiling[j] = min(j, n_first)
    f_high, e_high, size_high = _value(ceiling, n, first, second, steps)
    target = min(target, e_high)
    scale = 1.0 + abs(f_low)
    lam_low, lam_high, lam = 0.0, np.inf, 0.0
    excess, proved, smooth = 0.0, False, True
    for _ in range(_ROUNDS):
        if size_high - size_low <= 1 or e_high <= e_low:
            excess, proved = 0.0, True
            break
        crossing = max(0.0, (f_low - f_high) / (e_high - e_low))
        by_secant = smooth and lam_high < np.inf and size_high - size_low > _FEW * n
        if by_secant:
            lam = lam_low + (lam_high - lam_low) * (target - e_low) / (e_high - e_low)
        else:
            lam = crossing
        f, e, size = _best_chain(lam, chain, floor, ceiling, n, first, second, steps, spare)
        smooth = size_low < size < size_high
        if not by_secant:
            excess = (f - f_high) + lam * (e - e_high)
            if excess <= 1e-13 * scale or not smooth:
                proved = excess <= 1e-10 * scale
                break
        if e < target:
            floor[: n + 1] = chain[: n + 1]
            f_low, e_low, size_low, lam_low = f, e, size, lam
        else:
            ceiling[: n + 1] = chain[: n + 1]
            f_high, e_high, size_high, lam_high = f, e, size, lam

    if e_high <= e_low:
        return 1.0, 0.0, f_low, proved
    lam = (f_low - f_high) / (e_high - e_low)
    if f_low - f_high <= 1e-14 * scale:
        return (e_high - target) / (e_high - e_low), 0.0, f_low + excess, proved
    return (e_high - target) / (e_high - e_low), lam, f_high + lam * (e_high - target) + max(excess, 0.0), proved


@njit(cache=True, nogil=True, error_model="numpy")
def _write(chain, probability, row, n, start, first, second, w, rankings, weight):
    """Write one ranking (unless `rankings` has no rows) and add its share to the items' expected discounts."""
    for j in range(n):
        a = chain[j]
        item = first.item[a] if chain[j + 1] > a else second.item[j - a]
        if rankings.shape[0] > 0:
            rankings[row, start + j] = item
        if row == 0:
            weight[start + item] = probability * w[j]
        else:
            weight[start + item] += probability * w[j]


@njit(cache=True, nogil=True, error_model="numpy")
def _split(scores, codes, start, n, one, two):
    """Put the list's items into one or two halves by group, scores mapped to [0, 1].

    Returns the size of the first half, the two groups' codes (the second -1 if there is none), the least score and the
    spread of the scores.
    """
    least = greatest = scores[start]
    code, other = codes[start], np.int32(-1)
    for i in range(start, start + n):
        least, greatest = min(least, scores[i]), max(greatest, scores[i])
        other = codes[i] if codes[i] != code else other
    spread = greatest - least
    unit = spread if spread > 0.0 else 1.0
    a = 0
    for i in range(n):
        y = (scores[start + i] - least) / unit
        b = i - a
        # written to both, kept by the one whose counter moves: cheaper than a branch that nobody can predict
        one.y[a], one.item[a] = y, i
        two.y[b], two.item[b] = y, i
        a += codes[start + i] == code
    return a, code, other, least, spread


@njit(cache=True, nogil=True, error_model="numpy")
def _solve_query(
    q,
    scores,
    codes,
    offsets,
    lower,
    upper,
    v,
    w,
    v_sum,
    w_sum,
    seed,
    rankings,
    probabilities,
    counts,
    multipliers,
    weight,
    bound,
    status,
    steps,
    one,
    two,
    floor,
    ceiling,
    chain,
    spare,
):
    start, n = offsets[q], offsets[q + 1] - offsets[q]
    probabilities[q] = 0.0
    multipliers[q] = 0.0
    n_a, code, other, least, spread = _split(scores, codes, start, n, one, two)
    n_b = n - n_a
    _sort_half(one, n_a, seed, q, spare)
    _sort_half(two, n_b, seed, q, spare)
    _merge(floor, one, n_a, two, n_b, seed, q)

    f, e, _ = _value(floor, n, one, two, steps)
    shared = w[n - 1] * (one.total[n_a] + two.total[n_b])
    theta, lam, best, proved = 1.0, 0.0, f, True
    flipped = False
    if n_b > 0:
        everything = v_sum[n]
        tolerance = 2e-15 * everything
        need_a = max(lower[q, code], everything - upper[q, other])
        need_b = max(lower[q, other], everything - upper[q, code])
        e += v[n - 1] * n_a
        if e < need_a - tolerance:
            theta, lam, best, proved = _raise_first(
                need_a - v[n - 1] * n_a, floor, ceiling, chain, one, n_a, two, n_b, steps, spare
            )
            if lower[q, code] >= everything - upper[q, other]:
                multipliers[q, code] = lam * spread
            else:
                multipliers[q, other] = -lam * spread
        elif everything - e < need_b - tolerance:
            flipped = True
            for j in range(n + 1):
                floor[j] = j - floor[j]
            theta, lam, best, proved = _raise_first(
                need_b - v[n - 1] * n_b, floor, ceiling, chain, two, n_b, one, n_a, steps, spare
            )
            if lower[q, other] >= everything - upper[q, code]:
                multipliers[q, other] = lam * spread
            else:
                multipliers[q, code] = -lam * spread
    if flipped:
        one, two = two, one
    counts[q] = 1
    if theta >= 1.0 - 1e-15:
        probabilities[q, 0] = 1.0
        _write(floor, 1.0, 0, n, start, one, two, w, rankings, weight)
    elif theta <= 1e-15:
        probabilities[q, 0] = 1.0
        _write(ceiling, 1.0, 0, n, start, one, two, w, rankings, weight)
    else:
        counts[q] = 2
        probabilities[q, 0], probabilities[q, 1] = theta, 1.0 - theta
        _write(floor, theta, 0, n, start, one, two, w, rankings, weight)
        _write(ceiling, 1.0 - theta, 1, n, start, one, two, w, rankings, weight)
    bound[q] = least * w_sum[n] + spread * (shared + best)
    status[q] = 0 if proved else 1


@njit(cache=True, nogil=True, error_model="numpy")
def _steps(v, w):
    m = len(v)
    dv, dw, ratio = np.zeros(m + 1), np.zeros(m + 1), np.zeros(m + 1)
    for j in range(1, m):
        dv[j], dw[j] = v[j - 1] - v[j], w[j - 1] - w[j]
        if dv[j] > 0.0:
            ratio[j] = min(dv[j] / dw[j], _STEEP) if dw[j] > 0.0 else _STEEP
    return Steps(dv, dw, ratio)


@njit(cache=True, nogil=True, error_model="numpy")
def _solve_share(
    share,
    shares,
    scores,
    codes,
    offsets,
    queries,
    lower,
    upper,
    v,
    w,
    seed,
    rankings,
    probabilities,
    counts,
    multipliers,
    weight,
    bound,
    status,
):
    steps = _steps(v, w)
    m = len(v)
    v_sum, w_sum = np.zeros(m + 1), np.zeros(m + 1)
    for j in range(m):
        v_sum[j + 1], w_sum[j + 1] = v_sum[j] + v[j], w_sum[j] + w[j]
    size = m + 4
    one = Half(np.empty(size), np.empty(size, np.int32), np.empty(size))
    two = Half(np.empty(size), np.empty(size, np.int32), np.empty(size))
    floor, ceiling, chain = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32)
    spare = Spare(
        np.empty(size),
        np.empty(size, np.int32),
        np.empty(size),
        np.empty(size, np.int32),
        np.empty(size, np.int32),
        np.empty(size, np.int32),
        np.empty(size),
        np.empty(size),
    )
    for block in range(share * _BLOCK, len(queries), shares * _BLOCK):
        for i in range(block, min(block + _BLOCK, len(queries))):
            _solve_query(
                queries[i],
                scores,
                codes,
                offsets,
                lower,
                upper,
                v,
                w,
                v_sum,
                w_sum,
                seed,
                rankings,
                probabilities,
                counts,
                multipliers,
                weight,
                bound,
                status,
                steps,
                one,
                two,
                floor,
                ceiling,
                chain,
                spare,
            )


@njit(parallel=True, cache=True, nogil=True, error_model="numpy")
def solve(
    scores,
    codes,
    offsets,
    queries,
    lower,
    upper,
    v,
    w,
    seed,
    warm,
    rankings,
    probabilities,
    counts,
    multipliers,
    weight,
    bound,
    status,
):
    shares = min(_SHARES, (len(queries) + _BLOCK - 1) // _BLOCK)
    for share in prange(shares):
        _solve_share(
            share,
            shares,
            scores,
            codes,
            offsets,
            queries,
            lower,
            upper,
            v,
            w,
            seed,
            rankings,
            probabilities,
            counts,
            multipliers,
            weight,
            bound,
            status,
        )
