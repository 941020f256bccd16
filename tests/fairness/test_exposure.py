"""Position bias and discount: formulas, cut-offs, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from spofr_core.errors import ConfigError
from spofr_core.fairness import Discount, Fairness, PositionBias, is_nonincreasing


def test_default_bias_is_the_papers_text():
    np.testing.assert_allclose(PositionBias().vector(4), [1 / 2, 1 / 3, 1 / 4, 1 / 5])


def test_shift_zero_is_the_released_code():
    np.testing.assert_allclose(PositionBias(shift=0).vector(3), [1, 1 / 2, 1 / 3])


def test_power():
    np.testing.assert_allclose(PositionBias(power=2).vector(2), [1 / 4, 1 / 9])


def test_discount_is_dcg_and_its_cutoff_dcg_at_k():
    np.testing.assert_allclose(Discount().vector(3), [1, 1 / np.log2(3), 1 / 2])
    np.testing.assert_allclose(Discount(cutoff=2).vector(4), [1, 1 / np.log2(3), 0, 0])


def test_explicit_values_are_used_by_prefix():
    np.testing.assert_array_equal(PositionBias(values=[3, 2, 2, 0]).vector(3), [3, 2, 2])


def test_labels_name_the_model():
    assert PositionBias().label == "v_j = 1/(1 + j)"
    assert PositionBias(shift=0, power=2, cutoff=5).label == "v_j = 1/j^2, top 5 only"
    assert Discount(values=[1, 0.5]).label == "2 given values"


def test_increase_is_noticed():
    assert is_nonincreasing(np.array([2.0, 1.0, 1.0]))
    assert not is_nonincreasing(np.array([2.0, 1.0, 1.5]))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"power": 0}, "'power' is 0: input should be greater than 0"),
        ({"cutoff": 0}, "'cutoff' is 0"),
        ({"values": [1.0, -0.5]}, "values at position 2 is -0.5; give numbers >= 0"),
        ({"values": []}, "values is empty"),
        ({"powr": 1}, "no setting 'powr'; it takes: cutoff, values, power, shift. Did you mean 'power'?"),
        ({"power": float("nan")}, "'power' is nan"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ConfigError, match="PositionBias") as caught:
        PositionBias(**settings)
    assert message in str(caught.value)


def test_too_few_values_for_the_longest_list():
    with pytest.raises(ConfigError, match="has 2 values but a list has 3 items"):
        Discount(values=[1, 0.5]).vector(3)


@pytest.mark.parametrize(
    ("values", "words"), [(np.ones((2, 2)), r"shape \(2, 2\)"), (["a"], "must be numbers"), ("x", "must be numbers")]
)
def test_a_vector_is_one_row_of_numbers(values: object, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        Fairness(delta=0.1, position_bias=values)
