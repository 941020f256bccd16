"""A group of a list sorted by score, equal scores by lot: the start of the kernel for two groups."""

# mypy: allow-untyped-defs, allow-untyped-decorators, allow-untyped-calls
# The types of the inner functions are numba's to infer.

import numpy as np
from numba import njit

from spofr_core.splitmix import GOLDEN, splitmix64

_RUN = 32  # items up to which counting sorts faster than merging
at = np.uintp  # an index of this type is not tested for being negative, which the inner loops would feel


@njit(cache=True, nogil=True, error_model="numpy")
def tie_key(seed, query, item):
    """Uniform number in [0, 1) that depends on nothing but its three arguments (splitmix64 twice)."""
    x = np.uint64(seed) ^ (np.uint64(query) * np.uint64(0xD1342543DE82EF95))
    for salt in (np.uint64(0), np.uint64(item)):
        x = splitmix64((x + salt) * GOLDEN + np.uint64(0x2545F4914F6CDD1D))
    return np.float64(x >> np.uint64(11)) * 2.0**-53


@njit(cache=True, nogil=True, error_model="numpy")
def _count_sort(keys, items, row, low, high, spare_keys, spare_items, ranks):
    """Sort a short run in descending order by counting, for every key, those that stand before it."""
    for i in range(low, high):
        key, ahead = keys[row, at(i)], np.int32(low)
        spare_keys[at(i)], spare_items[at(i)] = key, items[row, at(i)]
        for j in range(low, i):
            before = np.int32(spare_keys[at(j)] >= key)
            ahead += before
            ranks[at(j)] += np.int32(1) - before
        ranks[at(i)] = ahead
    for i in range(low, high):
        place = at(ranks[at(i)])
        keys[row, place], items[row, place] = spare_keys[at(i)], spare_items[at(i)]


@njit(cache=True, nogil=True, error_model="numpy")
def _merge(keys, items, row, low, middle, high, out_keys, out_items):
    """Merge two neighbouring descending runs, as far as both last without a branch."""
    i, j, out = low, middle, low
    while i < middle and j < high:
        left = np.int64(keys[row, at(i)] >= keys[row, at(j)])
        source = at(j + left * (i - j))
        out_keys[at(out)], out_items[at(out)] = keys[row, source], items[row, source]
        i += left
        j += 1 - left
        out += 1
    rest = i if i < middle else j
    for shift in range(high - out):
        out_keys[at(out + shift)], out_items[at(out + shift)] = (
            keys[row, at(rest + shift)],
            items[row, at(rest + shift)],
        )


@njit(cache=True, nogil=True, error_model="numpy")
def _sort(keys, items, row, start, stop, spare_keys, spare_items, ranks):
    """Sort ``keys[row, start:stop]`` in descending order, `items` along: short runs by counting, then merges.

    Neither branches on the data: half of such branches would be mispredicted, which costs more than all the rest.
    """
    for low in range(start, stop, _RUN):
        _count_sort(keys, items, row, low, min(low + _RUN, stop), spare_keys, spare_items, ranks)
    width = _RUN
    while width < stop - start:
        for low in range(start, stop, 2 * width):
            middle, high = min(low + width, stop), min(low + 2 * width, stop)
            _merge(keys, items, row, low, middle, high, spare_keys, spare_items)
        for i in range(start, stop):
            keys[row, at(i)], items[row, at(i)] = spare_keys[at(i)], spare_items[at(i)]
        width *= 2


@njit(cache=True, nogil=True, error_model="numpy")
def sort_group(row, n, y, item, total, tie, seed, query, spare_keys, spare_items, ranks):
    """Sort a group by score, equal scores by their tie keys, sum the scores up, and set the sentinels."""
    _sort(y, item, row, 1, n + 1, spare_keys, spare_items, ranks)
    y[row, 0], y[row, n + 1] = np.inf, -np.inf
    sum_ = 0.0
    total[row, 0] = 0.0
    ties = False
    for i in range(1, n + 1):
        sum_ += y[row, at(i)]
        total[row, at(i)] = sum_
        ties |= y[row, at(i)] == y[row, at(i - 1)]
    start = 1
    while ties and start <= n:
        stop = start + 1
        while y[row, stop] == y[row, start]:
            stop += 1
        if stop > start + 1:
            for i in range(start, stop):
                tie[row, i] = tie_key(seed, query, item[row, i])
            _sort(tie, item, row, start, stop, spare_keys, spare_items, ranks)
        start = stop
