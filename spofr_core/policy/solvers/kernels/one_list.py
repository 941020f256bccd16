"""One list of one or two groups, solved and looked at from outside in a single call: what a service is in a hurry for.

The batched kernel answers into arrays that belong to a batch; to hand over sixteen arrays and to read them again takes
a service several times what the list itself does.
"""

# mypy: allow-untyped-defs, allow-untyped-decorators, allow-untyped-calls
# The types of the inner functions are numba's to infer.

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from spofr_core.policy.solvers.kernels import two_groups
from spofr_core.policy.solvers.kernels.arguments import Answer, Problem

_solve_some, _BLOCK = two_groups._solve_some, two_groups._BLOCK
LARGEST = 1e300
"""Scores beyond this overflow in sums, and are not solved."""


class OneList(NamedTuple):
    """What a list's lottery is.

    Attributes
    ----------
    rankings : int
        How many; 0 where a score is not a number that can be ranked, or the list was given up.
    probability : float
        Of the first ranking; the second has the rest.
    outside : float
        How far a group's total exposure lies beyond its bounds; 0 or less within them.
    short : float
        The dual bound minus the utility, per unit of discount and in parts of what the scores' precision allows:
        1 and less is nothing.
    spread : float
        Largest over the groups of per_item times (largest minus smallest total exposure over the rankings).
    largest : float
        The largest score in size.
    price : float
        What the exposure of the first position costs at most, in utility.
    """

    rankings: int
    probability: float
    outside: float
    short: float
    spread: float
    largest: float
    price: float


def solve_one(
    scores: NDArray[np.float64],
    codes: NDArray[np.uint8],
    vectors: NDArray[np.float64],
    limits: NDArray[np.float64],
    windows: NDArray[np.int32],
    seed: int,
    rankings: NDArray[np.int32],
) -> OneList:
    """Solve one list.

    Parameters
    ----------
    scores, codes : (n,)
        Groups are 0 and 1; all 0 if there is one.
    vectors : (2, n)
        Position bias and discount, nonincreasing.
    limits : (3, G)
        Lower and upper bounds on each group's total exposure, and what its spread counts per unit.
    windows : (2, n) or (2, 0)
        Earliest and latest position of each member of each group; none where there are no quotas.
    seed : int
        Of the order of equal scores: the same as that of a batch with this list alone.
    rankings : (2, n)
        Filled in.
    """
    return OneList(*_solve_one(scores, codes, vectors, limits, windows, np.uint64(seed), rankings))


@njit(cache=True, nogil=True, error_model="numpy")
def _solve_one(scores, codes, vectors, limits, windows, seed, rankings):  # pragma: no cover
    n, groups = len(scores), limits.shape[1]
    greatest, least = -np.inf, np.inf
    near = np.empty(n, np.int32)
    for i in range(n):
        if not abs(scores[i]) <= LARGEST:
            return 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        greatest, least = max(greatest, scores[i]), min(least, scores[i])
        near[i] = codes[i]
    v, w = vectors[0], vectors[1]
    offsets = np.zeros(2, np.int64)
    offsets[1] = n
    first = np.zeros(1, np.int64)
    probabilities, counts, bound = np.empty((1, 2)), np.zeros(1, np.int32), np.empty(1)
    status = np.zeros(1, np.int8)
    problem = Problem(scores, near, offsets, limits[0:1], limits[1:2], v, w, windows[0], windows[1])
    multipliers = np.empty((1, groups))
    answer = Answer(rankings, probabilities, counts, multipliers, np.zeros(n), bound, status)
    _solve_some(0, 1, _BLOCK, first, first, problem, seed, answer)
    if status[0] != 0:
        return 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0

    m = counts[0]
    exposure = np.zeros((2, groups))
    utility, worth = 0.0, 0.0
    for j in range(n):
        worth += w[j]
    for r in range(m):
        for j in range(n):
            item = rankings[r, j]
            exposure[r, near[item]] += v[j]
            utility += probabilities[0, r] * scores[item] * w[j]
    outside, spread, price = -np.inf, 0.0, 0.0
    for g in range(groups):
        price = max(price, abs(multipliers[0, g]) * v[0])
        total, most, fewest = 0.0, -np.inf, np.inf
        for r in range(m):
            total += probabilities[0, r] * exposure[r, g]
            most, fewest = max(most, exposure[r, g]), min(fewest, exposure[r, g])
        outside = max(outside, limits[0, g] - total, total - limits[1, g])
        spread = max(spread, limits[2, g] * (most - fewest))
    largest = max(abs(greatest), abs(least))
    allowed = 1e-9 * (greatest - least) + 1e-13 * largest
    short = abs(bound[0] - utility)
    if short > 0.0:
        short = short / (worth * allowed) if worth * allowed > 0.0 else np.inf
    return m, probabilities[0, 0], outside, short, spread, largest, price
