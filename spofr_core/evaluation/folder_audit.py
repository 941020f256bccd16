"""Audits of Parquet folders larger than memory: part by part, with the summary of the whole."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spofr_core.config import checked_seed
from spofr_core.data import Limits, NothingLeft, Part, PartContents, PartitionedFolder, partition_folder
from spofr_core.data.query_attributes import attribute_notes, check_slice_count
from spofr_core.errors import DataError, WorkFailed, first_line
from spofr_core.evaluation.audit import AuditResult
from spofr_core.evaluation.measurement import measured_table, measurement_of
from spofr_core.evaluation.query_table import QueryTable
from spofr_core.evaluation.summary import SmallGroups
from spofr_core.fairness import Discount, Fairness
from spofr_core.measures import Measure

Map = Callable[[Callable[[Part], Any], PartitionedFolder], Iterable[Any]]
"""`map`, or another way to get a picklable function of every part, in the order of the parts."""


@dataclass(frozen=True, eq=False)
class PartResult:
    """Per-query results of a part, with the row of the folder at which each query begins.

    `table` is None where all items of the part were left out.
    """

    table: QueryTable | None
    first_rows: NDArray[np.int64]
    contents: PartContents


def audit_folder(
    folder: str | Path,
    fairness: Fairness,
    *,
    mapping: Mapping[str, Any] | None = None,
    discount: Discount | None = None,
    cutoff: int = 10,
    seed: int = 0,
    small: SmallGroups | None = None,
    measures: Sequence[str | Measure] = (),
    rows_per_part: int | None = None,
    min_parts: int = 1,
    map_parts: Map = map,
) -> AuditResult:
    """Audit a folder of Parquet files in a stream: the same numbers as reading it in one piece.

    Parameters
    ----------
    folder : path
    fairness : Fairness
    mapping : mapping, optional
        Arguments for `read_dataset` that say which column is what.
    discount, cutoff, seed, small, measures
        As for `audit`.
    rows_per_part : int, optional
        Rows held in memory at a time, about; a query is never cut.
    min_parts : int
        Parts to cut at least, so that every worker gets some.
    map_parts : callable, optional
        `map`, or that of an executor: a part travels to its worker whole, which need not see the folder. Such as that
        of `spofr_core.experiments.PoolExecutor(2)`, or of ``ProcessPoolExecutor(mp_context=get_context("spawn"))``:
        processes have to be started afresh, because a fork of one that has audited something dies.
    """
    discount = discount or Discount()
    work = partial(audit_part, fairness=fairness, discount=discount, cutoff=cutoff, measures=tuple(measures))
    with cut(folder, mapping, rows_per_part=rows_per_part, min_parts=min_parts) as parts:
        results = list(each_part(map_parts, work, parts))
    tables, order, contents = in_order(results, folder)
    table = QueryTable.concatenate(tables)[order]
    notes = (*parts.notes, *contents.notes, *notes_on_queries(table.attributes, table.times))
    how: dict[str, Any] = {"discount": discount, "cutoff": cutoff, "seed": checked_seed(seed), "small": small}
    return measurement_of(table, fairness, excluded=contents.excluded, notes=notes, **how).judge(fairness)


def audit_part(
    part: Part, *, fairness: Fairness, discount: Discount, cutoff: int, measures: Sequence[str | Measure] = ()
) -> PartResult:
    """Read one part and measure it."""
    try:
        data = part.read()
    except NothingLeft as emptied:
        return left_out(emptied)
    table = measured_table(data, fairness, discount=discount, cutoff=cutoff, measures=measures)
    return PartResult(table, part.first_rows(data), part.about(data))


def each_part(map_parts: Map, work: Callable[[Part], Any], parts: PartitionedFolder) -> Iterator[Any]:
    """The results of all parts, in their order.

    Raises
    ------
    WorkFailed
        When a process of `concurrent.futures` died.
    """
    try:
        yield from map_parts(work, parts)
    except BrokenExecutor as error:
        raise WorkFailed(
            f"A worker died: {first_line(error)}. If its process was forked from one that had audited something, start "
            "it afresh: ProcessPoolExecutor(mp_context=get_context('spawn')), or PoolExecutor(2) of "
            "spofr_core.experiments."
        ) from error


@contextmanager
def cut(
    folder: str | Path, mapping: Mapping[str, Any] | None, *, rows_per_part: int | None = None, min_parts: int = 1
) -> Iterator[PartitionedFolder]:
    """The folder in parts that hold whole queries, kept on disk as long as the context lasts."""
    options = {} if rows_per_part is None else {"rows_per_part": rows_per_part}
    with tempfile.TemporaryDirectory(prefix="spofr-parts-") as scratch:
        yield partition_folder(Path(folder), Path(scratch), mapping or {}, min_parts=min_parts, **options)


def in_order(
    results: Sequence[PartResult], folder: str | Path
) -> tuple[list[QueryTable], NDArray[np.intp], PartContents]:
    """Tables of the parts, the order that brings their queries into that of the folder, and what they hold."""
    tables = [result.table for result in results if result.table is not None]
    if not tables:
        raise DataError(f"No item in the folder {str(folder)!r} has a group: nothing is left.")
    order = np.argsort(np.concatenate([result.first_rows for result in results]), kind="stable")
    return tables, order, PartContents.together(result.contents for result in results)


def notes_on_queries(attributes: Mapping[str, NDArray[Any]], times: NDArray[np.datetime64] | None) -> list[str]:
    """What reading the folder in one piece would say about the attributes and times of its queries.

    Raises
    ------
    DataError
        When the parts together have more slices than one part may have.
    """
    for name, values in attributes.items():
        check_slice_count(name, list(dict.fromkeys(values.tolist())), Limits().slices)
    return attribute_notes(attributes, times)


def left_out(emptied: NothingLeft) -> PartResult:
    """The result of a part without a single item that has a group."""
    return PartResult(None, np.zeros(0, dtype=np.int64), PartContents(excluded=emptied.excluded))
