"""Ids of queries and items from their columns: none is missing, and two kinds in one column are spoken of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from spofr_core.data.formats.tables import Kind, Table
from spofr_core.data.ids import first_odd_one, to_ids
from spofr_core.errors import DataError


def ids_of_items(
    columns: Mapping[tuple[str, Kind], pa.ChunkedArray], mapping: Mapping[str, str], table: Table
) -> npt.NDArray[Any] | None:
    """The ids of the items, where there is a column of them; none may be missing."""
    if "item" not in mapping:
        return None
    column = columns[mapping["item"], "plain"]
    if column.null_count:
        missing = np.asarray(column.is_null().to_numpy(), dtype=bool)
        raise _empty_id(int(np.argmax(missing)), mapping["item"], "item", table)
    item_ids = to_ids(column)
    if item_ids.dtype.kind not in "iuf":
        empty = item_ids == ""
        if empty.any():
            raise _empty_id(int(np.argmax(empty)), mapping["item"], "item", table)
    return item_ids


def mixed_notes(ids: Mapping[str, npt.NDArray[Any] | None], mapping: Mapping[str, str]) -> list[str]:
    """What there is to say of ids of two kinds in one column."""
    odd = {role: first_odd_one(values) for role, values in ids.items() if values is not None}
    return [
        f"Column {mapping[role]!r} begins with whole numbers, but also holds {value!r}: all its ids are kept as text."
        for role, value in odd.items()
        if value is not None
    ]


def refuse_empty_ids(codes: npt.NDArray[np.int32], ids: npt.NDArray[Any], column: str, role: str, table: Table) -> None:
    """Name the first row without an id."""
    empty = codes < 0
    if ids.dtype.kind not in "iuf" and (ids == "").any():
        empty = empty | (codes == int(np.argmax(ids == "")))
    if empty.any():
        raise _empty_id(int(np.argmax(empty)), column, role, table)


def _empty_id(row: int, column: str, role: str, table: Table) -> DataError:
    line = table.line_of(row)
    return DataError(
        f"The {role} id is missing in column {column!r} of {table.name} at row {line}: fill it in, or remove the row.",
        column=column,
        row=line,
    )
