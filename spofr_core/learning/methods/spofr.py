"""SPOFR: a scorer trained through the fair-ranking programme."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator

from spofr_core.fairness import Discount, Fairness
from spofr_core.learning.lists import Lists
from spofr_core.learning.losses import LOSSES
from spofr_core.learning.losses.links import Link, ListShares, Probabilities, RawScores
from spofr_core.learning.losses.relevance import MixedLoss
from spofr_core.learning.losses.through_programme import FenchelYoung, ProgrammeLoss, SPOPlus
from spofr_core.learning.methods import METHODS, WARM_UP, Method
from spofr_core.learning.methods.guaranteed import ProgrammeEstimator
from spofr_core.learning.trainer import Stage
from spofr_core.learning.training_settings import TrainingSettings

if TYPE_CHECKING:
    from spofr_core.learning.methods.spofr_published import PublishedSPOFR

FloatArray = NDArray[np.float64]


MIX = 0.3
"""Weight of SPO+ beside ListNet: from 0.1 to 3 the gains are alike, and less costs less where data is scarce."""


class SPOFRSettings(TrainingSettings):
    """Settings of `SPOFR`. What is left open (None) depends on loss and warm-up.

    Parameters
    ----------
    loss : {"spo+", "fenchel-young"}
        The loss through the programme. SPO+ without a first stage is that of the paper, faithfully: ties broken by a
        seed, and the scores themselves go into the programme. After a first stage it is SPO+ with its remedies.
    warm_up : str, default "listnet"
        The loss of relevance in the first stage, one of `LOSSES`, beside `mix` times the one through the programme,
        until validation stops improving; the second stage goes on from the best weights. "none": there is no first
        stage. None, in configurations of before: "listnet" for Fenchel-Young, "none" for SPO+.
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
    mix : float, optional
        Weight of the loss through the programme beside the warm-up's own, from the first step on, so that no weights
        are kept that have not been through it. 0 is a plain warm-up. Default: 0.3, or 0 with a margin.
    margin : float, optional
        Standard errors of utility on the validation lists, counted by items, that the second stage has to gain over the
        first; 0 keeps the best step of both. A margin above 0 that is named is the cautious choice: without a `mix` of
        its own it comes after a plain warm-up, and where that is kept the model is that of `PredictThenOptimize`.
        Default: 1, or 0 for Fenchel-Young after a plain warm-up.
    """

    loss: Literal["spo+", "fenchel-young"] = "spo+"
    warm_up: str | None = "listnet"
    estimates: Literal["probabilities", "scores"] | None = None
    target: Literal["labels", "policy"] = "labels"
    sigma: float = Field(default=0.3, gt=0)
    draws: int = Field(default=1, ge=1)
    ties: Literal["random", "scores"] | None = None
    weighting: Literal["labels", "lists"] = "labels"
    fine_tuning_rate: float | None = Field(default=None, gt=0)
    mix: float | None = Field(default=None, ge=0)
    margin: float | None = Field(default=None, ge=0)

    @field_validator("warm_up")
    @classmethod
    def _known_warm_up(cls, warm_up: str | None) -> str | None:
        if warm_up in (None, "none") or (warm_up in LOSSES and not LOSSES[warm_up].pairs):
            return warm_up
        known = [loss.name for loss in LOSSES.values() if not loss.pairs]
        raise ValueError(f"a warm-up must be one of {[*known, 'none']}, got {warm_up!r}.")

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
        """Standard errors that the second stage has to gain over the first."""
        if self.margin is not None:
            return self.margin
        return 1.0 if self.loss == "spo+" or self.first_mix else 0.0

    @property
    def first_mix(self) -> float:
        """Weight of the loss through the programme in the first stage."""
        return self.mix if self.mix is not None else 0.0 if self.margin else MIX

    @property
    def link(self) -> Link:
        """From scores to what the programme is given."""
        if (self.estimates or ("scores" if self._as_published else "probabilities")) == "scores":
            return RawScores()
        first = self.first_loss
        return Probabilities() if first != "none" and LOSSES[first].learns == "odds" else ListShares()


class SPOFR(ProgrammeEstimator):
    """Smart Predict and Optimize for Fair Ranking (Kotary, Fioretto, Van Hentenryck, Zhu, WWW 2022), and remedies.

    The scorer is trained through the programme that ranks: each step solves it, exactly, for the lists of a batch, and
    moves the scores by the difference between the policies found and those wanted.

    What is guaranteed: delta, in every list, whatever was learned, at training's delta or any other given to
    `policies`. The policies are optimal for the predicted relevance; how good that is depends on the training.

    Which loss: SPO+ alone, as published (`SPOFR.published`), is misled by rare binary labels, whose noise is not
    symmetric, and falls behind `PredictThenOptimize`. The default minimises ListNet plus SPO+ from the first step, then
    SPO+ alone, which is kept where it gains one standard error on the validation lists: either way the weights have
    been through the programme. docs/quality.md says where that gains something.

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

    @staticmethod
    def published(fairness: Fairness, *, discount: Discount | None = None, **settings: Any) -> PublishedSPOFR:
        """The paper's own recipe, as `METHODS["spofr-published"]`."""
        from spofr_core.learning.methods.spofr_published import PublishedSPOFR

        return PublishedSPOFR(fairness, discount=discount, **settings)

    def _stages(self, lists: Lists) -> list[Stage]:
        settings, teaching = self.settings, self._teaching(lists)
        loss, first = self._loss(teaching), settings.first_loss
        if first == "none":
            return [replace(self._stage(settings.loss, loss, teaching), anew=True)]
        relevance = LOSSES[first].build(teaching, self.discount, settings.weighting == "lists")
        needed = settings.needed_gain
        through = self._stage(settings.loss, loss, teaching, settings.fine_tuning_rate, needed)
        if not settings.first_mix:
            plain = self._stage(f"{first} {WARM_UP}", relevance, lists)
            return [plain, replace(through, anew=not needed)]
        mixed = MixedLoss(relevance, self._loss(teaching), settings.first_mix)
        return [replace(self._stage(f"{first} + {settings.loss}", mixed, teaching), anew=True), through]

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
