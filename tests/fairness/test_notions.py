"""Each notion as an interval on a group's mean exposure, against hand-computed lists and the formulas themselves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spofr_core.errors import ConfigError
from spofr_core.fairness import Composition, Fairness, PositionBias


def composition(*lists: str) -> Composition:
    """Lists written as one letter per item."""
    names = tuple(sorted(set("".join(lists))))
    codes = np.array([names.index(letter) for text in lists for letter in text], dtype=np.int32)
    offsets = np.concatenate([[0], np.cumsum([len(text) for text in lists])])
    return Composition.of(codes, offsets, names)


def test_composition_counts_groups_per_list():
    counted = composition("aab", "bb", "c")
    np.testing.assert_array_equal(counted.sizes, [[2, 1, 0], [0, 2, 0], [0, 0, 1]])
    np.testing.assert_array_equal(counted.applicable, [True, False, False])
    np.testing.assert_array_equal(counted.lengths, [3, 2, 1])


def test_exposure_bounds_by_hand():
    terms = Fairness(delta=0.1).terms(composition("aab", "bb"))
    mean = (1 / 2 + 1 / 3 + 1 / 4) / 3
    lower, upper = terms.bounds()
    np.testing.assert_allclose(lower[0], mean - 0.1)
    np.testing.assert_allclose(upper[0], mean + 0.1)
    assert np.all(np.isinf(lower[1]))
    assert np.all(np.isinf(upper[1]))


def test_per_group_delta():
    lower, upper = Fairness(delta={"a": 0.1, "b": 0.2}).terms(composition("ab")).bounds()
    np.testing.assert_allclose(upper - lower, [[0.2, 0.4]])


def test_merit_violation_by_hand():
    fairness = Fairness(delta=0.0, notion="merit", merits={"a": 2.0, "b": 0.5}, position_bias=[1.0, 0.4, 0.1])
    terms = fairness.terms(composition("aab"))
    mu, mean = (2 * 2.0 + 0.5) / 3, 0.5
    e_a, e_b = (1.0 + 0.4) / 2, 0.1
    np.testing.assert_allclose(
        terms.violations(np.array([[e_a, e_b]])), [[mu * e_a - 2.0 * mean, mu * e_b - 0.5 * mean]]
    )
    lower, upper = terms.bounds()
    np.testing.assert_allclose(lower, [[2.0 * mean / mu, 0.5 * mean / mu]])
    np.testing.assert_allclose(lower, upper)


def test_a_list_without_merit_asks_nothing():
    fairness = Fairness(delta=0.0, notion="merit", merits={"a": 0.0, "b": 0.0, "c": 3.0})
    lower, upper = fairness.terms(composition("aabc", "ab")).bounds()
    assert np.isfinite(lower[0]).all()
    assert np.isinf(upper[1]).all()


@given(
    n_0=st.integers(1, 8),
    n_1=st.integers(1, 8),
    order=st.randoms(use_true_random=False),
    delta=st.floats(0, 0.3),
)
def test_gap_equals_difference_of_the_two_groups(n_0, n_1, order, delta):
    """abs(e_0 - e_1) <= delta, and max_g abs(e_g - e) = max(n_0, n_1)/n abs(e_0 - e_1)."""
    letters = list("a" * n_0 + "b" * n_1)
    order.shuffle(letters)
    v = PositionBias().vector(n_0 + n_1)
    e = np.array([[v[[x == g for x in letters]].mean() for g in "ab"]])
    counted = composition("".join(letters))
    gap = Fairness(delta=delta, notion="gap").terms(counted)
    np.testing.assert_allclose(gap.violations(e), [[e[0, 0] - e[0, 1], e[0, 1] - e[0, 0]]], atol=1e-14)
    exposure = Fairness(delta=delta).terms(counted).violations(e)
    np.testing.assert_allclose(np.abs(exposure).max(), max(n_0, n_1) / (n_0 + n_1) * abs(e[0, 0] - e[0, 1]), atol=1e-14)
    lower, upper = gap.bounds()
    inside = bool(np.all((e >= lower - 1e-12) & (e <= upper + 1e-12)))
    if abs(abs(e[0, 0] - e[0, 1]) - delta) > 1e-9:
        assert inside == (abs(e[0, 0] - e[0, 1]) <= delta)


def test_gap_refuses_three_groups_and_names_the_list():
    with pytest.raises(ConfigError, match=r"list 1 has 3 of them \(a, b, c\); use notion='exposure'"):
        Fairness(delta=0.1, notion="gap").terms(composition("ab", "abc"))


def test_gap_takes_three_groups_of_which_each_list_has_two():
    terms = Fairness(delta=0.1, notion="gap").terms(composition("ab", "bc", "cc"))
    np.testing.assert_array_equal(terms.constrained, [[1, 1, 0], [0, 1, 1], [0, 0, 0]])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "needs the setting 'delta'"),
        ({"delta": -0.1}, "delta is -0.1; give a number >= 0"),
        ({"delta": {"a": 0.1, "b": -1}}, "delta of group 'b' is -1"),
        ({"delta": float("inf")}, "'delta' is inf"),
        ({"delta": "much"}, "'delta' is 'much'"),
        ({"delta": 0.1, "notion": "parity"}, "'notion' must be one of ['exposure', 'merit', 'gap'], got 'parity'"),
        ({"delta": 0.1, "notion": "merit"}, "needs merits={group: mu_g}"),
        ({"delta": 0.1, "merits": {"a": 1}}, "set notion='merit'"),
        ({"delta": 0.1, "notion": "merit", "merits": {"a": -1}}, "merit of group 'a' is -1"),
        ({"delta": 0.1, "position_bias": [1, -1]}, "values at position 2 is -1"),
        ({"delta": 0.1, "lambda_": 3}, "no setting 'lambda_'; it takes: delta, unit, notion, merits, position_bias"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ConfigError) as caught:
        Fairness(**settings)
    assert message in str(caught.value)


def test_a_group_without_delta_or_merit_is_named():
    with pytest.raises(ConfigError, match=r"No delta is given for group 'b'"):
        Fairness(delta={"a": 0.1}).terms(composition("ab"))
    with pytest.raises(ConfigError, match=r"No merit is given for group 'b'"):
        Fairness(delta=0.1, notion="merit", merits={"a": 1.0}).terms(composition("ab"))


def test_settings_survive_json():
    fairness = Fairness(delta={1: 0.1, 2: 0.2}, notion="merit", merits={1: 0.5, 2: 1.5}, position_bias=[1, 0.5])
    assert Fairness.from_dict(fairness.to_dict()) == fairness
    assert fairness.with_delta(0.3).delta == 0.3
    assert fairness.with_delta(0.3).merits == fairness.merits
