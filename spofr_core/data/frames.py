"""A dataset as a DataFrame, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from spofr_core.data.dataset import RankingDataset
from spofr_core.data.rows import offsets_of
from spofr_core.errors import DataError

_KNOWN = {
    "relevance": "relevance",
    "score": "score",
    "click": "clicks",
    "position": "positions",
    "propensity": "propensities",
}
_FIXED = ("query_id", "item_id", "group", *_KNOWN)
_PREFIX = "feature:"


def to_frame(data: RankingDataset) -> pd.DataFrame:
    """See `RankingDataset.to_frame`."""
    columns: dict[str, Any] = {
        "query_id": np.repeat(data.query_ids, data.list_lengths),
        "item_id": data.item_ids,
        "group": pd.Categorical.from_codes(data.groups, categories=pd.Index(data.group_names)),
    }
    for column, name in _KNOWN.items():
        array = getattr(data, name)
        if array is not None:
            columns[column] = array
    if data.features is not None:
        for k, name in enumerate(data.feature_names):
            columns[_PREFIX + name if name in _FIXED else name] = data.features[:, k]
    return pd.DataFrame(columns)


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
    if order is not None:
        frame = frame.iloc[order]
    groups = frame["group"].astype("category")
    known: dict[str, Any] = {
        name: frame[column].to_numpy() for column, name in _KNOWN.items() if column in frame.columns
    }
    feature_columns = [name for name in frame.columns if name not in _FIXED]
    return RankingDataset(
        query_ids=_ids(query_ids),
        offsets=offsets,
        item_ids=_ids(frame["item_id"]),
        groups=np.asarray(groups.cat.codes, dtype=np.int32),
        group_names=tuple(groups.cat.categories),
        features=frame[feature_columns].to_numpy(dtype=np.float64) if feature_columns else None,
        feature_names=tuple(str(name).removeprefix(_PREFIX) for name in feature_columns),
        **known,
    )


def _ids(values: Any) -> npt.NDArray[Any]:
    """Ids as a plain numpy array: integers as they are, strings as fixed-width strings."""
    array = np.asarray(values)
    if array.dtype == object and all(isinstance(value, str) for value in array):
        return array.astype(np.str_)
    return array
