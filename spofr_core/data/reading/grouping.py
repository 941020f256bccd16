"""Groups of the rows that are read: from columns of the table, or from a table of their own."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from spofr_core.data.formats.tables import Kind, Table, to_float
from spofr_core.data.group_spec import Grouping, GroupSpec, Labels, group_by_labels, group_by_number
from spofr_core.data.ids import factorize, id_texts, label_text, to_ids
from spofr_core.data.limits import Limits
from spofr_core.data.reading.columns import guess_columns, missing_column, unknown_role
from spofr_core.data.reading.spelling import Spelling
from spofr_core.errors import DataError


def groups_of_table(
    spec: GroupSpec,
    columns: Mapping[tuple[str, Kind], pa.ChunkedArray],
    missing_values: Sequence[str],
    limits: Limits,
) -> Grouping:
    """Groups from columns that were read as numbers (to be cut) or as coded labels."""
    if spec.numeric:
        return group_by_number(to_float(columns[spec.columns[0], "number"]), spec)
    labels = [labels_of(columns[name, "coded"], missing_values) for name in spec.columns]
    return group_by_labels(labels, spec, limits)


def spell_groups(
    columns: dict[tuple[str, Kind], pa.ChunkedArray], spelling: Spelling, spec: GroupSpec, missing: Collection[str]
) -> None:
    """Write each value of the group columns in one way: that of the names in the spec, where it has some."""
    for name in () if spec.numeric else spec.columns:
        column = columns[name, "coded"]
        columns[name, "coded"] = spelling.named(column, name, missing=missing, **names_in_spec(spec, name))


class SaidNames(TypedDict, total=False):
    """See `Spelling.named`."""

    known: list[str]
    settled: list[str]


def names_in_spec(spec: GroupSpec, column: str) -> SaidNames:
    """The values of a group column that its owner has spoken of; those that came from data, or were each given a name
    or left out, are settled."""
    names = [*spec.names]
    if len(spec.columns) > 1:
        parts = (name.split(" & ") for name in spec.names)
        names = [part[spec.columns.index(column)] for part in parts if len(part) == len(spec.columns)]
    settled = [*names, *spec.renamed, *spec.left_out]
    return {"known": settled if spec.against_rest is None else [spec.against_rest, *settled], "settled": settled}


def labels_of(column: pa.ChunkedArray, missing_values: Sequence[str]) -> Labels:
    """The distinct values as text; those that mean "missing" get the code -1."""
    codes, values = factorize(column)
    texts = [label_text(value) for value in values.to_pylist()]
    nothing = set(missing_values)
    gone = {k for k, text in enumerate(texts) if text is None or text.strip() in nothing}
    recode = np.array([-1 if k in gone else k for k in range(len(texts))] + [-1], dtype=np.int32)
    return Labels(recode[codes], tuple(text or "" for text in texts))


class Lookup:
    """A table from item to group."""

    def __init__(self, table: Table, item: str | None, spelling: Spelling) -> None:
        if table.header_doubt:
            raise DataError(
                f"The first row of {table.name} looks like data (it has {table.header_doubt}), but a table from "
                "item to group needs a line of column names: put item,group above it."
            )
        self.table = table
        self._spelling = spelling
        given = {"item": item} if item is not None and item in table.names else dict(table.roles)
        self._mapping, self._notes = guess_columns(table.names, given)
        if "item" not in self._mapping:
            raise unknown_role("item", table)

    def guess_group(self, notes: list[str]) -> str:
        """The group column by its usual name, or the only other column."""
        others = [name for name in self.table.names if name != self._mapping["item"]]
        column = self._mapping.get("group") or (others[0] if len(others) == 1 else None)
        if column is None:
            raise unknown_role("group", self.table)
        notes.append(f"Column {column!r} of {self.table.name} was taken as the group.")
        return column

    def groups(
        self, spec: GroupSpec, item_ids: npt.NDArray[Any], missing_values: Sequence[str], limits: Limits
    ) -> Grouping:
        """The group of each row; items that the table does not know have none."""
        for column in spec.columns:
            if column not in self.table.names:
                raise missing_column(column, self.table.names, "group", self.table.name)
        kinds: dict[str, Kind] = dict.fromkeys(spec.columns, "number" if spec.numeric else "coded")
        read = self.table.read({self._mapping["item"]: "plain", **kinds})
        coded = {(name, kinds[name]): read[name] for name in spec.columns}
        spell_groups(coded, self._spelling, spec, missing_values)
        known = pd.Index(id_texts(to_ids(self._spelling.bare(read[self._mapping["item"]], self._mapping["item"]))))
        if known.has_duplicates:
            row = int(np.argmax(known.duplicated()))
            line = self.table.line_of(row)
            raise DataError(
                f"{self.table.name} lists item {known[row]!r} twice, again at row {line}: an item has one group.",
                column=self._mapping["item"],
                row=line,
            )
        rows = known.get_indexer(pd.Index(id_texts(item_ids)))
        if spec.numeric:
            values = to_float(read[spec.columns[0]])
            return _noted(group_by_number(np.where(rows < 0, np.nan, values[rows]), spec), self._spelling)
        labels = []
        for column in spec.columns:
            whole = labels_of(coded[column, "coded"], missing_values)
            labels.append(Labels(np.where(rows < 0, -1, whole.codes[rows]).astype(np.int32), whole.values))
        return _noted(group_by_labels(labels, spec, limits), self._spelling)


def _noted(grouping: Grouping, spelling: Spelling) -> Grouping:
    return replace(grouping, notes=(*spelling.notes(), *grouping.notes))
