"""Audits of Parquet folders larger than memory: part by part, with the summary of the whole."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from spofr_core.data import PartitionedFolder, first_rows, partition_folder, read_dataset
from spofr_core.errors import DataError
from spofr_core.evaluation.audit import AuditResult, audit_table
from spofr_core.evaluation.table import QueryTable
from spofr_core.fairness import Discount, Fairness

Map = Callable[[Callable[["PartJob"], "PartResult"], Iterable["PartJob"]], Iterable["PartResult"]]


@dataclass(frozen=True)
class PartJob:
    """One part and what is asked of it: all that a worker process needs."""

    part: Path
    folder: PartitionedFolder
    fairness: Fairness
    discount: Discount
    cutoff: int


@dataclass(frozen=True, eq=False)
class PartResult:
    """Per-query results of a part, with the row of the folder at which each query begins."""

    table: QueryTable
    first_rows: NDArray[np.int64]
    excluded: dict[str, int]


def audit_folder(
    folder: str | Path,
    fairness: Fairness,
    *,
    mapping: Mapping[str, Any] | None = None,
    discount: Discount | None = None,
    cutoff: int = 10,
    seed: int = 0,
    rows_per_part: int | None = None,
    map_parts: Map = map,
) -> AuditResult:
    """Audit a folder of Parquet files in a stream: the same numbers as reading it in one piece.

    Parameters
    ----------
    folder : path
    fairness : Fairness
    mapping : mapping, optional
        Arguments for `read_dataset` that say which column is what.
    discount, cutoff, seed
        As for `audit`.
    rows_per_part : int, optional
        Rows held in memory at a time, about; a query is never cut.
    map_parts : callable, optional
        `map`, or the `map` of an executor whose workers see the same disk.
    """
    discount = discount or Discount()
    with tempfile.TemporaryDirectory(prefix="spofr-parts-") as scratch:
        options = {} if rows_per_part is None else {"rows_per_part": rows_per_part}
        parts = partition_folder(Path(folder), Path(scratch), mapping or {}, **options)
        jobs = [PartJob(part, parts, fairness, discount, cutoff) for part in parts.parts]
        results = list(map_parts(audit_part, jobs))
    if not results:
        raise DataError(f"The Parquet files in {str(folder)!r} have no rows; there is nothing to audit.")
    order = np.argsort(np.concatenate([result.first_rows for result in results]), kind="stable")
    excluded: Counter[str] = Counter()
    for result in results:
        excluded.update(result.excluded)
    return AuditResult(
        table=QueryTable.concatenate([result.table for result in results])[order],
        fairness=fairness,
        discount=discount,
        cutoff=cutoff,
        seed=seed,
        excluded=dict(excluded),
        notes=parts.notes,
    )


def audit_part(job: PartJob) -> PartResult:
    """Read one part and audit it."""
    query = job.folder.mapping["query"]
    data = read_dataset(job.part, **job.folder.mapping)
    starts = first_rows(job.part, query)
    if len(starts) != len(data):  # queries that lost all their items are in `excluded`, and in no table
        starts = _starts_of(data.query_ids, job.part, query, starts)
    table = audit_table(data, job.fairness, discount=job.discount, cutoff=job.cutoff)
    return PartResult(table=table, first_rows=starts, excluded=dict(data.excluded))


def _starts_of(kept: NDArray[Any], part: Path, query: str, starts: NDArray[np.int64]) -> NDArray[np.int64]:
    seen = pq.read_table(part, columns=[query])[query].unique().to_pylist()
    where = dict(zip(seen, starts.tolist(), strict=True))
    return np.array([where[value] for value in kept.tolist()], dtype=np.int64)
