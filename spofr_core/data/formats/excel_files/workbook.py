"""What is in an Excel workbook: unpacked within the caps, and looked over before a cell of it is read.

The library that reads the cells takes what a file says of itself: two cells at opposite corners make it ask for half a
terabyte, and formulas without a value or with an error are empty to it. So every part that it will see passes through
here first, and it is given these parts alone.
"""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from xml.parsers import expat

import pyarrow as pa

from spofr_core.data.formats.source import Raw
from spofr_core.data.limits import Limits
from spofr_core.errors import DataError, first_line
from spofr_core.files import format_size

OLD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_PIECE = 1 << 20
_CELL_BYTES = 100
_KEPT_PROBLEMS = 64
_WORKBOOK = "xl/workbook.xml"
_RELATIONS = "xl/_rels/workbook.xml.rels"
_STRINGS = "xl/sharedStrings.xml"
_BESIDE = ("[Content_Types].xml", "_rels/.rels", _WORKBOOK, _RELATIONS, _STRINGS, "xl/styles.xml")
_PLACE = re.compile(r"([A-Z]{1,3})([1-9][0-9]{0,6})")

Attributes = Mapping[str, str]


@dataclass(frozen=True)
class Sheet:
    """A sheet of cells by its name, and the part of the archive that it is in."""

    name: str
    hidden: bool
    part: str


class Workbook:
    """The parts of a workbook that hold cells, unpacked."""

    def __init__(self, raw: Raw, limits: Limits) -> None:
        self.name = raw.name
        self._limits = limits
        self._packed = raw.data.size
        self._unpacked = 0
        if raw.head.startswith(OLD):
            raise _not_read(raw)
        try:
            with zipfile.ZipFile(pa.BufferReader(raw.data)) as archive:
                self._check_kind({*archive.namelist()})
                self._parts = {name: self._unpack(archive, name) for name in _BESIDE if name in archive.namelist()}
                self.sheets = list(self._listed())
                for sheet in self.sheets:
                    if sheet.part in archive.namelist():
                        self._parts[sheet.part] = self._unpack(archive, sheet.part)
        except (zipfile.BadZipFile, zlib.error, OSError, RuntimeError, EOFError, ValueError) as error:
            raise self.damaged(error) from error
        self._lengths = self._lengths_of_strings()
        self.seen = {sheet.name: self._look(sheet) for sheet in self.sheets}

    def damaged(self, error: BaseException) -> DataError:
        """The error for what is no workbook, or only half of one."""
        return DataError(
            f"{self.name} cannot be read as an Excel workbook ({first_line(error)}): it is damaged or truncated. Save "
            "it again, or check that the copy is whole. Export the table as CSV (UTF-8) where neither helps."
        )

    def packed_again(self) -> io.BytesIO:
        """The same parts and no others, for the library that reads the cells."""
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as archive:
            for name, part in self._parts.items():
                archive.writestr(name, part)
        content.seek(0)
        return content

    def _check_kind(self, names: set[str]) -> None:
        if _WORKBOOK not in names:
            kind = "a zip archive without a workbook: unpack it, and give what comes out"
            if "xl/workbook.bin" in names:
                kind = "a binary workbook (.xlsb): save it as .xlsx, or export the sheet as CSV (UTF-8)"
            elif "content.xml" in names:
                kind = "an OpenDocument file: save it as .xlsx, or export the sheet as CSV (UTF-8)"
            raise DataError(f"{self.name} is {kind}.")
        if any(name.startswith("xl/externalLinks/") for name in names):
            raise DataError(
                f"{self.name} takes values from other workbooks, which nobody can check here: break the links (Data, "
                "Edit Links, Break Link) and save it, or export the sheet as CSV (UTF-8)."
            )

    def _unpack(self, archive: zipfile.ZipFile, name: str) -> bytes:
        info = archive.getinfo(name)
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"{name} is packed in a way that workbooks are not")
        content = bytearray()
        with archive.open(info) as stream:
            while piece := stream.read(_PIECE):
                content += piece
                self._unpacked += len(piece)
                self._limits.check_bytes(self._unpacked, self.name)
                self._limits.check_expansion(self._packed, self._unpacked, self.name)
        return bytes(content)

    def _listed(self) -> Iterator[Sheet]:
        targets: dict[str, str] = {}
        sheets: list[Attributes] = []

        def relation(name: str, attributes: Attributes) -> None:
            if name == "Relationship" and attributes.get("Type", "").endswith("/worksheet"):
                target = attributes.get("Target", "")
                inside = target.removeprefix("/") if target.startswith("/") else posixpath.join("xl", target)
                targets[attributes.get("Id", "")] = posixpath.normpath(inside)

        self._parse(self._parts.get(_RELATIONS, b""), relation)
        self._parse(self._parts[_WORKBOOK], lambda name, found: sheets.append(found) if name == "sheet" else None)
        for attributes in sheets:
            key = next((value for name, value in attributes.items() if name.endswith(":id")), "")
            if key in targets:
                yield Sheet(attributes.get("name", ""), attributes.get("state", "visible") != "visible", targets[key])

    def _lengths_of_strings(self) -> list[int]:
        """How long the texts are that cells point to: one of them may stand in a million cells."""
        lengths: list[int] = []

        def start(name: str, _: Attributes) -> None:
            if name == "si":
                lengths.append(0)

        def text(characters: str) -> None:
            if lengths:
                lengths[-1] += len(characters)

        self._parse(self._parts.get(_STRINGS, b""), start, text)
        return lengths

    def _look(self, sheet: Sheet) -> Look:
        look = Look(self._lengths)
        try:
            self._parse(self._parts.get(sheet.part, b""), look.start, look.text)
            look.end()
        except (ValueError, IndexError) as error:
            raise self.damaged(error) from error
        name = f"Sheet {sheet.name!r} of {self.name}"
        self._limits.check_columns(look.columns, name)
        self._limits.check_rows(look.rows, name)
        size = look.rows * look.columns * _CELL_BYTES + look.characters
        if size > self._limits.file_bytes:
            raise DataError(
                f"{name} reaches from its first cell to row {look.rows:,} and column {column_letters(look.columns - 1)}"
                f", which takes more than {format_size(self._limits.file_bytes, '.4g')}, the limit here. Delete what "
                "stands far from the table, or export it as CSV (UTF-8).",
                mend="Or raise the limit: limits=Limits(file_bytes=...).",
            )
        return look

    def _parse(
        self,
        content: bytes,
        start: Callable[[str, Attributes], object],
        text: Callable[[str], object] | None = None,
    ) -> None:
        """As UTF-8 whatever it says of itself, and without entities of its own: as the other library will see it."""
        if not content:
            return
        parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        parser.StartElementHandler = lambda name, attributes: start(name.rpartition(":")[2], attributes)
        if text is not None:
            parser.CharacterDataHandler = text
        parser.StartDoctypeDeclHandler = _refuse_doctype
        try:
            parser.Parse(content, True)
        except expat.ExpatError as error:
            raise self.damaged(error) from error


class Look:
    """What there is in a sheet: how far it reaches, which cells cannot be taken at their word, what is merged."""

    def __init__(self, lengths: list[int]) -> None:
        self.rows = self.columns = self.cells = self.characters = self.hidden_rows = 0
        self.filled_rows: set[int] = set()
        self.filled_columns: set[int] = set()
        self.problems: dict[int, list[tuple[int, str]]] = {}
        self.merged: list[str] = []
        self._lengths = lengths
        self._row, self._column = -1, -1
        self._kind = ""
        self._formula = self._value = False
        self._text = ""

    @property
    def is_table(self) -> bool:
        """Whether there may be names above rows in it."""
        return len(self.filled_rows) > 1 and len(self.filled_columns) > 1

    def start(self, name: str, attributes: Attributes) -> None:
        """An element begins."""
        if name == "v" or name == "t":
            self._value = name == "v"
            self._fill()
        elif name == "c":
            self.end()
            self._column += 1
            if "r" in attributes:
                self._row, self._column = _place(attributes["r"])
            self._kind = attributes.get("t", "n")
        elif name == "f":
            self._formula = True
            self._fill()
        elif name == "row":
            self.end()
            self._row = int(attributes["r"]) - 1 if "r" in attributes else self._row + 1
            self._column = -1
            self.hidden_rows += attributes.get("hidden") in ("1", "true")
        elif name == "mergeCell":
            self.merged.append(attributes.get("ref", ""))

    def text(self, characters: str) -> None:
        """Text within an element."""
        if self._value:
            self._text += characters

    def end(self) -> None:
        """A cell is over."""
        text = self._text.strip() if self._value else ""
        if self._kind == "s" and self._value:
            self.characters += self._lengths[int(text)]
        problem = ""
        if self._kind == "e" and text not in ("", "#N/A"):
            problem = f"the error {text}: mend the formula, or empty the cell"
        elif self._formula and self._kind in ("n", "e", "d") and not text:
            problem = "a formula whose value is not in the file: open the workbook in a spreadsheet and save it"
        kept = self.problems.setdefault(self._column, []) if problem else []
        if problem and len(kept) < _KEPT_PROBLEMS:
            kept.append((self._row, problem))
        self._kind, self._text = "", ""
        self._formula = self._value = False

    def _fill(self) -> None:
        if self._kind:
            self.cells += 1
            self.rows, self.columns = max(self.rows, self._row + 1), max(self.columns, self._column + 1)
            self.filled_rows.add(self._row)
            self.filled_columns.add(self._column)


def column_letters(column: int) -> str:
    """A, B, ..., Z, AA, ... for 0, 1, ..."""
    letters = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


def merged_cells(look: Look) -> Iterator[tuple[str, int, int, int, int]]:
    """Merged cells as they are called, with first and last row, first and last column."""
    for reference in look.merged:
        first, _, last = reference.partition(":")
        (top, left), (bottom, right) = _place(first), _place(last or first)
        yield reference, top, bottom, left, right


def _place(reference: str) -> tuple[int, int]:
    found = _PLACE.fullmatch(reference)
    if found is None:
        raise ValueError(f"{reference!r} is no cell")
    column = 0
    for letter in found[1]:
        column = 26 * column + ord(letter) - 64
    return int(found[2]) - 1, column - 1


def _not_read(raw: Raw) -> DataError:
    if bytes(raw.data).find(_ENCRYPTED) >= 0:
        return DataError(f"{raw.name} is protected by a password: save it without one, or export the sheet as CSV.")
    return DataError(
        f"{raw.name} is a workbook of Excel 97-2003 (.xls) or another old Office file: save it as .xlsx, or export the "
        "sheet as CSV (UTF-8)."
    )


def _refuse_doctype(*_: Any) -> None:
    raise ValueError("it declares entities, as no workbook does")
