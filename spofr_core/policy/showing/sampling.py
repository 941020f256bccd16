"""What readers see when a policy is drawn from: a lottery is fair in expectation, a drawn ranking need not be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spofr_core.fairness import TOLERANCE, Composition, Fairness, Terms
from spofr_core.policy import Policy
from spofr_core.policy.showing.schedule import Schedule

PERIODS = 4000
"""Simulated periods for more than one impression; a single impression is computed exactly."""


@dataclass(frozen=True)
class Sampled:
    """Largest violation of what was shown over a period, and how likely each value is."""

    values: NDArray[np.float64]
    weights: NDArray[np.float64]
    expected: float
    exact: bool

    def beyond(self, delta: float) -> float:
        """Probability that a period's largest violation exceeds delta."""
        return float(self.weights[self.values > delta + TOLERANCE].sum())


def sampled_violations(policy: Policy, fairness: Fairness, impressions: int, *, seed: int = 0) -> Sampled:
    """Largest violation of the mean exposure over a number of impressions, each a ranking drawn from the policy.

    With one impression the distribution is that of the lottery itself, exactly; with more, it is simulated: the
    counts of the rankings over a period are multinomial.
    """
    exposure, terms = _by_ranking(policy, fairness)

    def largest(means: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.abs(terms.scale * means - terms.target).max(axis=1))

    expected = float(largest(policy.probabilities[None, :] @ exposure)[0])
    if impressions == 1:
        return Sampled(largest(exposure), np.asarray(policy.probabilities), expected, exact=True)
    counts = np.random.default_rng(seed).multinomial(impressions, _normalised(policy.probabilities), size=PERIODS)
    values = largest(counts @ exposure / impressions)
    return Sampled(values, np.full(PERIODS, 1 / PERIODS), expected, exact=False)


def shown_violations(policy: Policy, fairness: Fairness, served: NDArray[np.int64]) -> NDArray[np.float64]:
    """(T,): largest violation of the mean exposure over the first 1, 2, .., T impressions.

    Parameters
    ----------
    served : (T,) int
        Which ranking of the policy each impression showed, such as `policy.schedule(T)`.
    """
    exposure, terms = _by_ranking(policy, fairness)
    means = np.cumsum(exposure[served], axis=0) / np.arange(1, len(served) + 1)[:, None]
    return np.asarray(np.abs(terms.scale * means - terms.target).max(axis=1))


def schedule_bound(policy: Policy, fairness: Fairness, *, plain_first: bool = False) -> float:
    """What a schedule adds to the policy's largest violation after T impressions at most, times T.

    The largest over the groups of scale_g (k / 2) (1 - 1 / (2 k - 2)) range_g: divided by T it bounds what counting
    whole rankings does to abs(scale_g e_g - target_g). See `Schedule`.
    """
    exposure, terms = _by_ranking(policy, fairness)
    schedule = Schedule(policy, plain_first=plain_first)
    return max(schedule.exposure_bound(float(s), 1) for s in (terms.scale * np.ptp(exposure, axis=0))[0])


def _by_ranking(policy: Policy, fairness: Fairness) -> tuple[NDArray[np.float64], Terms]:
    """(m, G): mean exposure of each group under each ranking, and the notion for the list; delta plays no part."""
    names = tuple(dict.fromkeys(group for group in policy.groups if group is not None))
    codes = np.array([-1 if group is None else names.index(group) for group in policy.groups], dtype=np.int32)
    n = len(codes)
    composition = Composition.of(codes, np.array([0, n], dtype=np.int64), names)
    settings = fairness if not isinstance(fairness.delta, dict) else fairness.with_delta(0.0)
    return _group_exposures(policy, settings.position_bias.vector(n), codes, composition), settings.terms(composition)


def _group_exposures(
    policy: Policy, vector: NDArray[np.float64], codes: NDArray[np.int32], composition: Composition
) -> NDArray[np.float64]:
    """(m, G): mean exposure of each group under each ranking of the lottery."""
    whole = np.array([0, len(codes)])
    return np.vstack([composition.group_means(vector, codes[ranking], whole) for ranking in policy.rankings])


def _normalised(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """numpy refuses probabilities whose sum exceeds 1 by a rounding error."""
    return np.asarray(probabilities / probabilities.sum())
