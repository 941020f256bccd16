"""Features that lists share: a table of distinct rows, and the row of each item.

A page or a person may stand in thousands of lists. Copying its features into each of them takes gigabytes; a table with
row numbers takes what the people take.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from spofr_core.errors import DataError

FloatArray = npt.NDArray[np.float64]

_BLOCK = 1 << 16


@dataclass(frozen=True, eq=False)
class SharedFeatures:
    """Item i has the features ``table[rows[i]]``. Made by `share`, which checks them.

    Parameters
    ----------
    table : array of shape (T, F)
        Distinct rows, read-only.
    rows : array of shape (N,)
        Row of each item.
    """

    table: FloatArray
    rows: npt.NDArray[np.int64]

    @property
    def shape(self) -> tuple[int, int]:
        """(N, F), as if they were copied."""
        return len(self.rows), int(self.table.shape[1])

    def __getitem__(self, key: slice | npt.NDArray[Any]) -> SharedFeatures:
        """The features of some items; the table stays."""
        return SharedFeatures(self.table, self.rows[key])

    def copied(self) -> FloatArray:
        """One row per item, shape (N, F), read-only."""
        dense = self.table[self.rows]
        dense.flags.writeable = False
        return dense

    def blocks(self) -> Iterator[FloatArray]:
        """The rows in pieces, for what needs to see them all but not at once."""
        return (self.table[self.rows[k : k + _BLOCK]] for k in range(0, len(self.rows), _BLOCK))


def share(table: npt.ArrayLike, rows: npt.ArrayLike) -> SharedFeatures:
    """Shared features from a finite table and valid row numbers."""
    values = np.asarray(table, dtype=np.float64).view()
    values.flags.writeable = False
    chosen = np.asarray(rows, dtype=np.int64)
    if values.ndim != 2 or chosen.ndim != 1:
        raise DataError(f"A feature table has two dimensions and its rows one, got {values.ndim} and {chosen.ndim}.")
    if chosen.size and (chosen.min() < 0 or chosen.max() >= len(values)):
        raise DataError(f"Feature rows {chosen.min()}..{chosen.max()} are not within a table of {len(values)} rows.")
    if not np.isfinite(values).all():
        row, column = np.argwhere(~np.isfinite(values))[0]
        raise DataError(f"The feature table holds {values[row, column]} at row {row + 1}, column {column + 1}.")
    return SharedFeatures(values, chosen)


class FeaturesField:
    """The field `features` of a dataset: shared features are copied on first sight, and not before."""

    def __get__(self, owner: Any, owner_type: type | None = None) -> FloatArray | None:
        if owner is None:
            return None  # the default of the field
        stored = owner.__dict__.get("_features")
        if not isinstance(stored, SharedFeatures):
            return stored  # type: ignore[no-any-return]
        if "_copied_features" not in owner.__dict__:
            owner.__dict__["_copied_features"] = stored.copied()
        copied: FloatArray = owner.__dict__["_copied_features"]
        return copied

    def __set__(self, owner: Any, value: FloatArray | SharedFeatures | None) -> None:
        owner.__dict__["_features"] = value
