"""Sign-flip tests against all sign vectors written out, against scipy, and Holm against a case solved by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from spofr_core.evaluation.comparing.sign_flips import (
    EXACT_BELOW,
    MANY,
    holm,
    normal_p,
    sign_flip_test,
    sign_flip_tests,
    swap_test,
)


def brute_force(differences) -> float:
    """The share of all sign vectors whose sum is as far from 0."""
    sums = [abs(np.dot(signs, differences)) for signs in itertools.product((1, -1), repeat=len(differences))]
    return float(np.mean(np.array(sums) >= abs(np.sum(differences)) - 1e-9))


@settings(max_examples=60)
@given(st.lists(st.integers(-4, 4), min_size=1, max_size=9))
def test_the_exact_test_goes_through_all_signs(differences):
    values = np.array(differences, dtype=float) / 7
    found = sign_flip_test(values, seed=0)
    assert found.p == pytest.approx(brute_force(values), abs=1e-12)
    assert found.how == "exact"


def test_the_exact_test_against_scipy():
    values = np.random.default_rng(2).normal(0.3, 1, 11)
    expected = stats.permutation_test(
        (values,), np.mean, permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
    )
    assert sign_flip_test(values, seed=0).p == pytest.approx(expected.pvalue)


@pytest.mark.parametrize("n", [1, 2, 5, EXACT_BELOW - 1])
def test_equal_differences_have_the_smallest_p_that_so_many_queries_allow(n):
    assert sign_flip_test(np.full(n, 0.1), seed=0).p == pytest.approx(2 / 2**n)


def test_nothing_differs_and_nothing_is_shown():
    assert sign_flip_test(np.zeros(50), seed=0).p == 1.0
    assert sign_flip_test(np.zeros(0), seed=0).p == 1.0


def test_queries_that_do_not_differ_make_no_difference_to_the_test():
    few = np.array([0.4, 0.1, -0.2, 0.7, 0.3])
    padded = np.concatenate([few, np.zeros(400)])
    assert sign_flip_test(padded, seed=0) == sign_flip_test(few, seed=0)


def test_drawn_signs_agree_with_all_signs_and_follow_the_seed():
    values = np.random.default_rng(5).normal(0.25, 1, EXACT_BELOW + 1)
    found = sign_flip_test(values, seed=1)
    tail = stats.permutation_test(
        (values,), np.mean, permutation_type="samples", n_resamples=40_000, alternative="two-sided", rng=8
    )
    assert found.how == "drawn"
    assert found.p == pytest.approx(tail.pvalue, abs=0.015)
    assert found == sign_flip_test(values, seed=1)
    assert found.p != sign_flip_test(values, seed=2).p


def test_a_drawn_p_is_never_zero():
    assert sign_flip_test(np.full(200, 1.0), seed=0).p == pytest.approx(1 / 10_000)


def test_columns_are_tested_as_if_each_were_alone():
    rng = np.random.default_rng(3)
    columns = np.stack([rng.normal(0.1, 1, 60), rng.normal(0, 1, 60), np.zeros(60)], axis=1)
    columns[5:, 1] = 0.0
    together = sign_flip_tests(columns, seed=4)
    assert together == [sign_flip_test(columns[:, k], seed=4) for k in range(3)]
    assert [test.how for test in together] == ["drawn", "exact", "exact"]


def test_few_differences_among_very_many_queries_are_drawn_for_them_alone():
    few = np.random.default_rng(9).normal(0.2, 1, 30)
    columns = np.zeros((MANY, 2))
    columns[:: MANY // 30, 0][:30] = few
    assert sign_flip_tests(columns, seed=2)[0] == sign_flip_test(few, seed=2)


def test_many_queries_have_the_p_that_draws_converge_to():
    values = np.random.default_rng(1).exponential(size=MANY) - 0.992
    found = sign_flip_test(values, seed=0)
    assert found.how == "normal"
    drawn = sign_flip_test(np.concatenate([values[: MANY - 1]]), seed=0)
    assert drawn.how == "drawn"
    assert found.p == pytest.approx(drawn.p, abs=0.02)
    assert normal_p(1.959963985, 1.0) == pytest.approx(0.05)


def test_swapping_whole_queries_goes_through_all_ways():
    rng = np.random.default_rng(6)
    before, after = rng.random((6, 2)) + 0.5, rng.random((6, 2)) + 0.5

    def quotient_change(first, second):
        return second[:, 0] / second[:, 1] - first[:, 0] / first[:, 1]

    reached = []
    for swaps in itertools.product((False, True), repeat=6):
        swap = np.array(swaps)[:, None]
        first, second = np.where(swap, after, before).sum(axis=0), np.where(swap, before, after).sum(axis=0)
        reached.append(abs(second[0] / second[1] - first[0] / first[1]))
    expected = np.mean(np.array(reached) >= reached[0] - 1e-12)
    assert swap_test(before, after, quotient_change, seed=0).p == pytest.approx(expected)


def test_swapping_a_mean_is_flipping_a_sign():
    rng = np.random.default_rng(7)
    before, after = rng.random((40, 1)), rng.random((40, 1))
    swapped = swap_test(before, after, lambda first, second: (second - first)[:, 0], seed=3)
    assert swapped == sign_flip_test((after - before)[:, 0], seed=3)


def test_holm_by_hand():
    # Sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1 are 0.02, 0.03, 0.06, 0.04; the last may not fall below the third.
    np.testing.assert_allclose(holm(np.array([0.01, 0.04, 0.03, 0.005])), [0.03, 0.06, 0.06, 0.02])


def test_holm_against_the_values_of_statsmodels():
    """multipletests(p, method="holm") of statsmodels 0.15.0."""
    given_p = np.array([0.0003, 0.2, 0.2, 0.9, 0.011, 0.0003, 0.049])
    np.testing.assert_allclose(holm(given_p), [0.0021, 0.6, 0.6, 0.9, 0.055, 0.0021, 0.196])
    assert holm(np.array([0.5])).tolist() == [0.5]
    assert holm(np.zeros(0)).tolist() == []
