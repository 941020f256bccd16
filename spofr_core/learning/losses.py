"""What a loss is, and the two that learn relevance alone: ListNet and logistic."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import torch
from numpy.typing import NDArray

from spofr_core.learning.lists import Batch

State = dict[str, NDArray[Any]]


class Loss(ABC):
    """The mean loss of a batch of lists as a function of their flat scores.

    A loss may keep state (a running mean, warm starts). `state` and `restore` carry it over an interruption; sampling
    starts anew from `start_epoch`, so a resumed run draws the same numbers.
    """

    needs_relevant = True
    """Whether a list without any relevant item teaches this loss nothing, and is left out."""

    @abstractmethod
    def __call__(self, scores: torch.Tensor, batch: Batch) -> torch.Tensor:
        """Mean over the lists of the batch."""

    def start_epoch(self, seed: int) -> None:
        """Seed whatever is sampled in the coming epoch."""
        return

    def stalled(self) -> None:
        """Validation has stopped improving for now."""
        return

    def state(self) -> State:
        """What the coming steps depend on, besides the weights."""
        return {}

    def restore(self, state: State) -> None:
        """Continue from `state`."""
        return


class ListNet(Loss):
    """Cross-entropy between labels and the softmax of the scores of each list (top-one ListNet).

    loss = - sum_i y_i log softmax(yhat)_i. With inverse-propensity labels this is an unbiased estimate of the same loss
    under the true labels. At its optimum the softmax is proportional to the expected labels of the list.

    Parameters
    ----------
    per_list : bool
        Divide by the sum of the list's labels, so that all lists weigh the same, whatever their labels. With
        inverse-propensity labels that gives up unbiasedness for a smaller variance.
    """

    def __init__(self, *, per_list: bool = False) -> None:
        self._per_list = per_list

    def __call__(self, scores: torch.Tensor, batch: Batch) -> torch.Tensor:
        """Mean over the lists of the batch."""
        matrix, labels = batch.score_matrix(scores), batch.matrix(batch.labels).to(scores.dtype)
        if self._per_list:
            labels = labels / labels.sum(dim=1, keepdim=True)
        return torch.nn.functional.cross_entropy(matrix, labels, reduction="sum") / len(batch)


class Logistic(Loss):
    """Logistic loss of each item on its own: relevant items weigh as much as their label, others 1.

    loss = sum_i y_i log(1 + exp(-yhat_i)) + 1[y_i = 0] log(1 + exp(yhat_i)).
    """

    needs_relevant = False

    def __call__(self, scores: torch.Tensor, batch: Batch) -> torch.Tensor:
        """Mean over the lists of the batch."""
        labels = batch.labels.to(scores.dtype)
        relevant = labels > 0
        signed = torch.where(relevant, -scores, scores)
        weight = torch.where(relevant, labels, torch.ones_like(labels))
        return (weight * torch.nn.functional.softplus(signed)).sum() / len(batch)
