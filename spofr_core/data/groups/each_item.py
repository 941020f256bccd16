"""Each item on its own: groups of one item, which are compared within their list and mean nothing beyond it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from spofr_core.data.group_spec import Grouping, GroupSpec
from spofr_core.data.ids import plain
from spofr_core.data.limits import Limits

if TYPE_CHECKING:
    from spofr_core.data.dataset import RankingDataset

EACH_ITEM = "each-item"
"""Among the ways to group a sample: each item on its own."""


def undivided(rows: int, spec: GroupSpec) -> Grouping:
    """The groups of rows that are not in lists yet: `item_groups` tells them apart when they are."""
    return Grouping(np.zeros(rows, dtype=np.int32), (), spec)


def item_groups(
    query_ids: npt.NDArray[Any], offsets: npt.NDArray[np.int64], limits: Limits
) -> tuple[npt.NDArray[np.int32], tuple[str, ...]]:
    """Codes and names with each item on its own: the code of an item is its place in its list, as read.

    So there are as many codes as the longest list has items, and what is measured of lists and groups stays a table.

    Raises
    ------
    DataError
        When a list has more items than `Limits.each_item`, or the table more cells than `Limits.each_item_cells`.
    """
    lengths = np.diff(offsets)
    longest = int(lengths.max(initial=0))
    if longest:
        limits.check_each_item(longest, len(lengths), plain(query_ids[int(np.argmax(lengths))]))
    codes = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
    return codes.astype(np.int32), tuple(f"item {place}" for place in range(1, longest + 1))


def with_each_item(data: RankingDataset) -> RankingDataset:
    """See `RankingDataset.with_each_item`."""
    if data.each_item:
        return data
    codes, names = item_groups(data.query_ids, data.offsets, Limits())
    return data.with_groups(codes, names, group_spec=GroupSpec(each_item=True))
