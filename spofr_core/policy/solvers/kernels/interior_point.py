"""Where the optimum of a list with many groups lies: an interior-point method for the programme in its first form.

Column generation finds its way by multipliers that jump from corner to corner, and takes rounds that grow with a high
power of the number of groups. The programme over matrices ::

    max sum_ij c_ij x_ij   s.t.  rows and columns of x sum to 1,  sum_{i in g} (x v)_i = s_g,  lower_g <= s_g <= upper_g

has n^2 unknowns, but the equations of a Newton step reduce to one per position. With theta_ij = x_ij / z_ij, z the
reduced costs, the items' own equations are diagonal; once these are gone, so are those of the groups: no item is in two
of them. What is left costs n^2 (n + G) operations, some twenty times, whatever the groups.

The steps are those of Mehrotra (SIAM Journal on Optimization 2, 1992): a predictor, then a corrector that aims at the
central path and takes in what the predictor's step does to the products x z. The method gives a point in the interior
of the optimal face. It is a start for column generation, which proves whatever is made of it: nothing here has to be
exact.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spofr_core.policy.solvers.kernels.list_desk import Floats, Ints, jit, sum_jit

_CLOSE = 0.995  # share of the way to the nearest bound that a step goes
_ROUNDS = 200  # it takes 10 to 40; up to 100 in long lists most of whose groups are free
_PATIENCE = 12  # rounds without progress before it is given up
_PROGRESS = 0.98  # times the gap before, at most
_LOST = 10.0  # a step that multiplies the gap by this is not taken
_ASTRAY = 1e-4  # nor one that adds more than this to the error of a row's sum
_SETTLINGS = 2  # solutions of the equations of a step, each on what the ones before left
_SHORT = 0.1  # times the predictor's step: a corrector that goes no further is taken for a plain one
_NEAR = 1e5  # times the target is near enough
_EQUAL = 1e-9  # bounds closer to each other than this are an equation
_ROUNDING = 1e-14  # part of a pivot that rounding may have taken
_LOSSES = 3  # times that a step may fail; rounding is then taken to be more
_MORE = 100.0  # so many times as much

U, R, PEAK, SHIFT, DU, ITEM_SIDE = range(6)
P, DP, POSITION_SIDE, TOTAL = range(4)
S, LOW, HIGH, LAMBDA, AT_LOW, AT_HIGH, DS, DLAMBDA, D_LOW, D_HIGH, FREEDOM, WEIGHT, SIDE = range(13)


class Interior(NamedTuple):
    """A point in the interior, and the step from it.

    Attributes
    ----------
    x, z, dx, dz, theta, cost : (n, n)
        The matrix, its reduced costs z_ij = u_i + p_j - lambda_g v_j - c_ij, their steps, x / z, and c.
    open : (n, n)
        1 where an item may stand; elsewhere x is 0 and stays so.
    schur : (n, n)
        The equations of a step, one per position, and their triangular factor.
    by_group : (G, n)
        What couples groups and positions.
    items, positions, groups : (6, n), (4, n), (13, G)
        Rows U, R, ... by item, P, ... by position, S, ... by group.
    group : (n,)
        The group of each item.
    equal : (G,)
        2 for a group whose multiplier stays zero, 1 for one whose bounds are an equation, 0 for the others.
    v : (n,)
        Exposure of the positions.
    """

    x: Floats
    z: Floats
    dx: Floats
    dz: Floats
    theta: Floats
    cost: Floats
    open: NDArray[np.int8]
    schur: Floats
    by_group: Floats
    items: Floats
    positions: Floats
    groups: Floats
    group: Ints
    equal: Ints
    v: Floats


@jit
def make_interior(v: Floats, group: Ints, n: int, n_groups: int) -> Interior:
    """Room for lists of n items, every cell open."""
    return Interior(
        np.zeros((n, n)), np.ones((n, n)), np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n)),
        np.ones((n, n), np.int8), np.zeros((n, n)), np.zeros((n_groups, n)), np.zeros((6, n)), np.zeros((4, n)),
        np.zeros((13, n_groups)), group, np.zeros(n_groups, np.int32), v,
    )  # fmt: skip


@jit
def set_groups_bounds(it: Interior, lower: Floats, upper: Floats) -> None:
    """Bounds of the groups. Where there is none, one that nothing can reach."""
    n, n_groups = it.x.shape[0], len(it.equal)
    groups = it.groups
    for g in range(n_groups):
        groups[LOW, g] = max(lower[g], -1.0)
        groups[HIGH, g] = min(upper[g], n + 1.0)
        it.equal[g] = 1 if groups[HIGH, g] - groups[LOW, g] <= _EQUAL else 0


@jit
def _start(it: Interior) -> int:
    """Multipliers, prices and values to start from, `x` being there; returns the number of products x z."""
    n, n_groups = it.x.shape[0], len(it.equal)
    items, positions, groups = it.items, it.positions, it.groups
    for g in range(n_groups):
        for k in (LAMBDA, S, DS, D_LOW, D_HIGH):
            groups[k, g] = 0.0
    for j in range(n):
        positions[P, j] = 0.0
        for i in range(n):
            positions[P, j] += it.cost[i, j] / n
    products = 0
    for i in range(n):
        highest = -np.inf
        for j in range(n):
            it.dx[i, j], it.dz[i, j] = 0.0, 0.0
            if it.open[i, j]:
                highest = max(highest, it.cost[i, j] - positions[P, j])
                groups[S, it.group[i]] += it.x[i, j] * it.v[j]
                products += 1
        items[U, i] = highest + 0.1
        for j in range(n):
            if it.open[i, j]:
                it.z[i, j] = items[U, i] + positions[P, j] - it.cost[i, j]
    all_equal = True
    for g in range(n_groups):
        all_equal &= it.equal[g] > 0
        if it.equal[g]:
            groups[S, g] = 0.5 * (groups[LOW, g] + groups[HIGH, g])
        else:
            edge = 0.1 * (groups[HIGH, g] - groups[LOW, g])
            groups[S, g] = min(max(groups[S, g], groups[LOW, g] + edge), groups[HIGH, g] - edge)
            groups[AT_LOW, g] = 0.01
            groups[AT_HIGH, g] = 0.01
            products += 2
    if all_equal:  # what all groups but one get says what that one gets
        it.equal[n_groups - 1] = 2
    return products


@jit
def _gap(it: Interior, step: float, step_z: float) -> float:
    """Sum of the products x z after a step of these lengths."""
    n, groups = it.x.shape[0], it.groups
    total = 0.0
    for i in range(n):
        for j in range(n):
            total += (it.x[i, j] + step * it.dx[i, j]) * (it.z[i, j] + step_z * it.dz[i, j])
    for g in range(len(it.equal)):
        if it.equal[g] == 0:
            s = groups[S, g] + step * groups[DS, g]
            total += (s - groups[LOW, g]) * (groups[AT_LOW, g] + step_z * groups[D_LOW, g])
            total += (groups[HIGH, g] - s) * (groups[AT_HIGH, g] + step_z * groups[D_HIGH, g])
    return total


@jit
def _error(it: Interior, step: float) -> float:
    """Largest error of a row's or column's sum after a step of this length."""
    n = it.x.shape[0]
    columns = np.full(n, -1.0)
    largest = 0.0
    for i in range(n):
        total = -1.0
        for j in range(n):
            x = it.x[i, j] + step * it.dx[i, j]
            total += x
            columns[j] += x
        largest = max(largest, abs(total))
    for j in range(n):
        largest = max(largest, abs(columns[j]))
    return largest


@sum_jit
def _subtract(schur: Floats, rows: Floats, weight: Floats, height: int, width: int) -> None:
    """Subtract rows' diag(weight) rows from the lower triangle, four rows at a time."""
    k = 0
    while k + 3 < height:
        for i in range(width):
            a, b = rows[k, i] * weight[k], rows[k + 1, i] * weight[k + 1]
            c, d = rows[k + 2, i] * weight[k + 2], rows[k + 3, i] * weight[k + 3]
            for j in range(i + 1):
                schur[i, j] -= a * rows[k, j] + b * rows[k + 1, j] + c * rows[k + 2, j] + d * rows[k + 3, j]
        k += 4
    while k < height:
        for i in range(width):
            a = rows[k, i] * weight[k]
            for j in range(i + 1):
                schur[i, j] -= a * rows[k, j]
        k += 1


@sum_jit
def _cholesky(schur: Floats, scale: Floats, rounding: float, size: int) -> None:
    """The triangular factor, in place; where nothing is left of a pivot the unknown is held at zero.

    `scale` is what the diagonal was before anything was subtracted from it, and `rounding` the part of that which is
    added: more than rounding has taken, or unknowns that are next to undetermined would be anything.
    """
    for i in range(size):
        for j in range(i):
            left = schur[i, j]
            for k in range(j):
                left -= schur[i, k] * schur[j, k]
            schur[i, j] = left / schur[j, j]
        left = schur[i, i] + rounding * scale[i]
        for k in range(i):
            left -= schur[i, k] * schur[i, k]
        schur[i, i] = np.sqrt(left) if left > 0.0 else 1e64


@sum_jit
def _substitute(schur: Floats, side: Floats, size: int) -> None:
    """Solve with the triangular factor, in place."""
    for i in range(size):
        left = side[i]
        for k in range(i):
            left -= schur[i, k] * side[k]
        side[i] = left / schur[i, i]
    for i in range(size - 1, -1, -1):
        side[i] /= schur[i, i]
        for k in range(i):
            side[k] -= schur[i, k] * side[i]


@jit
def _factor(it: Interior, rounding: float) -> None:
    """Weights theta, and the equations of a step reduced to the positions, factored.

    Item i has sum_j theta_ij = r_i and the mean exposure m_i = sum_j theta_ij v_j / r_i. What is left of the groups is
    k_g = sum_ij theta_ij (v_j - m_i)^2, plus the freedom of s_g between its bounds. Towards the end one position, the
    peak, has nearly all the weight of its item: m_i is taken from there, or nothing but rounding is left of v_j - m_i.
    """
    n, n_groups = it.x.shape[0], len(it.equal)
    items, groups, v, theta = it.items, it.groups, it.v, it.theta
    for g in range(n_groups):
        groups[WEIGHT, g] = 0.0
        for j in range(n):
            it.by_group[g, j] = 0.0
    for i in range(n):
        for j in range(i + 1):
            it.schur[i, j] = 0.0
    weight = np.empty(n)
    for i in range(n):
        total, peak = 0.0, 0
        for j in range(n):
            theta[i, j] = it.x[i, j] / it.z[i, j]
            total += theta[i, j]
            if theta[i, j] > theta[i, peak]:
                peak = j
        shift = 0.0
        for j in range(n):
            shift += theta[i, j] * (v[j] - v[peak])
        shift /= total
        items[R, i], items[PEAK, i], items[SHIFT, i], weight[i] = total, v[peak], shift, 1.0 / total
        g = it.group[i]
        spread = 0.0
        for j in range(n):
            away = v[j] - v[peak] - shift
            it.by_group[g, j] += theta[i, j] * away
            spread += theta[i, j] * away * away
        groups[WEIGHT, g] += spread
    for i in range(n):
        for j in range(n):
            it.schur[j, j] += theta[i, j]
    for j in range(n):
        it.positions[TOTAL, j] = it.schur[j, j]
    for g in range(n_groups):
        groups[FREEDOM, g] = 0.0
        if it.equal[g] == 0:
            pull = groups[AT_LOW, g] / (groups[S, g] - groups[LOW, g])
            pull += groups[AT_HIGH, g] / (groups[HIGH, g] - groups[S, g])
            groups[FREEDOM, g] = 1.0 / pull
        left = groups[WEIGHT, g] + groups[FREEDOM, g]
        groups[WEIGHT, g] = 1.0 / left if left > 0.0 and it.equal[g] < 2 else 0.0
    # Prices are known up to a constant: the last one stays.
    _subtract(it.schur, theta, weight, n, n - 1)
    _subtract(it.schur, it.by_group, groups[WEIGHT], n_groups, n - 1)
    _cholesky(it.schur, it.positions[TOTAL], rounding, n - 1)


@jit
def _settle(it: Interior) -> None:
    """Move the prices so that rows, columns and groups of x + dx sum to what they should.

    Once would do, but for rounding, which grows as entries and reduced costs fall apart; done again on what is left,
    the errors shrink.
    """
    n, n_groups = it.x.shape[0], len(it.equal)
    items, positions, groups, v = it.items, it.positions, it.groups, it.v
    for j in range(n):
        positions[POSITION_SIDE, j] = -1.0
    for g in range(n_groups):
        groups[SIDE, g] = -groups[S, g] - (groups[DS, g] if it.equal[g] == 0 else 0.0)
    for i in range(n):
        peak = items[PEAK, i]
        side, moment = -1.0, peak
        for j in range(n):
            reached = it.x[i, j] + it.dx[i, j]
            side += reached
            moment += reached * (v[j] - peak)
            positions[POSITION_SIDE, j] += reached
        items[ITEM_SIDE, i] = side
        groups[SIDE, it.group[i]] += moment - items[SHIFT, i] * side
        for j in range(n):
            positions[POSITION_SIDE, j] -= it.theta[i, j] * (side / items[R, i])
    for g in range(n_groups):
        pull = groups[SIDE, g] * groups[WEIGHT, g]
        for j in range(n):
            positions[POSITION_SIDE, j] -= it.by_group[g, j] * pull
    _substitute(it.schur, positions[POSITION_SIDE], n - 1)
    positions[POSITION_SIDE, n - 1] = 0.0
    for j in range(n):
        positions[DP, j] += positions[POSITION_SIDE, j]
    for g in range(n_groups):
        for j in range(n):
            groups[SIDE, g] -= it.by_group[g, j] * positions[POSITION_SIDE, j]
        groups[SIDE, g] *= -groups[WEIGHT, g]
        groups[DLAMBDA, g] += groups[SIDE, g]
        if it.equal[g] == 0:
            groups[DS, g] -= groups[FREEDOM, g] * groups[SIDE, g]
    for i in range(n):
        change = groups[SIDE, it.group[i]]
        side = items[ITEM_SIDE, i]
        for j in range(n):
            side -= it.theta[i, j] * positions[POSITION_SIDE, j]
        side /= items[R, i]
        peak, shift = items[PEAK, i], items[SHIFT, i]
        items[DU, i] += side + (peak + shift) * change
        for j in range(n):
            price = side + positions[POSITION_SIDE, j] - (v[j] - peak - shift) * change
            it.dx[i, j] -= it.theta[i, j] * price


@jit
def _find_step(it: Interior, aim: float, second: bool) -> None:
    """Newton's step towards products x z of `aim`; with `second` the products of the last step found are taken in."""
    n, n_groups = it.x.shape[0], len(it.equal)
    items, positions, groups, v = it.items, it.positions, it.groups, it.v
    for g in range(n_groups):
        groups[DLAMBDA, g] = 0.0
        if it.equal[g] == 0:
            low, high = aim, aim
            if second:
                low -= groups[DS, g] * groups[D_LOW, g]
                high += groups[DS, g] * groups[D_HIGH, g]
            groups[D_LOW, g] = low / (groups[S, g] - groups[LOW, g]) - groups[AT_LOW, g]
            groups[D_HIGH, g] = high / (groups[HIGH, g] - groups[S, g]) - groups[AT_HIGH, g]
            off = groups[LAMBDA, g] - groups[AT_LOW, g] + groups[AT_HIGH, g]
            groups[DS, g] = groups[FREEDOM, g] * (groups[D_LOW, g] - groups[D_HIGH, g] - off)
    for i in range(n):
        items[DU, i], positions[DP, i] = 0.0, 0.0
        u, lam = items[U, i], groups[LAMBDA, it.group[i]]
        for j in range(n):
            off = it.z[i, j] - (u + positions[P, j] - lam * v[j] - it.cost[i, j])
            product = aim - it.dx[i, j] * it.dz[i, j] if second else aim
            # what dx would be if no price moved
            it.dx[i, j] = product * it.open[i, j] / it.z[i, j] - it.x[i, j] + it.theta[i, j] * off
    for _ in range(_SETTLINGS):
        _settle(it)
    for g in range(n_groups):
        if it.equal[g] == 0:
            groups[D_LOW, g] -= groups[AT_LOW, g] * groups[DS, g] / (groups[S, g] - groups[LOW, g])
            groups[D_HIGH, g] += groups[AT_HIGH, g] * groups[DS, g] / (groups[HIGH, g] - groups[S, g])
    for i in range(n):
        g = it.group[i]
        u, lam = items[U, i] + items[DU, i], groups[LAMBDA, g] + groups[DLAMBDA, g]
        for j in range(n):
            goal = u + positions[P, j] + positions[DP, j] - lam * v[j] - it.cost[i, j]
            it.dz[i, j] = (goal - it.z[i, j]) * it.open[i, j]


@jit
def _longest_steps(it: Interior, share: float) -> tuple[float, float]:
    """How far x and z may go along their steps, this share of the way to the nearest bound; at most 1."""
    n, groups = it.x.shape[0], it.groups
    shrink, shrink_z = share, share  # largest relative decrease
    for i in range(n):
        for j in range(n):
            if it.open[i, j]:
                shrink = max(shrink, -it.dx[i, j] / it.x[i, j])
                shrink_z = max(shrink_z, -it.dz[i, j] / it.z[i, j])
    for g in range(len(it.equal)):
        if it.equal[g] == 0:
            shrink = max(shrink, -groups[DS, g] / (groups[S, g] - groups[LOW, g]))
            shrink = max(shrink, groups[DS, g] / (groups[HIGH, g] - groups[S, g]))
            shrink_z = max(shrink_z, -groups[D_LOW, g] / groups[AT_LOW, g])
            shrink_z = max(shrink_z, -groups[D_HIGH, g] / groups[AT_HIGH, g])
    return share / shrink, share / shrink_z


@jit
def _advance(it: Interior, step: float, step_z: float) -> None:
    """Go along the step."""
    n, items, positions, groups = it.x.shape[0], it.items, it.positions, it.groups
    for i in range(n):
        items[U, i] += step_z * items[DU, i]
        positions[P, i] += step_z * positions[DP, i]
        for j in range(n):
            it.x[i, j] += step * it.dx[i, j]
            it.z[i, j] += step_z * it.dz[i, j]
    for g in range(len(it.equal)):
        groups[LAMBDA, g] += step_z * groups[DLAMBDA, g]
        if it.equal[g] == 0:
            groups[S, g] += step * groups[DS, g]
            groups[AT_LOW, g] += step_z * groups[D_LOW, g]
            groups[AT_HIGH, g] += step_z * groups[D_HIGH, g]


@jit
def _predict(it: Interior, gap: float, products: int) -> tuple[float, float]:
    """Mehrotra's step: a predictor, and a corrector of it; returns how far it may go."""
    _find_step(it, 0.0, False)
    far, far_z = _longest_steps(it, 1.0)
    centre = (_gap(it, far, far_z) / gap) ** 3 * gap / products
    _find_step(it, centre, True)
    step, step_z = _longest_steps(it, _CLOSE)
    if min(step, step_z) < _SHORT * min(far, far_z):
        _find_step(it, centre, False)
        step, step_z = _longest_steps(it, _CLOSE)
    return step, step_z


@jit
def _recentre(it: Interior, product: float) -> tuple[float, float]:
    """A step back towards the central path, where products x z that have fallen far apart allow only short ones."""
    _find_step(it, 0.5 * product, False)
    return _longest_steps(it, _CLOSE)


@jit
def approach(it: Interior, target: float) -> bool:
    """Go from `x` towards the optimum until the products x z sum to `target`, or rounding allows no more.

    Returns whether it came near enough to tell which entries of the optimum are zero.
    """
    products = _start(it)
    gap, error = _gap(it, 0.0, 0.0), _error(it, 0.0)
    idle, losses, rounding = 0, 0, _ROUNDING
    for _ in range(_ROUNDS):
        if gap <= target or idle > _PATIENCE or losses > _LOSSES:
            break
        _factor(it, rounding)
        step, step_z = _recentre(it, gap / products) if idle else _predict(it, gap, products)
        after, error_after = _gap(it, step, step_z), _error(it, step)
        if not (after < _LOST * gap and error_after < _LOST * error + _ASTRAY):  # not a number either
            losses += 1
            rounding *= _MORE
            continue
        _advance(it, step, step_z)
        idle = idle + 1 if after > _PROGRESS * gap else 0
        gap, error = after, error_after
    return gap <= _NEAR * target
