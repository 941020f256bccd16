"""Excel workbooks: the sheet that holds the table, names above rows."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from python_calamine import CalamineError, CalamineWorkbook

from spofr_core.data.formats import FORMATS, Format, TextOptions
from spofr_core.data.formats.excel_files.workbook import OLD, Look, Sheet, Workbook, column_letters, merged_cells
from spofr_core.data.formats.header import SEEN_ROWS, header_doubt
from spofr_core.data.formats.source import Raw
from spofr_core.data.formats.tables import Table, no_rows
from spofr_core.data.formats.value_columns import ValueTable
from spofr_core.data.limits import Limits
from spofr_core.errors import DataError

_TITLE_ROWS = 50
_DIGITS = 10.0**15
Row = list[Any]


class Excel(Format):
    """Workbooks of Excel 2007 and later, by their content."""

    name = "excel"
    label = "Excel"
    suffixes = (".xlsx", ".xlsm")
    has_sheets = True

    def sniff(self, raw: Raw) -> bool:
        """Whether it is a zip archive, or what Office wrote before."""
        return raw.head.startswith((b"PK\x03\x04", OLD))

    def open(self, raw: Raw, limits: Limits, options: TextOptions) -> Table:
        """The sheet that is named, or the only one that may be a table."""
        return _table(Workbook(raw, limits), limits, options)

    def preview(self, raw: Raw, limits: Limits, options: TextOptions, rows: int) -> Table:
        """The same; of several sheets the first that can be read, unless one is named."""
        book = Workbook(raw, limits)
        named = _chosen(book, options.sheet, first=True)[1] if options.sheet is None else ()
        for name in named:
            with contextlib.suppress(DataError):
                return _table(book, limits, dataclasses.replace(options, sheet=name))
        return _table(book, limits, options, first=True)


def _table(book: Workbook, limits: Limits, options: TextOptions, *, first: bool = False) -> Table:
    sheet, others = _chosen(book, options.sheet, first=first)
    look = book.seen[sheet.name]
    try:
        rows = CalamineWorkbook.from_filelike(book.packed_again()).get_sheet_by_name(sheet.name)
        cells: list[Row] = rows.to_python(skip_empty_area=False)
    except CalamineError as error:
        raise book.damaged(error) from error
    name = f"{book.name}, sheet {sheet.name!r}" if len(book.sheets) > 1 else book.name
    table = _Grid(name, cells, look, limits).table(options.header)
    table.sheets, table.sheet = (others, sheet.name) if len(others) > 1 else ((), "")
    if sheet.hidden:
        table.notes.append(f"The sheet {sheet.name!r} of {book.name} is hidden.")
    return table


def _chosen(book: Workbook, named: str | None, *, first: bool) -> tuple[Sheet, tuple[str, ...]]:
    """The sheet to read, and all that may be meant."""
    filled = [sheet for sheet in book.sheets if book.seen[sheet.name].cells]
    shown = [sheet for sheet in filled if not sheet.hidden]
    tables = [sheet for sheet in shown if book.seen[sheet.name].is_table]
    names = tuple(sheet.name for sheet in tables)
    if named is not None:
        for sheet in book.sheets:
            if sheet.name == named:
                return sheet, names if named in names else (named, *names)
        listed = ", ".join(repr(sheet.name) for sheet in book.sheets)
        raise DataError(f"{book.name} has no sheet {named!r}; it has {listed}.", fields=("sheet",))
    if len(tables) == 1 or (tables and first):
        return tables[0], names
    if tables:
        listed = ", ".join(f"{name!r} ({len(book.seen[name].filled_rows):,} rows)" for name in names)
        raise DataError(
            f"{book.name} has several sheets with tables: {listed}.",
            fields=("sheet",),
            mend=f"Say which is meant: sheet={names[0]!r}.",
            on_page="Choose the one that is meant.",
        )
    if shown:
        return shown[0], ()
    if filled:
        raise DataError(
            f"All that {book.name} has is in hidden sheets: {', '.join(repr(sheet.name) for sheet in filled)}.",
            fields=("sheet",),
            mend=f"Show them, or name the one that is meant: sheet={filled[0].name!r}.",
            on_page="Show the one that is meant, and save it.",
        )
    raise DataError(f"{book.name} is empty: there are no cells in its sheets.")


class _Grid:
    """The cells of one sheet, and where the names of the columns stand among them."""

    def __init__(self, name: str, cells: list[Row], look: Look, limits: Limits) -> None:
        self._name = name
        self._look = look
        self._limits = limits
        self._rows = [(k, row) for k, row in enumerate(cells) if any(_filled(cell) for cell in row)]
        self._notes: list[str] = []
        if not self._rows:
            raise DataError(f"{name} is empty: there are no cells in it.")

    def table(self, header: bool | None) -> ValueTable:
        """The rows below the names of the columns."""
        top = self._above()
        self._refuse_merged(self._rows[top][0])
        first, below = self._rows[top][1], self._rows[top + 1 :]
        used = [k for k in range(len(first)) if any(_filled(row[k]) for _, row in self._rows[top:])]
        texts = [_text(first[k]) for k in used]
        doubt = ""
        if header is None:
            doubt = header_doubt(texts, [[_text(row[k]) for k in used] for _, row in below[:SEEN_ROWS]])
            header = not doubt
        if header and not below:
            raise no_rows(self._name)
        body = below if header else self._rows[top:]
        names = [text.strip() for text in texts] if header else [f"column {k}" for k in range(1, len(used) + 1)]
        for place, column in enumerate(used):
            if not names[place]:
                names[place] = f"column {column_letters(column)}"
                self._notes.append(f"Column {column_letters(column)} of {self._name} has no name above it.")
        numbers = [k for k, _ in body]
        columns = [_typed([row[k] for _, row in body], name, self._notes) for k, name in zip(used, names, strict=True)]
        refused = self._refused(dict(zip(used, names, strict=True)), numbers[0] if numbers else 0)
        table = ValueTable(pa.table(columns, names), self._name, self._limits, refused, lambda row: numbers[row] + 1)
        if self._look.hidden_rows:
            self._notes.append(
                f"{self._name} has rows hidden by a filter or by hand ({self._look.hidden_rows:,}); they are read like "
                "the others."
            )
        table.notes += self._notes
        table.header_doubt = doubt
        return table

    def _above(self) -> int:
        """How many rows are titles: those that fill no more than half of the columns, above one that fills more."""
        counts = [sum(map(_filled, row)) for _, row in self._rows[:_TITLE_ROWS]]
        top = next(k for k, count in enumerate(counts) if 2 * count > max(counts))
        if top:
            said = next(_text(cell) for cell in self._rows[0][1] if _filled(cell))
            last, names = self._rows[top - 1][0] + 1, self._rows[top][0] + 1
            self._notes.append(
                f"What stands down to row {last} of {self._name} ({said[:40]!r}) is no part of the table, which begins "
                f"in row {names}."
            )
        return top

    def _refuse_merged(self, header: int) -> None:
        for reference, top, bottom, left, right in merged_cells(self._look):
            title = bottom < header and sum(map(_filled, next((row for k, row in self._rows if k == top), []))) < 2
            if (top, left) == (bottom, right) or title:
                continue
            what = "the names of the columns" if top <= header else "the table"
            raise DataError(
                f"The cells {reference} of {self._name} are merged, in {what}: which row and column do they belong to? "
                "Unmerge them and write the value into each row that it is for, and each name above its own column.",
                row=top + 1,
            )

    def _refused(self, names: dict[int, str], first: int) -> dict[str, DataError]:
        refused = {}
        for column, problems in self._look.problems.items():
            found = next((problem for problem in problems if problem[0] >= first), None)
            if found is not None and column in names:
                row, what = found
                cell = f"{column_letters(column)}{row + 1}"
                refused[names[column]] = DataError(
                    f"Column {names[column]!r} of {self._name} holds, in cell {cell}, {what}.",
                    column=names[column],
                    row=row + 1,
                )
        return refused


def _filled(cell: Any) -> bool:
    return cell != "" and not (isinstance(cell, str) and not cell.strip())


def _text(cell: Any) -> str:
    """A cell as somebody would write it: 3.0 is "3"."""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < _DIGITS:
        return str(int(cell))
    return str(cell)


def _typed(cells: Sequence[Any], name: str, notes: list[str]) -> pa.Array:
    """A column of one type: where there are several, all is text, and that is noted."""
    values = [cell if _filled(cell) else None for cell in cells]
    kinds = {*map(type, values)} - {type(None)}
    if kinds == {float}:
        return _numbers(values, name, notes)
    if kinds == {bool}:
        return pa.array(values, pa.bool_())
    if kinds == {dt.date}:
        return pa.array(values, pa.date32())
    if kinds and kinds <= {dt.date, dt.datetime}:
        # A moment at midnight is a date to whoever reads the cells.
        moments = [dt.datetime.combine(cell, dt.time()) if type(cell) is dt.date else cell for cell in values]
        return pa.array(moments, pa.timestamp("us"))
    if len(kinds) > 1:
        numbers = sum(isinstance(value, float) for value in values)
        others = sum(value is not None for value in values) - numbers
        notes.append(
            f"Column {name!r} holds {numbers:,} numbers and {others:,} cells of text or other kinds: what is wanted as "
            "a number is read as one, and all else as text."
        )
    return pa.array([None if value is None else _text(value) for value in values], pa.large_string())


def _numbers(values: Sequence[float | None], name: str, notes: list[str]) -> pa.Array:
    """Whole numbers where all are; Excel knows no others than doubles."""
    present = [value for value in values if value is not None]
    if not all(value.is_integer() and abs(value) < 2.0**63 for value in present):
        return pa.array(values, pa.float64())
    if any(abs(value) >= _DIGITS for value in present):
        notes.append(
            f"Column {name!r} holds whole numbers of more than 15 digits, of which Excel has rounded the last ones: "
            "where they are ids, keep them as text."
        )
    return pa.array([None if value is None else int(value) for value in values], pa.int64())


FORMATS.register(Excel())
