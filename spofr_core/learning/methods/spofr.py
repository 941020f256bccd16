"""SPOFR: a scorer trained through the fair-ranking programme."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from spofr_core.learning.lists import Lists
from spofr_core.learning.losses.by_name import relevance_loss
from spofr_core.learning.losses.links import Link, ListShares, Probabilities, RawScores
from spofr_core.learning.losses.through_programme import FenchelYoung, ProgrammeLoss, SPOPlus
from spofr_core.learning.methods import METHODS, Method
from spofr_core.learning.methods.guaranteed import ProgrammeEstimator
from spofr_core.learning.trainer import Stage
from spofr_core.learning.training_settings import TrainingSettings

FloatArray = NDArray[np.float64]


class SPOFRSettings(TrainingSettings):
    """Settings of `SPOFR`. What is left open (None) depends on loss and warm-up.

    Parameters
    ----------
    loss : {"spo+", "fenchel-young"}
        The loss through the programme. SPO+ without a warm-up is the method of the paper, faithfully: ties broken by a
        seed, and the scores themselves go into the programme. After a warm-up it is SPO+ with its remedies.
    warm_up : {"listnet", "listnet-within-groups", "logistic", "none"}
        Train with this loss first, until validation stops improving, and go on from the best weights. None, in
        configurations of before: "listnet" for Fenchel-Young, "none" for SPO+.
    estimates : {"probabilities", "scores"}, optional
        What the programme is given, in training and afterwards: the probability of relevance after a logistic warm-up,
        else n times the softmax of the list's scores; or the scores. Default: "scores" for SPO+ without a warm-up, else
        "probabilities".
    target : {"labels", "policy"}
        Of the Fenchel-Young loss: the labels, scaled to the total worth of the positions, or the optimal fair policy
        for the labels.
    sigma : float, default 0.3
        Size of the perturbation of the Fenchel-Young loss.
    draws : int, default 1
        Perturbations per list and step.
    ties : {"random", "scores"}, optional
        Of SPO+: labels are mostly 0, so their optimal policy is not unique; break its ties by a seed, or by the current
        scores. Default: "scores" after a warm-up, else "random".
    weighting : {"labels", "lists"}
        Whether lists weigh as much as the sum of their labels in ListNet and the Fenchel-Young loss (the unbiased
        choice with inverse-propensity labels, and the better one on the validation lists of all samples), or all the
        same.
    fine_tuning_rate : float, optional
        Learning rate after a warm-up; that of the warm-up by default.
    margin : float, default 1
        Training through the programme replaces the warm-up only if it gains this many standard errors of utility on the
        validation lists, counted by items. 1 keeps most gains by chance out. None, in configurations of before: 1 for
        SPO+, 0 for Fenchel-Young.
    """

    loss: Literal["spo+", "fenchel-young"] = "spo+"
    warm_up: Literal["listnet", "listnet-within-groups", "logistic", "none"] | None = "listnet"
    estimates: Literal["probabilities", "scores"] | None = None
    target: Literal["labels", "policy"] = "labels"
    sigma: float = Field(default=0.3, gt=0)
    draws: int = Field(default=1, ge=1)
    ties: Literal["random", "scores"] | None = None
    weighting: Literal["labels", "lists"] = "labels"
    fine_tuning_rate: float | None = Field(default=None, gt=0)
    margin: float | None = Field(default=1.0, ge=0)

    @property
    def first_loss(self) -> str:
        """The loss of the warm-up, or "none"."""
        return self.warm_up or ("none" if self.loss == "spo+" else "listnet")

    @property
    def _as_published(self) -> bool:
        return self.loss == "spo+" and self.first_loss == "none"

    @property
    def tie_breaker(self) -> str:
        """What breaks the ties of the labels in SPO+: "random" or "scores"."""
        return self.ties or ("random" if self._as_published else "scores")

    @property
    def needed_gain(self) -> float:
        """Standard errors that training through the programme has to gain over the warm-up."""
        if self.margin is not None:
            return self.margin
        return 1.0 if self.loss == "spo+" else 0.0

    @property
    def link(self) -> Link:
        """From scores to what the programme is given."""
        if (self.estimates or ("scores" if self._as_published else "probabilities")) == "scores":
            return RawScores()
        return Probabilities() if self.first_loss == "logistic" else ListShares()


class SPOFR(ProgrammeEstimator):
    """Smart Predict and Optimize for Fair Ranking (Kotary, Fioretto, Van Hentenryck, Zhu, WWW 2022), and remedies.

    The scorer is trained through the programme that ranks: each step solves it, exactly, for the lists of a batch, and
    moves the scores by the difference between the policies found and those wanted.

    What is guaranteed: delta, in every list, whatever was learned, at training's delta or any other given to
    `policies`. The policies are optimal for the predicted relevance; how good that is depends on the training.

    Which loss: SPO+ from the first step (`warm_up="none"`), as published, is misled by rare binary labels, whose noise
    is not symmetric, and falls behind `PredictThenOptimize`. The default starts like the latter, from ListNet, goes on
    with SPO+, and keeps what that finds if it gains more than chance on the validation lists; where it does not, the
    model is the one of `PredictThenOptimize`. With a network, thousands of lists, few features and delta near 0 it is
    half a percent ahead (docs/quality.md). The perturbed Fenchel-Young loss (`loss="fenchel-young"`) is ahead of SPO+
    nowhere.

    Parameters
    ----------
    fairness : Fairness
        Notion, delta (also one per group) and exposure model; any number of groups.
    discount : Discount, optional
    **settings
        See `SPOFRSettings`.

    Examples
    --------
    >>> from spofr_core import Fairness, load_sample
    >>> splits = load_sample("german-credit", lists=40)
    >>> import numpy as np
    >>> from spofr_core import Fairness, RankingDataset
    >>> rng = np.random.default_rng(0)
    >>> features = rng.normal(size=(120, 2))
    >>> lists = RankingDataset(
    ...     query_ids=np.arange(20),
    ...     offsets=np.arange(0, 121, 6),
    ...     item_ids=np.arange(120),
    ...     groups=np.arange(120) % 2,
    ...     group_names=("A", "B"),
    ...     relevance=(features[:, 0] > 0.5).astype(float),
    ...     features=features,
    ...     feature_names=("x", "y"),
    ... )
    >>> model = SPOFR(Fairness(delta=0.05), seed=0, max_steps=40).fit(lists)
    >>> bool(max(abs(violation) for violation in model.policies(lists)[0].violations.values()) <= 0.05 + 1e-9)
    True
    >>> strict = model.policies(lists, Fairness(delta=0.01))  # the same scorer, a stricter delta
    >>> bool(max(abs(violation) for violation in strict[0].violations.values()) <= 0.01 + 1e-9)
    True
    """

    method = "spofr"
    settings_type = SPOFRSettings
    settings: SPOFRSettings

    def _stages(self, lists: Lists) -> list[Stage]:
        settings, teaching = self.settings, self._teaching(lists)
        loss, first = self._loss(teaching), settings.first_loss
        if first == "none":
            return [self._stage(settings.loss, loss, teaching)]
        per_list = settings.weighting == "lists"
        warm_up = self._stage(
            f"{first} warm-up", relevance_loss(first, teaching, self.discount, per_list=per_list), lists
        )
        return [warm_up, self._stage(settings.loss, loss, teaching, settings.fine_tuning_rate, settings.needed_gain)]

    def _loss(self, lists: Lists) -> ProgrammeLoss:
        settings, programme = self.settings, self._programme(lists)
        if settings.loss == "spo+":
            return SPOPlus(lists, programme, ties=settings.tie_breaker, link=settings.link, seed=settings.seed)
        return FenchelYoung(
            lists,
            programme,
            sigma=settings.sigma,
            draws=settings.draws,
            target=settings.target,
            weighting=settings.weighting,
            link=settings.link,
            seed=settings.seed,
        )

    def _estimates(self, scores: FloatArray, offsets: NDArray[np.int64]) -> FloatArray:
        return self.settings.link.estimates(scores, offsets)


METHODS.register(
    Method(
        name="spofr",
        title="SPOFR",
        about="SPOFR learns through the fair re-ranking itself and holds delta in every query.",
        colour="#2678b8",
        shape="circle",
        steered_by="delta",
        guaranteed=True,
        estimator=SPOFR,
    )
)
