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
    ungrouped : (Q,) int64, optional
        Items of the list that are of no named group; none without it.
    """

    sizes: NDArray[np.int64]
    group_names: tuple[str, ...]
    ungrouped: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, codes: NDArray[np.int32], offsets: NDArray[np.int64], group_names: tuple[str, ...]) -> Composition:
        """Count the groups of the flat array `codes`, list q being `offsets[q]:offsets[q + 1]`.

        A code that is no index into `group_names` is an item without a group.
        """
        n_lists, n_groups = len(offsets) - 1, len(group_names)
        width = n_groups + bool(codes.size and (codes.min() < 0 or codes.max() >= n_groups))
        cells = _cells(codes, offsets, n_groups, width)
        sizes = np.bincount(cells, minlength=n_lists * width).reshape(n_lists, width)
        ungrouped = sizes[:, n_groups] if width > n_groups else None
        return cls(sizes=np.ascontiguousarray(sizes[:, :n_groups]), group_names=group_names, ungrouped=ungrouped)

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, queries: NDArray[np.int64] | NDArray[np.bool_] | slice) -> Composition:
        ungrouped = None if self.ungrouped is None else self.ungrouped[queries]
        return Composition(sizes=self.sizes[queries], group_names=self.group_names, ungrouped=ungrouped)

    @cached_property
    def grouped(self) -> NDArray[np.int64]:
        """Items of named groups in each list."""
        return np.asarray(self.sizes.sum(axis=1), dtype=np.int64)

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """Items in each list, with a group or without."""
        return self.grouped if self.ungrouped is None else self.grouped + self.ungrouped

    @cached_property
    def blocks(self) -> NDArray[np.int64]:
        """`sizes` with one more column, of the items without a group, where there may be some."""
        return self.sizes if self.ungrouped is None else np.column_stack([self.sizes, self.ungrouped])

    def block_codes(self, codes: NDArray[np.int32]) -> NDArray[np.int32]:
        """Columns of `blocks` that items belong to, by their codes."""
        n_groups = len(self.group_names)
        return codes if self.ungrouped is None else np.where((codes < 0) | (codes >= n_groups), n_groups, codes)

    @cached_property
    def present(self) -> NDArray[np.bool_]:
        """(Q, G): whether the group has an item in the list."""
        return self.sizes > 0

    @cached_property
    def applicable(self) -> NDArray[np.bool_]:
        """Lists with two named groups or more; in the others there is nobody to be fair between."""
        return np.asarray(self.present.sum(axis=1) >= 2)

    def group_totals(self, values: FloatArray, codes: NDArray[np.int32], offsets: NDArray[np.int64]) -> FloatArray:
        """(Q, G): sum over the items of each group of a flat array; 0 where the group is absent."""
        (n_lists, n_groups), width = self.sizes.shape, self.blocks.shape[1]
        cells = _cells(codes, offsets, n_groups, width)
        totals = np.bincount(cells, weights=values, minlength=n_lists * width).reshape(n_lists, width)
        return np.asarray(totals[:, :n_groups], dtype=np.float64)

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


def _cells(codes: NDArray[np.int32], offsets: NDArray[np.int64], n_groups: int, width: int) -> NDArray[np.int64]:
    """(N,): list and group of each item as one number; the column behind the groups is that of items without one."""
    cells = np.repeat(np.arange(len(offsets) - 1, dtype=np.int64) * width, np.diff(offsets))
    cells += codes if width == n_groups else np.where((codes < 0) | (codes >= n_groups), n_groups, codes)
    return cells
