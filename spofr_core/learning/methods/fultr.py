"""FULTR: policy gradients on Plackett-Luce rankings with a penalty on disparate exposure."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from spofr_core.data import RankingDataset
from spofr_core.data.calibration import Calibration, Scaling
from spofr_core.fairness import Discount, Fairness
from spofr_core.learning.decisions import Decision, PlainSort
from spofr_core.learning.estimator import Estimator, refuse_fairness
from spofr_core.learning.lists import Batch, Lists, merge_repeats
from spofr_core.learning.losses.plackett_luce import PlackettLucePolicies, reinforce
from spofr_core.learning.losses.relevance import DirectLoss, State
from spofr_core.learning.losses.through_programme import RowsOfBatch
from spofr_core.learning.methods import METHODS, Method
from spofr_core.learning.scorers import Scorer
from spofr_core.learning.trainer import Stage
from spofr_core.learning.training_settings import NetworkSettings
from spofr_core.learning.validation import Penalty
from spofr_core.policy.programme import OnInfeasible

FloatArray = NDArray[np.float64]

SHARPENED = (1.0, 6.0, 40.0)
"""Factors of the scores that validation chooses from: the inverses of the temperatures of the policy."""
VALIDATION_SAMPLES = 32


class FULTRSettings(NetworkSettings):
    """Settings of `FULTR`.

    Parameters
    ----------
    batch_size : int, default 16
        Lists per step, as in the SPOFR paper: on few people the noise of small batches keeps from learning by heart.
    weight_decay : float, default 3
        Decoupled from the gradient (AdamW). What it takes from how decided the policy is, `sharpen` gives back. It
        helps where a few hundred people are drawn again and again; with thousands 0 is better, at a rate of 3e-3.
    penalty : float, default 1
        Weight lambda of the squared mean disparity.
    samples : int, default 32
        Rankings drawn per list and step.
    entropy : float, default 1
        Weight of the entropy bonus at the start.
    entropy_decay : float, default 0.3
        The weight is multiplied by this whenever validation stalls.
    memory : float, default 0.9
        Of the running mean of the disparities: the weight of the past in each step.
    sharpen : bool, default True
        Whether validation also chooses by what the scores are multiplied, 1, 6 or 40: how decided the policy is (the
        training lists do where none are held out). False is the published method: as its training left it.
    evaluation_samples : int, default 256
        Rankings drawn per list for `policies`.
    """

    batch_size: int = Field(default=16, ge=1)
    weight_decay: float = Field(default=3.0, ge=0)
    penalty: float = Field(default=1.0, ge=0)
    samples: int = Field(default=32, ge=2)
    entropy: float = Field(default=1.0, ge=0)
    entropy_decay: float = Field(default=0.3, ge=0, le=1)
    memory: float = Field(default=0.9, ge=0, lt=1)
    sharpen: bool = True
    evaluation_samples: int = Field(default=256, ge=256)


class FULTR(Estimator):
    """Policy-gradient learning to rank with a fairness penalty (Yadav, Du, Joachims, SIGIR 2021).

    The policy is Plackett-Luce with the learned scores. Training maximises, by REINFORCE with a baseline per list,

        mean DCG + entropy bonus - penalty * sum over pairs of groups of (mean over lists of D_gh)^2,

    D_gh = e_g - e_h, or mu_h e_g - mu_g e_h under the merit notion. More than two groups are penalised pair by pair;
    one group's gap can hide behind the others'. The means are over lists, so gaps of opposite sign cancel, and no
    single list is guaranteed anything.

    Parameters
    ----------
    fairness : Fairness, optional
        Notion and exposure model of the penalty; its delta is used for reports only.
    discount : Discount, optional
    **settings
        See `FULTRSettings`.
    """

    method = "fultr"
    settings_type = FULTRSettings
    settings: FULTRSettings

    def __init__(self, fairness: Fairness | None = None, *, discount: Discount | None = None, **settings: Any) -> None:
        super().__init__(fairness or Fairness(delta=0.05), discount=discount, **settings)

    def policies(
        self, data: RankingDataset, fairness: Fairness | None = None, *, on_infeasible: OnInfeasible = "raise"
    ) -> PlackettLucePolicies:
        """The Plackett-Luce policies, known through samples. They cannot be asked for a `fairness`."""
        refuse_fairness(self, fairness)
        return PlackettLucePolicies(
            self.estimates(data), np.array(data.offsets), self.settings.evaluation_samples, self.settings.seed
        )

    def _stages(self, lists: Lists) -> list[Stage]:
        teaching = self._teaching(lists)
        loss = PolicyGradient(teaching, self.fairness, self.discount, self.settings)
        return [self._stage("policy gradient", loss, teaching)]

    def _decision(self, lists: Lists) -> Decision:
        return self._sampled(lists)

    def _sampled(self, lists: Lists) -> SampledDecision:
        return SampledDecision(lists, self.fairness, self.discount, self.settings, self._penalty(lists))

    def _calibration(self, lists: Lists, scorer: Scorer) -> Calibration:
        lists = merge_repeats(lists)
        return Scaling(self._sampled(lists).best(lists.scores(scorer))[0])

    def estimates(self, data: RankingDataset) -> FloatArray:
        """The scores times the factor that did best on the validation lists."""
        calibration, scores = self.learned.calibration, self.scores(data)
        return scores if calibration is None else calibration.estimates(scores)

    def _best_worth(self, lists: Lists, decision: Decision) -> FloatArray:
        sort = PlainSort(lists, self.fairness, self.discount)
        return sort.expectations(lists.labels.numpy().astype(np.float64))[0]

    def _penalty(self, lists: Lists) -> Penalty:
        pairs = Pairs(lists, self.fairness)

        def penalty(_scores: FloatArray, exposure: FloatArray) -> float:
            disparities, _ = pairs.means(np.nan_to_num(exposure), pairs.present, lists.weights)
            return self.settings.penalty * float(np.sum(disparities**2))

        return penalty


class Pairs:
    """Signed disparities between pairs of groups, D_gh = a_gh e_g - b_gh e_h."""

    def __init__(self, lists: Lists, fairness: Fairness) -> None:
        n_groups = len(lists.group_names)
        self.first, self.second = np.triu_indices(n_groups, k=1)
        merits = np.ones(n_groups)
        if fairness.merits is not None:
            merits = np.array([fairness.merits.get(name, 0.0) for name in lists.group_names])
        self.first_scale, self.second_scale = merits[self.second], merits[self.first]
        self.counts = lists.group_counts
        self.present = lists.group_counts > 0

    def means(
        self, exposure: FloatArray, present: NDArray[np.bool_], weights: FloatArray
    ) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Mean of each D_gh over the lists that have both groups, and whether there is any."""
        both = present[:, self.first] & present[:, self.second]
        gaps = self.first_scale * exposure[:, self.first] - self.second_scale * exposure[:, self.second]
        total = weights @ both
        return np.where(both, gaps * weights[:, None], 0.0).sum(axis=0) / np.maximum(total, 1e-300), total > 0

    def prices(self, disparities: FloatArray, present: NDArray[np.bool_]) -> FloatArray:
        """(B, G): derivative of sum_gh disparities_gh D_gh in each e_g, for pairs that the list has."""
        both = present[:, self.first] & present[:, self.second]
        pair = both * disparities
        prices = np.zeros(present.shape)
        for k, (g, h) in enumerate(zip(self.first, self.second, strict=True)):
            prices[:, g] += pair[:, k] * self.first_scale[k]
            prices[:, h] -= pair[:, k] * self.second_scale[k]
        return prices


class PolicyGradient(DirectLoss):
    """Minus the objective of `FULTR`, with its REINFORCE gradient.

    The squared mean over all lists has the gradient 2 lambda Dbar_gh dE[D_gh], with Dbar_gh a running mean over recent
    lists; so each ranking pays 2 lambda sum_gh Dbar_gh D_gh, and opposite gaps cancel across lists.
    """

    def __init__(self, lists: Lists, fairness: Fairness, discount: Discount, settings: FULTRSettings) -> None:
        self._settings = settings
        self._pairs = Pairs(lists, fairness)
        self._rows = RowsOfBatch(lists)
        self._codes = lists.composition.block_codes(lists.codes).astype(np.int64)  # the last: without a group, no cost
        self._v = fairness.position_bias.vector(lists.longest)
        self._w = discount.vector(lists.longest)
        self._n_groups = len(lists.group_names)
        self._entropy = settings.entropy
        self._running = np.zeros(len(self._pairs.first))
        self._seen = np.zeros(len(self._pairs.first))
        self._draw = 0

    def start_epoch(self, seed: int) -> None:
        """Seed the sampled rankings."""
        self._draw = seed << 20

    def stalled(self) -> None:
        """Let the policy become more decided."""
        self._entropy *= self._settings.entropy_decay

    def value_and_gradient(self, scores: FloatArray, batch: Batch) -> tuple[float, FloatArray]:
        """Sum over the lists of the batch, and the estimate of its gradient."""
        s = self._settings
        labels = batch.labels.numpy().astype(np.float64)
        codes = self._rows.take(self._codes, batch)
        counts, present = self._pairs.counts[batch.queries], self._pairs.present[batch.queries]
        per_item = self._pairs.prices(2.0 * s.penalty * self.disparities(), present) / np.maximum(counts, 1)
        per_item = np.pad(per_item, ((0, 0), (0, 1)))
        lengths = np.diff(batch.offsets)
        costs = per_item[np.repeat(np.arange(len(batch)), lengths), codes]
        self._draw += 1
        gradient, reward, exposure = reinforce(
            scores,
            labels,
            costs,
            codes,
            batch.offsets,
            self._v,
            self._w,
            n_groups=self._n_groups + 1,
            samples=s.samples,
            seed=self._draw,
        )
        self._remember(exposure[:, :-1] / np.maximum(counts, 1), present)
        value = -float(reward.sum())
        if self._entropy > 0:
            entropy, slope = top_one_entropy(scores, batch.offsets)
            value -= self._entropy * entropy
            gradient += self._entropy * slope
        return value, -gradient

    def disparities(self) -> FloatArray:
        """The running mean of each D_gh; 0 before the first batch."""
        return np.asarray(self._running / np.maximum(self._seen, 1e-300))

    def _remember(self, exposure: FloatArray, present: NDArray[np.bool_]) -> None:
        """Exponential running mean; `_seen` corrects for its start at 0."""
        means, known = self._pairs.means(exposure, present, np.ones(len(exposure)))
        keep = np.where(known, self._settings.memory, 1.0)
        self._running = keep * self._running + (1.0 - keep) * means
        self._seen = keep * self._seen + (1.0 - keep)

    def state(self) -> State:
        """Running means and the weight of the entropy."""
        return {"running": self._running, "seen": self._seen, "entropy": np.array([self._entropy])}

    def restore(self, state: State) -> None:
        """Continue from `state`."""
        self._running, self._seen = np.array(state["running"]), np.array(state["seen"])
        self._entropy = float(state["entropy"][0])


class SampledDecision:
    """Expectations under Plackett-Luce from a fixed number of samples, for validation.

    A policy can be too undecided for the order that it has learned, by its entropy bonus, by weight decay, or because
    it was stopped early. So it is also tried with its scores times each of `SHARPENED`, and the best is taken.
    """

    def __init__(self, lists: Lists, fairness: Fairness, discount: Discount, settings: FULTRSettings, penalty: Penalty):
        self._lists, self._settings, self._penalty = lists, settings, penalty
        self._w, self._v = discount.vector(lists.longest), fairness.position_bias.vector(lists.longest)
        self._gains = lists.labels.numpy() * np.repeat(lists.weights / lists.weights.sum(), lists.lengths)

    def expectations(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Pi w and Pi v, estimated, of the best policy."""
        return self.best(scores)[1]

    def best(self, scores: FloatArray) -> tuple[float, tuple[FloatArray, FloatArray]]:
        """The factor with the greatest penalised utility, and Pi w and Pi v for it."""
        lists, found = self._lists, []
        for factor in SHARPENED if self._settings.sharpen else (1.0,):
            policies = PlackettLucePolicies(factor * scores, lists.offsets, VALIDATION_SAMPLES, self._settings.seed)
            worth, exposure = policies.expectations(self._w, self._v)
            groups = lists.composition.group_means(exposure, lists.codes, lists.offsets)
            objective = float(self._gains @ worth) - self._penalty(scores, groups)
            found.append((objective, factor, (worth, exposure)))
        _, factor, expectations = max(found, key=lambda each: each[0])
        return factor, expectations


def top_one_entropy(scores: FloatArray, offsets: NDArray[np.int64]) -> tuple[float, FloatArray]:
    """Entropy H = -sum p log p of the softmax of each list, summed over lists, and its gradient -p_i (log p_i + H)."""
    lengths = np.diff(offsets)
    shifted = scores - np.repeat(np.maximum.reduceat(scores, offsets[:-1]), lengths)
    powers = np.exp(shifted)
    totals = np.add.reduceat(powers, offsets[:-1])
    p = powers / np.repeat(totals, lengths)
    log_p = shifted - np.repeat(np.log(totals), lengths)
    entropy = -np.add.reduceat(p * log_p, offsets[:-1])
    return float(entropy.sum()), np.asarray(-p * (log_p + np.repeat(entropy, lengths)))


METHODS.register(
    Method(
        name="fultr",
        title="FULTR",
        about="FULTR learns a lottery with a penalty on unequal exposure on average: it promises nothing for a query.",
        colour="#2f8f5b",
        shape="triangle-up",
        steered_by="penalty",
        scorers="network",
        estimator=FULTR,
    )
)
