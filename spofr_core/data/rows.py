"""Flat rows and queries: which rows belong together, and how to gather them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]


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
