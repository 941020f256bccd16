"""How much data is too much: caps that end in a clear message instead of a dead machine."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from spofr_core.config import StrictModel
from spofr_core.errors import DataError
from spofr_core.files import format_size

_UNPACKED_FREELY = 2**28


class Limits(StrictModel):
    """Caps on what is read.

    Parameters
    ----------
    file_bytes : int
        Size of the file, after decompression; also of the table that it becomes in memory, where that is larger.
    expansion : int
        How many times its size a compressed file may unpack to, once it has unpacked to 256 MB: tables shrink to a
        tenth, and what shrinks to a thousandth was made to fill the memory.
    columns : int
        Columns of a table.
    rows : int
        Rows (items summed over the lists).
    groups : int
        Distinct groups: more of them is nearly always the wrong column.
    list_length : int
        Items of one query.
    each_item : int
        Items of one query where each item is on its own.
    each_item_cells : int
        Queries times the items of the longest list, where each item is on its own.
    slices : int
        Distinct values of a column that queries are sliced by.
    """

    file_bytes: Annotated[int, Field(gt=0)] = 8 * 2**30
    expansion: Annotated[int, Field(gt=0)] = 100
    columns: Annotated[int, Field(gt=0)] = 10_000
    rows: Annotated[int, Field(gt=0)] = 100_000_000
    groups: Annotated[int, Field(ge=2)] = 100
    list_length: Annotated[int, Field(gt=0)] = 100_000
    each_item: Annotated[int, Field(gt=0)] = 2_000
    each_item_cells: Annotated[int, Field(gt=0)] = 50_000_000
    slices: Annotated[int, Field(ge=2)] = 1_000

    def check_bytes(self, size: int, name: str) -> None:
        """Refuse a file that is too large."""
        if size > self.file_bytes:
            raise DataError(
                f"{name} holds more than {format_size(self.file_bytes, '.4g')}, the limit here. Split it, or keep only "
                "the columns that are needed.",
                mend="Or raise the limit: limits=Limits(file_bytes=...).",
            )

    def check_expansion(self, packed: int, unpacked: int, name: str) -> None:
        """Refuse a compressed file of which a part unpacks to far more than any table does."""
        if unpacked > max(_UNPACKED_FREELY, self.expansion * packed):
            raise DataError(
                f"{name} has {format_size(packed, '.4g')} that unpack to more than {format_size(unpacked, '.4g')}, "
                f"over {self.expansion} times as much, as no table does: the rest was not unpacked. If it is right, "
                "unpack it first (a workbook: export it as CSV), and give what comes out.",
                mend="Or raise the limit: limits=Limits(expansion=...).",
            )

    def check_columns(self, columns: int, name: str) -> None:
        """Refuse a table that is too wide."""
        if columns > self.columns:
            raise DataError(
                f"{name} has {columns:,} columns, more than the limit of {self.columns:,}. Keep only the columns that "
                "are needed.",
                mend="Or raise the limit: limits=Limits(columns=...).",
            )

    def check_rows(self, rows: int, name: str) -> None:
        """Refuse a table with too many rows."""
        if rows > self.rows:
            raise DataError(
                f"{name} has {rows:,} rows, more than the limit of {self.rows:,}. Split it by query.",
                mend="Or raise the limit: limits=Limits(rows=...).",
            )

    def check_list(self, longest: int, query: str) -> None:
        """Refuse a list that is too long."""
        if longest > self.list_length:
            raise DataError(
                f"Query {query} has {longest:,} items, more than the limit of {self.list_length:,}. Is this the "
                "right query column? Keep the items that are shown.",
                fields=("query",),
                mend="Or raise the limit: limits=Limits(list_length=...).",
            )

    def check_each_item(self, longest: int, lists: int, query: object) -> None:
        """Refuse lists that are too long, or too many, for each item to be on its own."""
        if longest > self.each_item:
            raise DataError(
                f"Query {query!r} has {longest:,} items; with each item on its own a list may have {self.each_item:,}. "
                "Keep the items that are shown, such as the first 100 of each list, or leave this query out.",
                fields=("way",),
                mend="Or raise the limit: limits=Limits(each_item=...).",
            )
        if longest * lists > self.each_item_cells:
            raise DataError(
                f"With each item on its own, {lists:,} lists of up to {longest:,} items (query {query!r}) are more "
                f"than fit in memory: lists times the longest may be {self.each_item_cells:,}. Leave out the longest "
                "lists, or split the data.",
                fields=("way",),
                mend="Or raise the limit: limits=Limits(each_item_cells=...).",
            )
