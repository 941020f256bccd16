"""Columns that say something about whole queries: what they are sliced by, and when they were asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from spofr_core.data.formats.tables import Kind, Table
from spofr_core.data.group_spec import MISSING_NAME, Labels
from spofr_core.data.ids import plain
from spofr_core.data.limits import Limits
from spofr_core.data.query_attributes import check_slice_count
from spofr_core.data.reading.columns import ALIASES, missing_column, plain_name
from spofr_core.data.reading.grouping import labels_of
from spofr_core.data.reading.time_column import query_times
from spofr_core.errors import ConfigError, DataError

Columns = Mapping[tuple[str, Kind], pa.ChunkedArray]


@dataclass(frozen=True)
class QueryColumns:
    """Which columns are about the query: those to slice by, and its time."""

    slices: tuple[str, ...] = ()
    time: str | None = None

    @classmethod
    def named(cls, slices: str | Sequence[str], time: object) -> QueryColumns:
        """Columns as the caller of `read_dataset` names them."""
        wanted = (slices,) if isinstance(slices, str) else tuple(slices)
        for role, column in (*(("slices", name) for name in wanted), ("time", time)):
            if column is not None and not isinstance(column, str):
                raise ConfigError(f"{role!r} must be the name of a column, got {column!r}.")
        return cls(tuple(dict.fromkeys(wanted)), None if time is None else str(time))

    @property
    def names(self) -> set[str]:
        """All of them."""
        return {*self.slices, *(() if self.time is None else (self.time,))}

    @property
    def no_roles(self) -> set[str]:
        """Those that no other role is guessed for; one may slice by the query itself."""
        return {name for name in self.names if plain_name(name) not in ALIASES["query"]}

    @property
    def requests(self) -> list[tuple[str, Kind]]:
        """How they are wanted of a table."""
        wanted: list[tuple[str, Kind]] = [(name, "coded") for name in self.slices]
        return wanted + ([] if self.time is None else [(self.time, "time")])

    def check(self, names: Sequence[str], source: str) -> None:
        """Refuse a column that is not there."""
        for role, wanted in (("slice", self.slices), ("time", () if self.time is None else (self.time,))):
            for column in wanted:
                if column not in names:
                    raise missing_column(column, names, role, source)


@dataclass
class OfQueries:
    """What was read about the queries, an entry per query."""

    attributes: dict[str, npt.NDArray[Any]] = field(default_factory=dict)
    times: npt.NDArray[np.datetime64] | None = None
    notes: list[str] = field(default_factory=list)


def read_query_columns(
    wanted: QueryColumns,
    columns: Columns,
    query_codes: npt.NDArray[np.integer[Any]],
    query_ids: npt.NDArray[Any],
    table: Table,
    missing_values: Sequence[str],
    limits: Limits,
) -> OfQueries:
    """The attributes and the time of each query, from columns with a value in each row."""
    found = OfQueries()
    if wanted.slices:
        first = np.zeros(len(query_ids), dtype=np.int64)
        first[query_codes[::-1]] = np.arange(len(query_codes) - 1, -1, -1)  # the first row is written last
        for name in wanted.slices:
            labels = labels_of(columns[name, "coded"], missing_values)
            check_slice_count(name, labels.values, limits.slices)
            chosen = labels.codes[first]
            differs = labels.codes != chosen[query_codes]
            if differs.any():
                raise _two_values(int(np.argmax(differs)), first, labels, query_codes, query_ids, name, table)
            found.attributes[name] = np.array([*labels.values, MISSING_NAME], dtype=object)[chosen]
    if wanted.time is not None:
        column = columns[wanted.time, "time"]
        found.times, found.notes = query_times(column, query_codes, len(query_ids), wanted.time, table)
    return found


def _two_values(
    row: int,
    first: npt.NDArray[np.int64],
    labels: Labels,
    query_codes: npt.NDArray[np.integer[Any]],
    query_ids: npt.NDArray[Any],
    name: str,
    table: Table,
) -> DataError:
    query = int(query_codes[row])
    value, before = ((*labels.values, MISSING_NAME)[labels.codes[place]] for place in (row, int(first[query])))
    line = table.line_of(row)
    return DataError(
        f"Column {name!r} of {table.name} is {before!r} at row {table.line_of(int(first[query]))} and {value!r} at row "
        f"{line}, both of query {plain(query_ids[query])!r}: a query belongs to one slice. Make them the same, or "
        "slice by a column that is about the query and not about its items.",
        column=name,
        row=line,
        fields=("slices",),
    )
