"""Tables behind one face, and those of DataFrames and Arrow."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from spofr_core.data.formats.decimal_signs import fits, plain_number, sign_of, sign_of_columns, telling
from spofr_core.data.limits import Limits
from spofr_core.data.rows import own_index
from spofr_core.errors import DataError, first_line
from spofr_core.files import format_size
from spofr_core.read_only import read_only

_LOOKED_ROWS = 1000
Kind = Literal["plain", "coded", "number", "time"]
"""How a column is wanted: ids as they are; few distinct values, as a dictionary; float64; timestamps where the table
has them, in UTC to the microsecond, and otherwise as "coded"."""


class Table(ABC):
    """Named columns of one length, read on demand.

    Attributes
    ----------
    name : str
        How messages call it.
    names : sequence of str
        Its columns.
    notes : list of str
        What was found out in opening it.
    roles : mapping of str to str
        Roles that the format knows by itself, such as {"query": "qid"}: they need no guess.
    feature_names : sequence of str
        Columns that are features by nature: they are always read, and not guessed to be anything else.
    absent : mapping of str to str
        For a role that the format never has, the sentence that says what to do about it.
    header_doubt : str
        Why the first row looks like data rather than column names, where nobody has said which it is; or empty.
    decimal : str, optional
        The decimal sign of numbers that are text, as the caller says.
    sheets, sheet
        The tables that the file holds, where there are several, and which one this is.
    index : pandas.Index, optional
        Of a DataFrame, unless it only counts the rows.
    """

    name: str
    names: Sequence[str]
    notes: list[str]
    roles: Mapping[str, str] = read_only({})
    feature_names: Sequence[str] = ()
    absent: Mapping[str, str] = read_only({})
    header_doubt: str = ""
    decimal: str | None = None
    sheets: Sequence[str] = ()
    sheet: str = ""
    index: pd.Index | None = None

    @cached_property
    def signs(self) -> dict[str, str]:
        """The decimal sign that a column of text was read with."""
        return {}

    @cached_property
    def file_sign(self) -> str | None:
        """The decimal sign that the columns of numbers have, where they are text and decide it."""
        return sign_of_columns(self.head(_LOOKED_ROWS), MISSING_TEXT)

    @abstractmethod
    def read(self, kinds: Mapping[str, Kind]) -> dict[str, pa.ChunkedArray]:
        """The columns asked for, as Arrow columns; numbers are float64."""

    @abstractmethod
    def head(self, rows: int) -> pd.DataFrame:
        """The first rows, with types found out."""

    def matrix(self, names: Sequence[str]) -> npt.NDArray[np.float64] | None:
        """These features where they are kept as a matrix already, without copying; otherwise None."""
        return None

    def line_of(self, row: int) -> int:
        """Where an editor shows row 0, 1, ...: the line of a file, or the row counted from 1."""
        return row + 1


class ArrowTable(Table):
    """A Parquet file, or anything that is an Arrow table already."""

    def __init__(self, table: pa.Table, name: str, limits: Limits) -> None:
        self.name = name
        self.notes: list[str] = []
        self._table = table
        self._limits = limits
        self.names: Sequence[str] = list(table.schema.names)

    def read(self, kinds: Mapping[str, Kind]) -> dict[str, pa.ChunkedArray]:
        columns = list(kinds)
        for name in columns:
            if self.names.count(name) > 1:
                raise duplicated_column(name, self.name)
        try:
            part = self._columns(columns)
            part.validate(full=True)
        except (pa.ArrowException, OSError) as error:
            raise self._damaged(error) from error
        self._limits.check_rows(part.num_rows, self.name)
        return {name: self._as_kind(part[name], name, kind) for name, kind in kinds.items()}

    def _columns(self, columns: list[str]) -> pa.Table:
        return self._table.select(columns)

    def _first(self, rows: int) -> pa.Table:
        return self._table.slice(0, rows)

    def _damaged(self, error: Exception) -> DataError:
        return DataError(
            f"{self.name} is damaged ({first_line(error)}). Write it again, with text in UTF-8, or check that the copy "
            "is whole."
        )

    def _without_dictionary(self, column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
        """Each value written out, unless that takes more memory than a file may."""
        if not pa.types.is_dictionary(column.type):
            return column
        if is_text(column.type.value_type):
            written = (pc.sum(pc.take(pc.binary_length(chunk.dictionary), chunk.indices)) for chunk in column.chunks)
            if sum(total.as_py() or 0 for total in written) > self._limits.file_bytes:
                raise DataError(
                    f"The texts in column {name!r} of {self.name} are more than "
                    f"{format_size(self._limits.file_bytes, '.4g')} when each is written out, the limit here: replace "
                    "them by short ids.",
                    column=name,
                    mend="Or raise the limit: limits=Limits(file_bytes=...).",
                )
            return column.cast(pa.large_string())
        return column.cast(column.type.value_type)

    def _as_kind(self, column: pa.ChunkedArray, name: str, kind: Kind) -> pa.ChunkedArray:
        if kind == "coded" and pa.types.is_dictionary(column.type) and is_text(column.type.value_type):
            return column
        if kind != "number":
            column = self._without_dictionary(column, name)
            try:
                return _moments(column) if kind == "time" else _plain_type(column)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                raise DataError(
                    f"Column {name!r} of {self.name} has the type {column.type}, which cannot name anything: "
                    "convert it to text or whole numbers first.",
                    column=name,
                ) from error
        column = self._without_dictionary(column, name)
        if pa.types.is_boolean(column.type):
            column = column.cast(pa.int8())
        if is_text(column.type):
            return parse_numbers(column, name, self)
        try:
            return column.cast(pa.float64(), safe=False)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise DataError(
                f"Column {name!r} of {self.name} has the type {column.type}, but numbers are needed there.", column=name
            ) from error

    def head(self, rows: int) -> pd.DataFrame:
        try:
            part = self._first(rows)
            part.validate(full=True)
            # What pandas has left in the file would make columns an index, and may be damaged.
            frame = pd.DataFrame(part.to_pandas(ignore_metadata=True))
        except (pa.ArrowException, OSError) as error:
            raise self._damaged(error) from error
        for k, field in enumerate(part.schema):
            if pa.types.is_nested(field.type):  # to be looked at as text: lists cannot be counted or compared
                frame.isetitem(k, frame.iloc[:, k].astype(str).to_numpy())
        return frame


class FrameTable(Table):
    """A pandas DataFrame."""

    def __init__(self, frame: pd.DataFrame, limits: Limits, name: str = "the DataFrame") -> None:
        self.name = name
        self.notes: list[str] = []
        self._frame = frame
        self.index = own_index(frame)
        limits.check_rows(len(frame), self.name)
        self.names: Sequence[str] = [str(column) for column in frame.columns]
        self._limits = limits

    def read(self, kinds: Mapping[str, Kind]) -> dict[str, pa.ChunkedArray]:
        arrays = {name: _arrow_column(self._column(name), name, self.name) for name in kinds}
        table = ArrowTable(pa.table(arrays), self.name, self._limits)
        table.decimal, table.notes, table.file_sign = self.decimal, self.notes, self.file_sign
        columns = table.read(kinds)
        self.signs.update(table.signs)
        return columns

    def _column(self, name: str) -> pd.Series:
        positions = [k for k, known in enumerate(self.names) if known == name]
        if len(positions) > 1:
            raise duplicated_column(name, self.name)
        return self._frame.iloc[:, positions[0]]

    def head(self, rows: int) -> pd.DataFrame:
        return self._frame.head(rows)


def parse_numbers(column: pa.ChunkedArray, name: str, table: Table) -> pa.ChunkedArray:
    """Text as float64; the first value that is no number is named in the error.

    A comma or a point begins the fraction where other values of the column say so; else where the caller says so; else
    where other columns do. Where nobody does, a comma is asked about.
    """
    text = pd.Series(column.to_pandas()).astype("object")
    stripped = text.map(lambda value: value.strip() if isinstance(value, str) else value)
    lowered = stripped.map(lambda value: value.lower() if isinstance(value, str) else value)
    if lowered.dropna().isin(["true", "false"]).all() and lowered.notna().any():
        return pa.chunked_array([pa.array(lowered.map({"true": 1.0, "false": 0.0}).astype(float))])
    known = stripped.notna() & ~lowered.isin(sorted(MISSING_TEXT))
    numbers = pd.to_numeric(stripped, errors="coerce")
    if not (known & numbers.isna()).any() and "," not in (table.decimal, table.file_sign):
        return pa.chunked_array([pa.array(numbers.to_numpy(dtype=np.float64))])
    distinct = stripped[known].unique()
    found = telling(distinct)
    sign = sign_of(found) or table.decimal or table.file_sign
    if "comma" in found and "point" in found:
        raise _two_signs(table, name, found, text)
    if sign is None and "open comma" in found and "neither" not in found:
        raise _open_sign(table, name, found["open comma"], stripped)
    sign = table.signs[name] = sign or "."
    plain = {value: plain_number(value, sign) for value in distinct}
    numbers = pd.to_numeric(stripped.map(lambda value: plain.get(value, value)), errors="coerce")
    bad = numbers.isna() & known
    if bad.any():
        raise not_a_number(table, name, int(np.argmax(bad.to_numpy())), text)
    example = next((value for value in distinct if sign in value and not fits(value, "," if sign == "." else ".")), "")
    grouped = next((value for value in distinct if plain[value] != value.replace(sign, ".")), "")
    if grouped or (sign == "," and not example):
        value = grouped or next((value for value in distinct if sign in value), "")
        if value:
            table.notes.append(f"In column {name!r} of {table.name}, {value!r} was read as {plain[value]}.")
    return pa.chunked_array([pa.array(numbers.to_numpy(dtype=np.float64))])


def agreed_sign(texts: Iterable[Sequence[str]], name: str, table: Table) -> str | None:
    """The decimal sign of a column of text that comes in pieces; None where any would do.

    Raises
    ------
    DataError
        As `parse_numbers` does for the column as a whole.
    """
    found: dict[str, str] = {}
    for piece in texts:
        found = telling(piece) | found
    if "neither" not in found and any("," in text for text in found.values()):
        few = pd.Series([*found.values()], dtype=object)
        parse_numbers(pa.chunked_array([pa.array(few)]), name, table)
        return table.signs[name]
    return sign_of(found)


def exact_numbers(table: Table, name: str, rows: npt.NDArray[np.integer]) -> list[int | Decimal] | None:
    """What a column of numbers really holds in these rows, where that may be more than doubles can say."""
    column = table.read({name: "plain"})[name]
    if pa.types.is_floating(column.type):
        return None
    values = column.take(pa.array(rows)).to_pylist()
    sign = table.signs.get(name, table.file_sign or ".")
    return [Decimal(plain_number(value.strip(), sign)) if isinstance(value, str) else value for value in values]


MISSING_VALUES: tuple[str, ...] = ("", "nan", "NaN", "NA", "N/A", "#N/A", "null", "NULL", "None", "<NA>")
"""Texts that usually mean "nothing"."""
MISSING_TEXT = frozenset(text.lower() for text in MISSING_VALUES)


def not_a_number(table: Table, name: str, row: int, text: pd.Series) -> DataError:
    """The error for text where a number belongs."""
    value = text.iloc[row]
    line = table.line_of(row)
    message = f"Column {name!r} of {table.name} holds the text {value!r} at row {line}, but a number is needed there."
    mend = f"Correct the value, or choose another column than {name!r}."
    if isinstance(value, str) and value.strip().endswith("%"):
        mend = "Write the column without percent signs, so that 12.5 % is either 12.5 or 0.125."
    return DataError(f"{message} {mend}", column=name, row=line)


def _open_sign(table: Table, name: str, value: str, text: pd.Series) -> DataError:
    line = table.line_of(int(np.argmax((text == value).to_numpy())))
    return DataError(
        f"Column {name!r} of {table.name} holds {value!r} at row {line}, and nothing in the file says whether that is "
        f"{plain_number(value, ',')} or {plain_number(value, '.')}.",
        column=name,
        row=line,
        fields=("decimal",),
        mend="Say so: decimal=',' if the comma begins the fraction, decimal='.' if it groups thousands.",
        on_page="Say which it is.",
        question="decimal",
    )


def _two_signs(table: Table, name: str, found: Mapping[str, str], text: pd.Series) -> DataError:
    stripped = text.map(lambda value: value.strip() if isinstance(value, str) else value)
    lines = {value: table.line_of(int(np.argmax((stripped == value).to_numpy()))) for value in found.values()}
    comma, point = found["comma"], found["point"]
    return DataError(
        f"Column {name!r} of {table.name} holds {comma!r} at row {lines[comma]} and {point!r} at row {lines[point]}: "
        "no decimal sign reads both. Write all its numbers with one.",
        column=name,
        row=lines[comma],
    )


def no_rows(source: str) -> DataError:
    """The error for a table that is all header."""
    return DataError(f"{source} has column names but no rows. Check that the export finished.")


def duplicated_column(name: str, source: str) -> DataError:
    """The error for a name that two columns have."""
    return DataError(f"{source} has several columns called {name!r}: rename them, so that each is told.", column=name)


def to_float(column: pa.ChunkedArray) -> npt.NDArray[np.float64]:
    """A float64 column as numpy, missing values as NaN."""
    if column.num_chunks == 0:
        return np.zeros(0)
    return np.asarray(column.to_numpy(), dtype=np.float64)


def _arrow_column(series: pd.Series, name: str, source: str) -> pa.ChunkedArray:
    if series.dtype == object:
        _refuse_mixed(series, name, source)
    try:
        array = pa.array(series, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError) as error:
        raise DataError(
            f"Column {name!r} of {source} cannot be used ({first_line(error)}): convert it to one type first, "
            f"for example frame[{name!r}].astype(str).",
            column=name,
        ) from error
    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])


def _refuse_mixed(series: pd.Series, name: str, source: str) -> None:
    """Raise when text and numbers share a column: 7 and "7" would be two ids, or one."""
    present = series[series.notna()]
    is_text = np.array([isinstance(value, str) for value in present], dtype=bool)
    if not len(is_text) or is_text.all() or not is_text.any():
        return
    other = int(np.argmax(is_text != is_text[0]))
    row = int(np.flatnonzero(series.notna().to_numpy())[other]) + 1
    first, value = present.iloc[0], present.iloc[other]
    raise DataError(
        f"Column {name!r} of {source} mixes types: it begins with {first!r} ({type(first).__name__}) and holds "
        f"{value!r} ({type(value).__name__}) at row {row}. Make it one type, for example frame[{name!r}].astype(str).",
        column=name,
        row=row,
    )


def _plain_type(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Integers, floats and plain strings: the types that ids and groups are made from."""
    kind = column.type
    if pa.types.is_uint64(kind) and (pc.max(column).as_py() or 0) >= 2**63:
        return column.cast(pa.large_string())
    if pa.types.is_integer(kind):
        return column.cast(pa.int64())
    if pa.types.is_floating(kind):
        return column.cast(pa.float64())
    if pa.types.is_boolean(kind):
        values = ["True" if value else "False" if value is not None else None for value in column.to_pylist()]
        return pa.chunked_array([pa.array(values, pa.string())])
    return column.cast(pa.large_string())


def _moments(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Dates and timestamps as UTC without a zone; any other type as it names things."""
    if pa.types.is_date(column.type):
        return column.cast(pa.timestamp("us"))
    if not pa.types.is_timestamp(column.type):
        return _plain_type(column)
    # Through whole numbers: what is stored is UTC whatever the zone, and a plain cast would show the local clock.
    return column.cast(pa.timestamp("us", tz=column.type.tz), safe=False).cast(pa.int64()).cast(pa.timestamp("us"))


def is_text(kind: pa.DataType) -> bool:
    """Whether an Arrow type is that of text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))
