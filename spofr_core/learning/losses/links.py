"""From the scores of a network to what the programme is given: relevance estimates, in some unit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from spofr_core.learning.lists import Lists

FloatArray = NDArray[np.float64]


class Link(ABC):
    """A map from scores to estimates, its derivative, and the labels in the same unit."""

    @abstractmethod
    def estimates(self, scores: FloatArray, offsets: NDArray[np.int64]) -> FloatArray:
        """What the programme is given, flat, for flat scores."""

    @abstractmethod
    def score_gradient(self, estimates: FloatArray, gradient: FloatArray, offsets: NDArray[np.int64]) -> FloatArray:
        """The gradient in the scores of something whose gradient in the estimates is given."""

    @abstractmethod
    def labels(self, lists: Lists) -> FloatArray:
        """Labels of lists with a relevant item, in the unit of the estimates."""


class RawScores(Link):
    """The scores themselves."""

    def estimates(self, scores: FloatArray, offsets: NDArray[np.int64]) -> FloatArray:
        """The same scores."""
        return scores

    def score_gradient(self, estimates: FloatArray, gradient: FloatArray, offsets: NDArray[np.int64]) -> FloatArray:
        """The same gradient."""
        return gradient

    def labels(self, lists: Lists) -> FloatArray:
        """The labels as they are."""
        return lists.labels.numpy().astype(np.float64)


class ListShares(Link):
    """n times the softmax over the list of n items, whose mean is 1: what ListNet learns."""

    def estimates(self, scores: FloatArray, offsets: NDArray[np.int64]) -> FloatArray:
        """n times the softmax of the scores of each list of n items."""
        estimates = np.empty(len(scores))
        _scaled_softmax(scores, np.require(offsets, requirements=["C", "W"]), estimates)
        return estimates

    def score_gradient(self, estimates: FloatArray, gradient: FloatArray, offsets: NDArray[np.int64]) -> FloatArray:
        """d/ds_i = e_i (g_i - mean of e g over the list)."""
        in_scores = np.empty(len(gradient))
        _chain_rule(estimates, gradient, offsets, in_scores)
        return in_scores

    def labels(self, lists: Lists) -> FloatArray:
        """Labels with a mean of 1 in each list."""
        return RawScores().labels(lists) * np.repeat(lists.lengths / lists.label_totals, lists.lengths)


class Probabilities(Link):
    """The logistic function of each score: what the logistic loss learns."""

    def estimates(self, scores: FloatArray, offsets: NDArray[np.int64]) -> FloatArray:
        """1 / (1 + exp(-score))."""
        return np.asarray(0.5 * (1.0 + np.tanh(0.5 * scores)))

    def score_gradient(self, estimates: FloatArray, gradient: FloatArray, offsets: NDArray[np.int64]) -> FloatArray:
        """d/ds_i = e_i (1 - e_i) g_i."""
        return np.asarray(gradient * estimates * (1.0 - estimates))

    def labels(self, lists: Lists) -> FloatArray:
        """Labels as shares of the largest of the list, so that inverse propensities stay within [0, 1] too."""
        labels = RawScores().labels(lists)
        return np.asarray(labels / np.repeat(np.maximum.reduceat(labels, lists.offsets[:-1]), lists.lengths))


@njit(cache=True, nogil=True)
def _scaled_softmax(scores: Any, offsets: Any, estimates: Any) -> None:  # pragma: no cover
    for q in range(len(offsets) - 1):
        start, end = offsets[q], offsets[q + 1]
        top = scores[start]
        for i in range(start, end):
            top = max(top, scores[i])
        total = 0.0
        for i in range(start, end):
            estimates[i] = np.exp(scores[i] - top)
            total += estimates[i]
        scale = (end - start) / total
        for i in range(start, end):
            estimates[i] *= scale


@njit(cache=True, nogil=True)
def _chain_rule(estimates: Any, gradient: Any, offsets: Any, in_scores: Any) -> None:  # pragma: no cover
    for q in range(len(offsets) - 1):
        start, end = offsets[q], offsets[q + 1]
        mean = 0.0
        for i in range(start, end):
            mean += estimates[i] * gradient[i]
        mean /= end - start
        for i in range(start, end):
            in_scores[i] = estimates[i] * (gradient[i] - mean)
