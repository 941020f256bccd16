"""A delta carried into another unit asks as much of the same lists."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from spofr_core.evaluation import carried_delta, measure_exposure
from spofr_core.fairness import Fairness
from tests.evaluation.lists import dataset, random_dataset


def both(data, **asked):
    """The same lists measured in shares, and in exposures."""
    return [measure_exposure(data, Fairness(delta=0.0, unit=unit, **asked)) for unit in ("share", "absolute")]


def held(measured, delta):
    return int(np.sum(np.abs(measured.table.worst_violation[measured.table.applicable]) <= delta + 1e-9))


@given(seed=st.integers(0, 40), part=st.floats(0.01, 1.2), back=st.booleans())
@example(seed=21, part=0.40625, back=True)  # two lists are equally far off, but for rounding
@settings(max_examples=60, deadline=None)
def test_as_many_lists_hold_the_delta_in_the_other_unit(seed, part, back):
    measured = both(random_dataset(seed, n_queries=30))
    before, after = reversed(measured) if back else measured
    delta = part * before.delta_range[1]
    carried = carried_delta(before, delta, after)
    steps = np.abs(after.table.worst_violation[after.table.applicable])
    reachable = [0, *(int(np.sum(steps <= step + 1e-9)) for step in steps)]
    nearest = min(abs(count - held(before, delta)) for count in reachable)
    assert abs(held(after, carried) - held(before, delta)) <= nearest


def test_in_lists_of_one_length_it_is_the_mean_exposure_times_as_much():
    # Two items a list at 1/2 and 1/3: the mean exposure is 5/12, each list is off by 1/12 of exposure, a fifth of that.
    share, absolute = both(dataset([[2.0, 1.0]] * 4, [["a", "b"]] * 4))
    assert carried_delta(share, 0.12, absolute) == pytest.approx(0.05)
    assert carried_delta(absolute, 0.05, share) == pytest.approx(0.12)
    assert carried_delta(absolute, 0.084, share) == pytest.approx(0.2)  # all hold a fifth
    assert carried_delta(share, 0.0, absolute) == 0.0


def test_lists_of_one_group_count_for_nothing():
    share, absolute = both(dataset([[2.0, 1.0]], [["a", "a"]], names=("a", "b")))
    assert carried_delta(share, 0.1, absolute) == pytest.approx(0.1)
