"""Scores and labels as large and as small as numbers get: the results of ordinary ones, or a sentence."""

from __future__ import annotations

import numpy as np
import pytest

from spofr_core import Fairness, audit, repair
from spofr_core.data import RankingDataset
from spofr_core.data.calibration import IsotonicCalibration
from spofr_core.errors import DataError
from spofr_core.evaluation import bootstrap_mean, measure, slices
from spofr_core.evaluation.calibrating.calibrated_scores import calibrated_scores
from spofr_core.evaluation.calibrating.reliability import reliability
from spofr_core.evaluation.intervals import MANY, standard_error
from spofr_core.evaluation.seeds import mean_interval
from spofr_core.evaluation.slicing.change_test import MANY as MANY_VALUES
from spofr_core.evaluation.slicing.change_test import permutation_test
from spofr_core.fairness import group_merits
from tests.evaluation.lists import random_dataset
from tests.evaluation.slicing.sliced_lists import sliced_dataset

FAIRNESS = Fairness(delta="10%")
UNITS = [2.0**-900, 2.0**-600, 2.0**600, 2.0**900]


def with_labels(data: RankingDataset, unit: float) -> RankingDataset:
    return data.replace(relevance=data.relevance * unit)


@pytest.mark.parametrize("scores", [(-1.7e308, 1.7e308), (5e-324, 1e-323), (-1e308, 5e-324), (0.0, 1e308)])
def test_an_audit_needs_only_the_order_of_the_scores(scores):
    data = random_dataset(3)
    high = data.score > 0.5
    plain, extreme = data.replace(score=high.astype(float)), data.replace(score=np.where(high, scores[1], scores[0]))
    assert audit(extreme, FAIRNESS).summary == audit(plain, FAIRNESS).summary


@pytest.mark.parametrize("unit", UNITS)
def test_measures_of_labels_do_not_depend_on_their_unit_and_dcg_grows_with_it(unit):
    data = sliced_dataset()
    scaled = with_labels(data, unit)
    names = ["nDCG@10", "DTR", "DIR", "AWRFxnDCG", "IAA"]
    before, after = (measure(each, [*names, "DCG"]) for each in (data, scaled))
    for name in names:
        np.testing.assert_array_equal(before.query_values(name).values, after.query_values(name).values)
    np.testing.assert_array_equal(before.query_values("DCG").values * unit, after.query_values("DCG").values)
    assert group_merits(scaled) == group_merits(data)


@pytest.mark.parametrize("unit", UNITS)
def test_slices_of_labels_say_the_same_in_every_unit(unit):
    data = sliced_dataset()
    plain, scaled = (
        slices(measure(each, ["DCG"]), "country", measure="DCG").table for each in (data, with_labels(data, unit))
    )
    for name in ("mean", "lower", "upper", "rest", "difference", "difference_lower", "difference_upper"):
        np.testing.assert_array_equal(plain[name] * unit, scaled[name])
    for name in ("slice", "evidence", "differs"):
        np.testing.assert_array_equal(plain[name], scaled[name])


@pytest.mark.parametrize("unit", UNITS)
def test_intervals_grow_with_the_values(unit):
    values = np.random.default_rng(5).exponential(size=MANY)
    assert bootstrap_mean(values * unit, seed=0) == tuple(end * unit for end in bootstrap_mean(values, seed=0))
    assert mean_interval(values[:9] * unit) == tuple(end * unit for end in mean_interval(values[:9]))
    assert standard_error(values * unit) == standard_error(values) * unit


@pytest.mark.parametrize("n", [3, 40, MANY_VALUES])
@pytest.mark.parametrize("unit", UNITS)
def test_a_change_is_as_unlikely_in_every_unit(n, unit):
    rng = np.random.default_rng(6)
    first, last = rng.normal(size=n), rng.normal(size=n) + 0.2
    assert permutation_test(first * unit, last * unit, seed=1) == permutation_test(first, last, seed=1)


@pytest.mark.parametrize("unit", UNITS)
def test_estimates_of_relevance_grow_with_the_labels(unit):
    data = random_dataset(8, n_queries=200)
    plain, scaled = calibrated_scores(data), calibrated_scores(with_labels(data, unit))
    assert scaled.kind == plain.kind
    np.testing.assert_allclose(scaled.estimates, plain.estimates * unit, rtol=1e-9)
    assert scaled.error == pytest.approx(plain.error * unit, rel=1e-9)
    shown, wanted = (reliability(each) for each in (with_labels(data, unit), data))
    for name in ("relevance", "lower", "upper", "estimate"):
        np.testing.assert_allclose(shown[name], wanted[name] * unit, rtol=1e-9)


@pytest.mark.parametrize("size", [5e-324, 1e-301, 1e301, 1.7e308, -1e308])
def test_labels_without_room_for_sums_are_refused_with_the_query_and_the_range(size):
    data = random_dataset(3)
    labels = np.zeros(int(data.offsets[-1]))
    labels[int(data.offsets[4])] = size
    words = (
        f"The largest relevance of query 'q4' is {abs(size):.3g} in size; it must be 0, or lie from 1e-300 to 1e+300"
    )
    with pytest.raises(DataError) as told:
        data.replace(relevance=labels)
    assert words in str(told.value)
    assert told.value.column == "relevance"


@pytest.mark.parametrize("size", [1e-301, 1e301])
def test_a_calibration_has_the_same_range(size):
    with pytest.raises(
        DataError, match=rf"The largest label to calibrate by is {size:.3g} in size".replace("+", r"\+")
    ):
        IsotonicCalibration.fit([1.0, 2.0, 3.0], [0.0, size, 0.0])


@pytest.mark.parametrize("size", [1e-310, 1e301])
def test_scores_whose_utility_cannot_be_told_are_not_repaired(size):
    data = random_dataset(3)
    with pytest.raises(DataError, match="by a constant"):
        repair(data.replace(score=data.score * size), FAIRNESS)
