"""Merit of each group, estimated once from training labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np

from spofr_core.data import RankingDataset
from spofr_core.errors import ConfigError, DataError

MeritVariant = Literal["mean", "list-sum"]


def group_merits(data: RankingDataset, *, variant: MeritVariant = "mean") -> dict[str, float]:
    """Merit mu_g of every group, normalised so that its mean over all items of a group is 1.

    Parameters
    ----------
    data : RankingDataset
        The training part, with relevance labels (true ones, or inverse-propensity ones from clicks); where some are
        below 0, its `gains` count.
    variant : {"mean", "list-sum"}
        "mean": mean label of the group's items over all lists. "list-sum": mean over lists of the SUM of the group's
        labels, which the released SPOFR code uses; it grows with the group's size and can favour the other group.

    Raises
    ------
    DataError
        When there are no labels, or all of them are zero.
    """
    if variant not in ("mean", "list-sum"):
        raise ConfigError(f"'variant' must be one of ['mean', 'list-sum'], got {variant!r}.")
    if data.relevance is None:
        raise DataError("Merits are computed from relevance, and this data has none; choose a relevance column.")
    n_groups = len(data.group_names)
    groups, gains = data.groups[data.grouped], np.asarray(data.gains)[data.grouped]
    sums = np.bincount(groups, weights=gains, minlength=n_groups)
    counts = np.bincount(groups, minlength=n_groups)
    raw = sums / np.maximum(counts, 1) if variant == "mean" else sums / len(data)
    mean = float(counts @ raw / max(counts.sum(), 1))
    if mean <= 0:
        raise DataError("Merits cannot be computed: every relevance label is 0; give lists with relevant items.")
    return {name: float(merit / mean) for name, merit in zip(data.group_names, raw, strict=True)}


def merit_notes(merits: Mapping[str, float] | None, label_shift: float) -> list[str]:
    """What is said beside a verdict that hangs on merits, where labels below 0 were shifted."""
    return (
        [f"Merits that come from the labels are those of labels + {label_shift:.4g}."] if merits and label_shift else []
    )
