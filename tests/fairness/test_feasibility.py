"""Smallest and largest delta against linear programmes over group-position assignments."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from spofr_core.fairness import Composition, Fairness, feasible, largest_delta, smallest_delta
from spofr_core.fairness.exposure import is_usable_scale


def smallest_delta_by_programme(sizes: np.ndarray, merits: np.ndarray, v: np.ndarray) -> float:
    """min delta s.t. X[g, j] >= 0, row sums n_g, column sums 1, abs(mu e_g - mu_g e) <= delta."""
    present = np.flatnonzero(sizes)
    k, n = len(present), len(v)
    mu, mean = sizes @ merits / n, v.mean()
    rows, right, equal, equal_right = [], [], [], []
    for index, g in enumerate(present):
        exposure = np.zeros(k * n + 1)
        exposure[index * n : (index + 1) * n] = mu * v / sizes[g]
        for sign in (1, -1):
            row = sign * exposure
            row[-1] = -1.0
            rows.append(row)
            right.append(sign * merits[g] * mean)
        members = np.zeros(k * n + 1)
        members[index * n : (index + 1) * n] = 1
        equal.append(members)
        equal_right.append(sizes[g])
    for j in range(n):
        column = np.zeros(k * n + 1)
        column[j : k * n : n] = 1
        equal.append(column)
        equal_right.append(1)
    cost = np.zeros(k * n + 1)
    cost[-1] = 1
    solved = linprog(cost, A_ub=rows, b_ub=right, A_eq=equal, b_eq=equal_right, method="highs")
    assert solved.status == 0
    return float(solved.fun)


@st.composite
def lists(draw):
    sizes = np.array(draw(st.lists(st.integers(0, 5), min_size=2, max_size=5).filter(lambda s: sum(s) > 0)))
    merits = np.array(
        draw(st.lists(st.floats(0, 5).map(lambda x: round(x, 2)), min_size=len(sizes), max_size=len(sizes)))
    )
    n = int(sizes.sum())
    exposures = st.lists(st.floats(0, 1), min_size=n, max_size=n)
    v = np.array(draw(exposures.filter(lambda values: is_usable_scale(max(values)))))
    return sizes, merits, np.sort(v)[::-1] if draw(st.booleans()) else v


def terms_of(sizes, merits, v, delta):
    names = tuple("abcdefg"[: len(sizes)])
    fairness = Fairness(
        delta=delta, notion="merit", merits=dict(zip(names, merits.tolist(), strict=True)), position_bias=v
    )
    return fairness, fairness.terms(Composition(sizes=sizes[None, :], group_names=names))


@given(lists())
@settings(max_examples=150, deadline=None)
def test_smallest_delta_matches_the_programme(case):
    sizes, merits, v = case
    fairness, terms = terms_of(sizes, merits, v, 0.0)
    found = smallest_delta(fairness, terms)[0]
    if np.count_nonzero(sizes) < 2 or sizes @ merits == 0:
        assert found == 0
        return
    np.testing.assert_allclose(found, smallest_delta_by_programme(sizes, merits, v), atol=1e-7)
    fairness, terms = terms_of(sizes, merits, v, found)
    assert feasible(fairness, terms)[0]
    if found > 1e-6:
        fairness, terms = terms_of(sizes, merits, v, found - 1e-7)
        assert not feasible(fairness, terms)[0]


def test_smallest_delta_by_hand():
    """Two items, all merit on one: mu = 1, e = .75; a wants 2 * .75 = 1.5 but the top position gives 1."""
    fairness, terms = terms_of(np.array([1, 1]), np.array([2.0, 0.0]), np.array([1.0, 0.5]), 0.1)
    np.testing.assert_allclose(smallest_delta(fairness, terms), [0.5])


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_feasibility_does_not_depend_on_the_unit_of_exposure(scale):
    """At the smallest delta a policy exists, a per cent below it none does."""
    for share, expected in ((1.0, True), (0.99, False)):
        v = scale * np.array([1.0, 0.5])
        fairness, terms = terms_of(np.array([1, 1]), np.array([2.0, 0.0]), v, share * 0.5 * scale)
        assert feasible(fairness, terms).tolist() == [expected]


@pytest.mark.parametrize("notion", ["exposure", "gap"])
def test_unweighted_notions_are_always_feasible(notion):
    fairness = Fairness(delta=0.0, notion=notion)
    terms = fairness.terms(Composition(sizes=np.array([[3, 2], [1, 0]]), group_names=("a", "b")))
    assert feasible(fairness, terms).all()
    np.testing.assert_array_equal(smallest_delta(fairness, terms), [0, 0])


@pytest.mark.parametrize("v", [[1.0, 0.5, 0.2, 0.1], [0.2, 1.0, 0.1, 0.5]])
@pytest.mark.parametrize("notion", ["exposure", "gap", "merit"])
def test_largest_delta_is_the_worst_ranking(notion, v):
    """Against all 24 rankings of a list of four."""
    from itertools import permutations

    merits = {"merits": {"a": 0.5, "b": 1.5}} if notion == "merit" else {}
    fairness = Fairness(delta=0.0, notion=notion, position_bias=v, **merits)
    terms = fairness.terms(Composition(sizes=np.array([[1, 3], [2, 0]]), group_names=("a", "b")))
    worst = max(np.abs(terms.violations(np.array([[p[0], np.mean(p[1:])]] * 2))[0]).max() for p in permutations(v))
    np.testing.assert_allclose(largest_delta(fairness, terms), [worst, 0.0])
