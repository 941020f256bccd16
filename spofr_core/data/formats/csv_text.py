"""Delimited text: delimiter found out, typed columns read in parallel, exact places for errors."""

from __future__ import annotations

import csv
import dataclasses
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, islice

import pandas as pd
import pyarrow as pa
import pyarrow.csv as pacsv

from spofr_core.data.formats import FORMATS, Format, TextOptions
from spofr_core.data.formats.decimal_signs import sign_of_columns
from spofr_core.data.formats.header import SEEN_ROWS, header_doubt
from spofr_core.data.formats.source import Raw, as_utf8
from spofr_core.data.formats.tables import MISSING_TEXT, Kind, Table, duplicated_column, no_rows, parse_numbers
from spofr_core.data.limits import Limits
from spofr_core.errors import ConfigError, DataError, first_line

_LONGEST_LINE = 1 << 24
_LOOKED_CHARACTERS = 1 << 18
_DELIMITERS = ",;\t|"
_DELIMITER_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_TYPES = {
    "plain": pa.string(),
    "coded": pa.dictionary(pa.int32(), pa.string()),
    "number": pa.float64(),
    "time": pa.dictionary(pa.int32(), pa.string()),
}


class CsvTable(Table):
    """A CSV or TSV file, with or without a line of column names.

    Parameters
    ----------
    raw : Raw
        The bytes.
    limits : Limits
        Caps on rows.
    delimiter : str, optional
        One character; found out among comma, semicolon, tab and bar when not given.
    encoding : str, optional
        UTF-8 unless a byte order mark says otherwise.
    decimal : str, optional
        The decimal sign. When not given it is a point, unless the numbers of the first rows have commas alone.
    header : bool, optional
        Whether the first row holds the names of the columns. When not given it does, unless it looks like data: then
        the columns are counted, and `header_doubt` says what was seen.
    """

    def __init__(
        self,
        raw: Raw,
        limits: Limits,
        *,
        delimiter: str | None = None,
        encoding: str | None = None,
        decimal: str | None = None,
        header: bool | None = None,
    ) -> None:
        _check_sign("decimal sign", decimal)
        _check_sign("delimiter", delimiter)
        self.name = raw.name
        self.notes: list[str] = []
        text, found = as_utf8(raw, encoding)
        head = _head_of(text)
        blank = len(head) - len(head.lstrip(b"\r\n"))
        self._skipped_lines = head[:blank].count(b"\n")
        self._text, head = text.slice(blank), head[blank:]
        if not head.strip():
            raise DataError(f"{raw.name} is empty: there are no column names and no rows in it.")
        if b"\n" not in head and b"\r" not in head:
            if len(head) < self._text.size:
                raise self._long_line(1)
            if header is not False:
                raise no_rows(raw.name)
        if found not in (None, "utf-8-sig") and encoding is None:
            self.notes.append(f"{raw.name} is {found} text; it was read as such.")
        self._limits = limits
        self._delimiter = self._find_delimiter(head, delimiter, raw.suffix)
        # Line breaks inside quotes cost parallel parsing, so they are allowed for only where quotes occur.
        self._quoted = re.search(b'"', memoryview(self._text)) is not None
        first, *below = islice((record for _, record in self._records() if record), SEEN_ROWS + 1)
        limits.check_columns(len(first), raw.name)
        if decimal == self._delimiter and decimal != ",":  # commas may stand in quotes
            raise ConfigError(f"The decimal sign and the delimiter are both {decimal!r}: name another for one.")
        self.decimal = decimal
        self.file_sign = self._find_decimal(below) if decimal is None else decimal
        signs = [sign for sign in (self.file_sign, ".") if sign is not None and sign != self._delimiter]
        self._decimal = signs[0]
        if header is None:
            self.header_doubt = header_doubt(first, below)
            header = not self.header_doubt
        self.has_header = header
        self.names: Sequence[str] = (
            [name.strip() for name in first] if header else [f"column {k}" for k in range(1, len(first) + 1)]
        )
        self._block_size = max(1 << 20, 16 * len(head.splitlines()[0]))  # rows of very wide tables must fit

    def _find_delimiter(self, head: bytes, delimiter: str | None, suffix: str) -> str:
        if delimiter is not None:
            return delimiter
        lines = head.decode("utf-8", "ignore").splitlines()
        found = sniff_delimiter(lines[:50])
        usual = "\t" if suffix in (".tsv", ".tab") else ","
        if found is None:
            return usual
        if found != usual:
            self.notes.append(f"The columns of {self.name} are separated by a {_DELIMITER_NAMES[found]}.")
        return found

    def _find_decimal(self, rows: Sequence[Sequence[str]]) -> str | None:
        """The decimal sign of those columns of numbers that have one."""
        width = max(map(len, rows), default=0)
        seen = pd.DataFrame([[*row, *[None] * (width - len(row))] for row in rows], dtype=object)
        sign = sign_of_columns(seen, MISSING_TEXT)
        if sign == ",":
            self.notes.append(f"Numbers of {self.name} have a decimal comma.")
        return sign

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        """Every record with the line that it begins on, one after the other: a large file is not unpacked for it."""
        reader = csv.reader(self._lines(), delimiter=self._delimiter)
        while True:
            line = reader.line_num + 1 + self._skipped_lines
            try:
                record = next(reader, None)
            except csv.Error as error:
                raise DataError(
                    f"The text that begins on line {line} of {self.name} cannot be read: {first_line(error)}. Most "
                    'often a quotation mark (") is opened there and never closed. Close it, or double it where it '
                    "belongs to the text.",
                    row=line,
                ) from error
            if record is None:
                return
            yield line, record

    def _lines(self) -> Iterator[str]:
        with io.TextIOWrapper(pa.BufferReader(self._text), encoding="utf-8", newline="") as text:
            for number in count(1):
                line = text.readline(_LONGEST_LINE)
                if len(line) == _LONGEST_LINE:
                    raise self._long_line(number)
                if not line:
                    return
                yield line

    def _long_line(self, number: int) -> DataError:
        line = number + self._skipped_lines
        return DataError(
            f"Line {line} of {self.name} is longer than {_LONGEST_LINE:,} characters, which is no row of a table: "
            "check that it has line breaks.",
            row=line,
        )

    def read(self, kinds: Mapping[str, Kind]) -> dict[str, pa.ChunkedArray]:
        positions = {name: self._position(name) for name in kinds}
        types = {str(positions[name]): _TYPES[kind] for name, kind in kinds.items()}
        try:
            table = self._parse(types)
        except pa.ArrowInvalid as error:
            if "conversion error" not in str(error).lower():
                raise self._broken_row(error) from error
            table = self._parse({key: pa.string() if kind == pa.float64() else kind for key, kind in types.items()})
        self._limits.check_rows(table.num_rows, self.name)
        return {name: self._column(table[str(positions[name])], name, kind) for name, kind in kinds.items()}

    def _column(self, column: pa.ChunkedArray, name: str, kind: Kind) -> pa.ChunkedArray:
        if kind == "number" and column.type != pa.float64():
            return parse_numbers(column, name, self)
        return column

    def _position(self, name: str) -> int:
        positions = [k for k, known in enumerate(self.names) if known == name]
        if len(positions) > 1:
            raise duplicated_column(name, self.name)
        return positions[0]

    def _parse(self, types: Mapping[str, pa.DataType] | None, *, rows: pa.Buffer | None = None) -> pa.Table:
        """Columns are called by their position: names may be empty or repeated."""
        convert = pacsv.ConvertOptions(strings_can_be_null=False, decimal_point=self._decimal)
        if types is not None:
            convert.include_columns = list(types)
            convert.column_types = types
        return pacsv.read_csv(
            pa.BufferReader(self._text if rows is None else rows),
            read_options=pacsv.ReadOptions(
                column_names=[str(k) for k in range(len(self.names))],
                skip_rows_after_names=int(self.has_header),
                block_size=self._block_size,
            ),
            parse_options=pacsv.ParseOptions(delimiter=self._delimiter, newlines_in_values=self._quoted),
            convert_options=convert,
            memory_pool=pa.system_memory_pool(),  # gives back what is freed; the default pool keeps it
        )

    def _broken_row(self, error: pa.ArrowInvalid) -> DataError:
        """Find the line with too few or too many fields."""
        for line, record in self._records():
            if record and len(record) != len(self.names):
                shown = self._delimiter.join(record)
                shown = shown if len(shown) <= 80 else shown[:77] + "..."
                return DataError(
                    f"Line {line} of {self.name} has {len(record)} fields, but there are {len(self.names)} columns: "
                    f"{shown!r}. Quote values that contain the delimiter {self._delimiter!r}.",
                    row=line,
                    fields=("delimiter",),
                    mend="Or name the right delimiter: delimiter='...'.",
                )
        return DataError(f"{self.name} cannot be read as delimited text: {str(error).splitlines()[0]}")

    def head(self, rows: int) -> pd.DataFrame:
        text = io.StringIO(newline="")
        writer = csv.writer(text, delimiter=self._delimiter, lineterminator="\n")
        for _, record in islice(self._records(), rows + 1):
            writer.writerow(record)
            if text.tell() > _LOOKED_CHARACTERS:
                break
        try:
            table = self._parse(None, rows=pa.py_buffer(text.getvalue().encode()))
        except pa.ArrowInvalid as error:
            raise self._broken_row(error) from error
        frame = pd.DataFrame(table.slice(0, rows).to_pandas())
        frame.columns = pd.Index(self.names)
        return frame

    def line_of(self, row: int) -> int:
        """Line of a data row: exact also after blank lines and quoted line breaks (and slow: for errors only)."""
        filled = (line for line, record in self._records() if record)
        return next(islice(filled, row + int(self.has_header), None))


def _head_of(text: pa.Buffer) -> bytes:
    """The first 64 kB, or more where the line of column names is longer than that."""
    head = bytes(text.slice(0, min(text.size, 1 << 16)))
    if b"\n" in head or b"\r" in head:
        return head
    return bytes(text.slice(0, min(text.size, _LONGEST_LINE)))


def _check_sign(what: str, sign: str | None) -> None:
    if sign is not None and (len(sign) != 1 or not sign.isascii() or sign.isalnum() or sign in '"\r\n\0'):
        raise ConfigError(f"A {what} is one character, and no letter, digit or quotation mark; got {sign!r}.")


def sniff_delimiter(lines: Sequence[str]) -> str | None:
    """The delimiter that cuts the lines into the same number (above one) of fields, most fields first."""
    best: tuple[float, int, str] | None = None
    for delimiter in _DELIMITERS:
        try:
            widths = [len(record) for record in csv.reader(lines, delimiter=delimiter) if record]
        except csv.Error:  # a field too long: what parts nothing is no delimiter
            continue
        if not widths or widths[0] < 2:
            continue
        agreeing = Counter(widths)[widths[0]] / len(widths)
        candidate = (agreeing, widths[0], delimiter)
        if best is None or candidate[:2] > best[:2]:
            best = candidate
    return None if best is None else best[2]


class Csv(Format):
    """Delimited text with a line of column names."""

    name = "csv"
    label = "CSV/TSV"
    suffixes = (".csv", ".tsv", ".tab", ".txt")

    def sniff(self, raw: Raw) -> bool:
        """Never: nearly any text could be a table, so it is what no other format takes."""
        return False

    def open(self, raw: Raw, limits: Limits, options: TextOptions) -> Table:
        """The text; columns are parsed when they are read."""
        said = {name: value for name, value in dataclasses.asdict(options).items() if name != "sheet"}
        return CsvTable(raw, limits, **said)


FORMATS.register(Csv())
