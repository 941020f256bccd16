"""A start for lists with many groups: from a point in the interior of the optimal face to the rankings it mixes.

A vertex of the programme has few entries, and takes apart into as many rankings as there are active bounds, plus one
(Birkhoff's theorem): each time a ranking that uses only entries that are left, with the least of them as its
probability. Where the optimum is not unique, as between equal scores, the interior-point method ends in the middle of a
face instead; a second run then stays on that face and goes to one of its corners, by costs drawn at random.
"""

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from spofr_core.policy.solvers.kernels.arguments import Answer, Problem
from spofr_core.policy.solvers.kernels.interior_point import (
    AT_HIGH,
    AT_LOW,
    HIGH,
    LAMBDA,
    LOW,
    Interior,
    P,
    S,
    approach,
    make_interior,
    set_groups_bounds,
)
from spofr_core.policy.solvers.kernels.list_desk import (
    CODE,
    EARLIEST,
    FIRST,
    LATEST,
    LOWER,
    MEMBER,
    MEMBER_SCORE,
    ORDER,
    UPPER,
    Floats,
    Ints,
    V,
    W,
    jit,
)
from spofr_core.policy.solvers.kernels.list_setup import (
    base_utility,
    open_list,
    set_bounds,
    set_positions,
    set_windows,
)
from spofr_core.splitmix import GOLDEN, splitmix64

Longs = NDArray[np.int64]

FEW = 10
"""Groups up to which column generation finds its own way."""

LONG = 2000
"""Items up to which there is room for the matrices of an interior point."""

_NO_LIMIT = 2**31 - 1
_GAP = 1e-15  # where the interior-point method ends, per item
_NOTHING = 1e-7  # an entry below this is none
_WHOLE = 1.0 - 1e-4  # probabilities that sum to less leave something out


@jit
def rounds_worth(n: int, n_groups: int, warm: bool) -> int:
    """Rounds of column generation that cost as much as to start from an interior point; 0 if they would be in vain."""
    if n_groups <= FEW or n > LONG:
        return _NO_LIMIT
    rounds = int(5.0 * n * n * (n + n_groups) / (n * n_groups + 2.5 * n_groups**3))
    if warm:
        return max(rounds, n_groups)
    return rounds if rounds > 2 * n_groups else 0


@jit
def _go_to_corner(it: Interior, target: float) -> None:
    """Close all but the optimal face, in whose middle `x` is, and go to one of its corners by costs that are drawn.

    On the face an entry is zero where its reduced cost is not, and so is a group's distance to a bound that costs.
    """
    n, groups = it.x.shape[0], it.groups
    for i in range(n):
        for j in range(n):
            if it.open[i, j] and it.x[i, j] > max(it.z[i, j], _NOTHING):
                it.cost[i, j] = splitmix64(GOLDEN * np.uint64(i * n + j + 1)) * 2.0**-64
            else:
                it.open[i, j], it.x[i, j], it.z[i, j], it.cost[i, j] = 0, 0.0, 1.0, 0.0
    for g in range(len(it.equal)):
        if it.equal[g] == 0:
            if groups[AT_LOW, g] > groups[S, g] - groups[LOW, g]:
                groups[HIGH, g] = groups[LOW, g]
                it.equal[g] = 1
            elif groups[AT_HIGH, g] > groups[HIGH, g] - groups[S, g]:
                groups[LOW, g] = groups[HIGH, g]
                it.equal[g] = 1
    approach(it, target)


@jit
def _proof(it: Interior, row: Floats, multipliers: Floats, codes: Ints, unit: float) -> float:
    """Write the multipliers, each in this unit; returns the bound on the utility that they and the prices prove.

    Both prove a bound whatever they are: the better they are, the closer it is to the utility.
    """
    n, n_groups = it.x.shape[0], len(it.equal)
    price, total, groups = np.zeros(n_groups), 0.0, it.groups
    for g in range(n_groups):
        lam = groups[LAMBDA, g]
        bound = row[LOWER, g] if lam > 0.0 else row[UPPER, g]
        binds = groups[AT_LOW, g] > groups[S, g] - groups[LOW, g] or groups[AT_HIGH, g] > groups[HIGH, g] - groups[S, g]
        if (it.equal[g] or binds) and -1.0 < bound < n + 1.0:
            price[g] = lam
            total -= lam * bound
        multipliers[codes[g]] = price[g] * unit
    for i in range(n):
        best = -np.inf
        for j in range(n):
            if it.open[i, j]:
                best = max(best, it.cost[i, j] + price[it.group[i]] * it.v[j] - it.positions[P, j])
        total += best + it.positions[P, i]
    return total


@jit
def _entries(it: Interior) -> int:
    """How many entries there are."""
    count = 0
    for i in range(it.x.shape[0]):
        for j in range(it.x.shape[0]):
            if it.x[i, j] > _NOTHING:
                count += 1
    return count


@jit
def _augment(
    starts: Longs, places: Longs, left: Floats, entry: Longs, owner: Longs, path: Longs, cursor: Longs, seen: Longs,
    item: int, turn: int,
) -> bool:  # fmt: skip
    """Find a place for `item` among the entries that are left, moving others if need be."""
    depth = 0
    path[0], cursor[item] = item, starts[item]
    while depth >= 0:
        i = path[depth]
        deeper = False
        while cursor[i] < starts[i + 1] and not deeper:
            e = cursor[i]
            cursor[i] += 1
            if left[e] <= _NOTHING or seen[places[e]] == turn:
                continue
            seen[places[e]] = turn
            holder = owner[places[e]]
            if holder < 0:
                for d in range(depth + 1):
                    k = cursor[path[d]] - 1
                    entry[path[d]], owner[places[k]] = k, path[d]
                return True
            depth += 1
            path[depth], cursor[holder] = holder, starts[holder]
            deeper = True
        if not deeper:
            depth -= 1
    return False


@jit
def _take_apart(it: Interior, rankings: Ints, probabilities: Floats) -> int:
    """The rankings that the matrix mixes, and their probabilities; returns how many there are."""
    n, entries = it.x.shape[0], _entries(it)
    starts, places, left = np.empty(n + 1, np.int64), np.empty(entries, np.int64), np.empty(entries)
    e = 0
    for i in range(n):
        starts[i] = e
        for j in range(n):
            x = it.x[i, j]
            if x > _NOTHING:
                k = e
                while k > starts[i] and left[k - 1] < x:  # largest first: likelier to last
                    left[k], places[k] = left[k - 1], places[k - 1]
                    k -= 1
                left[k], places[k] = x, j
                e += 1
    starts[n] = e
    entry, owner = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    path, cursor, seen = np.empty(n + 1, np.int64), np.empty(n, np.int64), np.zeros(n, np.int64)
    count, turn = 0, 0
    while count < len(rankings):
        for i in range(n):
            if entry[i] < 0:
                turn += 1
                if not _augment(starts, places, left, entry, owner, path, cursor, seen, i, turn):
                    return count
        share = np.inf
        for i in range(n):
            share = min(share, left[entry[i]])
            rankings[count, places[entry[i]]] = i
        probabilities[count] = share
        count += 1
        for i in range(n):
            k = entry[i]
            left[k] -= share
            if left[k] <= _NOTHING:
                owner[places[k]] = -1
                entry[i] = -1
    return count


@jit
def _interior_of(place: Floats, seat: Ints, row: Floats, marks: Ints, n: int, n_groups: int) -> Interior:
    """The programme of a list that has been made ready, at the matrix that gives all items the same chances."""
    group = np.empty(n, np.int32)
    for g in range(n_groups):
        for k in range(marks[FIRST, g], marks[FIRST, g + 1]):
            group[k] = g
    it = make_interior(place[V, :n].copy(), group, n, n_groups)
    for k in range(n):
        early, late = seat[EARLIEST, k], seat[LATEST, k]
        for j in range(n):
            if early <= j <= late:
                it.x[k, j] = 1.0 / (late - early + 1)
                it.cost[k, j] = place[MEMBER_SCORE, k] * place[W, j]
            else:
                it.open[k, j] = 0
    set_groups_bounds(it, row[LOWER], row[UPPER])
    return it


@jit
def _start_list(problem: Problem, answer: Answer, q: int, seed: int) -> None:
    """Write a lottery that is optimal but for rounding, and what proves it."""
    start, n = problem.offsets[q], problem.offsets[q + 1] - problem.offsets[q]
    n_codes = problem.lower.shape[1]
    m = min(n, n_codes) + 1
    place, seat = np.zeros((8, n)), np.zeros((9, n), np.int32)
    row, marks, local = np.zeros((10, m)), np.zeros((7, m), np.int32), np.full(n_codes, -1, np.int32)
    set_positions(place, problem.v, problem.w, n)
    n_groups, least, range_of_scores, total = open_list(
        place, seat, marks, local, np.empty(n, np.uint64), problem.scores[start : start + n],
        problem.codes[start : start + n], n, seed, q,
    )  # fmt: skip
    set_windows(seat, marks, local, problem.earliest, problem.latest, start, n, n_groups)
    spread = problem.v[0] - problem.v[n - 1]
    if spread > 0.0:
        set_bounds(row, marks, problem.lower[q], problem.upper[q], n_groups, problem.v[n - 1], spread)
    else:
        for g in range(n_groups):
            row[LOWER, g], row[UPPER, g] = -np.inf, np.inf
    it = _interior_of(place, seat, row, marks, n, n_groups)
    near = approach(it, _GAP * n)
    scale = range_of_scores * (problem.w[0] - problem.w[n - 1])
    bound = _proof(it, row, answer.multipliers[q], marks[CODE], scale / spread if spread > 0.0 else 0.0)
    answer.bound[q] = base_utility(problem.w, n, least, range_of_scores, total) + scale * bound
    faced = near and _entries(it) > 2 * n + n_groups  # more than a corner has
    if faced:
        _go_to_corner(it, _GAP * n)
    mixed = np.empty((len(answer.rankings), n), np.int32)
    count = _take_apart(it, mixed, answer.probabilities[q])
    if near and not faced and answer.probabilities[q, :count].sum() < _WHOLE:  # no corner: rankings did not suffice
        _go_to_corner(it, _GAP * n)
        count = _take_apart(it, mixed, answer.probabilities[q])
    for r in range(count):
        for j in range(n):
            answer.rankings[r, start + j] = seat[ORDER, seat[MEMBER, mixed[r, j]]]
    answer.counts[q] = count


def start_inside(problem: Problem, queries: Longs, seed: int, answer: Answer) -> None:
    """Write a lottery to start from for the lists named in `queries`, in parallel: optimal but for rounding.

    Fills rankings, probabilities and counts of the answer, and the multipliers with the bound that they prove.
    """
    _start(*problem, queries, np.uint64(seed), *answer)  # type: ignore[arg-type]


@njit(parallel=True, cache=True, nogil=True, error_model="numpy")
def _start(
    scores: Floats, codes: Ints, offsets: Longs, lower: Floats, upper: Floats, v: Floats, w: Floats, earliest: Ints,
    latest: Ints, queries: Longs, seed: int, rankings: Ints, probabilities: Floats, counts: Ints, multipliers: Floats,
    weight: Floats, bound: Floats, status: NDArray[np.int8],
) -> None:  # fmt: skip
    for k in prange(len(queries)):
        problem = Problem(scores, codes, offsets, lower, upper, v, w, earliest, latest)
        answer = Answer(rankings, probabilities, counts, multipliers, weight, bound, status)
        _start_list(problem, answer, queries[k], seed)
