"""DELTR: ListNet with a hinge penalty on the exposure of one protected group."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field

from spofr_core.errors import ConfigError
from spofr_core.fairness import Discount, Fairness
from spofr_core.learning.lists import Batch, Lists
from spofr_core.learning.losses.relevance import ListNet, Loss
from spofr_core.learning.losses.through_programme import RowsOfBatch
from spofr_core.learning.methods import METHODS, Method
from spofr_core.learning.methods.guaranteed import list_softmax
from spofr_core.learning.methods.sorted_by_score import SortedEstimator
from spofr_core.learning.trainer import Stage
from spofr_core.learning.training_settings import NetworkSettings
from spofr_core.learning.validation import Penalty

FloatArray = NDArray[np.float64]


class DELTRSettings(NetworkSettings):
    """Settings of `DELTR`.

    Parameters
    ----------
    penalty : float, default 1
        Weight lambda of the squared exposure gap.
    protected : str, optional
        Name of the protected group. By default the group whose training items have the smallest mean label.
    """

    penalty: float = Field(default=1.0, ge=0)
    protected: str | None = None


class DELTR(SortedEstimator):
    """Disparate exposure in learning to rank (Zehlike, Castillo, WWW 2020).

    Minimises, per list, ListNet's cross-entropy plus

        penalty * max(0, mean p_i of the others - mean p_i of the protected group)^2,    p = softmax of the scores,

    the gap in top-one exposure that disadvantages the protected group; all other groups count as one. Ranks by score:
    one ranking per list, so nothing is guaranteed for any list.

    Parameters
    ----------
    fairness : Fairness, optional
        Used for reports only.
    discount : Discount, optional
    **settings
        See `DELTRSettings`.
    """

    method = "deltr"
    settings_type = DELTRSettings
    settings: DELTRSettings

    def __init__(self, fairness: Fairness | None = None, *, discount: Discount | None = None, **settings: Any) -> None:
        super().__init__(fairness or Fairness(delta=0.05), discount=discount, **settings)

    def protected_code(self, lists: Lists) -> int:
        """Code of the protected group."""
        if self.settings.protected is not None:
            if self.settings.protected not in lists.group_names:
                raise ConfigError(
                    f"protected is {self.settings.protected!r}, but the groups are {list(lists.group_names)}."
                )
            return lists.group_names.index(self.settings.protected)
        grouped = lists.codes >= 0
        codes, labels = lists.codes[grouped], lists.labels.numpy()[grouped]
        counts = np.bincount(codes, minlength=len(lists.group_names))
        means = np.bincount(codes, weights=labels, minlength=len(counts)) / np.maximum(counts, 1)
        return int(np.argmin(np.where(counts > 0, means, np.inf)))

    def _stages(self, lists: Lists) -> list[Stage]:
        teaching = self._teaching(lists)
        self._protected = self.protected_code(lists)
        return [self._stage("deltr", ExposureHinge(teaching, self._protected, self.settings.penalty), teaching)]

    def _penalty(self, lists: Lists) -> Penalty:
        protected = self._protected

        def penalty(scores: FloatArray, _exposure: FloatArray) -> float:
            p = list_softmax(scores, lists.offsets)
            inside, outside = lists.codes == protected, (lists.codes >= 0) & (lists.codes != protected)
            gap = _list_mean(p, outside, lists.offsets) - _list_mean(p, inside, lists.offsets)
            hinge = np.nan_to_num(np.maximum(gap, 0.0)) ** 2
            return self.settings.penalty * float(np.average(hinge, weights=lists.weights))

        return penalty


class ExposureHinge(Loss):
    """ListNet plus the penalty of `DELTR`, differentiated by torch."""

    def __init__(self, lists: Lists, protected: int, penalty: float) -> None:
        self._listnet = ListNet()
        self._rows = RowsOfBatch(lists)
        self._inside = (lists.codes == protected).astype(np.float32)
        self._outside = (lists.codes >= 0).astype(np.float32) - self._inside
        self._penalty = penalty

    def __call__(self, scores: torch.Tensor, batch: Batch) -> torch.Tensor:
        """Mean over the lists of the batch."""
        loss = self._listnet(scores, batch)
        if self._penalty == 0:
            return loss
        p = torch.softmax(batch.score_matrix(scores), dim=1)
        inside, outside = (
            batch.matrix(torch.from_numpy(self._rows.take(mask, batch))).to(scores.dtype)
            for mask in (self._inside, self._outside)
        )
        n_inside, n_outside = inside.sum(dim=1), outside.sum(dim=1)
        both = (n_inside > 0) & (n_outside > 0)
        gap = (p * outside).sum(dim=1) / n_outside.clamp(min=1) - (p * inside).sum(dim=1) / n_inside.clamp(min=1)
        hinge = torch.where(both, gap, torch.zeros_like(gap)).clamp(min=0)
        return loss + self._penalty * (hinge**2).sum() / len(batch)


def _list_mean(values: FloatArray, mask: NDArray[np.bool_], offsets: NDArray[np.int64]) -> FloatArray:
    """Mean of the masked values of each list; NaN where there are none."""
    total = np.add.reduceat(np.where(mask, values, 0.0), offsets[:-1])
    count = np.add.reduceat(mask.astype(np.float64), offsets[:-1])
    return np.asarray(np.divide(total, count, out=np.full(len(total), np.nan), where=count > 0))


METHODS.register(
    Method(
        name="deltr",
        title="DELTR",
        about="DELTR learns scores with a penalty on the exposure gap of one group: it promises nothing for a query.",
        colour="#8a5bb5",
        shape="diamond",
        steered_by="penalty",
        scorers="network",
        estimator=DELTR,
    )
)
