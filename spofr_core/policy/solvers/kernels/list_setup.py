"""A list made ready: items sorted and grouped, positions and bounds mapped to the unit scale."""

import numpy as np

from spofr_core.policy.solvers.kernels.list_desk import (
    CODE,
    DROP_V,
    DROP_W,
    EARLIEST,
    FIRST,
    GROUP,
    LATEST,
    LOWER,
    MEMBER,
    MEMBER_SCORE,
    ORDER,
    SCORE,
    UPPER,
    Floats,
    Ints,
    Keys,
    V,
    W,
    jit,
)
from spofr_core.splitmix import GOLDEN, splitmix64


@jit
def _tie_key(seed: int, query: int, item: int) -> np.uint64:
    """A number that looks random and depends on nothing but its arguments (splitmix64)."""
    x = np.uint64(seed) + np.uint64(query) * np.uint64(0xD1342543DE82EF95)
    for salt in (np.uint64(item), np.uint64(0)):
        x = splitmix64(x + GOLDEN * (salt + np.uint64(1)))
    return x


@jit
def sort_items(scores: Floats, n: int, seed: int, query: int, order: Ints, y: Floats, tie: Keys) -> None:
    """Items by (score descending, tie key); `y` becomes the sorted scores."""
    if n <= 40:
        for i in range(n):
            score = scores[i]
            k = i
            while k > 0 and y[k - 1] < score:
                y[k], order[k] = y[k - 1], order[k - 1]
                k -= 1
            y[k], order[k] = score, i
    else:
        ascending = np.argsort(scores[:n])
        for k in range(n):
            order[k] = ascending[n - 1 - k]
            y[k] = scores[order[k]]
    start = 0
    while start < n:
        stop = start + 1
        while stop < n and y[stop] == y[start]:
            stop += 1
        if stop - start > 1:
            _shuffle(order, start, stop, seed, query, tie)
        start = stop


@jit
def _shuffle(order: Ints, start: int, stop: int, seed: int, query: int, tie: Keys) -> None:
    """Order a run of equal scores by the tie keys."""
    for k in range(start, stop):
        tie[k] = _tie_key(seed, query, order[k])
    if stop - start <= 40:
        for i in range(start + 1, stop):
            key, item, k = tie[i], order[i], i
            while k > start and tie[k - 1] > key:
                tie[k], order[k] = tie[k - 1], order[k - 1]
                k -= 1
            tie[k], order[k] = key, item
    else:
        sequence = np.argsort(tie[start:stop])
        order[start:stop] = order[start:stop][sequence]


@jit
def set_positions(place: Floats, v: Floats, w: Floats, n: int) -> None:
    """Map v and w to [0, 1] and take their drops.

    Inside a block of equal v and w the drop is the one at the block's end: that is what its positions are worth.
    """
    spread_v, spread_w = v[0] - v[n - 1], w[0] - w[n - 1]
    for j in range(n):
        place[V, j] = (v[j] - v[n - 1]) / spread_v if spread_v > 0.0 else 0.0
        place[W, j] = (w[j] - w[n - 1]) / spread_w if spread_w > 0.0 else 0.0
    place[DROP_V, n - 1] = 0.0
    place[DROP_W, n - 1] = 0.0
    for j in range(n - 2, -1, -1):
        if v[j] == v[j + 1] and w[j] == w[j + 1]:
            place[DROP_V, j] = place[DROP_V, j + 1]
            place[DROP_W, j] = place[DROP_W, j + 1]
        else:
            place[DROP_V, j] = place[V, j] - place[V, j + 1]
            place[DROP_W, j] = place[W, j] - place[W, j + 1]


@jit
def set_groups(place: Floats, seat: Ints, marks: Ints, local: Ints, codes: Ints, n: int) -> int:
    """Number the groups by their best item, so that nothing depends on their codes; returns how many there are."""
    n_groups = 0
    for rank in range(n):
        code = codes[seat[ORDER, rank]]
        g = local[code]
        if g < 0:
            g = n_groups
            local[code] = g
            marks[CODE, g] = code
            marks[FIRST, g + 1] = 0
            n_groups += 1
        seat[GROUP, rank] = g
        marks[FIRST, g + 1] += 1
    marks[FIRST, 0] = 0
    for g in range(n_groups):
        marks[FIRST, g + 1] += marks[FIRST, g]
    for rank in range(n):
        g = seat[GROUP, rank]
        k = marks[FIRST, g]
        seat[MEMBER, k] = rank
        place[MEMBER_SCORE, k] = place[SCORE, rank]
        marks[FIRST, g] += 1
    for g in range(n_groups, 0, -1):
        marks[FIRST, g] = marks[FIRST, g - 1]
    marks[FIRST, 0] = 0
    return n_groups


@jit
def set_windows(
    seat: Ints, marks: Ints, local: Ints, earliest: Ints, latest: Ints, start: int, n: int, n_groups: int,
) -> bool:  # fmt: skip
    """The windows of the members; returns whether there are quotas. Without them everybody may sit anywhere."""
    if len(earliest) == 0 or n_groups < 2:
        for k in range(n):
            seat[EARLIEST, k], seat[LATEST, k] = 0, n - 1
        return False
    row = start
    for code in range(len(local)):
        g = local[code]
        if g >= 0:
            for k in range(marks[FIRST, g], marks[FIRST, g + 1]):
                seat[EARLIEST, k], seat[LATEST, k] = earliest[row], latest[row]
                row += 1
    return True


@jit
def set_bounds(
    row: Floats, marks: Ints, lower: Floats, upper: Floats, n_groups: int, base: float, spread: float,
) -> None:  # fmt: skip
    """The bounds in units of the mapped v."""
    for g in range(n_groups):
        size = marks[FIRST, g + 1] - marks[FIRST, g]
        row[LOWER, g] = (lower[marks[CODE, g]] - size * base) / spread
        row[UPPER, g] = (upper[marks[CODE, g]] - size * base) / spread


@jit
def open_list(
    place: Floats, seat: Ints, marks: Ints, local: Ints, tie: Keys, scores: Floats, codes: Ints, n: int,
    seed: int, query: int,
) -> tuple[int, float, float, float]:  # fmt: skip
    """Sort and group the items, map scores to [0, 1]; returns groups, least score, spread, sum of the mapped."""
    sort_items(scores, n, seed, query, seat[ORDER], place[SCORE], tie)
    least = place[SCORE, n - 1]
    spread = place[SCORE, 0] - least
    total = 0.0
    for k in range(n):
        place[SCORE, k] = (place[SCORE, k] - least) / spread if spread > 0.0 else 0.0
        total += place[SCORE, k]
    return set_groups(place, seat, marks, local, codes, n), least, spread, total


@jit
def base_utility(w: Floats, n: int, least: float, spread: float, total: float) -> float:
    """What mapping scores and discount to [0, 1] takes off the utility; `total` is the sum of the mapped scores."""
    base: float = spread * w[n - 1] * total
    for j in range(n):
        base += least * w[j]
    return base
