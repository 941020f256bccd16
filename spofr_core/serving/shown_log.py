"""Reads a log of impressions: the service's own, or anybody's with query, impression, position, item and group."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spofr_core.errors import DataError

_OWN = ("policy", "number", "added", "delta", "how")
"""What only the service's own log has."""


@dataclass(frozen=True, eq=False)
class ShownLog:
    """Impressions as flat lists, each from the top down.

    Attributes
    ----------
    groups : (N,) int32
        Group of each shown item.
    group_names : tuple of str
    offsets : (I + 1,) int64
        Impression i is `offsets[i]:offsets[i + 1]`.
    queries : (I,) int64
        Query of each impression, an index into `query_names`.
    query_names : tuple of str
    by_score : (I,) bool
        Impressions that were sorted by score because fairness could not be had.
    policies, numbers, added, delta : (I,), optional
        Of a service's own log: the policy of each impression, its number under it, what its schedule may add, and the
        delta in force.
    """

    groups: NDArray[np.int32]
    group_names: tuple[str, ...]
    offsets: NDArray[np.int64]
    queries: NDArray[np.int64]
    query_names: tuple[str, ...]
    by_score: NDArray[np.bool_]
    policies: NDArray[Any] | None = None
    numbers: NDArray[np.int64] | None = None
    added: NDArray[np.float64] | None = None
    delta: NDArray[np.float64] | None = None


def read_shown(
    log: str | Path | pd.DataFrame,
    *,
    query: str = "query",
    impression: str = "impression",
    position: str = "position",
    item: str = "item",
    group: str = "group",
) -> ShownLog:
    """Read a log of impressions, a row per shown item.

    Parameters
    ----------
    log : path or DataFrame
        A folder of Parquet parts, a Parquet or a CSV file (also .gz).
    query, impression, position, item, group : str
        Columns. An impression or session is one list as one reader saw it; positions count from 1 within it. Rows
        without a query are impressions of their own.

    Raises
    ------
    DataError
        When it is no such log, with the column, the impression and the remedy.
    """
    frame = log if isinstance(log, pd.DataFrame) else _frame(Path(log))
    columns = {"query": query, "impression": impression, "position": position, "item": item, "group": group}
    for what, name in columns.items():
        if name not in frame.columns:
            raise DataError(
                f"The log has no column {name!r} for the {what}; its columns are {list(frame.columns)[:20]}: name one.",
                column=name,
                fields=(what,),
            )
    if not len(frame):
        raise DataError("The log has no rows; nothing was shown.")
    for what in ("impression", "item", "group"):
        missing = frame[columns[what]].isna().to_numpy()
        if missing.any():
            raise DataError(
                f"The {what} is missing in row {int(missing.argmax()) + 1} of the log (column {columns[what]!r}, "
                f"{int(missing.sum())} rows); leave such rows out, or fill them.",
                column=columns[what],
                row=int(missing.argmax()) + 1,
            )
    return _assembled(frame, columns)


def _assembled(frame: pd.DataFrame, columns: dict[str, str]) -> ShownLog:
    places = pd.to_numeric(frame[columns["position"]], errors="coerce").to_numpy(dtype=np.float64)
    bad = ~(np.isfinite(places) & (places >= 1) & (places == np.round(places)))
    if bad.any():
        row = int(bad.argmax())
        raise DataError(
            f"The position in row {row + 1} of the log is {frame[columns['position']].iloc[row]!r}; "
            "give whole numbers that count from 1 within each impression.",
            column=columns["position"],
            row=row + 1,
        )
    asked = frame[columns["query"]]
    shown = frame[columns["impression"]].astype(str)
    # The number of an impression may be its own only within its query.
    named = asked.astype(object).where(asked.notna(), "without a query, impression " + shown).astype(str)
    codes, keys = pd.MultiIndex.from_arrays([named, shown]).factorize()
    order = np.lexsort((places, codes))
    offsets = np.concatenate([[0], np.cumsum(np.bincount(codes))]).astype(np.int64)
    expected = np.arange(len(order)) - np.repeat(offsets[:-1], np.diff(offsets)) + 1
    wrong = places[order] != expected
    if wrong.any():
        at = int(wrong.argmax())
        query, number = keys[codes[order[at]]]
        raise DataError(
            f"Impression {number!r} of query {query!r} has position {int(places[order[at]])} where {int(expected[at])} "
            "is due; number the shown items 1, 2, 3, ... within each impression, without gaps.",
            column=columns["position"],
        )
    _check_items(frame[columns["item"]].astype(str).to_numpy()[order], codes[order], keys, columns["item"])
    groups, group_names = pd.factorize(frame[columns["group"]].astype(str).to_numpy()[order], sort=True)
    first = order[offsets[:-1]]
    queries, query_names = pd.factorize(named.to_numpy()[first])
    own = all(name in frame.columns for name in _OWN)
    heads = frame.iloc[first] if own else None
    return ShownLog(
        groups=groups.astype(np.int32),
        group_names=tuple(group_names.tolist()),
        offsets=offsets,
        queries=queries.astype(np.int64),
        query_names=tuple(query_names.tolist()),
        by_score=np.zeros(len(first), np.bool_) if heads is None else (heads["how"] == "sorted").to_numpy(np.bool_),
        policies=None if heads is None else heads["policy"].astype(str).to_numpy(),
        numbers=None if heads is None else heads["number"].to_numpy(np.int64),
        added=None if heads is None else heads["added"].to_numpy(np.float64),
        delta=None if heads is None else heads["delta"].to_numpy(np.float64),
    )


def _check_items(items: NDArray[Any], codes: NDArray[np.int64], keys: Any, column: str) -> None:
    twice = pd.DataFrame({"impression": codes, "item": items}).duplicated().to_numpy()
    if twice.any():
        at = int(twice.argmax())
        query, number = keys[codes[at]]
        raise DataError(
            f"Item {items[at]!r} is shown twice in impression {number!r} of query {query!r}; "
            "give each item one position in an impression.",
            column=column,
        )


def _frame(path: Path) -> pd.DataFrame:
    if not path.exists():
        raise DataError(f"There is no log at {str(path)!r}; name a folder of Parquet parts, a Parquet or a CSV file.")
    parts = sorted(path.glob("*.parquet")) if path.is_dir() else []
    if path.is_dir() and not parts:
        raise DataError(f"The folder {str(path)!r} has no Parquet part; the service writes one every few seconds.")
    try:
        if path.is_dir():
            return pd.concat([pd.read_parquet(part) for part in parts], ignore_index=True)
        if path.suffix == ".parquet":
            return pd.read_parquet(path)
        return pd.read_csv(path, dtype=str, keep_default_na=False, na_values=[""])
    except (ValueError, OSError) as error:
        raise DataError(f"The log {str(path)!r} cannot be read ({error}); give Parquet or CSV.") from error
