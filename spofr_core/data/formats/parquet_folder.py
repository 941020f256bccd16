"""A folder of Parquet files that are one table, also where their types differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

from spofr_core.data.formats.tables import ArrowTable, Kind, is_text
from spofr_core.data.limits import Limits
from spofr_core.errors import DataError, first_line
from spofr_core.files import remember_input

_LONGEST_DECIMAL = 38
_LOOKED_ROWS = 250_000


class ParquetFolder:
    """All .parquet files below a folder, in the order of their names; folders called "country=DE" are columns.

    A column has the type that holds what all files have in it: doubles for whole numbers and doubles, text for text
    and numbers. Where there is none, the column cannot be read, and the others can.

    Raises
    ------
    DataError
        When there is no such file, or one that cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self.name = folder.name
        files = sorted(str(file) for file in _files(folder))
        if not files:
            raise DataError(
                f"The folder {str(folder)!r} has no .parquet file; name a folder of Parquet files, or one file."
            )
        for file in files:
            remember_input(file)
        try:
            self._source = _dataset(files, folder)
            self._parts = list(self._source.get_fragments())
            for part in self._parts:
                part.ensure_complete_metadata()
        except (pa.ArrowException, OSError) as error:
            raise DataError(
                f"A file in the folder {str(folder)!r} cannot be read as Parquet ({first_line(error)}). "
                "Write it again, or move it away."
            ) from error
        self._folder = folder
        self.schema: pa.Schema = self._source.schema
        self._unlike: dict[str, str] = {}
        self._refused: set[str] = set()
        self._in_both: set[str] = set()
        self._agree()

    def _agree(self) -> None:
        """One type for each column, and what is to be said where the files have several."""
        for name in dict.fromkeys(self.schema.names):
            where: dict[pa.DataType, str] = {}
            for part in self._parts:
                found = part.physical_schema.get_field_index(name)
                if found >= 0:
                    kind = part.physical_schema.field(found).type
                    where.setdefault(pa.string() if is_text(kind) else kind, self._inside(part))
            if len(where) < 2:
                continue
            self._unlike[name] = ", ".join(f"{_word(kind)} in {file}" for kind, file in where.items())
            common = _common_type(list(where))
            if common is None:
                self._refused.add(name)
            else:
                if is_text(common) and any(pa.types.is_floating(kind) for kind in where):
                    self._in_both.add(name)
                place = self.schema.get_field_index(name)
                self.schema = self.schema.set(place, pa.field(name, common))
        if self._unlike:
            self._source = _dataset(self._source.files, self._folder, self.schema)

    def notes(self, columns: Sequence[str]) -> list[str]:
        """What is to be known about these columns."""
        return [
            f"The parts of column {name!r} do not have one type ({self._unlike[name]}): all were read as "
            f"{_word(self.schema.field(name).type)}."
            for name in columns
            if name in self._unlike
        ]

    def count_rows(self) -> int:
        """Rows of all files."""
        return int(self._source.count_rows())

    def head(self, rows: int) -> pa.Table:
        """The first rows; where a column cannot be read, those of the first file."""
        source = _dataset(self._source.files[:1], self._folder, self.schema) if self._refused else self._source
        try:
            return source.head(rows)
        except pa.ArrowException as error:
            raise self._unreadable(self.schema.names, error) from error

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """These columns, so many rows at a time."""
        self._check(columns)
        try:
            yield from self._source.to_batches(columns=list(columns), batch_size=rows)
        except pa.ArrowException as error:
            raise self._unreadable(columns, error) from error

    def read(self, columns: Sequence[str]) -> pa.Table:
        """These columns as a whole."""
        self._check(columns)
        try:
            return self._source.to_table(columns=list(columns))
        except pa.ArrowException as error:
            raise self._unreadable(columns, error) from error

    def refuse_commas(self, name: str) -> None:
        """See to it that text has no commas where doubles became text: what is made of those decides no sign."""
        if name not in self._in_both:
            return
        for batch in self.batches([name], _LOOKED_ROWS):
            written = batch.column(0).filter(pc.match_substring(batch.column(0), ","))
            if len(written):
                what = f"{self._unlike[name]}, and text such as {written[0].as_py()!r}"
                raise _no_one_type(name, self.name, what)

    def _check(self, columns: Sequence[str]) -> None:
        for name in columns:
            if name in self._refused:
                raise _no_one_type(name, self.name, self._unlike[name])

    def _unreadable(self, columns: Sequence[str], error: pa.ArrowException) -> DataError:
        """Which file and column it is that cannot be read as the others are."""
        for part in self._parts:
            for name in columns:
                try:
                    part.to_table(columns=[name], schema=self.schema)
                except pa.ArrowException as found:
                    what = f"{self._unlike.get(name, 'one type')}; {self._inside(part)}: {first_line(found)}"
                    return _no_one_type(name, self.name, what)
        return DataError(f"{self.name} cannot be read as Parquet ({first_line(error)}). Write it again.")

    def _inside(self, part: pads.Fragment) -> str:
        return Path(part.path).relative_to(self._folder).as_posix()


class FolderTable(ArrowTable):
    """Such a folder as a table."""

    def __init__(self, folder: ParquetFolder, limits: Limits) -> None:
        self._folder = folder
        super().__init__(folder.schema.empty_table(), folder.name, limits)

    def read(self, kinds: Mapping[str, Kind]) -> dict[str, pa.ChunkedArray]:
        for name in (name for name, kind in kinds.items() if kind == "number"):
            self._folder.refuse_commas(name)
        self.notes = list(dict.fromkeys([*self.notes, *self._folder.notes(list(kinds))]))
        return super().read(kinds)

    def _columns(self, columns: list[str]) -> pa.Table:
        return self._folder.read(columns)

    def _first(self, rows: int) -> pa.Table:
        return self._folder.head(rows)


def has_parquet(folder: Path) -> bool:
    """Whether there is a .parquet file below a folder."""
    return any(True for _ in _files(folder))


def _files(folder: Path) -> Iterator[Path]:
    """Without what is hidden: file systems and other programmes keep files of their own beside the data."""
    return (file for file in folder.rglob("*.parquet") if not file.name.startswith((".", "_")))


def _dataset(files: list[str], folder: Path, schema: pa.Schema | None = None) -> pads.FileSystemDataset:
    in_names = pads.HivePartitioning.discover(infer_dictionary=True)
    return pads.dataset(
        files, schema=schema, format="parquet", partitioning=in_names, partition_base_dir=folder.as_posix()
    )


def _word(kind: pa.DataType) -> str:
    if pa.types.is_dictionary(kind):
        return f"dictionary of {_word(kind.value_type)}"
    return "text" if is_text(kind) else str(kind)


def _no_one_type(name: str, folder: str, what: str) -> DataError:
    return DataError(
        f"The parts of column {name!r} of {folder} cannot be read as one type ({what}): write them with one type.",
        column=name,
    )


def _common_type(kinds: Sequence[pa.DataType]) -> pa.DataType | None:
    """The type that can hold what all these can; None where there is none."""
    is_ = pa.types
    plain = {kind.value_type if is_.is_dictionary(kind) else kind for kind in kinds} - {pa.null()}
    if len(plain) < 2:
        return next(iter(plain), pa.null())
    whole = {kind for kind in plain if is_.is_integer(kind)}
    decimal = {kind for kind in plain if is_.is_decimal(kind)}
    numbers = whole | decimal | {kind for kind in plain if is_.is_floating(kind)}
    text = {kind for kind in plain if is_text(kind)}
    if text:
        return pa.large_string() if plain == text | numbers else None
    if plain == whole:
        return pa.int64()
    if plain == whole | decimal:
        return pa.decimal128(_LONGEST_DECIMAL, max(kind.scale for kind in decimal))
    if plain == numbers:
        return pa.large_string() if decimal else pa.float64()  # doubles would tie long decimals
    if all(is_.is_date(kind) or is_.is_timestamp(kind) for kind in plain):
        zones = {getattr(kind, "tz", None) for kind in plain}
        return pa.timestamp("us", zones.pop()) if len(zones) == 1 else None
    return None
