"""Parquet: a file, or a folder of them that is one table."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from spofr_core.data.formats import FORMATS, Format, TextOptions
from spofr_core.data.formats.parquet_folder import FolderTable, ParquetFolder, has_parquet
from spofr_core.data.formats.source import Raw
from spofr_core.data.formats.tables import ArrowTable, Table, is_text
from spofr_core.data.limits import Limits
from spofr_core.errors import DataError, first_line


class Parquet(Format):
    """Apache Parquet."""

    name = "parquet"
    label = "Parquet (file or folder)"
    suffixes = (".parquet", ".pq")

    def sniff(self, raw: Raw) -> bool:
        """Its magic number."""
        return raw.head.startswith(b"PAR1")

    def open(self, raw: Raw, limits: Limits, options: TextOptions) -> Table:
        """A file from memory."""
        try:
            schema = pq.read_schema(pa.BufferReader(raw.data))
            # One long text that all rows share is one in the file: as a dictionary it is one in memory too.
            texts = [field.name for field in schema if is_text(field.type)]
            file = pq.ParquetFile(pa.BufferReader(raw.data), read_dictionary=texts)
            limits.check_columns(len(schema), raw.name)
            limits.check_rows(file.metadata.num_rows, raw.name)
            return ArrowTable(file.read().replace_schema_metadata(None), raw.name, limits)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise DataError(
                f"{raw.name} cannot be read as Parquet ({first_line(error)}). "
                "Write it again, or check that the copy is whole."
            ) from error

    def sniff_folder(self, folder: Path) -> bool:
        """Whether there is a .parquet file below."""
        return has_parquet(folder)

    def open_folder(self, folder: Path, limits: Limits) -> Table:
        """All .parquet files below the folder, in the order of their names."""
        return FolderTable(ParquetFolder(folder), limits)


FORMATS.register(Parquet())
