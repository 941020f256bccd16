"""What both kernels are given and what they fill in: one call, `solve(problem, queries, seed, answer, warm=...)`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

NO_WINDOWS: NDArray[np.int32] = np.zeros(0, dtype=np.int32)


class Problem(NamedTuple):
    """A batch of lists with their bounds.

    Attributes
    ----------
    scores, codes : (N,)
        Flat lists, none empty: finite scores and group codes.
    offsets : (Q + 1,)
        List q is ``offsets[q]:offsets[q + 1]``.
    lower, upper : (Q, G)
        Bounds on the total exposure of each group, feasible up to rounding; infinite ones are no bounds, those of
        absent groups are not read.
    v, w : (n_max,)
        Nonincreasing position bias and discount; a list of n items uses the first n.
    earliest, latest : (N,)
        First and last position of each member of each group, as `Windows` has them; empty where there are no quotas.
    """

    scores: NDArray[np.float64]
    codes: NDArray[np.int32]
    offsets: NDArray[np.int64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    v: NDArray[np.float64]
    w: NDArray[np.float64]
    earliest: NDArray[np.int32] = NO_WINDOWS
    latest: NDArray[np.int32] = NO_WINDOWS


class Answer(NamedTuple):
    """Where the kernels write; nothing is written for lists that were not asked for.

    Attributes
    ----------
    rankings : (R, N)
        Ranking r of list q is ``rankings[r, offsets[q]:offsets[q + 1]]`` for r < counts[q]: indices within the list,
        from the top down. The kernel for two groups writes none where R is 0, for those who only need `weight`.
    probabilities, counts : (Q, R), (Q,)
        Probabilities of the rankings, and how many there are.
    multipliers : (Q, G)
        Price of a unit of a group's total exposure: positive where its lower bound binds, negative where its upper
        bound does, 0 where neither costs anything; ``d utility / d bound = -multiplier``.
    weight : (N,)
        Expected discount (Pi w)_i of each item.
    bound : (Q,)
        Upper bound on the utility, which the multipliers prove.
    status : (Q,)
        0 if bound and utility agree, 1 if the list was given up.
    """

    rankings: NDArray[np.int32]
    probabilities: NDArray[np.float64]
    counts: NDArray[np.int32]
    multipliers: NDArray[np.float64]
    weight: NDArray[np.float64]
    bound: NDArray[np.float64]
    status: NDArray[np.int8]
