"""One list at work in the kernel for many groups: its arrays, what their rows are, and how functions are compiled."""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Keys = NDArray[np.uint64]

ENTER = 1e-11  # smallest reduced cost worth a pivot, relative to the size of the costs
PROMISING = 1e-9  # smallest reduced cost for which the merge's column is taken without looking for a better one

# `place` (numbers by position, rank or member) and `seat` (indices).
V, W, DROP_V, DROP_W, SCORE, MEMBER_SCORE, SEATED, PRICE = range(8)
ORDER, GROUP, MEMBER, PATTERN, BUYER, MARK, SITTER, EARLIEST, LATEST = range(9)
# `row` (numbers by row of the master: one per group, the last for the sum of probabilities) and `marks` (indices).
LOWER, UPPER, X, LAM, ALPHA, RESTING, ORIGIN, EXPOSURE, NEAR_SCORE, NEAR_SURPLUS = range(10)
FIRST, CODE, BASIS, ALIVE, HEAD, NEAR, AGE = range(7)

jit = njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
sum_jit = njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "reassoc"})  # lets sums be vectorised


class Desk(NamedTuple):
    """Working memory, allocated once for many lists; arrays by what their columns run over, so that few are needed.

    Attributes
    ----------
    place, seat
        By position, rank or member: numbers (rows V, W, ...) and indices (rows ORDER, GROUP, ...).
    row, marks
        By row of the master programme: numbers (rows LOWER, UPPER, ...) and indices (rows FIRST, CODE, ...).
    columns, patterns
        The pool: exposures, utility and whether it is basic of each column, and the group at each of its positions.
    inverse, square
        The basis inverse, and room to make it anew.
    local
        By group code: number of the group in the list, -1 where it is absent.
    tie
        Keys that order equal scores.
    """

    place: Floats
    seat: Ints
    row: Floats
    marks: Ints
    columns: Floats
    patterns: Ints
    inverse: Floats
    square: Floats
    local: Ints
    tie: Keys
