"""Parquet folders larger than memory, cut into parts that hold whole queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq

from spofr_core.data.columns import guess_columns
from spofr_core.data.groups import GroupSpec
from spofr_core.data.reading import read_dataset
from spofr_core.errors import DataError, first_line

ROW = "row of the folder"
ROWS_PER_PART = 1_000_000
ROWS_PER_BATCH = 250_000


@dataclass(frozen=True)
class PartitionedFolder:
    """Parts of a folder, each a Parquet file with all rows of its queries, and how to read any of them.

    Attributes
    ----------
    parts : tuple of Path
    mapping : dict
        Arguments of `read_dataset`, with the groups of the whole folder written out.
    notes : tuple of str
        What was guessed about the columns.
    """

    parts: tuple[Path, ...]
    mapping: Mapping[str, Any]
    notes: tuple[str, ...]


def partition_folder(
    folder: Path, scratch: Path, mapping: Mapping[str, Any], *, rows_per_part: int = ROWS_PER_PART
) -> PartitionedFolder:
    """Distribute the rows of a Parquet folder over files by the hash of their query.

    Only the columns that are needed are read, batch by batch. Every part keeps the number of its rows in the folder in
    the column `ROW`, so that the order of queries can be restored.

    Parameters
    ----------
    folder : Path
        With Parquet files, also in subfolders.
    scratch : Path
        An empty folder for the parts.
    mapping : mapping
        Arguments for `read_dataset`; columns that are not named are guessed.
    """
    source = _open(folder)
    roles, notes = _roles(source.schema.names, mapping)
    groups = _groups(source, mapping, roles)
    columns = sorted({*roles.values(), *groups.columns, *(mapping.get("features") or ())} & {*source.schema.names})
    n_parts = max(1, -(-source.count_rows() // rows_per_part))
    parts = _distribute(source, columns, roles["query"], scratch, n_parts)
    settings = {role: column for role, column in roles.items() if role != "group"}
    others = {k: v for k, v in mapping.items() if k not in settings and not k.startswith("group") and k != "missing"}
    return PartitionedFolder(
        parts=tuple(parts), mapping={**others, **settings, "group": groups, "guess": False}, notes=tuple(notes)
    )


def first_rows(part: Path, query: str) -> npt.NDArray[np.int64]:
    """For each query of a part, in order of appearance, the number of its first row in the folder."""
    table = pq.read_table(part, columns=[query, ROW])
    codes = table[query].combine_chunks().dictionary_encode().indices.to_numpy(zero_copy_only=False)
    _, first = np.unique(codes, return_index=True)
    return np.asarray(table[ROW].to_numpy()[np.sort(first)])


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


def _roles(names: Sequence[str], mapping: Mapping[str, Any]) -> tuple[dict[str, str], list[str]]:
    told = ("query", "item", "relevance", "score", "rank", "click", "position", "propensity", "group")
    given = {role: mapping[role] for role in told if isinstance(mapping.get(role), str)}
    missing = [column for column in given.values() if column not in names]
    if missing:
        raise DataError(f"The folder has no column {missing[0]!r}; it has {list(names)}.", column=missing[0])
    guessed = {"group": ""} if mapping.get("group") is not None and "group" not in given else {}
    roles, notes = guess_columns(names, given | guessed)
    roles = {role: column for role, column in roles.items() if column}
    if "query" not in roles:
        raise DataError(f"Which column is the query? The folder has {list(names)}; name it: query='...'.")
    return roles, notes


def _groups(source: pads.Dataset, mapping: Mapping[str, Any], roles: Mapping[str, str]) -> GroupSpec:
    """The groups of the whole folder: names and thresholds, from its group columns alone."""
    told = mapping.get("group", roles.get("group"))
    if told is None:
        raise DataError(f"Which column is the group? The folder has {list(source.schema.names)}; name it: group='...'.")
    if isinstance(told, GroupSpec):
        columns = list(told.columns)
    else:
        columns = [told] if isinstance(told, str) else list(told)
    absent = [column for column in columns if column not in source.schema.names]
    if absent:
        raise DataError(f"The folder has no column {absent[0]!r}; it has {source.schema.names}.", column=absent[0])
    settings = {name: mapping[name] for name in mapping if name.startswith("group_") or name == "missing"}
    numeric = settings.get("group_quantiles") is not None
    seen = pd.concat(
        [_distinct(batch.to_pandas(), keep_all=numeric) for batch in source.to_batches(columns=columns)],
        ignore_index=True,
    )
    seen = _distinct(seen, keep_all=numeric)
    # One list that holds every value once: reading it completes names and thresholds by the one path there is.
    whole = read_dataset(seen.assign(**{ROW: 0}), query=ROW, group=told, guess=False, **settings, limits=None)
    if whole.group_spec is None:
        raise DataError("The groups of the folder could not be told; name a group column.")
    return whole.group_spec


def _distinct(frame: pd.DataFrame, *, keep_all: bool) -> pd.DataFrame:
    return frame if keep_all else frame.drop_duplicates()


def _distribute(source: pads.Dataset, columns: list[str], query: str, scratch: Path, n_parts: int) -> list[Path]:
    paths = [scratch / f"part-{k:05d}.parquet" for k in range(n_parts)]
    schema = pa.schema([*(source.schema.field(name) for name in columns), pa.field(ROW, pa.int64())])
    writers = [pq.ParquetWriter(path, schema) for path in paths]
    try:
        for part, rows in _pieces(source, columns, query, n_parts):
            writers[part].write_table(rows.cast(schema))
    finally:
        for writer in writers:
            writer.close()
    return [path for path in paths if pq.read_metadata(path).num_rows]


def _pieces(source: pads.Dataset, columns: list[str], query: str, n_parts: int) -> Iterator[tuple[int, pa.Table]]:
    start = 0
    for batch in source.to_batches(columns=columns, batch_size=ROWS_PER_BATCH):
        rows = pa.Table.from_batches([batch])
        rows = rows.append_column(ROW, pa.array(np.arange(start, start + len(rows), dtype=np.int64)))
        start += len(rows)
        encoded = rows[query].combine_chunks().dictionary_encode()
        hashes = pd.util.hash_array(encoded.dictionary.to_numpy(zero_copy_only=False), categorize=False)
        codes = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
        part_of = (hashes % np.uint64(n_parts))[codes] if len(hashes) else np.zeros(len(rows), dtype=np.uint64)
        for part in range(n_parts):
            chosen = np.flatnonzero(part_of == part)
            if len(chosen):
                yield part, rows.take(pa.array(chosen))
