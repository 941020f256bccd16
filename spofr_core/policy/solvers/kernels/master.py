"""The master programme of column generation: a primal simplex with an explicit basis inverse.

It has a row per group and a column per pattern. The exposure s_g of a group may leave its bounds at a penalty. A basic
s_g needs no multiplier, so a policy has at most one ranking more than it has active bounds, and the row that is
redundant when all bounds are equations (exposures add up to the same total in every ranking) stays basic by itself.
"""

import numpy as np

from spofr_core.policy.solvers.kernels.list_desk import (
    AGE,
    ALPHA,
    BASIS,
    ENTER,
    EXPOSURE,
    LAM,
    LOWER,
    ORIGIN,
    PATTERN,
    RESTING,
    UPPER,
    Floats,
    Ints,
    X,
    jit,
    sum_jit,
)

_PIVOT = 1e-9  # smallest pivot element
_HAIR = 1e-13  # what a basic variable may exceed its bound by for the sake of a larger pivot


@jit
def add_column(
    seat: Ints, row: Floats, columns: Floats, patterns: Ints, utility: float, n: int, n_groups: int, count: int,
) -> int:  # fmt: skip
    """Store the pattern at work as column number `count`; returns the new number of columns."""
    if count == 0:
        for g in range(n_groups):
            row[ORIGIN, g] = row[EXPOSURE, g]
        row[ORIGIN, n_groups] = utility
    for j in range(n):
        patterns[count, j] = seat[PATTERN, j]
    for g in range(n_groups):
        columns[count, g] = row[EXPOSURE, g] - row[ORIGIN, g]
    columns[count, n_groups] = utility - row[ORIGIN, n_groups]
    columns[count, -1] = 0.0
    return count + 1


@jit
def reset_basis(row: Floats, marks: Ints, columns: Floats, inverse: Floats, n_groups: int) -> None:
    """All s_g basic beside the first column, whose coordinates are zero."""
    for i in range(n_groups + 1):
        for k in range(n_groups + 1):
            inverse[i, k] = 0.0
        inverse[i, i] = -1.0
        marks[BASIS, i] = i
        row[X, i] = 0.0
        row[RESTING, i] = np.nan
    inverse[n_groups, n_groups] = 1.0
    row[X, n_groups] = 1.0
    columns[0, -1] = 1.0
    marks[AGE, 0] = 0


@sum_jit
def direction(row: Floats, columns: Floats, inverse: Floats, variable: int, n_groups: int) -> None:
    """alpha = inverse times the variable's column."""
    if variable < n_groups:
        for i in range(n_groups + 1):
            row[ALPHA, i] = -inverse[i, variable]
    else:
        r = variable - n_groups
        for i in range(n_groups + 1):
            total = inverse[i, n_groups]
            for g in range(n_groups):
                total += inverse[i, g] * columns[r, g]
            row[ALPHA, i] = total


@jit
def replace_basic(
    row: Floats, marks: Ints, columns: Floats, inverse: Floats, slot: int, variable: int, n_groups: int,
) -> None:  # fmt: skip
    """Put the variable whose direction is in alpha into the basis in place of the one at `slot`."""
    leaving = marks[BASIS, slot]
    if leaving >= n_groups:
        columns[leaving - n_groups, -1] = 0.0
    if variable >= n_groups:
        columns[variable - n_groups, -1] = 1.0
    else:
        row[RESTING, variable] = np.nan
    marks[BASIS, slot] = variable
    marks[AGE, 0] += 1
    scale = 1.0 / row[ALPHA, slot]
    for k in range(n_groups + 1):
        inverse[slot, k] *= scale
    for i in range(n_groups + 1):
        factor = row[ALPHA, i]
        if i != slot and factor != 0.0:
            for k in range(n_groups + 1):
                inverse[i, k] -= factor * inverse[slot, k]


@jit
def solve_for_x(row: Floats, inverse: Floats, n_groups: int) -> None:
    """Values of the basic variables, from the resting ones."""
    for i in range(n_groups + 1):
        total = inverse[i, n_groups]
        for g in range(n_groups):
            if not np.isnan(row[RESTING, g]):
                total += inverse[i, g] * row[RESTING, g]
        row[X, i] = total


@jit
def refactor(row: Floats, marks: Ints, columns: Floats, inverse: Floats, square: Floats, n_groups: int) -> bool:
    """The basis inverse afresh (Gauss and Jordan, row pivots), and the basic variables from it."""
    m = n_groups + 1
    for i in range(m):
        for k in range(m):
            square[i, k] = 0.0
            inverse[i, k] = 0.0
        inverse[i, i] = 1.0
    for k in range(m):
        variable = marks[BASIS, k]
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
    solve_for_x(row, inverse, n_groups)
    marks[AGE, 0] = 0
    return True


@jit
def _set_multipliers(
    row: Floats, marks: Ints, columns: Floats, inverse: Floats, n_groups: int, penalty: float, slack: float,
) -> float:  # fmt: skip
    """Multipliers of the basis; returns by how much the bounds are missed."""
    for k in range(n_groups + 1):
        row[LAM, k] = 0.0
    missed = 0.0
    for i in range(n_groups + 1):
        variable = marks[BASIS, i]
        if variable >= n_groups:
            cost = columns[variable - n_groups, n_groups]
        else:
            reached = row[X, i] + row[ORIGIN, variable]
            under, over = row[LOWER, variable] - reached, reached - row[UPPER, variable]
            cost = penalty if under > slack else (-penalty if over > slack else 0.0)
            missed = max(missed, under, over)
            row[ALPHA, variable] = cost
        if cost != 0.0:
            for k in range(n_groups + 1):
                row[LAM, k] -= cost * inverse[i, k]
    for g in range(n_groups):  # exact where it is known
        if np.isnan(row[RESTING, g]):
            row[LAM, g] = row[ALPHA, g]
    row[LAM, n_groups] = -row[LAM, n_groups]
    return missed


@jit
def clear_wrong_signs(row: Floats, n_groups: int) -> None:
    """Multipliers of the wrong sign for their bound become zero: at the optimum that is rounding, and the bound that
    prices and multipliers prove holds for any of them.
    """
    for g in range(n_groups):
        if not np.isnan(row[RESTING, g]) and row[LOWER, g] < row[UPPER, g]:
            at_lower = row[RESTING, g] == row[LOWER, g] - row[ORIGIN, g]
            if row[LAM, g] < 0.0 if at_lower else row[LAM, g] > 0.0:
                row[LAM, g] = 0.0


@sum_jit
def column_gain(row: Floats, columns: Floats, r: int, n_groups: int) -> float:
    """Reduced cost of a column."""
    gain: float = columns[r, n_groups] - row[LAM, n_groups]
    for g in range(n_groups):
        gain += row[LAM, g] * columns[r, g]
    return gain


@jit
def _entering(
    row: Floats, columns: Floats, n_groups: int, count: int, least: float, first: bool,
) -> tuple[int, float]:  # fmt: skip
    """The nonbasic variable that improves most (or the first one that improves) and the sense in which it moves."""
    chosen, sense, best = -1, 1.0, least
    for g in range(n_groups):
        if not np.isnan(row[RESTING, g]) and row[LOWER, g] < row[UPPER, g]:
            at_lower = row[RESTING, g] == row[LOWER, g] - row[ORIGIN, g]
            gain = -row[LAM, g] if at_lower else row[LAM, g]
            if gain > best:
                chosen, sense, best = g, (1.0 if at_lower else -1.0), gain
                if first:
                    return chosen, sense
    for r in range(count):
        if columns[r, -1] == 0.0:
            gain = column_gain(row, columns, r, n_groups)
            if gain > best:
                chosen, sense, best = n_groups + r, 1.0, gain
                if first:
                    return chosen, sense
    return chosen, sense


@jit
def _stop(row: Floats, marks: Ints, n_groups: int, i: int, rate: float, slack: float) -> float:
    """Where the basic variable in slot i, moving at `rate`, has to stop; not finite if it does not.

    A basic s_g that misses a bound stops where it meets it, and is free to move further away from it.
    """
    variable = marks[BASIS, i]
    if variable >= n_groups:
        return 0.0 if rate < 0.0 else np.inf
    low = row[LOWER, variable] - row[ORIGIN, variable]
    high = row[UPPER, variable] - row[ORIGIN, variable]
    if rate > 0.0:
        if row[X, i] > high + slack:
            return np.inf
        return float(low if row[X, i] < low - slack else high)
    if row[X, i] < low - slack:
        return np.inf
    return float(high if row[X, i] > high + slack else low)


@jit
def _blocking(
    row: Floats, marks: Ints, n_groups: int, sense: float, slack: float, first: bool,
) -> tuple[int, float, float]:  # fmt: skip
    """The basic variable that stops the entering one: its slot (-1 if none does), the step, and its resting value.

    Among those that stop within a hair of the shortest step the largest pivot is chosen, or the smallest variable if
    `first`.
    """
    reach = np.inf
    for i in range(n_groups + 1):
        rate = -sense * row[ALPHA, i]
        if abs(rate) > _PIVOT:
            stop = _stop(row, marks, n_groups, i, rate, slack)
            if np.isfinite(stop):
                reach = min(reach, max((stop - row[X, i]) / rate, 0.0) + _HAIR / abs(rate))
    slot, step, rest = -1, np.inf, 0.0
    for i in range(n_groups + 1):
        rate = -sense * row[ALPHA, i]
        if abs(rate) > _PIVOT:
            stop = _stop(row, marks, n_groups, i, rate, slack)
            if np.isfinite(stop):
                own = max((stop - row[X, i]) / rate, 0.0)
                if own <= reach:
                    if slot < 0:
                        better = True
                    elif first:
                        better = marks[BASIS, i] < marks[BASIS, slot]
                    else:
                        better = abs(rate) > abs(row[ALPHA, slot])
                    if better:
                        slot, step, rest = i, own, stop
    return slot, step, rest


@jit
def _pivot(
    row: Floats, marks: Ints, columns: Floats, inverse: Floats, n_groups: int, variable: int, sense: float,
    slack: float, first: bool,
) -> float:  # fmt: skip
    """One step of the simplex; returns its length, negative if the numbers allow none."""
    direction(row, columns, inverse, variable, n_groups)
    slot, step, rest = _blocking(row, marks, n_groups, sense, slack, first)
    start = 0.0
    if variable < n_groups:
        start = row[RESTING, variable]
        width: float = row[UPPER, variable] - row[LOWER, variable]
        if width < np.inf and step >= width:  # it reaches its other bound before anything stops it
            for i in range(n_groups + 1):
                row[X, i] -= sense * width * row[ALPHA, i]
            end = row[UPPER, variable] if sense > 0.0 else row[LOWER, variable]
            row[RESTING, variable] = end - row[ORIGIN, variable]
            return width
    if slot < 0:
        return -1.0
    for i in range(n_groups + 1):
        row[X, i] -= sense * step * row[ALPHA, i]
    leaving = marks[BASIS, slot]
    replace_basic(row, marks, columns, inverse, slot, variable, n_groups)
    if leaving < n_groups:
        row[RESTING, leaving] = rest
    row[X, slot] = start + sense * step
    return step


@jit
def simplex(
    row: Floats, marks: Ints, columns: Floats, inverse: Floats, square: Floats, n_groups: int, count: int,
    penalty: float, slack: float,
) -> tuple[float, bool]:  # fmt: skip
    """Optimise over the pool; returns by how much the bounds are missed, and whether it went well."""
    stalled = 0
    patience = 2 * n_groups + 10
    missed = _set_multipliers(row, marks, columns, inverse, n_groups, penalty, slack)
    for _ in range(200 + 60 * n_groups):
        first = stalled > patience
        variable, sense = _entering(
            row, columns, n_groups, count, ENTER * (1.0 + largest_multiplier(row, n_groups)), first
        )
        if variable < 0:
            return missed, True
        step = _pivot(row, marks, columns, inverse, n_groups, variable, sense, slack, first)
        if step < 0.0:
            return missed, False
        stalled = stalled + 1 if step <= 1e-13 else 0
        if marks[AGE, 0] > max(40, n_groups) and not refactor(row, marks, columns, inverse, square, n_groups):
            return missed, False
        missed = _set_multipliers(row, marks, columns, inverse, n_groups, penalty, slack)
    return missed, False


@jit
def largest_multiplier(row: Floats, n_groups: int) -> float:
    """Largest multiplier: the size of the costs beyond the scores' own."""
    size = 0.0
    for g in range(n_groups):
        size = max(size, abs(row[LAM, g]))
    return size


@jit
def compact(marks: Ints, columns: Floats, patterns: Ints, n: int, n_groups: int, count: int) -> int:
    """Make room: forget the older half of the columns, except those in the basis and the first, the origin."""
    kept = 1
    for r in range(1, count):
        if columns[r, -1] > 0.0 or 2 * r > count:
            if r != kept:
                for i in range(n_groups + 1):
                    if marks[BASIS, i] == n_groups + r:
                        marks[BASIS, i] = n_groups + kept
                for j in range(n):
                    patterns[kept, j] = patterns[r, j]
                for g in range(n_groups + 1):
                    columns[kept, g] = columns[r, g]
                columns[kept, -1] = columns[r, -1]
            kept += 1
    return kept


@jit
def mixed_utility(row: Floats, marks: Ints, columns: Floats, n_groups: int) -> float:
    """Utility of the mixture that the basis is."""
    utility: float = row[ORIGIN, n_groups]
    for i in range(n_groups + 1):
        r = marks[BASIS, i] - n_groups
        if r >= 0:
            utility += row[X, i] * columns[r, n_groups]
    return utility


@jit
def bounds_term(row: Floats, n_groups: int) -> float:
    """What the multipliers charge for the bounds."""
    total = 0.0
    for g in range(n_groups):
        if row[LAM, g] != 0.0:
            total += row[LAM, g] * (row[LOWER, g] if row[LAM, g] > 0.0 else row[UPPER, g])
    return total
