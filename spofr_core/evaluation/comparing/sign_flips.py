"""Whether two rankings of the same queries differ by more than chance: sign flips of paired differences, and Holm.

If it makes no difference which of two rankings a query is shown, the two could be swapped in any query, and the sign of
its difference flipped. The p-value is the share of all ways to swap in which the two differ by as much as they do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
How = Literal["exact", "drawn", "normal"]
Statistic = Callable[[FloatArray, FloatArray], FloatArray]

DRAWS = 9_999
EXACT_BELOW = 20
"""With fewer queries in which something differs, every way to swap is gone through."""
MANY = 20_000
"""From this many on, the normal distribution to which the sum of random signs has converged stands for the draws."""
_CELLS = 1 << 21
"""Numbers that a block of signs has at most."""
_ROUNDING = 1e-9


@dataclass(frozen=True)
class FlipTest:
    """A two-sided p-value and how it was found.

    Attributes
    ----------
    p : float
    how : {"exact", "drawn", "normal"}
        All ways to flip, `DRAWS` seeded ones, or the limit for many queries.
    """

    p: float
    how: How


def sign_flip_test(differences: FloatArray, *, seed: int, draws: int = DRAWS) -> FlipTest:
    """Test of a mean difference; see `sign_flip_tests`."""
    return sign_flip_tests(np.asarray(differences, dtype=np.float64)[:, None], seed=seed, draws=draws)[0]


def sign_flip_tests(columns: FloatArray, *, seed: int, draws: int = DRAWS) -> list[FlipTest]:
    """Two-sided sign-flip permutation tests of mean differences, one for each column.

    With d_q the difference of query q and s_q = +-1, p is the share of the sign vectors s for which
    abs(sum_q s_q d_q) >= abs(sum_q d_q). All 2^m of them are gone through where m, the number of queries with d_q != 0,
    is below `EXACT_BELOW`. Otherwise `draws` are drawn, and p = (1 + as many as reach it) / (1 + draws): the signs as
    they are count as one of them, so that p is never 0 and the test holds its level. From `MANY` on,
    p = erfc(abs(sum d) / sqrt(2 sum d^2)).

    Parameters
    ----------
    columns : (Q, K) float
        Differences; 0 where a query has none to say, which leaves every sum as it is.
    seed : int
    draws : int

    Returns
    -------
    list of FlipTest
        K of them; p is 1 where nothing differs.
    """
    largest = np.abs(columns).max(axis=0, initial=0.0)
    scaled = columns / np.where(largest > 0, largest, 1.0)
    changed = np.count_nonzero(scaled, axis=0)
    found: dict[int, FlipTest] = {}
    for k in np.flatnonzero(changed < EXACT_BELOW).tolist():
        mine = scaled[:, k][scaled[:, k] != 0]
        found[k] = _enumerated(mine[:, None], lambda sums: sums[:, 0])
    for k in np.flatnonzero(changed >= MANY).tolist():
        found[k] = FlipTest(normal_p(float(scaled[:, k].sum()), float(np.sqrt(np.sum(scaled[:, k] ** 2)))), "normal")
    rest = [k for k in range(columns.shape[1]) if k not in found]
    if len(columns) < MANY:
        # Queries that do not differ are kept: the signs of a column must not depend on which others are tested.
        found |= dict(zip(rest, _drawn(scaled[:, rest], draws, seed), strict=True))
    else:
        found |= {k: _drawn(scaled[scaled[:, k] != 0][:, [k]], draws, seed)[0] for k in rest}
    return [found[k] for k in range(columns.shape[1])]


def swap_test(
    before: FloatArray, after: FloatArray, statistic: Statistic, *, seed: int, draws: int = DRAWS
) -> FlipTest:
    """The same test of what is no mean difference: the two sides of a query are swapped as a whole.

    Parameters
    ----------
    before, after : (Q, K) float
        What each query adds to K sums, on either side.
    statistic : callable
        From sums before and after, (R, K) each, to R numbers, which change their sign where the two are exchanged.
    seed, draws
        As for `sign_flip_tests`; it is drawn however many queries there are.
    """
    total = (before + after).sum(axis=0)
    moves = after - before
    differing = moves[np.any(moves != 0, axis=1)]

    def of_sums(sums: FloatArray) -> FloatArray:
        return statistic((total - sums) / 2, (total + sums) / 2)

    if len(differing) < EXACT_BELOW:
        return _enumerated(differing, of_sums)
    observed = abs(float(of_sums(moves.sum(axis=0)[None])[0]))
    reached = 0
    for signs in _drawn_signs(len(moves), draws, seed):
        reached += int(np.sum(np.abs(of_sums(signs @ moves)) >= observed - _ROUNDING * (1 + observed)))
    return FlipTest(float(1 + reached) / (1 + draws), "drawn")


def holm(p_values: FloatArray) -> FloatArray:
    """p-values adjusted by Holm: rejecting those at most alpha errs anywhere with probability at most alpha.

    With p_(1) <= ... <= p_(m), the adjusted p_(i) is the largest of (m - j + 1) p_(j) over j <= i, and at most 1.
    """
    m = len(p_values)
    order = np.argsort(p_values, kind="stable")
    stepped = np.maximum.accumulate(p_values[order] * (m - np.arange(m)))
    adjusted = np.empty(m)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def _enumerated(moves: FloatArray, of_sums: Callable[[FloatArray], FloatArray]) -> FlipTest:
    """Over all signs; those of the first query are left at +, since the rest is their mirror image."""
    m = len(moves)
    if m == 0:
        return FlipTest(1.0, "exact")
    observed = abs(float(of_sums(moves.sum(axis=0)[None])[0]))
    ways, block = 1 << (m - 1), max(_CELLS // m, 1)
    reached = 0
    for first in range(0, ways, block):
        codes = np.arange(first, min(first + block, ways), dtype=np.int64)[:, None]
        signs = 1.0 - 2.0 * ((codes << 1 >> np.arange(m)) & 1)
        reached += int(np.sum(np.abs(of_sums(signs @ moves)) >= observed - _ROUNDING * (1 + observed)))
    return FlipTest(reached / ways, "exact")


def _drawn(columns: FloatArray, draws: int, seed: int) -> list[FlipTest]:
    """Tests of the sums of columns, all from the same drawn signs."""
    reached = np.zeros(columns.shape[1], dtype=np.int64)
    observed = np.abs(columns.sum(axis=0))
    for signs in _drawn_signs(len(columns), draws, seed) if columns.size else ():
        reached += np.sum(np.abs(signs @ columns) >= observed - _ROUNDING * (1 + observed), axis=0)
    return [FlipTest((1 + times) / (1 + draws), "drawn") for times in reached.tolist()]


def _drawn_signs(width: int, draws: int, seed: int) -> Iterator[FloatArray]:
    """Blocks of rows of random signs."""
    generator = np.random.default_rng(seed)
    bytes_each = -(-width // 8)
    block = max(_CELLS // max(width, 1), 1)
    for first in range(0, draws, block):
        rows = min(block, draws - first)
        drawn = np.frombuffer(generator.bytes(rows * bytes_each), dtype=np.uint8).reshape(rows, bytes_each)
        yield np.asarray(1.0 - 2.0 * np.unpackbits(drawn, axis=1, count=width), dtype=np.float64)


def normal_p(value: float, error: float) -> float:
    """Two-sided p-value of a value with this standard error: erfc(abs(value) / (error sqrt(2)))."""
    return math.erfc(abs(value) / (error * math.sqrt(2))) if error > 0 else 1.0
