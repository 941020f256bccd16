"""How many items of each group stand in each list."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray


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
        n_lists, n_groups = len(offsets) - 1, len(group_names)
        cell = np.repeat(np.arange(n_lists, dtype=np.int64) * n_groups, np.diff(offsets))
        cell += codes
        sizes = np.bincount(cell, minlength=n_lists * n_groups).reshape(n_lists, n_groups)
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
