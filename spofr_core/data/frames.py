"""A dataset as a DataFrame, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from spofr_core.data.dataset import RankingDataset
from spofr_core.data.groups.labels import NO_GROUP, UNKNOWN
from spofr_core.data.ids import string_array
from spofr_core.data.rows import Origin, offsets_of, own_index, row_labels
from spofr_core.errors import DataError

_KNOWN = {
    "relevance": "relevance",
    "score": "score",
    "click": "clicks",
    "position": "positions",
    "propensity": "propensities",
}
TIME = "query_time"
NONE = "no_group"
"""Items that belong to no group; an item without a group that it does not name has an unknown one."""
_FIXED = ("query_id", "item_id", "group", NONE, TIME, *_KNOWN)
_PREFIX = "feature:"
ATTRIBUTE = "slice:"
"""Before the name of an attribute of the query, so that it is told from a feature."""


def to_frame(data: RankingDataset) -> pd.DataFrame:
    """See `RankingDataset.to_frame`."""
    columns: dict[str, Any] = {"query_id": np.repeat(data.query_ids, data.list_lengths), "item_id": data.item_ids}
    if not data.each_item:
        codes = np.maximum(data.groups, UNKNOWN)
        columns["group"] = pd.Categorical.from_codes(codes, categories=pd.Index(data.group_names))
        if (data.groups == NO_GROUP).any():
            columns[NONE] = data.groups == NO_GROUP
    for column, name in _KNOWN.items():
        array = getattr(data, name)
        if array is not None:
            columns[column] = array
    for name, values in data.attributes.items():
        columns[ATTRIBUTE + name] = np.repeat(values, data.list_lengths)
    if data.times is not None:
        columns[TIME] = np.repeat(data.times, data.list_lengths)
    if data.features is not None:
        for k, name in enumerate(data.feature_names):
            taken = name in _FIXED or name.startswith(ATTRIBUTE)
            columns[_PREFIX + name if taken else name] = data.features[:, k]
    return pd.DataFrame(columns, index=row_labels(data))


def from_frame(frame: pd.DataFrame) -> RankingDataset:
    """See `RankingDataset.from_frame`."""
    for needed in ("query_id", "item_id", "group"):
        if needed not in frame.columns:
            raise DataError(
                f"The frame has no column {needed!r}; it has {list(map(str, frame.columns))}. "
                "Use read_dataset(frame, query=..., item=..., group=...) to name your own columns.",
                column=needed,
            )
    codes, query_ids = pd.factorize(frame["query_id"])
    offsets, order = offsets_of(codes, len(query_ids))
    origin, rows = Origin("query_id", "item_id", own_index(frame)), np.arange(len(frame))
    if order is not None:
        rows = order
        frame = frame.iloc[order]
    groups = frame["group"].astype("category")
    group_codes = np.array(groups.cat.codes, dtype=np.int32)
    if NONE in frame.columns:
        group_codes[(group_codes == UNKNOWN) & frame[NONE].to_numpy(dtype=np.bool_)] = NO_GROUP
    known: dict[str, Any] = {
        name: frame[column].to_numpy() for column, name in _KNOWN.items() if column in frame.columns
    }
    about = [str(name) for name in frame.columns if str(name).startswith(ATTRIBUTE)]
    of_query = {name: _of_query(frame, name, offsets) for name in (*about, *({TIME} & {*frame.columns}))}
    feature_columns = [name for name in frame.columns if name not in (*_FIXED, *about)]
    return RankingDataset(
        query_ids=_ids(query_ids),
        offsets=offsets,
        item_ids=_ids(frame["item_id"]),
        groups=group_codes,
        group_names=tuple(groups.cat.categories),
        features=frame[feature_columns].to_numpy(dtype=np.float64) if feature_columns else None,
        feature_names=tuple(str(name).removeprefix(_PREFIX) for name in feature_columns),
        times=of_query.pop(TIME, None),
        attributes={name.removeprefix(ATTRIBUTE): values for name, values in of_query.items()},
        rows=rows,
        origin=origin,
        **known,
    )


def _of_query(frame: pd.DataFrame, column: str, offsets: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """The one value that a column has in each query."""
    values = frame[column].to_numpy()
    first = values[offsets[:-1]]
    differs = (values != np.repeat(first, np.diff(offsets))) & ~pd.isna(values)
    if differs.any():
        row = int(np.argmax(differs))
        raise DataError(
            f"Column {column!r} has two values in query {frame['query_id'].iloc[row]!r}, one of them {values[row]!r}: "
            "what is known of a query is the same in all its rows.",
            column=column,
        )
    return np.asarray(first)


def _ids(values: Any) -> npt.NDArray[Any]:
    """Ids as a plain numpy array: integers as they are, strings as an array of strings."""
    array = np.asarray(values)
    if array.dtype == object and all(isinstance(value, str) for value in array):
        return string_array(array.tolist())
    return array
