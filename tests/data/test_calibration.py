"""Maps from scores to relevance against scikit-learn, and what they must never do."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from spofr_core.data.calibration import (
    CALIBRATIONS,
    IsotonicCalibration,
    LogisticCalibration,
    Scaling,
    calibration_from_dict,
)
from spofr_core.errors import DataError


def people(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    scores = 40 + 7 * rng.normal(size=n)
    return scores, (rng.random(n) < 1 / (1 + np.exp(-(scores - 44) / 3))).astype(float)


def test_logistic_is_that_of_scikit_learn():
    scores, labels = people()
    fitted = LogisticCalibration.fit(scores, labels)
    other = LogisticRegression(C=1e9, tol=1e-10, max_iter=1000).fit(scores[:, None], labels)
    assert fitted.slope == pytest.approx(other.coef_[0, 0], rel=1e-3)
    np.testing.assert_allclose(fitted.estimates(scores), other.predict_proba(scores[:, None])[:, 1], atol=1e-4)
    assert fitted.estimates(scores).mean() == pytest.approx(labels.mean(), abs=1e-6)


def test_graded_labels_keep_their_unit():
    scores, labels = people()
    once, thrice = (LogisticCalibration.fit(scores, k * labels) for k in (1, 3))
    np.testing.assert_allclose(thrice.estimates(scores), 3 * once.estimates(scores), rtol=1e-9)


def test_isotonic_by_hand():
    fitted = IsotonicCalibration.fit([1, 2, 3, 4], [0, 1, 0, 1])
    np.testing.assert_allclose(fitted.estimates([1, 2, 3, 4]), [0, 0.5, 0.5, 1], atol=1e-5)
    assert np.all(np.diff(fitted.estimates([0, 1, 2, 2.5, 3, 4, 9])) > 0)  # the order stays within a step and beyond


@pytest.mark.parametrize("kind", list(CALIBRATIONS))
@given(st.integers(0, 10_000), st.sampled_from([1e-9, 1.0, 1e9]), st.integers(2, 40))
def test_no_order_is_ever_turned_round(kind, seed, unit, n):
    rng = np.random.default_rng(seed)
    scores, labels = unit * rng.normal(size=n), rng.integers(0, 3, n).astype(float)
    if not 0 < labels.mean() < labels.max():
        return
    fitted = CALIBRATIONS[kind].fit(scores, labels)
    asked = np.sort(unit * rng.normal(size=50))
    estimates = fitted.estimates(asked)
    assert np.isfinite(estimates).all()
    assert (np.diff(estimates) >= 0).all()
    again = calibration_from_dict(fitted.to_dict())
    np.testing.assert_array_equal(again.estimates(asked), estimates)


def test_a_score_that_puts_the_relevant_last_is_ignored_not_turned_round():
    scores, labels = people()
    fitted = LogisticCalibration.fit(-scores, labels)
    assert fitted.slope == 0
    np.testing.assert_allclose(fitted.estimates([-1, 0, 1]), labels.mean())


def test_scores_that_tell_all_do_not_overflow():
    fitted = LogisticCalibration.fit([0, 0, 1, 1], [0, 0, 1, 1])
    low, high = fitted.estimates([0, 1])
    assert low < 0.05
    assert high > 0.95


@pytest.mark.parametrize("kind", list(CALIBRATIONS))
@pytest.mark.parametrize("exponent", [-990, -60, 60, 990])
def test_a_power_of_two_in_the_scores_changes_nothing(kind, exponent):
    scores, labels = people(300)
    fitted = CALIBRATIONS[kind].fit(scores, labels)
    scaled = np.ldexp(scores, exponent)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        other = CALIBRATIONS[kind].fit(scaled, labels)
        np.testing.assert_allclose(other.estimates(scaled), fitted.estimates(scores), rtol=1e-12)
    assert not other.flat


@pytest.mark.parametrize("kind", list(CALIBRATIONS))
def test_scores_beyond_what_can_be_ranked_are_refused(kind):
    for size in (1.7e308, 1e-305):
        with pytest.raises(DataError, match="multiply all scores by a constant"):
            CALIBRATIONS[kind].fit([size, -size, 0.0], [1, 0, 1])


def test_equal_scores_say_nothing_and_one_wild_score_does_not_hide_what_the_others_say():
    scores, labels = people(300)
    for kind in CALIBRATIONS.values():
        assert kind.fit([1.0, 1.0, 1.0], [0, 1, 0]).flat
    wild = IsotonicCalibration.fit(np.append(scores, 1e300), np.append(labels, 0))
    np.testing.assert_allclose(wild.estimates([30, 60]), [labels[scores < 35].mean(), 1], atol=0.1)


@pytest.mark.parametrize(
    ("scores", "labels", "words"),
    [
        ([1, 2], [0, 0], "None of the 2 items is relevant"),
        ([1, 2], [1, 1], "of another relevance than the others"),
        (np.arange(56), np.full(56, 0.1), "of another relevance than the others"),  # whose mean is rounded down
        ([1], [0, 1], "1 scores and 2 labels"),
        ([np.nan, 1], [0, 1], "finite scores"),
        ([0, 1], [-1, 1], "labels from 0 up"),
    ],
)
def test_what_cannot_be_calibrated_is_refused(scores, labels, words):
    for kind in CALIBRATIONS.values():
        with pytest.raises(DataError, match=words):
            kind.fit(scores, labels)


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"kind": "magic"},
        {"kind": "logistic", "slope": 1.0},
        {"kind": "logistic", "slope": float("nan"), "intercept": 0.0, "top": 1.0},
        {"kind": "isotonic", "knots": [1, 2], "values": [1]},
        {"kind": "isotonic", "knots": [], "values": []},
        {"kind": "isotonic", "knots": ["x"], "values": ["y"]},
        {"kind": "isotonic", "knots": [1, 2], "values": [2, 1]},
        {"kind": "isotonic", "knots": [2, 1], "values": [1, 2]},
        {"kind": "isotonic", "knots": [[1, 2]], "values": [[1, 2]]},
        {"kind": "logistic", "slope": -1.0, "intercept": 0.0, "top": 1.0},
        {"kind": "logistic", "slope": 1.0, "intercept": 0.0, "top": 0.0},
        ["kind"],
        "isotonic",
    ],
)
def test_a_damaged_calibration_is_refused(content):
    with pytest.raises(DataError, match="calibration of the model is damaged"):
        calibration_from_dict(content)


def test_scores_in_another_unit_are_that_of_the_labels_in_least_squares_and_never_turned_round():
    fitted = Scaling.fit([1.0, 2.0, -1.0], [1.0, 5.0, 0.0])
    assert fitted.factor == pytest.approx(11 / 6)
    assert calibration_from_dict(fitted.to_dict()) == fitted
    assert Scaling.fit([1.0, -1.0], [0.0, 1.0]).flat
    for damaged in ({"kind": "scaling"}, {"kind": "scaling", "factor": -1.0}, {"kind": "scaling", "factor": np.inf}):
        with pytest.raises(DataError, match="calibration of the model is damaged"):
            calibration_from_dict(damaged)
