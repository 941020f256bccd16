"""SPOFR: a scorer trained through the fair-ranking programme."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from spofr_core.learning.config import TrainingSettings
from spofr_core.learning.lists import Lists
from spofr_core.learning.losses import ListNet
from spofr_core.learning.programme import ProgrammeEstimator
from spofr_core.learning.spo import FenchelYoung, SPOPlus
from spofr_core.learning.training import Stage


class SPOFRSettings(TrainingSettings):
    """Settings of `SPOFR`."""

    loss: Literal["spo+", "fenchel-young"] = "fenchel-young"
    warm_up: Literal["listnet", "none"] = "listnet"
    ties: Literal["random", "scores"] = "random"
    target: Literal["policy", "labels"] = "policy"
    sigma: float = Field(default=1.0, gt=0)
    draws: int = Field(default=4, ge=1)
    fine_tuning_rate: float | None = Field(default=None, gt=0)


class SPOFR(ProgrammeEstimator):
    """Smart Predict and Optimize for Fair Ranking."""

    method = "spofr"
    settings_type = SPOFRSettings
    settings: SPOFRSettings

    def _stages(self, lists: Lists) -> list[Stage]:
        settings = self.settings
        teaching = self._teaching(lists)
        stages = []
        if settings.warm_up == "listnet":
            stages.append(self._stage("listnet warm-up", ListNet(per_list=True), teaching))
        programme = self._programme(teaching)
        loss: SPOPlus | FenchelYoung
        if settings.loss == "spo+":
            loss = SPOPlus(teaching, programme, ties=settings.ties, seed=settings.seed)
        else:
            loss = FenchelYoung(
                teaching,
                programme,
                sigma=settings.sigma,
                draws=settings.draws,
                target=settings.target,
                seed=settings.seed,
            )
        rate = settings.fine_tuning_rate if settings.warm_up != "none" else None
        stages.append(self._stage(settings.loss, loss, teaching, rate))
        return stages
