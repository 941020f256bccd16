"""The exact solver for lists in which any number of groups is present.

Within a group items stand in the order of their scores, whatever the groups' multipliers, so a ranking is a *pattern*:
which group takes which position. The policy is a lottery over patterns, the optimum of the linear programme ::

    max sum_r theta_r f_r   s.t.   sum_r theta_r E_rg = s_g,  lower_g <= s_g <= upper_g,  sum_r theta_r = 1, theta >= 0

with f_r the utility of pattern r and E_rg the exposure that it gives to group g. It has a row per group and a column
per pattern; columns are generated as they are needed. For multipliers lambda a new column must maximise the Lagrangian
f_r + sum_g lambda_g E_rg (`patterns`); the programme over the columns so far is solved by a simplex (`master`). Quotas
on prefixes change nothing but which patterns there are. With very many groups that takes too many rounds, and the first
columns come from an interior point (`crossover`).

Groups are numbered by their best item and ties between scores are broken by hashing, so nothing depends on the codes
of the groups or on the order of the input.
"""

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from spofr_core.policy.solvers.kernels.arguments import Answer, Problem
from spofr_core.policy.solvers.kernels.crossover import rounds_worth, start_inside
from spofr_core.policy.solvers.kernels.list_desk import (
    AGE,
    ALPHA,
    BASIS,
    CODE,
    DROP_V,
    DROP_W,
    ENTER,
    EXPOSURE,
    FIRST,
    GROUP,
    LAM,
    LOWER,
    ORIGIN,
    PATTERN,
    PROMISING,
    RESTING,
    SCORE,
    UPPER,
    Desk,
    Floats,
    Ints,
    V,
    W,
    X,
    jit,
)
from spofr_core.policy.solvers.kernels.list_setup import (
    base_utility,
    open_list,
    set_bounds,
    set_positions,
    set_windows,
)
from spofr_core.policy.solvers.kernels.master import (
    add_column,
    bounds_term,
    clear_wrong_signs,
    column_gain,
    compact,
    direction,
    largest_multiplier,
    mixed_utility,
    refactor,
    replace_basic,
    reset_basis,
    simplex,
    solve_for_x,
)
from spofr_core.policy.solvers.kernels.patterns import (
    lagrangian_bound,
    merge_groups,
    merge_within,
    midpoint_prices,
    perfect,
    permitted,
    reduced_cost,
    seat_items,
    swap_neighbours,
)
from spofr_core.policy.solvers.kernels.written_rankings import write_ranking

Longs = NDArray[np.int64]
Bytes = NDArray[np.int8]

_SLACK = 2e-13  # a bound is met when it is missed by at most this, in units of v (or of its largest value, if above 1)
_HELD = 9e-13  # the same for the finished policy
_GAP = 1e-10  # largest difference to the dual bound, relative to the size of the costs
_RELAXATIONS = 14  # penalty increases before the bounds count as out of reach
_ROUNDS = 300  # rounds of column generation, and as many for each group
_TIRED = 2  # status of a list that is better started from an interior point
_STEPS = 2  # steps of the multipliers per group before the first master programme
_BATCHES = 64  # working memory is made once for each


@jit
def _recall(
    place: Floats, seat: Ints, row: Floats, marks: Ints, columns: Floats, patterns: Ints, local: Ints,
    codes: Ints, rankings: Ints, start: int, n: int, n_groups: int, known: int,
) -> int:  # fmt: skip
    """Fill the pool with the patterns of an earlier solution; 0 if one of them is not permitted any more."""
    count = 0
    for r in range(known):
        for j in range(n):
            seat[PATTERN, j] = local[codes[start + rankings[r, start + j]]]
        utility = seat_items(place, seat, row, marks, n, n_groups)
        if not permitted(seat, n):
            return 0
        count = add_column(seat, row, columns, patterns, utility, n, n_groups, count)
    return count


@jit
def _recall_basis(
    row: Floats, marks: Ints, columns: Floats, inverse: Floats, probabilities: Floats, n_groups: int, count: int,
    slack: float,
) -> None:  # fmt: skip
    """The basis of an earlier solution: exposures do not depend on scores, so it is still feasible if the bounds are.

    Each column takes the place of an s_g that its mixture holds at a bound. Without a feasible mixture the basis stays
    as `reset_basis` leaves it.
    """
    reset_basis(row, marks, columns, inverse, n_groups)
    for g in range(n_groups):
        total = 0.0
        for r in range(count):
            total += probabilities[r] * columns[r, g]
        row[LAM, g] = total + row[ORIGIN, g]
    for r in range(1, count):
        direction(row, columns, inverse, n_groups + r, n_groups)
        slot, largest = -1, 1e-7
        for g in range(n_groups):
            away = min(abs(row[LAM, g] - row[LOWER, g]), abs(row[LAM, g] - row[UPPER, g]))
            if marks[BASIS, g] == g and away < 100.0 * slack and abs(row[ALPHA, g]) > largest:
                slot, largest = g, abs(row[ALPHA, g])
        if slot >= 0:
            replace_basic(row, marks, columns, inverse, slot, n_groups + r, n_groups)
            near_lower = abs(row[LAM, slot] - row[LOWER, slot]) <= abs(row[LAM, slot] - row[UPPER, slot])
            bound = row[LOWER, slot] if near_lower else row[UPPER, slot]
            row[RESTING, slot] = bound - row[ORIGIN, slot]
    solve_for_x(row, inverse, n_groups)
    for i in range(n_groups + 1):
        if marks[BASIS, i] >= n_groups and row[X, i] < 0.0:
            if row[X, i] < -1e-12:
                for r in range(count):
                    columns[r, -1] = 0.0
                reset_basis(row, marks, columns, inverse, n_groups)
                return
            row[X, i] = 0.0


@jit
def _first_penalty(place: Floats, n: int) -> float:
    """Twice the largest utility that a unit of exposure costs between neighbours."""
    penalty = 1.0
    for j in range(n):
        if place[DROP_W, j] < 1e4 * place[DROP_V, j]:
            penalty = max(penalty, 2.0 * place[DROP_W, j] / place[DROP_V, j])
    return penalty


@jit
def _take_basic(
    place: Floats, seat: Ints, row: Floats, marks: Ints, columns: Floats, patterns: Ints, n: int, n_groups: int,
) -> float:  # fmt: skip
    """Put the likeliest pattern of the basis to work; its reduced cost is zero."""
    slot, largest = n_groups, -1.0
    for i in range(n_groups + 1):
        if marks[BASIS, i] >= n_groups and row[X, i] > largest:
            slot, largest = i, row[X, i]
    r = marks[BASIS, slot] - n_groups
    for j in range(n):
        seat[PATTERN, j] = patterns[r, j]
    return seat_items(place, seat, row, marks, n, n_groups)


@jit
def _merge(place: Floats, seat: Ints, row: Floats, marks: Ints, n: int, n_groups: int, limited: bool) -> float:
    """A pattern that is good at these multipliers; returns its utility and fills its exposures."""
    if limited:
        merge_within(place, seat, row, marks, n, n_groups)
    else:
        merge_groups(place, seat, row, marks, n, n_groups)
    swap_neighbours(place, seat, row, n)
    return seat_items(place, seat, row, marks, n, n_groups)


@jit
def _explore(
    place: Floats, seat: Ints, row: Floats, marks: Ints, columns: Floats, patterns: Ints, n: int, n_groups: int,
    limited: bool,
) -> int:  # fmt: skip
    """First columns: what the plain sort is within the windows, then a few steps of the multipliers towards the bounds.

    A group that misses its bound by a share of the mean exposure moves by the same share of the scores' deviation.
    """
    mean, square, level = 0.0, 0.0, 0.0
    for k in range(n):
        mean += place[SCORE, k] / n
        square += place[SCORE, k] ** 2 / n
        level += place[V, k] / n
    deviation = np.sqrt(max(square - mean * mean, 0.0))
    rate = (deviation if deviation > 0.0 else 1.0) / level if level > 0.0 else 0.0
    for g in range(n_groups):
        row[LAM, g] = 0.0
    if limited:
        utility = _merge(place, seat, row, marks, n, n_groups, limited)
    else:
        utility = seat_items(place, seat, row, marks, n, n_groups)
    count = add_column(seat, row, columns, patterns, utility, n, n_groups, 0)
    for step in range(_STEPS * min(n_groups, 16)):
        for g in range(n_groups):
            need = max(row[LOWER, g] - row[EXPOSURE, g], 0.0) - max(row[EXPOSURE, g] - row[UPPER, g], 0.0)
            row[LAM, g] += rate / (1.0 + 0.3 * step) * need / (marks[FIRST, g + 1] - marks[FIRST, g])
        utility = _merge(place, seat, row, marks, n, n_groups, limited)
        count = add_column(seat, row, columns, patterns, utility, n, n_groups, count)
    return count


@jit
def _drift(row: Floats, marks: Ints, columns: Floats, n_groups: int) -> float:
    """Largest reduced cost of a column in the basis: zero but for the rounding that the inverse has gathered."""
    largest = 0.0
    for i in range(n_groups + 1):
        r = marks[BASIS, i] - n_groups
        if r >= 0:
            largest = max(largest, abs(column_gain(row, columns, r, n_groups)))
    return largest


@jit
def _known_gap(place: Floats, size: float, n: int) -> float:
    """Largest difference to a bound that an interior point has left: the more there is to gain, the less exact."""
    total = 1.0
    for j in range(n):
        total += place[W, j]
    return _GAP * size * total


@jit
def _generate(
    place: Floats, seat: Ints, row: Floats, marks: Ints, columns: Floats, patterns: Ints, inverse: Floats,
    square: Floats, n: int, n_groups: int, count: int, slack: float, limited: bool,
    rounds: int, known: float,
) -> tuple[bool, float]:  # fmt: skip
    """Column generation; returns whether the optimum is proven, and the bound on the Lagrangian that proves it.

    It ends early where the utility reaches a bound on it that is `known` already, and returns that one.
    """
    penalty = _first_penalty(place, n)
    relaxations, restarts = 0, 0
    for _ in range(rounds):
        missed, fine = simplex(row, marks, columns, inverse, square, n_groups, count, penalty, slack)
        if not fine:
            restarts += 1
            if restarts > 3:
                return False, np.inf
            for r in range(count):
                columns[r, -1] = 0.0
            reset_basis(row, marks, columns, inverse, n_groups)
            continue
        size = 1.0 + largest_multiplier(row, n_groups)
        if missed <= slack and known - mixed_utility(row, marks, columns, n_groups) <= 0.5 * _known_gap(place, size, n):
            return True, known
        utility = _merge(place, seat, row, marks, n, n_groups, limited)
        gain = reduced_cost(row, utility, n_groups)
        if gain <= PROMISING * size:
            if gain < 0.0:
                _take_basic(place, seat, row, marks, columns, patterns, n, n_groups)
            midpoint_prices(place, seat, row, n)
            proven = perfect(place, seat, row, marks, n, n_groups, size)
            utility = seat_items(place, seat, row, marks, n, n_groups)
            gain = reduced_cost(row, utility, n_groups)
            if gain <= ENTER * size:
                if not proven:
                    return False, np.inf
                if _drift(row, marks, columns, n_groups) > _GAP * size and marks[AGE, 0] > 0:
                    if not refactor(row, marks, columns, inverse, square, n_groups):
                        return False, np.inf
                    continue
                if missed <= slack:
                    clear_wrong_signs(row, n_groups)
                    return True, lagrangian_bound(place, seat, row, marks, n, n_groups)
                relaxations += 1
                if relaxations > _RELAXATIONS:
                    return False, np.inf
                penalty *= 8.0
                continue
        if count == len(columns):
            count = compact(marks, columns, patterns, n, n_groups, count)
        count = add_column(seat, row, columns, patterns, utility, n, n_groups, count)
    return False, np.inf


@jit
def _refine(row: Floats, marks: Ints, columns: Floats, inverse: Floats, n_groups: int) -> None:
    """One step of iterative refinement of the basic variables."""
    for g in range(n_groups):
        row[ALPHA, g] = 0.0 if np.isnan(row[RESTING, g]) else row[RESTING, g]
    row[ALPHA, n_groups] = 1.0
    for i in range(n_groups + 1):
        variable = marks[BASIS, i]
        if variable < n_groups:
            row[ALPHA, variable] += row[X, i]
        else:
            row[ALPHA, n_groups] -= row[X, i]
            for g in range(n_groups):
                row[ALPHA, g] -= row[X, i] * columns[variable - n_groups, g]
    for i in range(n_groups + 1):
        for k in range(n_groups + 1):
            row[X, i] += inverse[i, k] * row[ALPHA, k]


@jit
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
        if marks[BASIS, i] >= n_groups:
            if row[X, i] < 1e-13:
                row[X, i] = 0.0
            total += row[X, i]
    for g in range(n_groups):
        row[ALPHA, g] = row[ORIGIN, g]
    utility = row[ORIGIN, n_groups]
    for i in range(n_groups + 1):
        r = marks[BASIS, i] - n_groups
        if r >= 0:
            row[X, i] /= total
            utility += row[X, i] * columns[r, n_groups]
            for g in range(n_groups):
                row[ALPHA, g] += row[X, i] * columns[r, g]
    good = True
    for g in range(n_groups):
        good &= row[LOWER, g] - held <= row[ALPHA, g] <= row[UPPER, g] + held
    return good, utility


@jit
def _missed(row: Floats, exposure: Floats, n_groups: int) -> float:
    """By how much exposures miss their bounds."""
    missed = 0.0
    for g in range(n_groups):
        missed = max(missed, row[LOWER, g] - exposure[g], exposure[g] - row[UPPER, g])
    return missed


@jit
def _solve_query(
    problem: Problem, answer: Answer, desk: Desk, q: int, seed: int, warm: bool, patient: bool,
) -> None:  # fmt: skip
    """Solve one list and write its answer."""
    place, seat, row, marks, columns, patterns, inverse, square, local, tie = desk
    codes, v, w = problem.codes, problem.v, problem.w
    start, n = problem.offsets[q], problem.offsets[q + 1] - problem.offsets[q]
    scores, weight = problem.scores[start : start + n], answer.weight[start : start + n]
    rankings, probabilities, multipliers = answer.rankings, answer.probabilities[q], answer.multipliers[q]
    known = answer.counts[q]
    n_groups, least, spread, total = open_list(
        place, seat, marks, local, tie, scores, codes[start : start + n], n, seed, q
    )
    spread_v, spread_w = v[0] - v[n - 1], w[0] - w[n - 1]
    scale = spread * spread_w
    base = base_utility(w, n, least, spread, total)
    for j in range(n):
        seat[PATTERN, j] = seat[GROUP, j]
        weight[j] = 0.0
    limited = set_windows(seat, marks, local, problem.earliest, problem.latest, start, n, n_groups)
    utility = seat_items(place, seat, row, marks, n, n_groups)
    slack = np.inf
    if spread_v > 0.0:
        slack = _SLACK * max(v[0], 1.0) / spread_v
        set_bounds(row, marks, problem.lower[q], problem.upper[q], n_groups, v[n - 1], spread_v)
    else:
        for g in range(n_groups):
            row[LOWER, g], row[UPPER, g] = -np.inf, np.inf
    if (slack == np.inf or _missed(row, row[EXPOSURE], n_groups) <= slack) and (not limited or permitted(seat, n)):
        write_ranking(place, seat, marks, seat[PATTERN], 1.0, w, n, n_groups, rankings[0, start:], weight)
        probabilities[0] = 1.0
        for g in range(n_groups):
            multipliers[marks[CODE, g]] = 0.0
            local[marks[CODE, g]] = -1
        answer.counts[q], answer.bound[q], answer.status[q] = 1, base + scale * utility, 0
        return

    most = _ROUNDS + _ROUNDS * n_groups
    rounds = most if patient else min(rounds_worth(n, n_groups, warm and known > 1), most)
    if rounds == 0:
        for g in range(n_groups):
            local[marks[CODE, g]] = -1
        answer.status[q] = _TIRED
        return
    count = 0
    if warm and known > 1:
        count = _recall(place, seat, row, marks, columns, patterns, local, codes, rankings, start, n, n_groups, known)
    known = np.inf
    if count > 0:
        _recall_basis(row, marks, columns, inverse, probabilities, n_groups, count, slack)
        if patient and scale > 0.0:  # an interior point has left its multipliers, and the bound that they prove
            known = (answer.bound[q] - base) / scale
    else:
        count = _explore(place, seat, row, marks, columns, patterns, n, n_groups, limited)
        reset_basis(row, marks, columns, inverse, n_groups)
    proven, bound = _generate(
        place, seat, row, marks, columns, patterns, inverse, square, n, n_groups, count, slack, limited, rounds, known
    )
    good, utility = _finish_probabilities(row, marks, columns, inverse, n_groups, slack * _HELD / _SLACK)
    size = 1.0 + largest_multiplier(row, n_groups)
    gap = _known_gap(place, size, n)
    if bound != known:
        gap = _GAP * size
        bound -= bounds_term(row, n_groups)
        for g in range(n_groups):
            multipliers[marks[CODE, g]] = row[LAM, g] * scale / spread_v if spread_v > 0.0 else 0.0
    good &= proven and bound - utility <= gap
    for g in range(n_groups):
        local[marks[CODE, g]] = -1
    written = 0
    for i in range(n_groups + 1):
        r = marks[BASIS, i] - n_groups
        if r >= 0 and row[X, i] > 0.0:
            write_ranking(place, seat, marks, patterns[r], row[X, i], w, n, n_groups, rankings[written, start:], weight)
            probabilities[written] = row[X, i]
            written += 1
    answer.counts[q], answer.bound[q] = written, base + scale * bound
    answer.status[q] = 0 if good else (1 if rounds == most else _TIRED)


@jit
def _solve_some(
    problem: Problem, answer: Answer, queries: Longs, seed: int, warm: bool, patient: bool,
) -> None:  # fmt: skip
    """Solve these lists one after the other, in memory that is allocated once."""
    n_max, n_codes = len(problem.v), problem.lower.shape[1]
    m = min(n_max, n_codes) + 1
    capacity = 48 + 12 * min(m, 100) + 2 * m
    desk = Desk(
        np.empty((8, n_max)), np.empty((9, n_max), np.int32), np.empty((10, m)), np.empty((7, m), np.int32),
        np.empty((capacity, m + 1)), np.empty((capacity, n_max), np.int32), np.empty((m, m)), np.empty((m, m)),
        np.full(n_codes, -1, np.int32), np.empty(n_max, np.uint64),
    )  # fmt: skip
    prepared = -1
    for q in queries:
        n = problem.offsets[q + 1] - problem.offsets[q]
        if n != prepared:
            set_positions(desk.place, problem.v, problem.w, n)
            prepared = n
        _solve_query(problem, answer, desk, q, seed, warm, patient)


def solve(problem: Problem, queries: Longs, seed: int, answer: Answer, *, warm: bool = False) -> None:
    """Solve the lists named in `queries`, in parallel.

    Parameters
    ----------
    problem, answer
        See there. An answer has at most one ranking more than the list has groups.
    queries : (K,)
        The lists to solve.
    seed : int
        Breaks ties between scores.
    warm : bool
        Start from the group patterns of the solution that `answer` holds; a list with a count of 0 has none.
    """
    # Arrays one by one: to find out the type of a tuple takes numba longer than to solve a list.
    _solve(*problem, queries, np.uint64(seed), warm, False, *answer)  # type: ignore[arg-type]
    tired = queries[answer.status[queries] == _TIRED]
    if len(tired):
        start_inside(problem, tired, seed, answer)
        _solve(*problem, tired, np.uint64(seed), True, True, *answer)  # type: ignore[arg-type]
        tired = tired[answer.status[tired] != 0]
    if len(tired):  # hardly ever: from the plain sort, with all the time it takes
        answer.counts[tired] = 0
        _solve(*problem, tired, np.uint64(seed), False, True, *answer)  # type: ignore[arg-type]


@njit(parallel=True, cache=True, nogil=True, error_model="numpy")
def _solve(
    scores: Floats, codes: Ints, offsets: Longs, lower: Floats, upper: Floats, v: Floats, w: Floats, earliest: Ints,
    latest: Ints, queries: Longs, seed: int, warm: bool, patient: bool, rankings: Ints, probabilities: Floats,
    counts: Ints, multipliers: Floats, weight: Floats, bound: Floats, status: Bytes,
) -> None:  # fmt: skip
    batches = min(len(queries), _BATCHES)
    for batch in prange(batches):
        problem = Problem(scores, codes, offsets, lower, upper, v, w, earliest, latest)
        answer = Answer(rankings, probabilities, counts, multipliers, weight, bound, status)
        mine = queries[batch * len(queries) // batches : (batch + 1) * len(queries) // batches]
        _solve_some(problem, answer, mine, seed, warm, patient)
