"""Which column the items are ranked by, proposed from what the first rows hold where names do not say it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pandas as pd

from spofr_core.data.formats.tables import Table
from spofr_core.data.reading.columns import ALIASES, is_id_name, plain_name
from spofr_core.data.reading.ranks import Look, look_at

_LOOKED_ROWS = 5000
_NO_RANKS = ("query", "item", "group", "relevance", "click", "propensity")


def ranking_looks(table: Table, mapping: Mapping[str, str], *, only: str | None = None) -> dict[str, Look]:
    """What the columns of numbers look like that have no other role, from the first rows of the table.

    Parameters
    ----------
    table : Table
        Whose features by nature are no candidates.
    mapping : mapping of role to column
        What is known or guessed: lists are told apart by the query column. Where there is none, a column tells its own
        lists by beginning anew.
    only : str, optional
        Look at this column alone.
    """
    others = {mapping[role] for role in _NO_RANKS if role in mapping} | {*table.feature_names}
    wanted = [only] if only is not None else [name for name in table.names if name and name not in others]
    if not wanted:
        return {}
    head = table.head(_LOOKED_ROWS)
    head.columns = pd.Index(table.names)
    head = head.loc[:, ~head.columns.duplicated()]
    codes = _lists(head, mapping.get("query"))
    if codes is not None:
        head, codes = head[codes >= 0], codes[codes >= 0]
    scores = [name for name in head.columns if name == mapping.get("relevance") or plain_name(name) in ALIASES["score"]]
    # Sparse files have a column for every number up to the largest: only those are taken out that are looked at.
    looked_at = dict.fromkeys([*(name for name in wanted if name in head.columns), *scores])
    numbers = {
        name: head[name].to_numpy(dtype=np.float64, na_value=np.nan) for name in looked_at if _is_numeric(head[name])
    }
    better = {name for name in scores if name in numbers}
    looks = {}
    for name in dict.fromkeys(wanted):
        own = codes if codes is not None or name not in numbers else _restarts(numbers[name])
        if name in numbers and own is not None:
            anchors = {} if codes is None else {other: numbers[other] for other in sorted(better - {name})}
            looks[name] = look_at(own, numbers[name], anchors)
    return looks


def propose_rank(mapping: dict[str, str], looks: Mapping[str, Look]) -> list[str]:
    """Take a column that counts the items of each list as the rank, where no name says what they are ranked by."""
    if "score" in mapping or "rank" in mapping or "position" in mapping:
        return []
    taken = set(mapping.values())
    counting = [name for name, look in looks.items() if look.counts and name not in taken]
    column = next((name for name in counting if not is_id_name(name)), None)
    if column is None:
        return []
    mapping["rank"] = column
    return [f"Column {column!r} was taken as the rank: it {looks[column].reason}."]


def _is_numeric(column: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)


def _lists(head: pd.DataFrame, query: str | None) -> npt.NDArray[np.int64] | None:
    """The query of each row, -1 in the last one where there are several: the first rows may end within it."""
    if query is None or query not in head.columns:
        return None
    codes = np.asarray(pd.factorize(head[query])[0], dtype=np.int64)
    if len(codes) and codes.max() >= 2:
        codes = np.where(codes == codes[-1], -1, codes)
    return codes


def _restarts(values: npt.NDArray[np.float64]) -> npt.NDArray[np.int64] | None:
    """Lists that a column tells by itself: it counts upwards, and begins anew; None where it does not."""
    if len(values) < 2 or not np.isfinite(values).all():
        return None
    fresh = np.diff(values) <= 0
    if not fresh.any() or len({values[0], *values[1:][fresh]}) > 1 or (np.diff(values)[~fresh] != 1).any():
        return None
    return np.concatenate([[0], np.cumsum(fresh)])
