"""Reads a log of impressions: the service's own, or anybody's with query, impression, position and group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from spofr_core.data import NO_GROUP, UNKNOWN, GroupSpec, Limits, TextOptions
from spofr_core.data.formats.opening import AnySource, open_table
from spofr_core.data.formats.tables import MISSING_VALUES, Kind, Table, no_rows, to_float
from spofr_core.data.group_spec import MISSING_MEND, MISSING_ON_PAGE, Grouping, Missing, resolve_missing
from spofr_core.data.groups.regrouping import relabelled
from spofr_core.data.ids import factorize, has_duplicates, label_text, plain, to_ids
from spofr_core.data.reading.columns import doubtful_header
from spofr_core.data.reading.grouping import groups_of_table, spell_groups
from spofr_core.data.reading.spelling import Spelling
from spofr_core.data.reading.time_column import query_times
from spofr_core.errors import DataError
from spofr_core.serving.shown.log_columns import log_columns
from spofr_core.serving.shown.places import checked_positions, place_notes

_OWN: Mapping[str, Kind] = {
    "policy": "coded",
    "ranking": "number",
    "number": "number",
    "added": "number",
    "delta": "number",
    "how": "coded",
}
"""What only the service's own log has."""
Columns = dict[tuple[str, Kind], pa.ChunkedArray]


@dataclass(frozen=True, eq=False)
class OwnColumns:
    """What a service says of each impression that it has shown.

    Attributes
    ----------
    policies : (I,) text
    rankings, numbers : (I,) int
        Which ranking of the policy it was, and the number of the impression under it.
    added : (I,) float
        What its schedule may add, times impressions; NaN where nothing is promised.
    delta : (I,) float
        In force.
    by_score : (I,) bool
        Sorted by score because fairness could not be had.
    """

    policies: NDArray[Any]
    rankings: NDArray[np.int64]
    numbers: NDArray[np.int64]
    added: NDArray[np.float64]
    delta: NDArray[np.float64]
    by_score: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ShownLog:
    """Impressions as flat lists, each from the top down.

    Attributes
    ----------
    groups : (N,) int32
        Group of each shown item, as in `RankingDataset.groups`.
    group_names : tuple of str
    positions : (N,) int64
        Where it was shown, counted from 1; see `spofr_core.serving.shown.places`.
    offsets : (I + 1,) int64
        Impression i is `offsets[i]:offsets[i + 1]`.
    queries : (I,) int64
        Query of each impression, an index into `query_names`.
    query_names : tuple of str
    times : (I,) datetime64, optional
        In UTC; NaT where unknown.
    own : OwnColumns, optional
        Of a service's own log.
    notes : tuple of str
        What was guessed and found out in reading.
    excluded : int
        Items that belong to no group, because they are excluded or their group is left out.
    """

    groups: NDArray[np.int32]
    group_names: tuple[str, ...]
    positions: NDArray[np.int64]
    offsets: NDArray[np.int64]
    queries: NDArray[np.int64]
    query_names: tuple[str, ...]
    times: NDArray[np.datetime64] | None = None
    own: OwnColumns | None = None
    notes: tuple[str, ...] = ()
    excluded: int = 0

    def __len__(self) -> int:
        return len(self.queries)

    @property
    def group_sizes(self) -> dict[str, int]:
        """How often an item of each group was shown."""
        sizes = np.bincount(self.groups[self.groups >= 0], minlength=len(self.group_names)).tolist()
        return dict(zip(self.group_names, sizes, strict=True))


def read_shown(
    source: AnySource,
    *,
    query: str | None = None,
    impression: str | None = None,
    position: str | None = None,
    item: str | None = None,
    group: str | Sequence[str] | None = None,
    time: str | None = None,
    group_quantiles: int | None = None,
    group_names: Mapping[str, str] | None = None,
    leave_out_groups: Sequence[str] = (),
    missing: Missing = "error",
    missing_values: Sequence[str] = MISSING_VALUES,
    join_alike: bool | None = None,
    guess: bool = True,
    format: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
    sheet: str | None = None,
    limits: Limits | None = None,
) -> ShownLog:
    """Read a log of impressions, a row per shown item, in any format that `read_dataset` takes.

    Parameters
    ----------
    source : path, bytes, file-like or DataFrame
        A file in any such format, or a folder of Parquet parts.
    query, impression, position, item, group, time : str, optional
        Columns; those that are not named are guessed by their usual names. An impression or session is one list as one
        reader saw it: a query and an impression together name a list. Positions are whole numbers; see
        `spofr_core.serving.shown.places`. Rows without a query are impressions of their own. Item and time may be
        absent; several columns of groups are crossed.
    group_quantiles, group_names, leave_out_groups, missing, missing_values, join_alike
        As for `read_dataset`.
    guess, format, delimiter, encoding, decimal, header, sheet, limits
        As for `read_dataset`.

    Raises
    ------
    DataError
        When it is no such log, with the column, the row and the remedy.
    """
    limits = limits or Limits()
    _, table = open_table(source, limits, format, TextOptions(delimiter, encoding, decimal, header, sheet))
    if table.header_doubt:
        raise doubtful_header(table)
    several = [group] if isinstance(group, str) else list(group or ())
    named = {"query": query, "impression": impression, "position": position, "item": item, "time": time}
    named["group"] = several[0] if several else None
    mapping, notes = log_columns(
        table, {role: column for role, column in named.items() if column is not None}, guess=guess
    )
    spec = GroupSpec(
        columns=tuple(several or [mapping["group"]]),
        quantiles=group_quantiles,
        missing=missing,
        renamed=dict(group_names or {}),
        left_out=tuple(leave_out_groups),
    )
    columns = _read(table, mapping, spec)
    if not len(columns[mapping["query"], "coded"]):
        raise no_rows(table.name)
    spelling = Spelling(table.name, join_alike)
    spell_groups(columns, spelling, spec, missing_values)
    if mapping["query"] not in spec.columns:
        columns[mapping["query"], "coded"] = spelling.named(columns[mapping["query"], "coded"], mapping["query"])
    for name, kind in [request for request in columns if request[0] in (mapping["impression"], mapping.get("item"))]:
        columns[name, kind] = spelling.bare(columns[name, kind], name)
    known = [*table.notes, *notes, *spelling.notes()]
    return _assembled(table, mapping, spec, columns, known, tuple(missing_values), limits)


def _read(table: Table, mapping: Mapping[str, str], spec: GroupSpec) -> Columns:
    """Each column in each kind that it is wanted in; most are wanted in one."""
    wanted: list[tuple[str, Kind]] = [(mapping[role], "coded") for role in ("query", "impression")]
    wanted.append((mapping["position"], "number"))
    wanted += [(name, "number" if spec.numeric else "coded") for name in spec.columns]
    wanted += [(mapping[role], kind) for role, kind in _OPTIONAL.items() if role in mapping]
    if all(name in table.names for name in _OWN):
        wanted += list(_OWN.items())
    columns: Columns = {}
    pending = list(dict.fromkeys(wanted))
    while pending:
        batch: dict[str, Kind] = {}
        for name, kind in pending:
            batch.setdefault(name, kind)
        columns |= {(name, batch[name]): column for name, column in table.read(batch).items()}
        pending = [request for request in pending if request not in columns]
    return columns


_OPTIONAL: Mapping[str, Kind] = {"item": "plain", "time": "time"}


def _assembled(
    table: Table,
    mapping: Mapping[str, str],
    spec: GroupSpec,
    columns: Columns,
    notes: list[str],
    missing_values: tuple[str, ...],
    limits: Limits,
) -> ShownLog:
    raw = to_float(columns[mapping["position"], "number"])
    positions, counted = checked_positions(raw, mapping["position"], table.name, table.line_of)
    grouping = relabelled(resolve_missing(groups_of_table(spec, columns, missing_values, limits), limits))
    codes = _codes(grouping, table)
    lists = _Lists.of(columns, mapping, table)
    _check_items(columns, mapping, lists, table)
    times, about = None, list[str]()
    if "time" in mapping:
        column = mapping["time"]
        times, about = query_times(columns[column, "time"], lists.codes, len(lists.queries), column, table)
    order = np.lexsort((positions, lists.codes))
    shown, lengths = np.unique(lists.codes[order], return_counts=True)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    limits.check_list(int(lengths.max(initial=0)), "in an impression of the log")
    queries = lists.queries[shown]
    free, excluded = int(np.sum(codes < 0)), int(np.sum(codes == NO_GROUP))
    left = f"{free:,} of {len(codes):,} items have no group, or one that is left out: they keep their places."
    notes += [*counted, *grouping.notes, *about, *([left] if free else []), *place_notes(positions[order], offsets)]
    return ShownLog(
        groups=codes[order].astype(np.int32),
        group_names=grouping.names,
        positions=positions[order],
        offsets=offsets,
        queries=queries.astype(np.int64),
        query_names=tuple(lists.names),
        times=None if times is None else times[shown],
        own=_own(columns, order[offsets[:-1]]),
        notes=tuple(notes),
        excluded=excluded,
    )


@dataclass(frozen=True, eq=False)
class _Lists:
    """Which rows are one list: those of one query and one impression."""

    codes: NDArray[np.int64]
    queries: NDArray[np.int64]
    names: list[str]
    impressions: list[str]

    @classmethod
    def of(cls, columns: Columns, mapping: Mapping[str, str], table: Table) -> _Lists:
        asked, names = _coded(columns[mapping["query"], "coded"])
        seen, impressions = _coded(columns[mapping["impression"], "coded"])
        if (seen < 0).any():
            line = table.line_of(int((seen < 0).argmax()))
            raise DataError(
                f"The impression is missing in column {mapping['impression']!r} of {table.name} at row {line} "
                f"({int((seen < 0).sum()):,} such rows): fill it in, or leave the row out.",
                column=mapping["impression"],
                row=line,
                fields=("impression",),
            )
        pairs, codes = np.unique((asked + 1) * len(impressions) + seen, return_inverse=True)
        queries, impression = pairs // len(impressions) - 1, pairs % len(impressions)
        nobody = np.flatnonzero(queries < 0)
        queries[nobody] = len(names) + np.arange(len(nobody))
        names += [f"(no query, impression {impressions[k]})" for k in impression[nobody].tolist()]
        return cls(codes, queries, names, [impressions[k] for k in impression.tolist()])


def _coded(column: pa.ChunkedArray) -> tuple[NDArray[np.int64], list[str]]:
    """Codes (-1 for nothing) and texts of the distinct values; 3 and 3.0 are one."""
    codes, values = factorize(column)
    texts = [label_text(value) or "" for value in values.to_pylist()]
    distinct = list(dict.fromkeys(text for text in texts if text))
    place = {text: code for code, text in enumerate(distinct)}
    return np.array([*(place.get(text, -1) for text in texts), -1], dtype=np.int64)[codes], distinct


def _codes(grouping: Grouping, table: Table) -> NDArray[np.int32]:
    """The group of each row; whatever has none keeps its place."""
    missing = grouping.codes == UNKNOWN
    spec = grouping.spec
    if spec.missing == "error" and missing.any():
        line = table.line_of(int(missing.argmax()))
        raise DataError(
            f"{int(missing.sum()):,} of {len(missing):,} shown items have no group: column "
            f"{' & '.join(spec.columns)!r} of {table.name} is first empty at row {line}.",
            column=spec.columns[0],
            row=line,
            fields=("missing",),
            mend=MISSING_MEND,
            on_page=MISSING_ON_PAGE,
        )
    if not (grouping.codes >= 0).any():
        raise DataError(f"No item of {table.name} has a group that is kept: nothing is left.", column=spec.columns[0])
    return grouping.codes if spec.missing == "keep" else np.where(missing, np.int32(NO_GROUP), grouping.codes)


def _check_items(columns: Columns, mapping: Mapping[str, str], lists: _Lists, table: Table) -> None:
    if "item" not in mapping:
        return
    column = columns[mapping["item"], "plain"]
    if column.null_count:
        line = table.line_of(int(np.asarray(column.is_null().to_numpy()).argmax()))
        raise DataError(
            f"The item is missing in column {mapping['item']!r} of {table.name} at row {line}: fill it in, or leave "
            "the row out.",
            column=mapping["item"],
            row=line,
            fields=("item",),
        )
    items = to_ids(column)
    twice = has_duplicates(items, lists.codes)
    if twice is None:
        return
    row = int(np.flatnonzero(twice)[0])
    code = int(lists.codes[row])
    query, impression = lists.names[int(lists.queries[code])], lists.impressions[code]
    line = table.line_of(row)
    raise DataError(
        f"Item {plain(items[row])!r} is shown twice in impression {impression!r} of query {query!r}: column "
        f"{mapping['item']!r} of {table.name}, second time at row {line} ({int(twice.sum()):,} such rows). Choose the "
        "column of the impressions that tells every shown list from the next, or leave out the copies.",
        column=mapping["item"],
        row=line,
        fields=("impression",),
    )


def _own(columns: Columns, first: NDArray[np.int64]) -> OwnColumns | None:
    """What the service's own log says of each impression, in its first row."""
    if not all(request in columns for request in _OWN.items()):
        return None
    texts = {name: _coded(columns[name, "coded"]) for name in ("policy", "how")}
    numbers = {name: to_float(columns[name, kind])[first] for name, kind in _OWN.items() if kind == "number"}
    policies, how = (np.array([*names, ""], dtype=object)[codes[first]] for codes, names in texts.values())
    return OwnColumns(
        policies=policies,
        rankings=numbers["ranking"].astype(np.int64),
        numbers=numbers["number"].astype(np.int64),
        added=numbers["added"],
        delta=numbers["delta"],
        by_score=np.asarray(how == "sorted"),
    )
