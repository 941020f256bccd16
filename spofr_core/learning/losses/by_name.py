"""The losses that learn relevance, by the names that settings call them."""

from __future__ import annotations

from spofr_core.fairness import Discount
from spofr_core.learning.lists import Lists
from spofr_core.learning.losses.lambda_rank import LambdaRank
from spofr_core.learning.losses.relevance import ListNet, Logistic, Loss
from spofr_core.learning.losses.within_groups import ListNetWithinGroups

WITHOUT_SCALE = ("lambdarank", "listnet-within-groups")
"""Losses whose scores say nothing about how much more relevant one item is than any other of its list."""


def relevance_loss(name: str, lists: Lists, discount: Discount, *, per_list: bool = False) -> Loss:
    """The loss of this name.

    Parameters
    ----------
    name : {"listnet", "listnet-within-groups", "logistic", "lambdarank"}
    lists : Lists
        Training lists, those without a relevant item left out if the loss leaves them out.
    discount : Discount
        Worth of positions, for LambdaRank.
    per_list : bool
        Whether all lists weigh the same in ListNet.
    """
    if name == "lambdarank":
        return LambdaRank(discount)
    if name == "logistic":
        return Logistic()
    return ListNetWithinGroups(lists, per_list=per_list) if name in WITHOUT_SCALE else ListNet(per_list=per_list)
