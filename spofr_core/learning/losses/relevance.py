"""What a loss is, and the two that learn relevance alone: ListNet and logistic."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from spofr_core.learning.lists import Batch
from spofr_core.learning.losses import LOSSES, RelevanceLoss

FloatArray = NDArray[np.float64]
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

    def value_and_gradient(self, scores: FloatArray, batch: Batch) -> tuple[float, FloatArray]:
        """Sum over the lists of the batch, and its gradient in the flat scores: for scorers that are no network."""
        leaf = torch.tensor(scores, dtype=torch.float64, requires_grad=True)
        total = self(leaf, batch) * len(batch)
        (gradient,) = torch.autograd.grad(total, leaf)
        return total.item(), np.asarray(gradient.numpy())

    def curvature(self, scores: FloatArray, batch: Batch) -> FloatArray:
        """Second derivative of the sum in each score, for scorers that take Newton steps; 1 where it is not known."""
        return np.ones(len(scores))

    def usual_score(self, batch: Batch) -> float:
        """The one score that is best for all items, where such a scorer begins."""
        return 0.0

    def backward(self, scores: torch.Tensor, batch: Batch) -> float:
        """Add the gradient of the loss to the network behind `scores`; returns the loss."""
        loss = self(scores, batch)
        loss.backward()  # type: ignore[no-untyped-call]
        return loss.item()

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


class DirectLoss(Loss):
    """A loss whose gradient in the scores comes with its value, from compiled code instead of recorded operations.

    Networks and trees both take `value_and_gradient`; a subclass changes that, not the call.
    """

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "__call__" in vars(cls):
            raise TypeError(f"{cls.__name__} must override value_and_gradient: training never calls a DirectLoss.")

    @abstractmethod
    def value_and_gradient(self, scores: FloatArray, batch: Batch) -> tuple[float, FloatArray]:
        """Sum over the lists of the batch, and its gradient in the flat scores."""

    def __call__(self, scores: torch.Tensor, batch: Batch) -> torch.Tensor:
        """Mean over the lists of the batch, as a node that autograd can go through."""
        value, gradient = self.value_and_gradient(scores.detach().numpy().astype(np.float64), batch)
        return _GivenGradient.apply(  # type: ignore[no-untyped-call, no-any-return]
            scores, value / len(batch), gradient / len(batch)
        )

    def backward(self, scores: torch.Tensor, batch: Batch) -> float:
        """The same without the node: the gradient is handed straight to the network."""
        value, gradient = self.value_and_gradient(scores.detach().numpy().astype(np.float64), batch)
        gradient /= len(batch)
        scores.backward(torch.from_numpy(gradient).to(scores.dtype))  # type: ignore[no-untyped-call]
        return value / len(batch)


class OnePassLoss(DirectLoss):
    """A direct loss of which one pass over the lists gives value, gradient and curvature."""

    @abstractmethod
    def derivatives(self, scores: FloatArray, batch: Batch) -> tuple[float, FloatArray, FloatArray]:
        """Sum over the lists of the batch, its gradient, and its second derivative in each score."""

    def value_and_gradient(self, scores: FloatArray, batch: Batch) -> tuple[float, FloatArray]:
        """Sum over the lists of the batch, and its gradient."""
        value, gradient, _ = self.derivatives(scores, batch)
        return value, gradient

    def curvature(self, scores: FloatArray, batch: Batch) -> FloatArray:
        """Second derivative of the sum in each score."""
        return self.derivatives(scores, batch)[2]


class MixedLoss(DirectLoss):
    """One loss plus a weight times another. The first says where a scorer begins and how curved the sum is."""

    def __init__(self, first: Loss, second: Loss, weight: float) -> None:
        self._first, self._second, self._weight = first, second, weight
        self.needs_relevant = first.needs_relevant or second.needs_relevant
        self.curvature, self.usual_score = first.curvature, first.usual_score  # type: ignore[method-assign]

    def value_and_gradient(self, scores: FloatArray, batch: Batch) -> tuple[float, FloatArray]:
        """Sum over the lists of the batch, and its gradient."""
        parts = (self._first.value_and_gradient(scores, batch), self._second.value_and_gradient(scores, batch))
        return parts[0][0] + self._weight * parts[1][0], parts[0][1] + self._weight * parts[1][1]

    def start_epoch(self, seed: int) -> None:
        """Seed both."""
        self._first.start_epoch(seed)
        self._second.start_epoch(seed)

    def state(self) -> State:
        """That of the second: losses that learn relevance have none."""
        return self._second.state()

    def restore(self, state: State) -> None:
        """Continue from `state`."""
        self._second.restore(state)


class _GivenGradient(torch.autograd.Function):
    """A number whose gradient in the scores is known: computed once, in the forward pass."""

    @staticmethod
    def forward(ctx: Any, scores: torch.Tensor, value: float, gradient: FloatArray) -> torch.Tensor:
        """Return `value`; keep `gradient`."""
        ctx.gradient = torch.from_numpy(gradient).to(scores.dtype)
        return scores.new_tensor(value)

    @staticmethod
    def backward(ctx: Any, *upstream: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        """Hand `gradient` on."""
        return upstream[0] * ctx.gradient, None, None


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

    def curvature(self, scores: FloatArray, batch: Batch) -> FloatArray:
        """p_i (1 - p_i) times the sum of the list's labels, p the softmax."""
        p = torch.softmax(batch.score_matrix(torch.from_numpy(scores)), dim=1)
        total = batch.matrix(batch.labels).to(p.dtype).sum(dim=1, keepdim=True)
        each = p * (1.0 - p) * (torch.ones_like(total) if self._per_list else total)
        return np.asarray(batch.flat(each).numpy())


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

    def curvature(self, scores: FloatArray, batch: Batch) -> FloatArray:
        """p_i (1 - p_i) times the weight of the item, p the logistic function."""
        labels = batch.labels.numpy().astype(np.float64)
        return np.asarray(np.where(labels > 0, labels, 1.0) * 0.25 / np.cosh(np.clip(0.5 * scores, -300, 300)) ** 2)

    def usual_score(self, batch: Batch) -> float:
        """Logarithm of the weight of the relevant items over the number of the others."""
        labels = batch.labels.numpy().astype(np.float64)
        relevant, others = float(labels.sum()), float(np.sum(labels <= 0))
        return math.log(relevant / others) if relevant and others else 0.0


LOSSES.register(
    RelevanceLoss("listnet", "Over the list (ListNet)", lambda lists, discount, per_list: ListNet(per_list=per_list))
)
LOSSES.register(
    RelevanceLoss("logistic", "Item by item (logistic)", lambda lists, discount, per_list: Logistic(), learns="odds")
)
