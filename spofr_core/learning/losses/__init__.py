"""Losses, and the registry of those that learn relevance: what settings and pages know by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from spofr_core.registry import Registry

if TYPE_CHECKING:
    from spofr_core.fairness import Discount
    from spofr_core.learning.lists import Lists
    from spofr_core.learning.losses.relevance import Loss


@dataclass(frozen=True)
class RelevanceLoss:
    """A loss that learns relevance: `--set loss=NAME`, and `--set warm_up=NAME` of SPOFR.

    Attributes
    ----------
    name : str
        In settings and files.
    label : str
        On pages.
    build : callable
        The loss for these training lists and this worth of positions; the last argument says whether all lists weigh
        the same, whatever their labels.
    learns : {"shares", "odds", "order"}
        What the scores mean: their softmax is each item's share of its list's relevance; the logistic function of a
        score is a probability; or nothing beyond the order, so that estimates have to be calibrated.
    pairs : bool
        Whether it compares items by pairs, which says nothing that SPOFR could go on from.
    """

    name: str
    label: str
    build: Callable[[Lists, Discount, bool], Loss]
    learns: Literal["shares", "odds", "order"] = "shares"
    pairs: bool = False


LOSSES: Registry[RelevanceLoss] = Registry(
    "loss",
    {
        "listnet": "spofr_core.learning.losses.relevance",
        "listnet-within-groups": "spofr_core.learning.losses.within_groups",
        "logistic": "spofr_core.learning.losses.relevance",
        "lambdarank": "spofr_core.learning.losses.lambda_rank",
    },
)
"""Every loss that learns relevance, in the order of every list."""
