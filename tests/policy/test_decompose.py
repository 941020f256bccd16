from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from spofr_core.errors import DataError
from spofr_core.policy import decompose


def mixture(rng: np.random.Generator, n: int, m: int) -> np.ndarray:
    matrix = np.zeros((n, n))
    for probability in rng.dirichlet(np.ones(m)):
        matrix[rng.permutation(n), np.arange(n)] += probability
    return matrix


def rebuilt(rankings: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """The matrix of a lottery, entry by entry."""
    n = rankings.shape[1]
    matrix = np.zeros((n, n))
    for ranking, probability in zip(rankings, probabilities, strict=True):
        for position, item in enumerate(ranking):
            matrix[item, position] += probability
    return matrix


def check(matrix: np.ndarray, error: float) -> None:
    n = len(matrix)
    found = decompose(matrix)
    assert np.all(np.sort(found.rankings, axis=1) == np.arange(n))
    assert np.all(found.probabilities > 0)
    assert abs(found.probabilities.sum() - 1) < 1e-12
    assert len(found.probabilities) <= (n - 1) ** 2 + 1
    difference = np.abs(rebuilt(found.rankings, found.probabilities) - matrix).max()
    assert difference <= error
    np.testing.assert_allclose(found.error, difference, atol=1e-15)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 14), m=st.integers(1, 40))
def test_mixtures_of_rankings(seed: int, n: int, m: int) -> None:
    check(mixture(np.random.default_rng(seed), n, m), 1e-10)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 12), noise=st.sampled_from([1e-15, 1e-12, 1e-10, 1e-8]))
@example(seed=51, n=3, noise=1e-8)
def test_noise_is_told_and_not_amplified(seed: int, n: int, noise: float) -> None:
    rng = np.random.default_rng(seed)
    check(mixture(rng, n, 5) + noise * rng.uniform(-1, 1, (n, n)), 1e-9 + 10 * n * noise)


def test_an_entry_that_no_ranking_can_use_is_left_out_and_told() -> None:
    """Scaling rows and columns would take millions of rounds to remove it."""
    found = decompose([[1 - 1e-7, 1e-7], [0.0, 1.0]])
    assert found.rankings.tolist() == [[0, 1]]
    assert found.probabilities.tolist() == [1.0]
    assert found.error == pytest.approx(1e-7)


@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_dense_matrices(n: int) -> None:
    matrix = np.random.default_rng(n).random((n, n)) + 0.05
    for _ in range(500):
        matrix /= matrix.sum(axis=1, keepdims=True)
        matrix /= matrix.sum(axis=0)
    check(matrix, 1e-10)


def test_the_uniform_policy_needs_n_rankings() -> None:
    found = decompose(np.full((12, 12), 1 / 12))
    np.testing.assert_allclose(found.probabilities, 1 / 12)
    assert len(found.probabilities) == 12


def test_a_ranking_is_itself() -> None:
    found = decompose(np.eye(5)[[2, 0, 4, 1, 3]])
    assert found.probabilities.tolist() == [1.0]
    assert found.rankings.tolist() == [[1, 3, 0, 4, 2]]
    assert found.error == 0.0


def test_the_likeliest_ranking_is_taken_whole_and_first() -> None:
    found = decompose([[0.9, 0.1, 0.0], [0.1, 0.9, 0.0], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(found.probabilities, [0.9, 0.1])
    assert found.rankings.tolist() == [[0, 1, 2], [1, 0, 2]]


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[0.5, 0.5], [0.5, 0.4]], "Row 1 of the matrix sums to 0.9"),
        ([[0.6, 0.4], [0.6, 0.4]], "Column 0 of the matrix sums to 1.2"),
        ([[1.2, -0.2], [-0.2, 1.2]], "-0.2 in row 0, column 1"),
        ([[1.0, 0.0]], r"shape \(1, 2\)"),
        ([[np.nan]], "nan in row 0, column 0"),
    ],
)
def test_other_matrices_are_refused_with_the_place(matrix: list[list[float]], message: str) -> None:
    with pytest.raises(DataError, match=message):
        decompose(matrix)


@pytest.mark.parametrize("matrix", [[["a"]], [[1.0], [1.0, 2.0]]])
def test_what_is_no_table_of_numbers_is_refused(matrix: object) -> None:
    with pytest.raises(DataError, match="no table of numbers"):
        decompose(matrix)
