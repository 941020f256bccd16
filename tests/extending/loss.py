"""A loss of one's own: the squared error of each score."""

import torch

from spofr_core.learning import LOSSES, Batch, Loss, RelevanceLoss


class SquaredError(Loss):
    """sum_i (s_i - y_i)^2 over a list: the scores become the labels that are to be expected."""

    needs_relevant = False

    def __call__(self, scores: torch.Tensor, batch: Batch) -> torch.Tensor:
        return ((scores - batch.labels.to(scores.dtype)) ** 2).sum() / len(batch)


LOSSES.register(
    RelevanceLoss("squared", "Squared error", lambda lists, discount, per_list: SquaredError(), learns="order")
)
