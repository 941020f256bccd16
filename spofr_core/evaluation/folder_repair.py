"""Re-ranking of Parquet folders, part by part: policies are written as they come, the summary is that of the whole."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spofr_core.config import checked_seed
from spofr_core.data import NothingLeft, Part
from spofr_core.errors import ConfigError
from spofr_core.evaluation.audit import AuditResult
from spofr_core.evaluation.folder_audit import Map, PartResult, cut, each_part, in_order, left_out
from spofr_core.evaluation.measurement import measurement_of
from spofr_core.evaluation.query_table import FloatArray, QueryTable
from spofr_core.evaluation.repair import repair, repair_summary
from spofr_core.evaluation.summary import SmallGroups
from spofr_core.fairness import Discount, Fairness
from spofr_core.files import check_outputs, write_whole
from spofr_core.policy import OnInfeasible
from spofr_core.policy.policies import relaxed_notes
from spofr_core.policy.policy_table import check_ending, parquet_bytes, write_table
from spofr_core.policy.proof.certificate import certificate_lines
from spofr_core.unfinished import unfinished_folder

ROWS_PER_PART = 100_000
"""Ties are drawn part by part, so the parts follow from the folder alone and not from who works on them."""


@dataclass(frozen=True, eq=False)
class RepairedPart(PartResult):
    """The policies of a part and what they change; `table` is what was measured before.

    Attributes
    ----------
    after : QueryTable
    score_utility : (2, Q) float
        As in `Repair`.
    without_quota : (Q,) float
        As `Repair.utility_without_quota`; empty where there is no quota.
    policies : bytes
        The long table as a Parquet file.
    table_rows : (Q,) int
        Rows of each query in it.
    certificates : list of str
        A line of JSON per query, where they were asked for.
    relaxed : (Q,) float
        Smallest feasible delta of the queries that got it in place of the one asked for; NaN elsewhere.
    maximised, ranks
        As in `Repair`.
    """

    after: QueryTable
    score_utility: FloatArray
    without_quota: FloatArray
    policies: bytes
    table_rows: NDArray[np.int64]
    certificates: list[str]
    rankings: int
    relaxed: FloatArray
    solver: str
    maximised: str
    ranks: bool
    notes: tuple[str, ...]


def repair_folder(
    folder: str | Path,
    fairness: Fairness,
    out: str | Path,
    *,
    mapping: Mapping[str, Any] | None = None,
    certificates: str | Path | None = None,
    solver: str = "exact",
    discount: Discount | None = None,
    cutoff: int = 10,
    seed: int = 0,
    small: SmallGroups | None = None,
    on_infeasible: OnInfeasible = "raise",
    rows_per_part: int | None = None,
    map_parts: Map = map,
) -> dict[str, Any]:
    """Re-rank every list of a folder of Parquet files and write the policies.

    Files appear when everything is done, or not at all. Whoever works on the parts, the policies are the same.

    Parameters
    ----------
    folder : path
    fairness : Fairness
    out : path
        A file that ends in .parquet or .csv, with the queries in the order of the folder; or a new folder, for which
        the policies need not fit into memory: a Parquet file per part.
    mapping : mapping, optional
        Arguments for `read_dataset` that say which column is what.
    certificates : path, optional
        File for the proof of every query, one JSON line each.
    solver, discount, cutoff, seed, small, on_infeasible
        As for `repair`.
    rows_per_part : int, optional
        Rows worked on at a time, about; a query is never cut. Another value may break ties in another way.
    map_parts : callable, optional
        As for `audit_folder`.

    Returns
    -------
    dict
        As `Repair.summary`.
    """
    check_outputs([out, *([] if certificates is None else [certificates])], [folder])
    settings = _Settings(solver, discount or Discount(), cutoff, checked_seed(seed), on_infeasible)
    work = partial(repair_part, fairness=fairness, settings=settings, with_certificates=certificates is not None)
    results: list[PartResult] = []
    with _sink(Path(out)) as sink, cut(folder, mapping, rows_per_part=rows_per_part or ROWS_PER_PART) as parts:
        for result in each_part(map_parts, work, parts):
            if isinstance(result, RepairedPart):
                sink.add(result)
                result = replace(result, policies=b"")
            results.append(result)
        befores, order, contents = in_order(results, folder)
        repaired = [result for result in results if isinstance(result, RepairedPart)]
        if certificates is not None:
            lines = [line for result in repaired for line in result.certificates]
            write_whole(certificates, "".join(f"{lines[place]}\n" for place in order).encode("utf-8"))
    before = measurement_of(
        QueryTable.concatenate(befores)[order],
        fairness,
        discount=settings.discount,
        cutoff=cutoff,
        seed=settings.seed,
        small=small,
        excluded=contents.excluded,
        notes=(*parts.notes, *contents.notes),
    )
    return _summary(before.judge(fairness), repaired, order)


def _summary(before: AuditResult, repaired: Sequence[RepairedPart], order: NDArray[np.intp]) -> dict[str, Any]:
    """The summary of the whole, from its audit before and what the parts brought."""
    after = QueryTable.concatenate([result.after for result in repaired])[order]
    relaxed = np.concatenate([result.relaxed for result in repaired])[order]
    raised = {place: float(relaxed[place]) for place in np.flatnonzero(~np.isnan(relaxed)).tolist()}
    notes = dict.fromkeys(note for result in repaired for note in result.notes)
    without = np.concatenate([result.without_quota for result in repaired])
    return repair_summary(
        before,
        replace(before.measurement, table=after).judge(before.fairness),
        np.concatenate([result.score_utility for result in repaired], axis=1)[:, order],
        rankings=sum(result.rankings for result in repaired),
        solver=repaired[0].solver,
        relaxed=raised,
        notes=[*notes, *relaxed_notes(len(raised), len(order))],
        seed=before.measurement.seed,
        maximised=repaired[0].maximised,
        ranks=repaired[0].ranks,
        without_quota=None if before.fairness.every_ranking is None else without[order],
    )


@dataclass(frozen=True)
class _Settings:
    """Those arguments of `repair` that every part gets."""

    solver: str
    discount: Discount
    cutoff: int
    seed: int
    on_infeasible: OnInfeasible


def repair_part(
    part: Part, *, fairness: Fairness, settings: _Settings, with_certificates: bool
) -> RepairedPart | PartResult:
    """Read one part, re-rank it, and write its policies into memory."""
    try:
        data = part.read()
    except NothingLeft as emptied:
        return left_out(emptied)
    found = repair(data, fairness, **vars(settings))
    policies = found.policies
    relaxed = np.full(len(data), np.nan)
    relaxed[list(policies.relaxed)] = list(policies.relaxed.values())
    return RepairedPart(
        table=found.before.measurement.table,
        first_rows=part.first_rows(data),
        contents=part.about(data),
        after=found.after.measurement.table,
        score_utility=found.score_utility,
        without_quota=np.zeros(0) if found.utility_without_quota is None else found.utility_without_quota,
        policies=parquet_bytes(policies.to_frame()),
        table_rows=policies.solution.counts * data.list_lengths,
        certificates=certificate_lines(policies) if with_certificates else [],
        rankings=int(policies.solution.counts.sum()),
        relaxed=relaxed,
        solver=policies.solution.solver,
        maximised=found.maximised,
        ranks=found.ranks,
        notes=policies.solution.notes,
    )


class _Sink(AbstractContextManager["_Sink"], Protocol):
    """Where policies go; they are there when the context ends without an error."""

    def add(self, part: RepairedPart) -> None: ...


def _sink(out: Path) -> _Sink:
    if out.suffix and not out.is_dir():
        check_ending(out)
        return _OneFile(out)
    return _NewFolder(out)


class _OneFile:
    """Keeps the tables and writes them as one, in the order of the folder."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._tables: list[pd.DataFrame] = []
        self._keys: list[NDArray[np.int64]] = []

    def add(self, part: RepairedPart) -> None:
        self._tables.append(pd.read_parquet(io.BytesIO(part.policies)))
        self._keys.append(np.repeat(part.first_rows, part.table_rows))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            order = np.argsort(np.concatenate(self._keys), kind="stable")
            write_table(pd.concat(self._tables, ignore_index=True).iloc[order], self._path)


class _NewFolder:
    """A file per part in a hidden folder, which gets its name when all are there."""

    def __init__(self, path: Path) -> None:
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise ConfigError(
                f"{str(path)!r} is there already and not an empty folder: name a new folder for the policies, "
                "or a file that ends in .parquet or .csv."
            )
        self._path = path.resolve()
        self._count = 0
        self._open = ExitStack()

    def add(self, part: RepairedPart) -> None:
        write_whole(self._hidden / f"part-{self._count:05d}.parquet", part.policies)
        self._count += 1

    def __enter__(self) -> Self:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._hidden = self._open.enter_context(unfinished_folder(self._path))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._open:
            if error is None:
                self._hidden.chmod(0o755)
                self._hidden.replace(self._path)
