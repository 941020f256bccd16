"""How many items of each group stand in each list."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Composition:
    """Group sizes of a batch of lists.

    Attributes
    ----------
    sizes : (Q, G) int64
        Items of group g in list q.
    group_names : tuple of str
        Name of each group code.
    """

    sizes: NDArray[np.int64]
    group_names: tuple[str, ...]

    @classmethod
    def of(cls, codes: NDArray[np.int32], offsets: NDArray[np.int64], group_names: tuple[str, ...]) -> Composition:
        """Count the groups of the flat array `codes`, list q being `offsets[q]:offsets[q + 1]`."""
        shape = (len(offsets) - 1, len(group_names))
        sizes = np.bincount(_cells(codes, offsets, shape[1]), minlength=shape[0] * shape[1]).reshape(shape)
        return cls(sizes=sizes, group_names=group_names)

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, queries: NDArray[np.int64] | NDArray[np.bool_] | slice) -> Composition:
        return Composition(sizes=self.sizes[queries], group_names=self.group_names)

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """Items in each list."""
        return np.asarray(self.sizes.sum(axis=1), dtype=np.int64)

    @cached_property
    def present(self) -> NDArray[np.bool_]:
        """Whether the group has an item in the list."""
        return self.sizes > 0

    @cached_property
    def applicable(self) -> NDArray[np.bool_]:
        """Lists with two groups or more; in the others there is nobody to be fair between."""
        return np.asarray(self.present.sum(axis=1) >= 2)

    def group_totals(self, values: FloatArray, codes: NDArray[np.int32], offsets: NDArray[np.int64]) -> FloatArray:
        """(Q, G): sum over the items of each group of a flat array; 0 where the group is absent."""
        cells = _cells(codes, offsets, self.sizes.shape[1])
        totals = np.bincount(cells, weights=values, minlength=self.sizes.size)
        return np.asarray(totals, dtype=np.float64).reshape(self.sizes.shape)

    def group_means(self, values: FloatArray, codes: NDArray[np.int32], offsets: NDArray[np.int64]) -> FloatArray:
        """(Q, G): mean over the items of each group of a flat array, NaN where the group is absent.

        With the exposure of every item this is the group's mean exposure e_g.

        Parameters
        ----------
        values : (N,) float
        codes : (N,) int
            Group of each item.
        offsets : (Q + 1,) int
            List q is `offsets[q]:offsets[q + 1]`.
        """
        totals = self.group_totals(values, codes, offsets)
        return np.asarray(np.where(self.present, totals / np.maximum(self.sizes, 1), np.nan))


def _cells(codes: NDArray[np.int32], offsets: NDArray[np.int64], n_groups: int) -> NDArray[np.int64]:
    """(N,): list and group of each item as one number."""
    cells = np.repeat(np.arange(len(offsets) - 1, dtype=np.int64) * n_groups, np.diff(offsets))
    cells += codes
    return cells
