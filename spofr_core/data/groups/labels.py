"""Codes of items that are of no named group, and of labels in an array of the caller's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from spofr_core.errors import ConfigError, DataError

UNKNOWN = -1
"""Code of an item whose group is not known: it keeps its place, its exposure and its utility, and has no bound."""
NO_GROUP = -2
"""Code of an item that belongs to no group, whatever is known of it: excluded, or of a group that is left out."""
MissingLabels = Literal["error", "keep"]
GroupLabels = npt.ArrayLike | Sequence[Any]
"""A label for each item; None, NaN or NA where there is none."""


def label_array(labels: GroupLabels) -> npt.NDArray[Any]:
    """The labels as an array; NaN stays NaN beside texts, where NumPy would write "nan"."""
    array = np.asarray(labels)
    if array.dtype.kind == "U" and not hasattr(labels, "dtype") and (array == "nan").any():
        return np.asarray(labels, dtype=object)
    return array


def codes_of_labels(
    labels: npt.NDArray[Any], missing: MissingLabels = "error"
) -> tuple[npt.NDArray[np.int32], tuple[str, ...]]:
    """Codes of any labels and the names of the codes, in the sorted order of the labels; `UNKNOWN` if missing.

    Raises
    ------
    DataError
        For a label of None, NaN or NA, unless `missing` is "keep".
    """
    if missing not in ("error", "keep"):
        raise ConfigError(f"'missing' must be one of ['error', 'keep'], got {missing!r}.")
    codes = np.full(len(labels), UNKNOWN, dtype=np.int32)
    known = np.ones(len(labels), dtype=np.bool_)
    if labels.dtype.kind not in "biuSU":
        import pandas as pd

        known = ~pd.isna(labels)
        if missing == "error" and not known.all():
            raise DataError(
                f"The group of item {int(np.argmin(known))} is missing: use missing='keep', and such items keep their "
                "places without a bound, or give every item a group.",
                column="groups",
            )
        labels = labels[known]
        if labels.dtype.kind != "f":
            labels = np.array([str(label) for label in labels.tolist()])
    unique, inverse = np.unique(labels, return_inverse=True)
    codes[known] = inverse
    return codes, tuple(str(name) for name in unique.tolist())
