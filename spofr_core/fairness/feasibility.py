"""Which deltas can be had at all: the smallest feasible one, and the largest that still matters.

The totals (E_g) that rankings of a list can reach form the base polytope of a polymatroid: with vcum[k] the sum of
the k largest exposures, any set S of groups with n_S items gets at most vcum[n_S] and at least V - vcum[n - n_S].
Because these limits depend on S through its size alone, the 2^G conditions reduce to one per size, found by a
knapsack over groups. Items without a group change n and V alone: their total takes up whatever the others leave.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from spofr_core.fairness.exposure import FloatArray, PositionBias, is_nonincreasing
from spofr_core.fairness.terms import TOLERANCE, Terms

if TYPE_CHECKING:
    from spofr_core.fairness.fairness import Fairness

ROUNDING = 1e-12
"""Relative slack of feasibility checks: what floating point loses in sums of exposures."""

BISECTIONS = 52
"""Halvings that leave of an interval what floating point can tell apart."""


def feasible(fairness: Fairness, terms: Terms) -> NDArray[np.bool_]:
    """Whether each list has a policy that satisfies its bounds.

    Bounds lo_g <= E_g <= hi_g can be met if and only if, for every set S of groups, sum_S lo_g <= vcum[n_S] and
    sum_S hi_g >= V - vcum[n - n_S].
    """
    if fairness.rule.always_feasible:
        return np.ones(len(terms.composition), dtype=np.bool_)
    return _within_reach(terms, _largest_first(fairness.position_bias, terms))


def smallest_delta(fairness: Fairness, terms: Terms) -> FloatArray:
    """Smallest delta, the same for all groups, that each list can satisfy."""
    return fairness.rule.smallest_delta(fairness, terms)


def proportional_delta(position_bias: PositionBias, terms: Terms) -> FloatArray:
    """The smallest delta of a notion whose groups share one scale mu per list, in closed form.

    With m_S = sum over S of n_g target_g (merit: n_g mu_g V / n),

    delta_min = max(0, max over S of (m_S - mu vcum[n_S]) / n_S and (mu (V - vcum[n - n_S]) - m_S) / n_S).
    """
    sizes = terms.composition.sizes
    mu = np.where(terms.composition.applicable, terms.scale[:, 0], 0.0)
    claims = np.where(terms.constrained, sizes * terms.target, 0.0)
    return np.asarray(
        _smallest_delta(sizes, terms.composition.lengths, claims, mu, _largest_first(position_bias, terms))
    )


def bisected_delta(position_bias: PositionBias, terms: Terms) -> FloatArray:
    """The smallest delta of any notion: between 0 and the delta at which nothing is forbidden, by bisection."""
    smallest = np.zeros(len(terms.composition))
    at_zero = replace(terms, delta=np.zeros(terms.scale.shape))
    rows = np.flatnonzero(~_within_reach(at_zero, _largest_first(position_bias, terms)))
    if not len(rows):
        return smallest
    part = replace(
        terms,
        composition=terms.composition[rows],
        scale=terms.scale[rows],
        target=terms.target[rows],
        delta=terms.delta[rows],
        mean_exposure=terms.mean_exposure[rows],
    )
    vcum = _largest_first(position_bias, part)
    low, high = np.zeros(len(rows)), _largest_violation(position_bias, part)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        enough = _within_reach(replace(part, delta=np.broadcast_to(middle[:, None], part.scale.shape)), vcum)
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    smallest[rows] = high
    return smallest


def largest_delta(fairness: Fairness, terms: Terms) -> FloatArray:
    """Delta of each list above which nothing is forbidden any more.

    Group g moves furthest when it takes its n_g best, or its n_g worst, positions; the larger of the two violations,
    over groups, is the list's largest possible one. Zero where the notion does not apply.
    """
    return _largest_violation(fairness.position_bias, terms)


def cannot_fail(fairness: Fairness, terms: Terms) -> NDArray[np.bool_]:
    """Whether the notion applies to a list and yet no ranking of it could break the delta of any group."""
    within = _furthest(fairness.position_bias, terms) <= terms.delta + rounding_of_violations(fairness, terms)[:, None]
    return np.asarray(terms.composition.applicable & (within | ~terms.constrained).all(axis=1))


def rounding_of_violations(fairness: Fairness, terms: Terms) -> FloatArray:
    """(Q,): what floating point may add to a violation, `TOLERANCE` of the most that the notion makes of an exposure.

    So that a verdict does not depend on the unit in which exposures or merits are written.
    """
    longest = int(terms.composition.lengths.max(initial=0))
    scale = np.where(terms.constrained, terms.scale, 0.0).max(axis=1, initial=0.0)
    return np.asarray(TOLERANCE * float(fairness.position_bias.vector(longest).max(initial=0.0)) * scale)


def _within_reach(terms: Terms, vcum: FloatArray) -> NDArray[np.bool_]:
    """The conditions of `feasible`, for any scales: where one is 0, abs(target) <= delta whatever the policy."""
    lower, upper = terms.total_bounds()
    within = np.asarray(_feasible(terms.composition.sizes, terms.composition.lengths, lower, upper, vcum))
    fixed = terms.constrained & (terms.scale <= 0)
    if fixed.any():
        within &= ~np.any(fixed & (np.abs(terms.target) > terms.delta), axis=1)
    return within


def _largest_violation(position_bias: PositionBias, terms: Terms) -> FloatArray:
    return np.asarray(_furthest(position_bias, terms).max(axis=1, initial=0.0))


def _furthest(position_bias: PositionBias, terms: Terms) -> FloatArray:
    """(Q, G): the largest violation that any ranking gives each group; 0 where nothing is asked."""
    sizes, lengths = terms.composition.sizes, terms.composition.lengths
    vector = position_bias.vector(int(lengths.max(initial=0)))
    if is_nonincreasing(vector):
        cumulated = np.concatenate([[0.0], np.cumsum(vector)])
        best = cumulated[sizes]
        worst = cumulated[lengths][:, None] - cumulated[lengths[:, None] - sizes]
    else:
        best, worst = _extremes_of_unsorted(position_bias, sizes, lengths)
    per_item = np.maximum(sizes, 1)
    reach = np.maximum(
        np.abs(terms.scale * best / per_item - terms.target),
        np.abs(terms.scale * worst / per_item - terms.target),
    )
    return np.asarray(np.where(terms.constrained, reach, 0.0))


def _extremes_of_unsorted(
    position_bias: PositionBias, sizes: NDArray[np.int64], lengths: NDArray[np.int64]
) -> tuple[FloatArray, FloatArray]:
    """Best and worst totals when the vector increases somewhere, so that each length has its own order."""
    best, worst = np.zeros(sizes.shape), np.zeros(sizes.shape)
    for n in np.unique(lengths):
        rows = lengths == n
        cumulated = np.concatenate([[0.0], np.cumsum(np.sort(position_bias.vector(int(n)))[::-1])])
        best[rows] = cumulated[sizes[rows]]
        worst[rows] = cumulated[n] - cumulated[n - sizes[rows]]
    return best, worst


def _largest_first(position_bias: PositionBias, terms: Terms) -> FloatArray:
    """Row n holds vcum[0..n] of a list of n items: the sums of its k largest exposures."""
    longest = int(terms.composition.lengths.max(initial=0))
    vector = position_bias.vector(longest)
    if is_nonincreasing(vector):
        cumulated = np.concatenate([[0.0], np.cumsum(vector)])
        return np.broadcast_to(cumulated, (longest + 1, longest + 1))
    table = np.zeros((longest + 1, longest + 1))
    for n in range(1, longest + 1):
        table[n, 1 : n + 1] = np.cumsum(np.sort(vector[:n])[::-1])
    return table


@njit(cache=True)
def _extreme_sums(sizes: NDArray[np.int64], amounts: FloatArray, n: int, sign: float) -> FloatArray:  # pragma: no cover
    """best[k] = largest sum of sign * amounts over sets of present groups with k items in all; -inf without one."""
    best = np.full(n + 1, -np.inf)
    best[0] = 0.0
    for g in range(sizes.shape[0]):
        if sizes[g] == 0:
            continue
        for k in range(n, sizes[g] - 1, -1):
            candidate = best[k - sizes[g]] + sign * amounts[g]
            if candidate > best[k]:
                best[k] = candidate
    return best


@njit(parallel=True, cache=True)
def _feasible(
    sizes: NDArray[np.int64], lengths: NDArray[np.int64], lower: FloatArray, upper: FloatArray, vcum: FloatArray
) -> NDArray[np.bool_]:  # pragma: no cover
    """The conditions of `feasible`, list by list."""
    answer = np.ones(sizes.shape[0], dtype=np.bool_)
    for q in prange(sizes.shape[0]):
        n = lengths[q]
        total = vcum[n, n]
        slack = ROUNDING * total
        most_asked = _extreme_sums(sizes[q], lower[q], n, 1.0)
        least_allowed = _extreme_sums(sizes[q], upper[q], n, -1.0)
        for k in range(1, n + 1):
            if most_asked[k] > vcum[n, k] + slack:
                answer[q] = False
            if -least_allowed[k] < total - vcum[n, n - k] - slack:
                answer[q] = False
    return answer


@njit(parallel=True, cache=True)
def _smallest_delta(
    sizes: NDArray[np.int64], lengths: NDArray[np.int64], claims: FloatArray, mu: FloatArray, vcum: FloatArray
) -> FloatArray:  # pragma: no cover
    """The closed form of `proportional_delta`, list by list."""
    smallest = np.zeros(sizes.shape[0])
    for q in prange(sizes.shape[0]):
        n = lengths[q]
        if mu[q] <= 0.0:
            continue
        most = _extreme_sums(sizes[q], claims[q], n, 1.0)
        least = _extreme_sums(sizes[q], claims[q], n, -1.0)
        for k in range(1, n + 1):
            if most[k] == -np.inf:
                continue
            smallest[q] = max(smallest[q], (most[k] - mu[q] * vcum[n, k]) / k)
            smallest[q] = max(smallest[q], (mu[q] * (vcum[n, n] - vcum[n, n - k]) + least[k]) / k)
    return smallest
