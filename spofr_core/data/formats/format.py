"""What a file format says about itself, and how it is opened."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

from spofr_core.data.formats.source import Raw
from spofr_core.data.formats.tables import Table
from spofr_core.data.limits import Limits
from spofr_core.errors import DataError


@dataclass(frozen=True)
class TextOptions:
    """How text is to be read, where finding out is not enough.

    Parameters
    ----------
    delimiter, encoding, decimal : str, optional
        Found out when not given.
    header : bool, optional
        Whether the first row holds the names of the columns; found out when not given. Without it they are called
        "column 1", "column 2", ...
    sheet : str, optional
        Of a workbook the sheet, of a JSON document the key, that holds the table; needed where several do.
    """

    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    header: bool | None = None
    sheet: str | None = None


class Format(ABC):
    """A file format. Register an instance in `FORMATS`, and `read_dataset`, the shell and the uploader take it.

    Attributes
    ----------
    name : str
        As in ``format=name`` and ``--format name``.
    label : str
        As people write it.
    suffixes : tuple of str
        Usual endings of file names, with the dot. A file that no format knows by its content goes to the format
        of its ending, and to CSV if there is none.
    has_sheets : bool
        Whether a file may hold several tables, one of which `TextOptions.sheet` names.
    """

    name: str
    label: str
    suffixes: tuple[str, ...] = ()
    has_sheets: bool = False

    @abstractmethod
    def sniff(self, raw: Raw) -> bool:
        """Whether the first bytes (`raw.head`) show that it is this format, whatever the name of the file."""

    @abstractmethod
    def open(self, raw: Raw, limits: Limits, options: TextOptions) -> Table:
        """The file as a table.

        Raises
        ------
        DataError
            When it is no such file.
        """

    def preview(self, raw: Raw, limits: Limits, options: TextOptions, rows: int) -> Table:
        """A table of which the first rows are wanted only: the whole one, unless opening it means reading it all."""
        return self.open(raw, limits, options)

    def sniff_folder(self, folder: Path) -> bool:
        """Whether a folder holds files that are one table together."""
        return False

    def open_folder(self, folder: Path, limits: Limits) -> Table:
        """Such a folder as a table."""
        raise DataError(f"{folder.name} is a folder, and {self.label} is read from a file: name the file.")
