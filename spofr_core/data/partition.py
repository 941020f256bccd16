"""Parquet folders larger than memory, cut into parts that hold whole queries."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq

from spofr_core.data.dataset import RankingDataset
from spofr_core.data.formats.tables import FrameTable, Table
from spofr_core.data.group_spec import GroupSpec
from spofr_core.data.ids import to_ids
from spofr_core.data.limits import Limits
from spofr_core.data.reading.assemble import NO_ITEM_COLUMN
from spofr_core.data.reading.columns import ROLES, guess_columns, missing_column, unknown_roles
from spofr_core.data.reading.proposals import propose_rank, ranking_looks
from spofr_core.data.reading.query_columns import QueryColumns
from spofr_core.data.reading.reader import read_dataset
from spofr_core.data.reading.time_column import time_notes
from spofr_core.errors import DataError, first_line

_OF_GROUPS = ("missing", "leave_out_groups")
"""Arguments about the groups besides those that begin with "group": the spec of the whole folder says them."""
ROW = "row of the folder"
ROWS_PER_PART = 1_000_000
ROWS_PER_BATCH = 250_000
_LOOKED_ROWS = 5000
MAX_PARTS = 256
"""All parts are open for writing at the same time, and a process may have only so many open files."""


@dataclass(frozen=True)
class Part:
    """All rows of some queries as the bytes of a Parquet file: what a worker needs, on whatever machine it is.

    Attributes
    ----------
    name : str
        How messages call it.
    content : bytes
    mapping : dict
        Arguments of `read_dataset`.
    text_ids : tuple of str
        Of "query" and "item", those whose ids are text in the folder, though this part may hold whole numbers only.
    """

    name: str
    content: bytes
    mapping: Mapping[str, Any]
    text_ids: tuple[str, ...] = ()

    def read(self) -> RankingDataset:
        """The lists of this part.

        Raises
        ------
        NothingLeft
            When all its items were left out for want of a group.
        """
        file = io.BytesIO(self.content)
        file.name = self.name
        data = read_dataset(file, **self.mapping)
        ids = {f"{role}_ids": getattr(data, f"{role}_ids") for role in self.text_ids}
        as_text = {name: values.astype(np.str_) for name, values in ids.items() if values.dtype.kind == "i"}
        return replace(data, **as_text) if as_text else data

    def time_notes(self, data: RankingDataset) -> tuple[str, ...]:
        """Of the notes of `data`, which `read` returned, those about the time column."""
        return tuple(note for note in data.notes if note in time_notes(str(self.mapping.get("time"))))

    def first_rows(self, data: RankingDataset) -> npt.NDArray[np.int64]:
        """For each query of `data`, which `read` returned, the number of its first row in the folder."""
        column = self.mapping["query"]
        table = pq.read_table(io.BytesIO(self.content), columns=[column, ROW])
        encoded = table[column].combine_chunks().dictionary_encode()
        codes = encoded.indices.to_numpy(zero_copy_only=False)
        first = np.sort(np.unique(codes, return_index=True)[1])
        rows = np.asarray(table[ROW].to_numpy()[first], dtype=np.int64)
        if len(rows) == len(data):
            return rows
        # Queries that lost all their items are not in the data.
        names = encoded.dictionary.to_pylist()
        row_of = {str(names[code]): row for code, row in zip(codes[first].tolist(), rows.tolist(), strict=True)}
        return np.array([row_of[str(query)] for query in data.query_ids.tolist()], dtype=np.int64)


@dataclass(frozen=True)
class PartitionedFolder:
    """Parts of a folder in files, loaded one at a time by iterating.

    Attributes
    ----------
    files : tuple of Path
    mapping : dict
        Arguments of `read_dataset`, with the groups of the whole folder written out.
    text_ids : tuple of str
        As in `Part`.
    notes : tuple of str
        What was guessed about the columns.
    """

    files: tuple[Path, ...]
    mapping: Mapping[str, Any]
    text_ids: tuple[str, ...]
    notes: tuple[str, ...]

    def __len__(self) -> int:
        """Number of parts."""
        return len(self.files)

    def __iter__(self) -> Iterator[Part]:
        for number, file in enumerate(self.files, start=1):
            yield Part(f"part {number} of the folder", file.read_bytes(), self.mapping, self.text_ids)


def partition_folder(
    folder: Path,
    scratch: Path,
    mapping: Mapping[str, Any],
    *,
    rows_per_part: int = ROWS_PER_PART,
    min_parts: int = 1,
) -> PartitionedFolder:
    """Distribute the rows of a Parquet folder over files by the hash of their query.

    Only the columns that are needed are read, batch by batch. Every part keeps the number of its rows in the folder
    (from 1) in the column `ROW`, so that the order of queries can be restored.

    Parameters
    ----------
    folder : Path
        With Parquet files, also in subfolders.
    scratch : Path
        An empty folder for the parts.
    mapping : mapping
        Arguments for `read_dataset`; columns that are not named are guessed.
    rows_per_part : int
        Rows of a part, about: a query is never cut, and there are at most `MAX_PARTS` parts.
    min_parts : int
        Parts that are wanted however few rows there are.

    Raises
    ------
    DataError
        When the folder has no rows, or a column is missing.
    """
    source = _open(folder)
    n_rows = source.count_rows()
    if not n_rows:
        raise DataError(f"The Parquet files in {str(folder)!r} have no rows. Check that the export finished.")
    first = FrameTable(source.head(_LOOKED_ROWS).to_pandas(), Limits(), "the folder")
    about = QueryColumns.named(mapping.get("slices") or (), mapping.get("time"))
    about.check(source.schema.names, "The folder")
    roles, notes = _roles(first, mapping, about)
    groups = _groups(source, mapping, roles)
    wanted = {*roles.values(), *groups.columns, *(mapping.get("features") or ()), *about.names}
    columns = sorted(wanted & {*source.schema.names})
    n_parts = min(MAX_PARTS, max(min_parts, -(-n_rows // rows_per_part)))
    files, text_columns = _distribute(source, columns, roles, scratch, n_parts)
    settings = {role: column for role, column in roles.items() if role != "group"}
    if "item" not in settings:
        settings["item"] = ROW
        notes.append(NO_ITEM_COLUMN)
    others = {
        k: v for k, v in mapping.items() if k not in settings and not k.startswith("group") and k not in _OF_GROUPS
    }
    return PartitionedFolder(
        files=tuple(files),
        mapping={**others, **settings, "group": groups, "guess": False},
        text_ids=tuple(role for role in ("query", "item") if settings[role] in text_columns),
        notes=tuple(notes),
    )


def _open(folder: Path) -> pads.Dataset:
    files = sorted(str(path) for path in folder.rglob("*.parquet"))
    if not files:
        raise DataError(
            f"The folder {str(folder)!r} has no .parquet file; name a folder of Parquet files, or one file."
        )
    try:
        source = pads.dataset(files, format="parquet")
        for piece in source.get_fragments():
            piece.ensure_complete_metadata()
    except (pa.ArrowInvalid, pa.ArrowTypeError, OSError) as error:
        raise DataError(
            f"A file in the folder {str(folder)!r} cannot be read as Parquet ({first_line(error)}). "
            "Write it again, or move it away."
        ) from error
    return source


def _roles(first: Table, mapping: Mapping[str, Any], about: QueryColumns) -> tuple[dict[str, str], list[str]]:
    """Which column of the folder is what, by names and by its first rows."""
    given = {role: mapping[role] for role in ROLES if isinstance(mapping.get(role), str)}
    for role, column in given.items():
        if column not in first.names:
            raise missing_column(column, first.names, role, "The folder")
    told = mapping.get("group") is not None or mapping.get("each_item")
    guessed = {"group": ""} if told and "group" not in given else {}
    guessable = [name for name in first.names if name not in about.no_roles]
    roles, notes = guess_columns(guessable, given | guessed)
    unknown = [role for role in ("query", "group") if role not in roles]
    if unknown:
        raise unknown_roles(unknown, first)
    roles = {role: column for role, column in roles.items() if column}
    notes += propose_rank(roles, ranking_looks(first, roles))
    return roles, notes


def _groups(source: pads.Dataset, mapping: Mapping[str, Any], roles: Mapping[str, str]) -> GroupSpec:
    """The groups of the whole folder: names and thresholds, from its group columns alone."""
    if mapping.get("each_item"):
        return GroupSpec(each_item=True)
    group = mapping["group"] if mapping.get("group") is not None else roles["group"]
    if isinstance(group, GroupSpec) and group.each_item:
        return group
    if isinstance(group, GroupSpec):
        columns = list(group.columns)
    else:
        columns = [group] if isinstance(group, str) else list(group)
    for column in columns:
        if column not in source.schema.names:
            raise missing_column(column, source.schema.names, "group", "The folder")
    settings = {name: mapping[name] for name in mapping if name.startswith("group_") or name in _OF_GROUPS}
    numeric = settings.get("group_quantiles") is not None
    seen = pd.concat(
        [_distinct(batch.to_pandas(), keep_all=numeric) for batch in source.to_batches(columns=columns)],
        ignore_index=True,
    )
    seen = _distinct(seen, keep_all=numeric)
    # One list that holds every value once: reading it completes names and thresholds by the one path there is.
    whole = read_dataset(seen.assign(**{ROW: 0}), query=ROW, group=group, guess=False, **settings, limits=None)
    if whole.group_spec is None:
        raise DataError("The groups of the folder could not be told; name a group column.")
    return whole.group_spec


def _distinct(frame: pd.DataFrame, *, keep_all: bool) -> pd.DataFrame:
    return frame if keep_all else frame.drop_duplicates()


def _distribute(
    source: pads.Dataset, columns: list[str], roles: Mapping[str, str], scratch: Path, n_parts: int
) -> tuple[list[Path], set[str]]:
    """Write the parts; also name the id columns that hold text other than whole numbers somewhere."""
    paths = [scratch / f"part-{k:05d}.parquet" for k in range(n_parts)]
    schema = pa.schema([*(source.schema.field(name) for name in columns), pa.field(ROW, pa.int64())])
    ids = {roles[role] for role in ("query", "item") if role in roles}
    text: set[str] = set()
    writers = [pq.ParquetWriter(path, schema) for path in paths]
    try:
        for part, rows in _pieces(source, columns, roles["query"], n_parts):
            writers[part].write_table(rows.cast(schema))
            text |= {column for column in ids - text if _stays_text(rows[column])}
    finally:
        for writer in writers:
            writer.close()
    return [path for path in paths if pq.read_metadata(path).num_rows], text


def _stays_text(ids: pa.ChunkedArray) -> bool:
    """Whether `to_ids` keeps these ids as text."""
    kind = ids.type.value_type if pa.types.is_dictionary(ids.type) else ids.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return False
    known = ids.cast(kind).drop_null()
    return len(known) > 0 and to_ids(known).dtype.kind != "i"


def _pieces(source: pads.Dataset, columns: list[str], query: str, n_parts: int) -> Iterator[tuple[int, pa.Table]]:
    start = 0
    for batch in source.to_batches(columns=columns, batch_size=ROWS_PER_BATCH):
        rows = pa.Table.from_batches([batch])
        rows = rows.append_column(ROW, pa.array(np.arange(start + 1, start + 1 + len(rows), dtype=np.int64)))
        start += len(rows)
        encoded = rows[query].combine_chunks().dictionary_encode()
        hashes = pd.util.hash_array(encoded.dictionary.to_numpy(zero_copy_only=False), categorize=False)
        codes = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
        part_of = (hashes % np.uint64(n_parts))[codes] if len(hashes) else np.zeros(len(rows), dtype=np.uint64)
        for part in range(n_parts):
            chosen = np.flatnonzero(part_of == part)
            if len(chosen):
                yield part, rows.take(pa.array(chosen))
