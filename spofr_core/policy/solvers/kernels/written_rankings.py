"""The last step for a list of many groups: a pattern written as a ranking of its items."""

import numpy as np

from spofr_core.policy.solvers.kernels.list_desk import (
    EARLIEST,
    FIRST,
    HEAD,
    LATEST,
    MARK,
    MEMBER,
    ORDER,
    SITTER,
    Floats,
    Ints,
    V,
    W,
    jit,
)


@jit
def _sort_blocks(place: Floats, seat: Ints, ranks: Ints, n: int) -> None:
    """Order positions of equal v and equal w by the plain sort: nothing else tells their items apart, unless a window
    does.
    """
    start = 0
    while start < n:
        stop = start + 1
        while stop < n and place[V, stop] == place[V, start] and place[W, stop] == place[W, start]:
            stop += 1
        free = stop - start > 1
        for j in range(start, stop if free else start):
            member = seat[SITTER, j]
            free &= seat[EARLIEST, member] <= start and seat[LATEST, member] >= stop - 1
        if not free:
            pass
        elif stop - start > 40:
            ranks[start:stop] = np.sort(ranks[start:stop])
        else:
            for i in range(start + 1, stop):
                rank, k = ranks[i], i
                while k > start and ranks[k - 1] > rank:
                    ranks[k] = ranks[k - 1]
                    k -= 1
                ranks[k] = rank
        start = stop


@jit
def write_ranking(
    place: Floats, seat: Ints, marks: Ints, seats: Ints, probability: float, w: Floats, n: int, n_groups: int,
    ranking: Ints, weight: Floats,
) -> None:  # fmt: skip
    """Write one ranking of the policy, and add its share to the weights."""
    ranks = seat[MARK]
    for g in range(n_groups):
        marks[HEAD, g] = marks[FIRST, g]
    for j in range(n):
        g = seats[j]
        ranks[j] = seat[MEMBER, marks[HEAD, g]]
        seat[SITTER, j] = marks[HEAD, g]
        marks[HEAD, g] += 1
    _sort_blocks(place, seat, ranks, n)
    for j in range(n):
        item = seat[ORDER, ranks[j]]
        ranking[j] = item
        weight[item] += probability * w[j]
