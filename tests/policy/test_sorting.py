from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spofr_core.errors import DataError
from spofr_core.policy.plain_sort import tied_expectation


def by_enumeration(scores: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Mean of vector[position] over all orders that a sort could give."""
    n = len(scores)
    total, count = np.zeros(n), 0
    for order in permutations(range(n)):
        if all(scores[a] >= scores[b] for a, b in pairwise(order)):
            total[list(order)] += vector[:n]
            count += 1
    return total / count


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=6), min_size=1, max_size=4))
def test_ties_share_their_positions_evenly(lists: list[list[int]]) -> None:
    offsets = np.cumsum([0] + [len(scores) for scores in lists])
    vector = np.array([5.0, 3.0, 2.5, 1.0, 0.25, 0.0])
    expected = np.concatenate([by_enumeration(np.array(scores, float), vector) for scores in lists])
    flat = np.concatenate([np.array(scores, float) for scores in lists])
    np.testing.assert_allclose(tied_expectation(flat, offsets, vector), expected, atol=1e-14)


def test_distinct_scores_get_the_vector_itself_in_long_lists() -> None:
    n = 5000
    scores = np.random.default_rng(0).permutation(n).astype(float)
    vector = 1 / (1 + np.arange(1, n + 1))
    expected = vector[n - 1 - scores.astype(int)]
    assert np.array_equal(tied_expectation(scores, np.array([0, n]), vector), expected)


def test_lists_do_not_see_each_other() -> None:
    result = tied_expectation(np.array([1.0, 1.0, 1.0]), np.array([0, 1, 3]), np.array([1.0, 0.0]))
    np.testing.assert_array_equal(result, [1.0, 0.5, 0.5])


def test_short_vector_is_refused() -> None:
    with pytest.raises(DataError, match="2 values but the longest list has 3 items"):
        tied_expectation(np.zeros(3), np.array([0, 3]), np.ones(2))
