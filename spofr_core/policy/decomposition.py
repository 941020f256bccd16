"""Birkhoff-von Neumann: any doubly stochastic matrix as a lottery over rankings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import njit

from spofr_core.errors import DataError

FloatArray = npt.NDArray[np.float64]

SUM_TOLERANCE = 1e-6
"""How far a row or column may be from 1: what a linear-programming solver or a rounded file leaves."""
RESIDUAL = 1e-9
"""Mass that may remain unexplained before the probabilities are made to sum to 1."""


@dataclass(frozen=True, eq=False)
class Decomposition:
    """A lottery over rankings that reproduces a matrix.

    Attributes
    ----------
    rankings : (m, n) int32
        Item at each position, from the top down; the likeliest ranking first.
    probabilities : (m,) float
        Positive, summing to 1.
    error : float
        Largest absolute difference between the given matrix and the one that the lottery has.
    """

    rankings: npt.NDArray[np.int32]
    probabilities: FloatArray
    error: float


def decompose(matrix: npt.ArrayLike) -> Decomposition:
    """Write a doubly stochastic matrix (item x position) as a lottery over at most (n - 1)^2 + 1 rankings.

    Every step takes a ranking through entries that are at least half of the best possible smallest entry, with the
    largest probability it can carry; that empties at least one entry, which lowers the dimension of the face that the
    rest lies in, hence the limit on the number of rankings. Large steps first make the lottery short. What rounding
    leaves (below 1e-9, or what rows and columns are off from 1) is spread by normalising; `error` tells what all this
    did to the matrix.

    Raises
    ------
    DataError
        When the matrix is not square, or an entry, a row or a column is not that of a doubly stochastic matrix.

    Examples
    --------
    >>> lottery = decompose([[0.75, 0.25], [0.25, 0.75]])
    >>> lottery.rankings.tolist(), lottery.probabilities.tolist()
    ([[0, 1], [1, 0]], [0.75, 0.25])
    """
    given = _checked(matrix)
    n = len(given)
    if n == 0:
        return Decomposition(np.zeros((1, 0), dtype=np.int32), np.ones(1), 0.0)
    balanced = _balanced(given)
    # While more than 2 n times its imprecision is left of a matrix, a ranking that meets no zero exists (Hall).
    imprecision = max(float(np.abs(balanced.sum(axis=axis) - 1).max()) for axis in (0, 1))
    rankings, probabilities = _peel(balanced, (n - 1) ** 2 + 1)
    residual = 1.0 - float(probabilities.sum())
    if not abs(residual) < RESIDUAL + 2 * n * imprecision:
        raise DataError(
            f"The matrix could not be decomposed: {residual:.3g} of its mass is left. "
            "Its sums are too far from 1; compute it again with more precision."
        )
    order = np.argsort(-probabilities, kind="stable")
    rankings, probabilities = rankings[order], probabilities[order] / probabilities.sum()
    return Decomposition(rankings, probabilities, float(np.abs(_matrix(rankings, probabilities) - given).max()))


def _checked(matrix: npt.ArrayLike) -> FloatArray:
    try:
        given = np.array(matrix, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"The matrix is no table of numbers ({error}); give probabilities, (n, n).") from error
    if given.ndim != 2 or given.shape[0] != given.shape[1]:
        raise DataError(f"The matrix has shape {given.shape}; a policy over n items is (n, n), item x position.")
    if not np.all(np.isfinite(given)):
        i, j = np.argwhere(~np.isfinite(given))[0]
        raise DataError(f"The matrix holds {given[i, j]} in row {i}, column {j}; give probabilities.")
    if given.size and given.min() < -SUM_TOLERANCE:
        i, j = np.unravel_index(int(given.argmin()), given.shape)
        raise DataError(f"The matrix holds {given[i, j]:g} in row {i}, column {j}; probabilities are not negative.")
    for axis, kind in ((1, "Row"), (0, "Column")):
        sums = given.sum(axis=axis)
        if sums.size and np.abs(sums - 1).max() > SUM_TOLERANCE:
            worst = int(np.abs(sums - 1).argmax())
            raise DataError(
                f"{kind} {worst} of the matrix sums to {sums[worst]:.9g}, not to 1: it is not doubly stochastic."
            )
    return given


def _balanced(given: FloatArray) -> FloatArray:
    """The matrix without dust (entries that no ranking should be spent on), rows and columns scaled back to 1."""
    n = len(given)
    balanced = np.where(given < RESIDUAL / (10 * n), 0.0, given)
    for _ in range(1000):
        balanced /= balanced.sum(axis=1, keepdims=True)
        sums = balanced.sum(axis=0)
        if np.abs(sums - 1).max() < 1e-14:
            break
        balanced /= sums
    return balanced


def _matrix(rankings: npt.NDArray[np.int32], probabilities: FloatArray) -> FloatArray:
    n = rankings.shape[1]
    matrix = np.zeros((n, n))
    positions = np.arange(n)
    for ranking, probability in zip(rankings, probabilities, strict=True):
        matrix[ranking, positions] += probability
    return matrix


@njit(cache=True)
def _peel(residual: FloatArray, most: int) -> tuple[npt.NDArray[np.int32], FloatArray]:  # pragma: no cover
    """Take off rankings, the big ones first, until the residual is nothing but rounding."""
    n = residual.shape[0]
    rankings = np.empty((min(most, 16), n), dtype=np.int32)
    probabilities = np.empty(min(most, 16))
    item_at = np.full(n, -1, dtype=np.int32)  # the matching, by position
    place_of = np.full(n, -1, dtype=np.int32)  # and by item
    threshold, left, m = 1.0, 1.0, 0
    while left > 1e-12 and m < most and threshold > 1e-17:
        complete = True
        for j in range(n):
            i = item_at[j]
            if i >= 0 and residual[i, j] < threshold:
                item_at[j] = -1
                place_of[i] = -1
        for i in range(n):
            if place_of[i] < 0 and not _augment(residual, threshold, i, item_at, place_of):
                complete = False
                break
        if not complete:
            threshold /= 2.0
            continue
        step = residual[item_at[0], 0]
        for j in range(1, n):
            step = min(step, residual[item_at[j], j])
        if m == rankings.shape[0]:
            larger = np.empty((min(most, 2 * m), n), dtype=np.int32)
            larger[:m] = rankings
            rankings = larger
            longer = np.empty(min(most, 2 * m))
            longer[:m] = probabilities
            probabilities = longer
        for j in range(n):
            rankings[m, j] = item_at[j]
            entry = residual[item_at[j], j] - step
            residual[item_at[j], j] = entry if entry > 1e-16 else 0.0
        probabilities[m] = step
        left -= step
        m += 1
    return rankings[:m].copy(), probabilities[:m].copy()


@njit(cache=True)
def _augment(
    residual: FloatArray,
    threshold: float,
    root: int,
    item_at: npt.NDArray[np.int32],
    place_of: npt.NDArray[np.int32],
) -> bool:  # pragma: no cover
    """Match item `root` along a shortest alternating path through entries >= threshold; False if there is none."""
    n = residual.shape[0]
    came_from = np.full(n, -1, dtype=np.int32)  # item from which each position was reached
    queue = np.empty(n, dtype=np.int32)
    queue[0] = root
    head, tail = 0, 1
    while head < tail:
        i = queue[head]
        head += 1
        for j in range(n):
            if came_from[j] < 0 and residual[i, j] >= threshold:
                came_from[j] = i
                if item_at[j] < 0:
                    place = j
                    while place >= 0:  # flip the path back to the root
                        item = came_from[place]
                        previous = place_of[item]
                        item_at[place] = item
                        place_of[item] = place
                        place = previous
                    return True
                queue[tail] = item_at[j]
                tail += 1
    return False
