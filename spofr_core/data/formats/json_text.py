"""JSON: a list of records, records under a key, columns, or a record a line."""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from itertools import islice
from typing import Any

import pyarrow as pa

from spofr_core.data.formats import FORMATS, Format, TextOptions
from spofr_core.data.formats.source import Raw, as_utf8, text_head
from spofr_core.data.formats.tables import Table
from spofr_core.data.formats.value_columns import ValueColumns, ValueTable
from spofr_core.data.limits import Limits
from spofr_core.errors import DataError, first_line

_LONGEST_LINE = 1 << 24
_PIECE_CELLS = 1 << 19
_PREVIEW_ROWS = 10_000
_SPACE = re.compile(r"[ \t\n\r]*")
_BEGINNING = re.compile(r'\s*(\{\s*["}]|\{\s*$|\[\s*([\[{"\]\d-]|null|true|false|NaN|$))')
_TABLES = 'a list of records, [{"query": 1, ...}, ...], a record a line, or columns, {"query": [1, ...], ...}'


class _TwiceError(ValueError):
    """A key that an object has twice."""


class JsonReader:
    """One file, read value by value: each becomes cells of columns before the next is read."""

    def __init__(self, raw: Raw, limits: Limits, options: TextOptions, rows: int | None = None) -> None:
        self._name = raw.name
        self._limits = limits
        self._sheet = options.sheet
        self._rows = rows
        self._decoder = json.JSONDecoder(object_pairs_hook=self._object, parse_constant=_constant)
        self._text, encoding = as_utf8(raw, options.encoding)
        self._notes = []
        if encoding not in (None, "utf-8-sig") and options.encoding is None:
            self._notes.append(f"{raw.name} is {encoding} text; it was read as such.")
        self._by_line = raw.suffix in (".jsonl", ".ndjson") or self._begins_with_a_line()

    def table(self) -> Table:
        """All that it holds."""
        try:
            if self._by_line:
                self._refuse_key("a record a line")
                table = self._collect(self._of_lines(), "Line", self._rows).table(self.line_of)
            else:
                table = self._document(bytes(self._text).decode())
        except RecursionError as error:
            raise DataError(f"{self._name} is nested too deeply for a table, which is {_TABLES}.") from error
        table.notes += self._notes
        if not table.names:
            raise DataError(f"The records of {self._name} are empty: there is no column in them.")
        return table

    def line_of(self, row: int) -> int:
        """The line of a record of a file with a record a line."""
        return next(islice((number for number, _ in self._lines()), row, None))

    # -- a record a line --

    def _lines(self) -> Iterator[tuple[int, str]]:
        """Lines with something on them."""
        with io.TextIOWrapper(pa.BufferReader(self._text), encoding="utf-8", newline="\n") as text:
            number = 0
            while line := text.readline(_LONGEST_LINE):
                number += 1
                if len(line) == _LONGEST_LINE:
                    raise DataError(f"Line {number} of {self._name} is longer than {_LONGEST_LINE:,} characters.")
                if stripped := line.strip(" \t\r\n"):
                    yield number, stripped

    def _begins_with_a_line(self) -> bool:
        """Whether its first line is a value, and not the only one."""
        try:
            first, _ = islice(self._lines(), 2)
            self._decoder.decode(first[1])
        except (ValueError, DataError, RecursionError):
            return False
        return True

    def _of_lines(self) -> Iterator[tuple[int, Any]]:
        for number, line in self._lines():
            try:
                yield number, self._decoder.decode(line)
            except _TwiceError as error:
                raise self._twice(f"Line {number}", error, number) from error
            except ValueError as error:
                column = f", column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
                end = isinstance(error, json.JSONDecodeError) and error.pos >= len(line)
                what = "the line ends in the middle of it" if end else _said(error)
                raise DataError(
                    f"Line {number}{column} of {self._name} is no JSON ({what}): mend the line, or check that the "
                    "export finished.",
                    row=number,
                ) from error

    # -- one document --

    def _document(self, text: str) -> ValueTable:
        start = self._skip(text, 0)
        if start == len(text):
            raise DataError(f"{self._name} is empty: there is nothing but white space in it.")
        if text[start] == "[":
            self._refuse_key("one list")
            records = self._collect(self._elements(text, start), "Record", self._rows)
            return records.table() if records.rows else self._no_records()
        value, end = self._members(text, start) if text[start] == "{" else self._value(text, start)
        if self._skip(text, end) < len(text):
            raise self._broken(json.JSONDecodeError("Extra data", text, end), text)
        if not isinstance(value, dict):
            raise self._no_table(f"one value, {_cut(repr(value) if isinstance(value, str) else json.dumps(value))}")
        return self._chosen(value)

    def _members(self, text: str, start: int) -> tuple[dict[str, Any], int]:
        """What is under each key: lists of records are read into columns at once."""
        members: dict[str, Any] = {}
        at = self._skip(text, start + 1)
        while text[at : at + 1] != "}":
            key, at = self._value(text, at)
            if not isinstance(key, str):
                raise self._broken(json.JSONDecodeError("Expecting property name", text, start + 1), text)
            if key in members:
                raise self._twice("The object", _TwiceError(key), None)
            at = self._skip(text, self._sign(text, at, ":"))
            if text[at : at + 1] == "[" and text[self._skip(text, at + 1) :][:1] == "{":
                values = self._elements(text, at, nested=True)
                members[key] = self._collect(values, f"Under the key {key!r}, record")
                at = self._end
            else:
                members[key], at = self._value(text, at)
            at = self._skip(text, at)
            if text[at : at + 1] != "}":
                at = self._skip(text, self._sign(text, at, ","))
        return members, at + 1

    def _elements(self, text: str, start: int, *, nested: bool = False) -> Generator[tuple[int, Any]]:
        """The elements of a list, counted from 1; `_end` is where it ends."""
        at = self._skip(text, start + 1)
        number = 0
        while text[at : at + 1] != "]":
            number += 1
            value, at = self._value(text, at, number)
            yield number, value
            at = self._skip(text, at)
            if text[at : at + 1] != "]":
                at = self._skip(text, self._sign(text, at, ","))
        self._end = at + 1
        if not nested and self._skip(text, self._end) < len(text):
            raise self._broken(json.JSONDecodeError("Extra data", text, self._end), text)

    def _value(self, text: str, at: int, number: int | None = None) -> tuple[Any, int]:
        try:
            return self._decoder.raw_decode(text, at)
        except _TwiceError as error:
            raise self._twice("An object" if number is None else f"Record {number}", error, number) from error
        except ValueError as error:
            raise self._broken(error, text) from error

    def _skip(self, text: str, at: int) -> int:
        space = _SPACE.match(text, at)
        return at if space is None else space.end()

    def _sign(self, text: str, at: int, sign: str) -> int:
        at = self._skip(text, at)
        if text[at : at + 1] != sign:
            raise self._broken(json.JSONDecodeError(f"Expecting {sign!r} delimiter", text, at), text)
        return at + 1

    # -- values to columns --

    def _collect(self, values: Iterator[tuple[int, Any]], word: str, stop: int | None = None) -> ValueColumns:
        columns = ValueColumns(self._name, self._limits)
        piece: list[dict[str, Any]] = []
        keys: set[str] = set()
        for number, value in values:
            if not isinstance(value, dict):
                raise DataError(
                    f"{word} {number} of {self._name} is {_kind(value)}, {_cut(json.dumps(value))}, but a record is "
                    f'needed there, such as {{"query": 1, "score": 0.5}}.',
                    row=number,
                )
            piece.append(value)
            keys.update(value)
            if len(piece) * max(len(keys), 8) >= _PIECE_CELLS:
                columns.add(piece)
                piece = []
            if number == stop:
                break
        columns.add(piece)
        return columns

    def _chosen(self, members: dict[str, Any]) -> ValueTable:
        """The table under one of the keys, or the one that all of them are."""
        records = [key for key, value in members.items() if isinstance(value, ValueColumns)]
        if self._sheet is not None:
            if self._sheet not in members:
                raise DataError(
                    f"{self._name} has no key {self._sheet!r}; it has {_listed([*members])}.", fields=("sheet",)
                )
            return self._only(members[self._sheet], self._sheet, records)
        if not records:
            return self._columns_of(members)
        if len(records) > 1 and self._rows is None:
            rows = [f"{key!r} ({members[key].rows:,} records)" for key in records]
            raise DataError(
                f"{self._name} holds several lists of records: {', '.join(rows)}.",
                fields=("sheet",),
                mend=f"Say which is meant: sheet={records[0]!r}.",
                on_page="Choose the one that is meant.",
            )
        if len(members) > 1:
            self._notes.append(f"The records of {self._name} are those under the key {records[0]!r}.")
        return self._only(members[records[0]], records[0], records)

    def _only(self, value: Any, key: str, records: Sequence[str]) -> ValueTable:
        if isinstance(value, ValueColumns):
            table = value.table()
        elif isinstance(value, dict):
            table = self._columns_of(value)
        else:
            raise self._no_table(f"{_kind(value)} under the key {key!r}")
        if len(records) > 1:
            table.sheets, table.sheet = tuple(records), key
        return table

    def _columns_of(self, members: dict[str, Any]) -> ValueTable:
        """Columns under their names, as pandas writes them too: orient "list", "columns" and "split"."""
        names, rows = members.get("columns"), members.get("data")
        if isinstance(names, list) and isinstance(rows, list) and all(isinstance(name, str) for name in names):
            for number, row in enumerate(rows, 1):
                if not isinstance(row, list) or len(row) != len(names):
                    raise DataError(
                        f"Row {number} under the key 'data' of {self._name} is {_cut(json.dumps(row))}, but there are "
                        f"{len(names)} names under 'columns'.",
                        row=number,
                    )
            if len({*names}) < len(names):
                raise DataError(f"{self._name} has a name twice under the key 'columns': rename it.")
            columns = dict(zip(names, zip(*rows, strict=True), strict=True)) if rows else {}
            return self._of_columns(columns)
        labels = next(iter(members.values()), None)
        if isinstance(labels, dict) and all(
            isinstance(value, dict) and value.keys() == labels.keys() for value in members.values()
        ):
            if not all(label.isdecimal() for label in labels):
                raise self._no_table(f"an object under each of the keys {_listed([*members])}")
            return self._of_columns({key: [*value.values()] for key, value in members.items()})
        if not members or not all(isinstance(value, list) for value in members.values()):
            raise self._no_table(f"one object with the keys {_listed([*members])}" if members else "an empty object")
        lengths = {key: len(value) for key, value in members.items()}
        if len({*lengths.values()}) > 1:
            (first, much), (other, less) = (
                next(iter(lengths.items())),
                next(one for one in lengths.items() if one[1] != next(iter(lengths.values()))),
            )
            raise DataError(
                f"The columns of {self._name} are not of one length: {first!r} has {much:,} values, {other!r} "
                f"{less:,}. Give each row a value in each column, null where there is none.",
                column=other,
            )
        return self._of_columns(members)

    def _of_columns(self, columns: dict[str, Sequence[Any]]) -> ValueTable:
        collected = ValueColumns(self._name, self._limits)
        self._limits.check_columns(len(columns), self._name)
        for name, values in columns.items():
            collected.add_column(name, values)
        return collected.table() if collected.rows else self._no_records()

    # -- what is wrong --

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            raise _TwiceError(next(key for key, times in Counter(key for key, _ in pairs).items() if times > 1))
        return made

    def _twice(self, where: str, error: _TwiceError, row: int | None) -> DataError:
        key = str(error)
        return DataError(f"{where} of {self._name} has the key {key!r} twice: keep one.", column=key, row=row)

    def _broken(self, error: ValueError, text: str) -> DataError:
        if not isinstance(error, json.JSONDecodeError):
            return DataError(f"{self._name} cannot be read as JSON ({_said(error)}).")
        if not text[error.pos :].strip():
            return DataError(f"{self._name} ends in the middle of its JSON, on line {error.lineno}: it is truncated. "
                             "Check that the export finished.", row=error.lineno)  # fmt: skip
        near = _cut(repr(text[error.pos : error.pos + 24]))
        return DataError(
            f"{self._name} is no JSON from line {error.lineno}, column {error.colno} on ({_said(error)} at {near}): "
            "mend it there, or write the file again.",
            row=error.lineno,
        )

    def _refuse_key(self, what: str) -> None:
        if self._sheet is not None:
            raise DataError(
                f"{self._name} is {what} and has no key {self._sheet!r}.",
                fields=("sheet",),
                mend=f"Leave out sheet={self._sheet!r}.",
            )

    def _no_records(self) -> ValueTable:
        raise DataError(f"{self._name} has no rows: its list is empty. Check that the export finished.")

    def _no_table(self, what: str) -> DataError:
        return DataError(
            f"{self._name} holds {what}, which is no table. Write {_TABLES}; with pandas, "
            "to_json(..., orient='records')."
        )


class Json(Format):
    """JSON documents and JSON lines."""

    name = "json"
    label = "JSON or JSON lines"
    suffixes = (".json", ".jsonl", ".ndjson")
    has_sheets = True

    def sniff(self, raw: Raw) -> bool:
        """Whether it begins as an object or a list does."""
        return _BEGINNING.match(text_head(raw)) is not None

    def open(self, raw: Raw, limits: Limits, options: TextOptions) -> Table:
        """All of it."""
        return JsonReader(raw, limits, options).table()

    def preview(self, raw: Raw, limits: Limits, options: TextOptions, rows: int) -> Table:
        """The first records; of several lists of records the first, unless one is named."""
        return JsonReader(raw, limits, options, max(rows, _PREVIEW_ROWS)).table()


def _constant(token: str) -> float | None:
    """NaN is a missing value; infinity is a number until somebody needs a finite one."""
    return None if token == "NaN" else float(token.replace("Infinity", "inf"))


def _said(error: ValueError) -> str:
    return error.msg if isinstance(error, json.JSONDecodeError) else first_line(error)


def _kind(value: Any) -> str:
    kinds = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")


def _cut(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def _listed(keys: Sequence[str]) -> str:
    shown = ", ".join(_cut(repr(key)) for key in keys[:5])
    return shown + (f" and {len(keys) - 5:,} more" if len(keys) > 5 else "")


FORMATS.register(Json())
