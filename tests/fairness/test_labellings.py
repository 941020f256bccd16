"""What unknown groups could be: against every labelling of small lists, and a list solved by hand."""

from __future__ import annotations

from itertools import pairwise, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spofr_core.fairness import Composition, Fairness, Labellings, labellings, largest_first, mean_range

UNKNOWN, NO_GROUP = -1, -2
MERITS = {"a": 1.0, "b": 0.5, "c": 2.0, "d": 0.0}
BIASES = [{}, {"cutoff": 3}, {"power": 0.5, "shift": 0}]


def lists_of(seed: int, n_groups: int, *, queries: int = 6, longest: int = 8):
    """Short lists with unknown items, items of no group, and exposures that a lottery could give."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, longest + 1, queries)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    codes = np.concatenate(
        [
            rng.choice([UNKNOWN, NO_GROUP, *range(n_groups)], n, p=[0.3, 0.1, *[0.6 / n_groups] * n_groups])
            for n in lengths
        ]
    ).astype(np.int32)
    # Unknown items of a list are few enough for all labellings to be gone through here.
    for first, last in pairwise(offsets):
        codes[first:last][np.flatnonzero(codes[first:last] == UNKNOWN)[4:]] = 0
    return codes, offsets, tuple("abcd"[:n_groups]), rng


def exposures_of(offsets, fairness, rng):
    """Of each item: its place in a random order, or the mean of two of them."""
    parts = []
    for n in np.diff(offsets).tolist():
        vector = fairness.position_bias.vector(n)
        parts.append(
            (rng.permutation(vector) + rng.permutation(vector)) / 2 if rng.random() < 0.5 else rng.permutation(vector)
        )
    return np.concatenate(parts)


def labellings_of(codes, offsets, names, exposure) -> Labellings:
    composition = Composition.of(codes, offsets, names)
    means = composition.group_means(exposure, codes, offsets)
    return Labellings(composition, means, largest_first(exposure, codes == UNKNOWN, offsets))


def brute(codes, exposure, names, fairness, deltas):
    """Of one list, per labelling with two groups or more: (mean exposure of each group, largest excess over delta)."""
    places = np.flatnonzero(codes == UNKNOWN)
    for labels in product(range(len(names)), repeat=len(places)):
        full = codes.copy()
        full[places] = labels
        composition = Composition.of(full, np.array([0, len(full)]), names)
        if not composition.applicable[0]:
            continue
        means = composition.group_means(exposure, full, np.array([0, len(full)]))
        violations = fairness.terms(composition).violations(means)[0]
        yield means[0], np.nanmax(np.abs(violations) - deltas)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 100_000),
    n_groups=st.integers(2, 4),
    notion=st.sampled_from(["exposure", "merit"]),
    unit=st.sampled_from(["absolute", "share"]),
    bias=st.sampled_from(BIASES),
    per_group=st.booleans(),
)
def test_ranges_and_verdicts_are_those_of_all_labellings(seed, n_groups, notion, unit, bias, per_group):
    codes, offsets, names, rng = lists_of(seed, n_groups)
    merits = {name: MERITS[name] for name in names} if notion == "merit" else None
    fairness = Fairness(delta=0, notion=notion, merits=merits, unit=unit, position_bias=bias)
    deltas = rng.uniform(0, 0.3, n_groups) if per_group else np.zeros(n_groups)
    exposure = exposures_of(offsets, fairness, rng)
    lists = labellings_of(codes, offsets, names, exposure)
    low, high = lists.ranges
    least, most = lists.excess(fairness, deltas)
    for q, (first, last) in enumerate(pairwise(offsets)):
        everything = list(brute(codes[first:last], exposure[first:last], names, fairness, deltas))
        assert lists.applicable[q] == bool(everything)
        if not everything:
            assert np.isnan([low[q], high[q]]).all()
            assert np.isnan([least[q], most[q]]).all()
            continue
        means = np.array([found for found, _ in everything])
        possible = ~np.isnan(means).all(axis=0)
        np.testing.assert_allclose(
            low[q], np.where(possible, np.nanmin(np.where(np.isnan(means), np.inf, means), axis=0), np.nan)
        )
        np.testing.assert_allclose(
            high[q], np.where(possible, np.nanmax(np.where(np.isnan(means), -np.inf, means), axis=0), np.nan)
        )
        if lists.counts[q] or notion == "exposure":
            found = [excess for _, excess in everything]
            np.testing.assert_allclose([least[q], most[q]], [min(found), max(found)], atol=1e-8)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 100_000), n_groups=st.integers(2, 3), notion=st.sampled_from(["exposure", "merit"]))
def test_no_ranking_goes_beyond_the_largest_delta(seed, n_groups, notion):
    codes, offsets, names, _ = lists_of(seed, n_groups, queries=2, longest=5)
    merits = {name: MERITS[name] for name in names} if notion == "merit" else None
    fairness = Fairness(delta=0, notion=notion, merits=merits)
    for first, last in pairwise(offsets):
        part, ends = codes[first:last], np.array([0, last - first])
        vector = fairness.position_bias.vector(len(part))
        reached = [
            excess
            for order in permutations(vector)
            for _, excess in brute(part, np.array(order), names, fairness, np.zeros(n_groups))
        ]
        lists = labellings_of(part, ends, names, vector)
        np.testing.assert_allclose(lists.largest_delta(fairness)[0], max(reached, default=0.0), atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 100_000), n_groups=st.integers(2, 4))
def test_what_is_proved_without_going_through_the_labellings_is_so(seed, n_groups):
    codes, offsets, names, rng = lists_of(seed, n_groups)
    fairness = Fairness(delta=0)
    lists = labellings_of(codes, offsets, names, exposures_of(offsets, fairness, rng))
    real = lists.excess(fairness)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(labellings, "MOST_LABELLINGS", 0)
        least, most = lists.excess(fairness)
    at = lists.applicable
    np.testing.assert_array_equal(most, real[1])
    assert np.all(least[at] <= real[0][at] + 1e-12)


def test_a_list_solved_by_hand():
    """A known woman at place 2 (1/3), a known man at place 4 (1/5); unknown at 1 (1/2) and 3 (1/4); e = 77/240."""
    codes = np.array([UNKNOWN, 0, UNKNOWN, 1], dtype=np.int32)
    exposure = np.array([1 / 2, 1 / 3, 1 / 4, 1 / 5])
    lists = labellings_of(codes, np.array([0, 4]), ("women", "men"), exposure)
    low, high = lists.ranges
    np.testing.assert_allclose(low, [[(1 / 3 + 1 / 4) / 2, 1 / 5]])
    np.testing.assert_allclose(high, [[(1 / 3 + 1 / 2) / 2, (1 / 5 + 1 / 2) / 2]])
    least, most = lists.excess(Fairness(delta=0))
    # (women, men) of the two unknown: both women 65/180 against 1/5; both men 1/3 against 19/60; first a woman 5/12
    # against 9/40; first a man 7/24 against 7/20. Furthest off: 29/240, 1/80, 23/240, 7/240.
    np.testing.assert_allclose([least[0], most[0]], [1 / 80, 29 / 240], atol=1e-8)


def test_too_many_labellings_prove_what_intervals_prove():
    """30 unknown items: holding is decided by the ends, breaking where a whole interval is outside."""
    n = 33
    codes = np.full(n, UNKNOWN, dtype=np.int32)
    codes[[0, 1, 32]] = 0, 0, 1
    exposure = 1 / (1 + np.arange(1.0, n + 1))
    lists = labellings_of(codes, np.array([0, n]), ("a", "b"), exposure)
    least, most = lists.excess(Fairness(delta=0))
    mean, (low, high) = exposure.mean(), lists.ranges
    np.testing.assert_allclose(most, np.abs(np.stack([low, high]) - mean).max(), atol=1e-8)
    assert least[0] <= 0.0
    merit = Fairness(delta=0, notion="merit", merits={"a": 1.0, "b": 2.0})
    assert [end[0] for end in lists.excess(merit)] == [-np.inf, np.inf]
    assert lists.largest_delta(merit)[0] == np.inf


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 100_000), size=st.integers(0, 6), known=st.booleans())
def test_the_range_of_a_ratio_of_sums_is_that_of_all_subsets(seed, size, known):
    rng = np.random.default_rng(seed)
    values, weights = rng.random(size), rng.uniform(0.1, 2, size)
    total, weight = (rng.random(), rng.uniform(0.1, 2)) if known else (0.0, 0.0)
    ratios = [
        (total + values[list(chosen)].sum()) / (weight + weights[list(chosen)].sum())
        for chosen in (np.flatnonzero(bits) for bits in product([0, 1], repeat=size))
        if known or len(chosen)
    ]
    ends = mean_range(total, weight, values, weights)
    np.testing.assert_allclose(ends, (min(ratios), max(ratios)) if ratios else (np.nan, np.nan))


@pytest.mark.parametrize("count", [0, 3])
def test_one_group_in_all_decides_nothing(count):
    codes = np.array([0, *[UNKNOWN] * count], dtype=np.int32)
    lists = labellings_of(codes, np.array([0, len(codes)]), ("only",), np.ones(len(codes)))
    assert not lists.applicable[0]
