"""From scores to relevance estimates: values by hand, slopes by differences, labels in the same unit."""

import numpy as np
import pytest

from spofr_core.learning.losses.links import ListShares, Probabilities, RawScores
from tests.learning.toy import lists_of, numeric_gradient, toy_data

LINKS = [RawScores(), ListShares(), Probabilities()]


def test_list_shares_are_the_softmax_with_mean_one():
    scores, offsets = np.array([1.0, 2.0, 1000.0, 3.0, 3.0]), np.array([0, 3, 5])
    np.testing.assert_allclose(ListShares().estimates(scores, offsets), [0.0, 0.0, 3.0, 1.0, 1.0])


def test_probabilities_are_the_logistic_function_and_never_overflow():
    scores = np.array([-2000.0, -np.log(3.0), 0.0, np.log(3.0), 2000.0])
    estimates = Probabilities().estimates(scores, np.array([0, 5]))
    np.testing.assert_allclose(estimates, [0.0, 0.25, 0.5, 0.75, 1.0], atol=1e-15)


@pytest.mark.parametrize("link", LINKS, ids=lambda link: type(link).__name__)
def test_the_score_gradient_is_that_of_a_function_of_the_estimates(link):
    rng = np.random.default_rng(0)
    scores, slopes, offsets = rng.normal(size=9), rng.normal(size=9), np.array([0, 4, 9])
    kept = slopes.copy()
    expected = numeric_gradient(lambda s: float(slopes @ link.estimates(s, offsets)), scores)
    found = link.score_gradient(link.estimates(scores, offsets), slopes, offsets)
    np.testing.assert_allclose(found, expected, atol=1e-8)
    np.testing.assert_array_equal(slopes, kept)


def test_labels_come_in_the_unit_of_the_estimates():
    lists = lists_of(toy_data(6))
    lists = lists.take(np.flatnonzero(lists.label_totals > 0))
    lists.labels.mul_(3.0)  # as inverse propensities would
    by_list = np.add.reduceat(ListShares().labels(lists), lists.offsets[:-1]) / lists.lengths
    np.testing.assert_allclose(by_list, 1.0)
    np.testing.assert_array_equal(Probabilities().labels(lists), lists.labels.numpy() / 3.0)
    np.testing.assert_array_equal(RawScores().labels(lists), lists.labels.numpy())
