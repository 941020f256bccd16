"""Columns of Python values, taken in piece by piece, as Arrow columns of one type each."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

import pyarrow as pa

from spofr_core.data.formats.tables import ArrowTable, Kind
from spofr_core.data.limits import Limits
from spofr_core.errors import DataError, shortened

_FAMILIES = {int: "a number", float: "a number", str: "text", bool: "true or false", dict: "an object", list: "a list"}
_LONGEST = 40


class ValueTable(ArrowTable):
    """A table of which some columns cannot be read, each for a reason that is said when it is asked for."""

    def __init__(
        self,
        table: pa.Table,
        name: str,
        limits: Limits,
        refused: Mapping[str, DataError],
        line_of: Callable[[int], int] | None = None,
    ) -> None:
        super().__init__(table, name, limits)
        limits.check_rows(table.num_rows, name)
        limits.check_bytes(table.nbytes, name)
        self._refused = refused
        self._line_of = line_of or super().line_of

    def read(self, kinds: Mapping[str, Kind]) -> dict[str, pa.ChunkedArray]:
        for name in kinds:
            if name in self._refused:
                raise self._refused[name]
        return super().read(kinds)

    def line_of(self, row: int) -> int:
        return self._line_of(row)


class ValueColumns:
    """Records taken in a piece at a time; a key that a record lacks is a missing value.

    Numbers are whole where all are, doubles where that loses nothing, and otherwise kept as the text that they are.
    """

    def __init__(self, name: str, limits: Limits) -> None:
        self.rows = 0
        self._name = name
        self._limits = limits
        self._columns: dict[str, _Column] = {}

    def add(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Some more records."""
        for key in dict.fromkeys(chain.from_iterable(records)):
            if key not in self._columns:
                self._columns[key] = _Column(self.rows)
        self._limits.check_columns(len(self._columns), self._name)
        self.rows += len(records)
        self._limits.check_rows(self.rows, self._name)
        for key, column in self._columns.items():
            column.add([record.get(key) for record in records])
        self._limits.check_bytes(sum(column.bytes for column in self._columns.values()), self._name)

    def add_column(self, key: str, values: Sequence[Any]) -> None:
        """A whole column."""
        self._columns[key] = column = _Column(0)
        self.rows = len(values)
        column.add(values)

    def table(self, line_of: Callable[[int], int] | None = None) -> ValueTable:
        """All of them as a table."""
        lines = line_of or (lambda row: row + 1)
        refused = {
            key: self._refusal(key, *column.odd, lines)
            for key, column in self._columns.items()
            if column.odd is not None
        }
        arrays = {key: column.array() for key, column in self._columns.items()}
        try:
            table = pa.table(arrays)
        except UnicodeEncodeError as error:
            raise DataError(f"A key of {self._name} is no text ({shortened(str(error))}): rename it.") from error
        return ValueTable(table, self._name, self._limits, refused, lines)

    def _refusal(self, key: str, row: int, value: Any, why: str, lines: Callable[[int], int]) -> DataError:
        shown = _shown(value)
        line = lines(row)
        return DataError(f"Column {key!r} of {self._name} {why.format(shown=shown, line=line)}", column=key, row=line)


class _Column:
    """One column: Arrow arrays of its pieces, and the first row that does not fit, if there is one."""

    def __init__(self, missing: int) -> None:
        self.arrays: list[pa.Array] = [pa.nulls(missing)] if missing else []
        self.odd: tuple[int, Any, str] | None = None
        self.bytes = 0
        self._rows = missing
        self._family = ""

    def add(self, values: Sequence[Any]) -> None:
        families = {_FAMILIES[kind] for kind in {*map(type, values)} if kind in _FAMILIES}
        if self.odd is None and (len(families | {self._family or next(iter(families), "")}) > 1 or _nested(families)):
            self._find_odd(values)
        if len(families) == 1 and not self._family:
            self._family = next(iter(families))
        array = _array(values, families)
        if array is None:
            self._find_half_characters(values)
            array = pa.nulls(len(values))
        self.arrays.append(array)
        self.bytes += array.nbytes
        self._rows += len(values)

    def _find_odd(self, values: Sequence[Any]) -> None:
        for row, value in enumerate(values, self._rows):
            family = _FAMILIES.get(type(value), "")
            if _nested({family}):
                why = "holds %s ({shown}) at row {line}: one value is needed there. Write it into columns of its own."
                self.odd = (row, value, why % family)
                return
            if family and self._family not in ("", family):
                why = "mixes types: it begins with %s and holds %s ({shown}) at row {line}. Make it one type."
                self.odd = (row, value, why % (self._family, family))
                return
            self._family = self._family or family

    def _find_half_characters(self, values: Sequence[Any]) -> None:
        for row, value in enumerate(values, self._rows):
            try:
                str(value).encode()
            except UnicodeEncodeError:
                why = "holds half a character ({shown}) at row {line}, which is no text: correct it."
                self.odd = self.odd or (row, value, why)
                return

    def array(self) -> pa.ChunkedArray:
        kinds = {array.type for array in self.arrays} - {pa.null()}
        kind = next(iter(kinds), pa.null()) if len(kinds) < 2 else pa.large_string()
        if kinds == {pa.int64(), pa.float64()}:
            try:
                return pa.chunked_array([array.cast(pa.float64()) for array in self.arrays])
            except pa.ArrowInvalid:  # a whole number that is no double
                pass
        return pa.chunked_array([array.cast(kind) for array in self.arrays], kind)


def _array(values: Sequence[Any], families: set[str]) -> pa.Array | None:
    """The values as one array; None where there is half a character in them."""
    try:
        if families == {"a number"}:
            return _numbers(values)
        if families == {"true or false"}:
            return pa.array(values, pa.bool_())
        if families <= {"text"}:
            return pa.array(values, pa.large_string()) if families else pa.nulls(len(values))
        texts = [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
        return pa.array(texts, pa.large_string())
    except UnicodeEncodeError:
        return None


def _numbers(values: Sequence[Any]) -> pa.Array:
    """Whole numbers as such, doubles as such; text where neither can say it."""
    try:
        if not any(isinstance(value, float) for value in values):
            return pa.array(values, pa.int64())
        if all(isinstance(value, float) or value is None or int(float(value)) == value for value in values):
            return pa.array([None if value is None else float(value) for value in values], pa.float64())
    except OverflowError:
        pass
    return pa.array([None if value is None else repr(value) for value in values], pa.large_string())


def _nested(families: set[str]) -> bool:
    return bool(families & {"an object", "a list"})


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    text = repr(text) if isinstance(value, str) else text
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
