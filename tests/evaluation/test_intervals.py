"""Intervals against other libraries and against their own definition."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from spofr_core.evaluation.intervals import MANY, binomial_quantiles, bootstrap_mean, quantile_interval, wilson


@pytest.mark.parametrize(("successes", "trials"), [(0, 10), (10, 10), (3, 10), (1432, 1500), (1, 1)])
def test_wilson_against_scipy(successes, trials):
    expected = stats.binomtest(successes, trials).proportion_ci(0.95, method="wilson")
    assert wilson(successes, trials) == pytest.approx((expected.low, expected.high))


def test_no_trial_no_interval():
    assert wilson(0, 0) is None
    assert bootstrap_mean(np.zeros(0), seed=0) is None
    assert quantile_interval(np.zeros(0), 0.5) is None


@pytest.mark.parametrize("n", [200, 201])
def test_bootstrap_against_scipy(n):
    values = np.random.default_rng(1).exponential(size=n)
    expected = stats.bootstrap((values,), np.mean, n_resamples=5000, method="percentile", rng=2).confidence_interval
    low, high = bootstrap_mean(values, seed=0, resamples=5000)
    width = expected.high - expected.low
    assert low == pytest.approx(expected.low, abs=0.06 * width)
    assert high == pytest.approx(expected.high, abs=0.06 * width)


def test_bootstrap_is_seeded():
    values = np.random.default_rng(1).normal(size=50)
    assert bootstrap_mean(values, seed=3) == bootstrap_mean(values, seed=3)
    assert bootstrap_mean(values, seed=3) != bootstrap_mean(values, seed=4)


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_quantile_interval_against_resampling(level):
    rng = np.random.default_rng(5)
    ordered = np.sort(rng.normal(size=400))
    resampled = np.quantile(rng.choice(ordered, (4000, 400)), level, axis=1, method="inverted_cdf")
    expected = np.quantile(resampled, [0.025, 0.975])
    rank = np.searchsorted(ordered, quantile_interval(ordered, level))
    np.testing.assert_allclose(rank, np.searchsorted(ordered, expected), atol=3)


@pytest.mark.parametrize("n", [1, 2, 7, 40, 500, 4_000, 1_000_000])
@pytest.mark.parametrize("p", [0.0, 0.001, 0.05, 0.5, 0.9, 0.99, 1.0])
def test_binomial_quantiles_against_scipy(n, p):
    shares = np.array([0.005, 0.025, 0.31, 0.5, 0.9751, 0.9951])
    np.testing.assert_array_equal(binomial_quantiles(shares, n, p), np.maximum(stats.binom.ppf(shares, n, p), 0))


def test_many_queries_have_the_interval_that_the_bootstrap_converged_to():
    values = np.random.default_rng(7).exponential(size=MANY)
    low, high = bootstrap_mean(values, seed=0)
    resampled = bootstrap_mean(values[:-1], seed=0, resamples=2000)
    assert (low, high) == pytest.approx(resampled, abs=0.1 * (high - low))
