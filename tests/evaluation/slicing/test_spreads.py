"""Intervals of many means at once: against scipy, formulas written a second time, a published case, and simulation."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from spofr_core.evaluation.slicing.spreads import Spreads


def spreads(parts, **how) -> Spreads:
    codes = np.repeat(np.arange(len(parts)), [len(p) for p in parts])
    return Spreads(np.concatenate(parts), codes, len(parts), **how)


def corrected(parts, difference, weight, third, level):
    """The interval of the pooled spread, written out."""
    spare = sum(len(p) - 1 for p in parts)
    off = np.concatenate([p - p.mean() for p in parts])
    variance, cubed = (off**2).sum() / spare * weight, (off**3).sum() / spare * third
    z = scipy.stats.t.ppf(0.5 + level / 2, spare)
    skew = cubed / variance**1.5 * (z * z - 1) / 6
    return difference - np.sqrt(variance) * (skew + z), difference - np.sqrt(variance) * (skew - z)


numbers = st.lists(st.floats(-5, 5).map(lambda x: round(x, 3)), min_size=3, max_size=12)


@given(st.lists(numbers, min_size=2, max_size=5))
def test_an_interval_is_the_wider_of_student_and_the_pooled_one(lists):
    parts = [np.array(numbers) + 0.001 * np.arange(len(numbers)) for numbers in lists]
    if any(p.var() == 0 for p in parts):
        return
    found = spreads(parts)
    every, level = np.ones(len(parts), dtype=bool), 1 - 0.05 / len(parts)
    lower, upper = found.of_means(every, 0.95)
    difference, (low, high), _ = found.against_rest(every, 0.95)
    for k, part in enumerate(parts):
        n, rest = len(part), np.concatenate(parts[:k] + parts[k + 1 :])
        own = scipy.stats.t.interval(level, n - 1, part.mean(), part.std(ddof=1) / np.sqrt(n))
        pooled = corrected(parts, part.mean(), 1 / n, 1 / n**2, level)
        assert lower[k] == pytest.approx(min(own[0], pooled[0]), rel=1e-6, abs=1e-9)
        assert upper[k] == pytest.approx(max(own[1], pooled[1]), rel=1e-6, abs=1e-9)
        assert difference[k] == pytest.approx(part.mean() - rest.mean(), abs=1e-9)
        own = scipy.stats.ttest_ind(part, rest, equal_var=False).confidence_interval(level)
        m = len(rest)
        pooled = corrected(parts, difference[k], 1 / n + 1 / m, 1 / n**2 - 1 / m**2, level)
        assert low[k] == pytest.approx(min(own[0], pooled[0]), rel=1e-6, abs=1e-9)
        assert high[k] == pytest.approx(max(own[1], pooled[1]), rel=1e-6, abs=1e-9)


@given(st.lists(numbers, min_size=2, max_size=5))
def test_what_is_not_in_a_part_is_counted_without_counting_it_again(lists):
    parts = [np.array(numbers) for numbers in lists]
    mean = spreads(parts).of_rest()
    for k in range(len(parts)):
        rest = np.concatenate(parts[:k] + parts[k + 1 :])
        assert mean[k] == pytest.approx(rest.mean(), abs=1e-9)


@pytest.mark.parametrize("shares", [True, False])
def test_where_one_part_has_all_values_there_is_no_rest(shares):
    """The values sum to 0 around their mean but for rounding, which must not become an infinite mean of nothing."""
    for n in range(2, 40):
        for ones in range(1, n):
            found = spreads([np.repeat([1.0, 0.0], [ones, n - ones])], shares=shares)
            difference, (lower, upper), error = found.against_rest(np.array([False]), 0.95)
            assert np.isnan([*found.of_rest(), *difference, *lower, *upper, *error]).all()


@pytest.mark.parametrize("power", [-1000, -600, 600, 990])
def test_intervals_of_tiny_and_huge_values_are_those_of_ordinary_ones(power):
    rng, every = np.random.default_rng(4), np.ones(3, dtype=bool)
    parts, unit = [rng.exponential(size=n) for n in (5, 9, 30)], 2.0**power
    plain, scaled = spreads(parts), spreads([part * unit for part in parts])
    np.testing.assert_array_equal(scaled.mean, plain.mean * unit)
    np.testing.assert_array_equal(scaled.of_rest(), plain.of_rest() * unit)
    for one, other in ((plain.of_means, scaled.of_means), (plain.against_rest, scaled.against_rest)):
        ends, wanted = (np.vstack([np.atleast_2d(row) for row in of(every, 0.95)]) for of in (other, one))
        assert (wanted != 0).all()
        np.testing.assert_array_equal(ends, wanted * unit)
    np.testing.assert_array_equal(scaled.between(0, 2, 0.95), np.array(plain.between(0, 2, 0.95)) * unit)


def test_differences_of_shares_are_those_of_newcombe():
    """Newcombe (1998), example (a), method 10: 56 of 70 against 48 of 80 gives 0.0524 to 0.3339."""
    found = spreads([np.repeat([1.0, 0.0], [56, 14]), np.repeat([1.0, 0.0], [48, 32])], shares=True)
    difference, lower, upper = found.between(1, 0, 0.95)
    assert difference == pytest.approx(0.2)
    assert (round(lower, 4), round(upper, 4)) == (0.0524, 0.3339)
    shares = found.of_means(np.array([True, False]), 0.95)
    assert shares[0][0] == pytest.approx(0.6917, abs=2e-4)  # Wilson, 56 of 70
    assert np.isnan(shares[0][1])


def test_a_part_of_equal_values_is_not_sure_of_itself():
    rng = np.random.default_rng(0)
    found = spreads([np.full(10, 0.2), rng.exponential(0.2, 200)])
    lower, upper = found.of_means(np.array([True, True]), 0.95)
    assert upper[0] - lower[0] > 0.1
    assert lower[0] < 0.2 < upper[0]


@pytest.mark.parametrize("draw", ["half-normal", "exponential", "shares"])
@pytest.mark.parametrize("equal", [True, False])
def test_intervals_hold_for_all_parts_at_once(draw, equal):
    """Of 300 datasets with 8 parts of 10 to 40 skewed values, at least 92 % have no part outside its interval.

    Student's t alone reaches 75 to 85 % there.
    """
    rng = np.random.default_rng(5)
    sizes = np.array([10, 10, 12, 15, 20, 25, 30, 40])
    scales = np.ones(8) if equal or draw == "shares" else np.tile([0.7, 1.3], 4)
    codes = np.repeat(np.arange(8), sizes)
    true = {"half-normal": np.sqrt(2 / np.pi), "exponential": 1.0, "shares": 0.3}[draw] * scales
    rest = np.array([np.delete(sizes * true, k).sum() / np.delete(sizes, k).sum() for k in range(8)])
    every = np.ones(8, dtype=bool)
    means = differences = 0
    for _ in range(300):
        plain = {
            "half-normal": lambda n: np.abs(rng.normal(size=n)),
            "exponential": lambda n: rng.exponential(size=n),
            "shares": lambda n: (rng.random(n) < 0.3).astype(float),
        }[draw](len(codes))
        found = Spreads(plain * scales[codes], codes, 8, shares=draw == "shares")
        lower, upper = found.of_means(every, 0.95)
        means += bool(np.all((lower <= true) & (true <= upper)))
        _, (lower, upper), _ = found.against_rest(every, 0.95)
        differences += bool(np.all((lower <= true - rest) & (true - rest <= upper)))
    assert means >= 276
    assert differences >= 276
