"""Flat rows and queries: which rows belong together, and how to gather them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

if TYPE_CHECKING:
    from spofr_core.data.dataset import RankingDataset

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Origin:
    """Where the rows of a dataset were read.

    Attributes
    ----------
    query : str
        Column of the ids of queries.
    item : str, optional
        Column of the ids of items, if there was one.
    index : pandas.Index, optional
        Of the frame; None where it counts the rows 0, 1, 2, ... .
    """

    query: str
    item: str | None = None
    index: pd.Index | None = None


def own_index(frame: pd.DataFrame) -> pd.Index | None:
    """The index of a frame; None where it only counts the rows."""
    return None if counts_rows(frame.index) else frame.index


def counts_rows(index: pd.Index) -> bool:
    """Whether an index is 0, 1, 2, ... by itself."""
    return isinstance(index, pd.RangeIndex) and index.start == 0 and index.step == 1


def row_labels(data: RankingDataset) -> pd.Index | None:
    """What the index of the frame that was read calls the row of each item; None where nothing was read."""
    if data.rows is None:
        return None
    index = None if data.origin is None else data.origin.index
    return pd.Index(data.rows) if index is None else index.take(data.rows)


def positions_of(key: Sequence[int] | npt.NDArray[Any], n_queries: int) -> IntArray:
    """Positions of queries from a mask or from positions, which count from the end where they are below 0."""
    wanted = np.asarray(key)
    if wanted.dtype == bool:
        if wanted.shape != (n_queries,):
            raise IndexError(f"a mask of shape {wanted.shape} for {n_queries} queries")
        return np.flatnonzero(wanted).astype(np.int64)
    if wanted.size == 0:
        return np.zeros(0, dtype=np.int64)
    if wanted.ndim != 1 or not np.issubdtype(wanted.dtype, np.integer):
        raise TypeError("queries are chosen by an int, a slice, a mask or a list of positions")
    if wanted.min() < -n_queries or wanted.max() >= n_queries:
        raise IndexError(f"positions {wanted.min()}..{wanted.max()} of {n_queries} queries")
    return np.where(wanted < 0, wanted + n_queries, wanted).astype(np.int64)


def all_finite(values: npt.NDArray[Any]) -> bool:
    """Whether every number is finite. A sum is finite only if all terms are, and takes one pass without a temporary;
    huge terms may overflow it, hence the second look."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = values.sum()
    return bool(np.isfinite(total) or np.isfinite(values).all())


def offsets_of(codes: npt.NDArray[np.integer[Any]], n_queries: int) -> tuple[IntArray, IntArray | None]:
    """Offsets of the queries, and the stable row order that makes their rows contiguous.

    Parameters
    ----------
    codes : array of shape (N,)
        Query of each row, coded 0..n_queries-1 in order of first appearance.
    n_queries : int
        Number of queries.

    Returns
    -------
    offsets : array of shape (n_queries + 1,)
        Query q is rows ``offsets[q]:offsets[q + 1]`` once the order is applied.
    order : array of shape (N,) or None
        Row order to apply; None when the rows are contiguous already.
    """
    if codes.size < 2 or bool(np.all(codes[1:] >= codes[:-1])):
        return np.searchsorted(codes, np.arange(n_queries + 1, dtype=codes.dtype)).astype(np.int64), None
    offsets = np.zeros(n_queries + 1, dtype=np.int64)
    np.cumsum(np.bincount(codes, minlength=n_queries), out=offsets[1:])
    return offsets, np.argsort(codes, kind="stable").astype(np.int64, copy=False)


def rows_of(offsets: IntArray, queries: IntArray) -> tuple[IntArray, IntArray]:
    """Row numbers of the given queries, query by query, and the offsets of the gathered rows."""
    lengths = np.diff(offsets)[queries]
    gathered = np.zeros(len(queries) + 1, dtype=np.int64)
    np.cumsum(lengths, out=gathered[1:])
    shift = np.repeat(offsets[queries] - gathered[:-1], lengths)
    return np.arange(gathered[-1], dtype=np.int64) + shift, gathered


def list_sums(values: npt.NDArray[np.float64], offsets: IntArray) -> npt.NDArray[np.float64]:
    """Sum of a flat array over each list."""
    return np.asarray(np.add.reduceat(values, offsets[:-1])) if len(offsets) > 1 else np.zeros(0)


def read_only_view(array: Any, dtype: Any) -> Any:
    """The array as a read-only view: whoever gave it can still write to their own."""
    if array is None:
        return None
    view = np.asarray(array, dtype=dtype).view()
    view.flags.writeable = False
    return view


def content_bytes(array: npt.NDArray[Any]) -> bytes:
    """Bytes that depend on the values, not on how wide a string array happens to be."""
    if array.dtype.kind in "biufM":
        return np.ascontiguousarray(array).tobytes()
    values = array.tolist()
    if all(isinstance(value, str) for value in values):
        return "\x00".join(values).encode("utf-8", "surrogatepass")
    return "\x00".join(map(repr, values)).encode("utf-8", "surrogatepass")
