"""`read_dataset`: any table of rankings to a `RankingDataset`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from spofr_core.data.clicks import IPS, with_ips_labels
from spofr_core.data.dataset import RankingDataset
from spofr_core.data.formats import TextOptions
from spofr_core.data.formats.opening import AnySource, open_table
from spofr_core.data.formats.source import Source
from spofr_core.data.formats.tables import MISSING_VALUES, Kind, Table, exact_numbers, no_rows, to_float
from spofr_core.data.group_spec import GroupSpec, Missing
from spofr_core.data.groups.each_item import undivided
from spofr_core.data.ids import factorize, to_ids
from spofr_core.data.limits import Limits
from spofr_core.data.reading.assemble import NegativeLabels, Parsed, assemble, judge
from spofr_core.data.reading.columns import (
    ROLES,
    check_mapped_twice,
    doubtful_header,
    guess_columns,
    missing_column,
    unknown_role,
    unknown_roles,
)
from spofr_core.data.reading.features import feature_columns, left_out_note, telling_note, unlearnable
from spofr_core.data.reading.grouping import Lookup, groups_of_table, spell_groups
from spofr_core.data.reading.id_columns import ids_of_items, mixed_notes, refuse_empty_ids
from spofr_core.data.reading.proposals import propose_rank, ranking_looks
from spofr_core.data.reading.query_columns import QueryColumns, read_query_columns
from spofr_core.data.reading.ranks import SAMPLED_LISTS, doubtful_ranking, look_at
from spofr_core.data.reading.spelling import Spelling
from spofr_core.data.rows import Origin
from spofr_core.data.score_array import exact_places, order_only, places_from_the_top
from spofr_core.errors import ConfigError, DataError

Groups = str | Sequence[str] | GroupSpec


def read_dataset(
    source: AnySource,
    *,
    query: str | None = None,
    item: str | None = None,
    group: Groups | None = None,
    relevance: str | None = None,
    score: str | None = None,
    rank: str | None = None,
    features: Sequence[str] | Literal["auto"] | None = None,
    leave_out_features: Sequence[str] = (),
    click: str | None = None,
    position: str | None = None,
    propensity: str | None = None,
    slices: str | Sequence[str] = (),
    time: str | None = None,
    group_quantiles: int | None = None,
    group_thresholds: Sequence[float] | None = None,
    group_against_rest: str | None = None,
    each_item: bool = False,
    group_names: Mapping[str, str] | None = None,
    leave_out_groups: Sequence[str] = (),
    missing: Missing = "error",
    drop_rows: bool = False,
    missing_values: Sequence[str] = MISSING_VALUES,
    item_groups: AnySource | None = None,
    qrels: Source | None = None,
    ips: IPS | None = None,
    negative_labels: NegativeLabels = "shift",
    join_alike: bool | None = None,
    guess: bool = True,
    insist: bool = False,
    format: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
    sheet: str | None = None,
    limits: Limits | None = None,
) -> RankingDataset:
    """Read rankings from a file, an upload or a DataFrame.

    The format is found out: CSV or TSV (delimiter, encoding and byte order mark too), Parquet (a file or a folder of
    them), LETOR/SVMlight lines, TREC runs, JSON and JSON lines, Excel workbooks; each may be gzipped. Columns that are
    not named are guessed by their usual names (a rank also by what it holds), and every guess is in
    `RankingDataset.notes`. The rows of a query need not be next to each other.

    Parameters
    ----------
    source : path, bytes, file-like or DataFrame
        Where the rows are.
    query, item, relevance, score, click, position, propensity : str, optional
        Columns. Without an item column the items are called by their row number.
    rank : str, optional
        Column with ranks (1 is the top) in place of a score.
    group : str, sequence of str or GroupSpec, optional
        Column of the groups; several columns are crossed. A `GroupSpec` says all about the groups at once: give that
        of a training part (`train.group_spec`) to get the same groups in a test part. LETOR lines have the columns
        "label", "qid", "1", "2", ... for the features, and "comment" where every line has one.
    features : sequence of str or "auto", optional
        Columns of the features; "auto" takes every numeric column that has no other role and can be learned from: what
        is left out (text, constants, ids, missing or infinite values, copies of what is to be learned) is noted with
        the reason. Those of LETOR lines are read without being asked for.
    leave_out_features : sequence of str
        Columns that are no features all the same.
    slices : str or sequence of str
        Columns about the query, such as its country or device, to slice results by: `RankingDataset.attributes`. The
        same in all rows of a query; where nothing is written it is "(missing)".
    time : str, optional
        Column of the time of the query, for `RankingDataset.times`: ISO dates and times, or seconds, milliseconds,
        microseconds or nanoseconds since 1970, told by their size; in UTC, and of several in a query the earliest.
    group_quantiles, group_thresholds : optional
        Cut the (numeric) group column into k groups at its quantiles, or at these thresholds.
    group_against_rest : str, optional
        Two groups: this value of the column, and all others.
    each_item : bool
        No groups, but each item on its own, compared with the others of its list; in place of a group column.
    group_names : mapping of str to str, optional
        What groups are to be called, {"0": "men", "1": "women"}; two groups of one new name become one.
    leave_out_groups : sequence of str
        Groups, by their names in the data, whose items keep their places and belong to no group; they are counted in
        `RankingDataset.excluded`.
    missing : {"error", "keep", "exclude", "own_group"}
        What becomes of items without a group. "keep": they keep their places with an unknown group. "exclude": they
        keep their places and belong to no group, which is counted in `RankingDataset.excluded`. Neither has a bound.
        "own_group": they make up the group "(missing)".
    drop_rows : bool
        Remove the rows of items that belong to no group; those below them move up, which changes their exposure.
    missing_values : sequence of str
        Texts that mean "no group".
    item_groups : path, file-like or DataFrame, optional
        A table from item to group, when the groups are not beside the scores.
    qrels : path or file-like, optional
        TREC relevance judgments, looked up by query and item.
    ips : IPS, optional
        How clicks become labels when there is a click column and no relevance.
    negative_labels : {"shift", "clip"}
        What becomes of relevance below 0. "shift": it is kept, and where labels must be 0 or more (nDCG, merits) the
        lowest label of the file counts as 0; see `RankingDataset.gains`. "clip": it counts as 0 everywhere.
    join_alike : bool, optional
        Whether queries, groups and slices are the same where they differ only by case, by the Unicode form of their
        letters, or as "1", "01" and "1.0" do. When not given, such names are asked about (`DataError`). Blanks around
        ids and names are left out in any case, with a note.
    guess : bool
        Whether unnamed columns may be guessed.
    insist : bool
        Take the score or rank column as it is named even where it looks like the other; otherwise that is asked about
        (`DataError`), since a ranking read upside down looks like any other.
    format : str, optional
        One of `FORMATS` ("csv", "parquet", "letor", "trec", "json", "excel"): do not find out the format.
    delimiter, encoding, decimal : str, optional
        Of text, where finding out is not enough. The decimal sign is that of numbers in Parquet and frames, too, where
        they are text and no value tells: "4,752" may be two numbers.
    header : bool, optional
        Of delimited text: whether its first row holds the names of the columns. Without them the columns are called
        "column 1", "column 2", .... When not given, a first row that looks like data is asked about (`DataError`).
    sheet : str, optional
        The sheet of a workbook, or the key of a JSON document, that holds the table; needed where several do.
    limits : Limits, optional
        Caps on bytes, rows, groups and list length.

    Returns
    -------
    RankingDataset

    Raises
    ------
    DataError
        With the column, the first offending row, the value and the way to mend it.

    Examples
    --------
    >>> import pandas as pd
    >>> shown = pd.DataFrame({"qid": [1, 1, 2, 2], "sex": ["f", "m", "f", "m"], "model_score": [0.2, 0.9, 0.4, 0.3]})
    >>> read_dataset(shown, query="qid", group="sex", score="model_score")  # or the path of a file
    RankingDataset(2 queries, 4 items, groups ['f', 'm'], score)
    """
    limits = limits or Limits()
    roles = {"query": query, "item": item, "relevance": relevance, "score": score, "rank": rank}
    roles |= {"click": click, "position": position, "propensity": propensity}
    given = {role: _column_name(column, role) for role, column in roles.items() if column is not None}
    if score is not None and rank is not None:
        raise ConfigError(f"Give a score or a rank, not both: got score={score!r} and rank={rank!r}.")
    if negative_labels not in get_args(NegativeLabels):
        raise ConfigError(f"'negative_labels' must be 'shift' or 'clip', got {negative_labels!r}.")
    cut = {"quantiles": group_quantiles, "thresholds": group_thresholds, "against_rest": group_against_rest}
    called = {"renamed": dict(group_names or {}), "left_out": leave_out_groups, "drop_rows": drop_rows}
    spec = _group_spec(group, cut, called, missing, each_item=each_item)
    if spec is not None and spec.each_item and item_groups is not None:
        raise ConfigError("Each item is on its own: a table from item to group has no use; leave out item_groups.")
    lookup = None
    if item_groups is not None:
        other = open_table(item_groups, limits, None, TextOptions(encoding=encoding))[1]
        lookup = Lookup(other, item, Spelling(other.name, join_alike))
    wanted = _Wanted(
        given,
        spec,
        {"missing": missing, **called},
        tuple(missing_values),
        features,
        leave_out_features,
        lookup,
        guess,
        QueryColumns.named(slices, time),
        join_alike,
    )
    _, table = open_table(source, limits, format, TextOptions(delimiter, encoding, decimal, header, sheet))
    if table.header_doubt:
        raise doubtful_header(table)
    parsed = _parse_table(table, wanted, limits)
    if qrels is not None:
        judge(parsed, qrels, limits)
    data = assemble(parsed, limits, negative_labels)
    data = _ranked_as_meant(data, parsed, table, insist=insist)
    if (
        data.clicks is not None
        and data.relevance is None
        and (data.propensities is not None or data.positions is not None)
    ):
        return with_ips_labels(data, ips or IPS())
    return data


@dataclass(frozen=True)
class _Wanted:
    """What the caller of `read_dataset` asked for, independent of the format."""

    given: Mapping[str, str]
    spec: GroupSpec | None
    called: Mapping[str, Any]
    missing_values: tuple[str, ...]
    features: Sequence[str] | Literal["auto"] | None
    leave_out_features: Sequence[str]
    lookup: Lookup | None
    guess: bool
    about: QueryColumns
    join_alike: bool | None

    @property
    def chosen_features(self) -> bool:
        """Whether features are to be chosen among the columns, and unfit ones left out."""
        return isinstance(self.features, str)

    def spec_for(self, column: str) -> GroupSpec:
        return GroupSpec(columns=column, **self.called)


def _group_spec(
    group: Groups | None, cut: Mapping[str, Any], called: Mapping[str, Any], missing: Missing, *, each_item: bool
) -> GroupSpec | None:
    """All about the groups, where their column is named or each item is on its own."""
    named = [key for key, value in cut.items() if value is not None]
    if each_item:
        beside = {"group": group, **{f"group_{key}": value for key, value in cut.items()}}
        beside |= {"group_names": called["renamed"], "leave_out_groups": called["left_out"]}
        beside |= {"drop_rows": called["drop_rows"]}
        refused = [name for name, value in beside.items() if value and value != GroupSpec(each_item=True)]
        if refused:
            raise ConfigError(
                f"With each item on its own there are no groups to choose, to cut or to name: leave out {refused[0]}, "
                "or each_item."
            )
        return GroupSpec(each_item=True)
    if isinstance(group, GroupSpec):
        named += [key for key, value in called.items() if value]
        if named:
            raise ConfigError(f"A GroupSpec says all about the groups: put {', '.join(named)} into it.")
        return group
    if group is None:
        if named:
            raise ConfigError(f"group_{named[0]} needs to know the column: group='...'.")
        return None
    names = (group,) if isinstance(group, str) or not isinstance(group, Sequence) else group
    columns = tuple(_column_name(name, "group") for name in names)
    return GroupSpec(columns=columns, missing=missing, **cut, **called)


def _column_name(column: object, role: str) -> str:
    """A column is named by its text; one that is called by a number may be named by that."""
    if isinstance(column, bool) or not isinstance(column, str | int | np.integer):
        raise ConfigError(f"{role!r} must be the name of a column, got {column!r}.")
    return str(column)


def _parse_table(table: Table, wanted: _Wanted, limits: Limits) -> Parsed:
    mapping, spec, notes = _map_columns(table, wanted)
    used = {*mapping.values(), *(spec.columns if wanted.lookup is None else ()), *wanted.about.names}
    features, unfit = feature_columns(table, wanted.features, wanted.leave_out_features, used)
    requests: list[tuple[str, Kind]] = [(mapping["query"], "coded")]
    if "item" in mapping:
        requests.append((mapping["item"], "plain"))
    if wanted.lookup is None:
        requests += [(column, "number" if spec.numeric else "coded") for column in spec.columns]
    numeric = [role for role in ROLES if role in mapping and role not in ("query", "item", "group")]
    requests += [*((mapping[role], "number") for role in numeric), *wanted.about.requests]
    matrix = table.matrix(features) if features else None
    columns = _read(table, requests, [] if matrix is not None else features, unfit if wanted.chosen_features else None)
    if len(columns[mapping["query"], "coded"]) == 0:
        raise no_rows(table.name)
    spelling = Spelling(table.name, wanted.join_alike)
    _spell(columns, spelling, mapping, spec, wanted)
    coded = columns[mapping["query"], "coded"]
    if mapping["query"] not in (*spec.columns, *wanted.about.slices):
        del columns[mapping["query"], "coded"]
    codes, values = factorize(coded)
    del coded
    query_ids = to_ids(pa.chunked_array([values]))
    refuse_empty_ids(codes, query_ids, mapping["query"], "query", table)
    item_ids = ids_of_items(columns, mapping, table)
    columns.pop((mapping.get("item", ""), "plain"), None)
    notes = [*table.notes, *notes, *spelling.notes(), *mixed_notes({"query": query_ids, "item": item_ids}, mapping)]
    if spec.each_item:
        grouping = undivided(len(codes), spec)
    elif wanted.lookup is None:
        grouping = groups_of_table(spec, columns, wanted.missing_values, limits)
    else:
        if item_ids is None:
            raise unknown_role("item", table, "A table from item to group needs an item column in the data.")
        grouping = wanted.lookup.groups(spec, item_ids, wanted.missing_values, limits)
    about = read_query_columns(wanted.about, columns, codes, query_ids, table, wanted.missing_values, limits)
    numbers = {role: to_float(columns[mapping[role], "number"]) for role in numeric}
    notes += (ranked_exactly := _rank_exactly(numbers, mapping, codes, table))
    if features and matrix is None:
        matrix = np.column_stack([to_float(columns[name, "number"]) for name in features])
    columns.clear()  # a large table should not be in memory twice while the rest is checked
    if matrix is not None and wanted.chosen_features:
        unfit |= unlearnable(features, matrix, codes, {mapping[role]: values for role, values in numbers.items()})
        matrix = matrix[:, [name not in unfit for name in features]]
        features = [name for name in features if name not in unfit]
    notes += left_out_note(unfit)
    if matrix is not None and features:
        notes += telling_note(features, matrix, codes, grouping.codes)
    _ranks_to_scores(numbers, mapping, notes)
    return Parsed(
        name=table.name,
        query_codes=codes,
        query_ids=query_ids,
        item_ids=item_ids,
        grouping=grouping,
        line_of=table.line_of,
        columns=mapping,
        numbers=numbers,
        features=matrix if features else None,
        feature_names=tuple(features),
        notes=notes,
        about=about,
        order_only=bool(ranked_exactly),
        origin=Origin(mapping["query"], mapping.get("item"), table.index),
    )


def _map_columns(table: Table, wanted: _Wanted) -> tuple[dict[str, str], GroupSpec, list[str]]:
    """Roles to columns, given or guessed, and where the groups come from."""
    for role, column in wanted.given.items():
        if column not in table.names:
            raise missing_column(column, table.names, role, table.name)
    wanted.about.check(table.names, table.name)
    given = {**table.roles, **wanted.given}
    spec = wanted.spec
    if spec is not None:
        holder = table if wanted.lookup is None else wanted.lookup.table
        for column in spec.columns:
            if column not in holder.names:
                raise missing_column(column, holder.names, "group", holder.name)
    if spec is not None or wanted.lookup is not None:
        given["group"] = spec.columns[0] if spec is not None and spec.columns else ""
    no_guess = {*table.feature_names, *wanted.about.no_roles}
    guessable = [name for name in table.names if name not in no_guess]
    mapping, notes = guess_columns(guessable, given) if wanted.guess else (dict(given), [])
    grouped = spec is not None or wanted.lookup is not None or "group" in mapping
    unknown = [role for role, found in (("query", "query" in mapping), ("group", grouped)) if not found]
    if unknown:
        raise unknown_roles(unknown, table)
    if wanted.guess and not {"score", "rank", "position"} & {*mapping}:
        notes += propose_rank(mapping, ranking_looks(table, mapping))
    if spec is None and wanted.lookup is not None:
        spec = wanted.spec_for(wanted.lookup.guess_group(notes))
    if spec is None:
        spec = wanted.spec_for(mapping["group"])
    if spec.each_item:
        del mapping["group"]
    else:
        mapping["group"] = spec.columns[0]
    if "rank" in mapping and "score" in mapping:
        del mapping["rank"]
    named = {role: column for role, column in mapping.items() if role != "group" and column not in table.feature_names}
    notes += check_mapped_twice(named | ({"group": spec.columns} if wanted.lookup is None else {}))
    return mapping, spec, notes


def _read(
    table: Table, requests: Sequence[tuple[str, Kind]], features: list[str], unfit: dict[str, str] | None
) -> dict[tuple[str, Kind], pa.ChunkedArray]:
    """Read each column in each kind wanted: one pass, and another only where a column is wanted in two kinds.

    Of features that nobody has named (`unfit` is given), those that hold no numbers further down go from `features` to
    `unfit`, and the table is read again.
    """
    columns: dict[tuple[str, Kind], pa.ChunkedArray] = {}
    pending = list(dict.fromkeys([*requests, *((name, "number") for name in features)]))
    while pending:
        batch: dict[str, Kind] = {}
        for name, kind in pending:
            batch.setdefault(name, kind)
        try:
            read = table.read(batch)
        except DataError as error:
            if unfit is None or error.column not in features:
                raise
            features.remove(error.column)
            unfit[error.column] = "a name that two columns have" if error.row is None else f"text at row {error.row}"
            pending = [request for request in pending if request[0] != error.column]
            continue
        columns |= {(name, batch[name]): column for name, column in read.items()}
        pending = [request for request in pending if request not in columns]
    return columns


def _spell(
    columns: dict[tuple[str, Kind], pa.ChunkedArray],
    spelling: Spelling,
    mapping: Mapping[str, str],
    spec: GroupSpec,
    wanted: _Wanted,
) -> None:
    """Write each id and name in one way."""
    if wanted.lookup is None:
        spell_groups(columns, spelling, spec, wanted.missing_values)
    for name in dict.fromkeys((mapping["query"], *wanted.about.slices)):
        if wanted.lookup is not None or name not in spec.columns:
            missing = () if name == mapping["query"] else wanted.missing_values
            columns[name, "coded"] = spelling.named(columns[name, "coded"], name, missing=missing)
    if "item" in mapping:
        request: tuple[str, Kind] = mapping["item"], "plain"
        columns[request] = spelling.bare(columns[request], mapping["item"])


def _rank_exactly(
    numbers: dict[str, npt.NDArray[np.float64]],
    mapping: Mapping[str, str],
    codes: npt.NDArray[np.int32],
    table: Table,
) -> list[str]:
    """Put places where doubles would tie what the lists are ranked by, and say so."""
    role = next((role for role in ("score", "rank") if role in numbers), None)
    if role is None:
        return []
    places = exact_places(numbers[role], codes, lambda rows: exact_numbers(table, mapping[role], rows))
    if places is None:
        return []
    numbers[role] = places if role == "rank" else places_from_the_top(places, codes)
    return [order_only(f"Column {mapping[role]!r}")]


def _ranks_to_scores(numbers: dict[str, npt.NDArray[np.float64]], mapping: dict[str, str], notes: list[str]) -> None:
    """A rank is a score with its sign changed; so is the position of a logged list without a score."""
    if "rank" in numbers:
        numbers["score"] = -numbers.pop("rank")
        mapping["score"] = mapping["rank"]
        notes.append(f"Column {mapping['rank']!r} holds ranks: 1 is the top.")
    elif "position" in numbers and "score" not in numbers:
        numbers["score"] = -numbers["position"]
        notes.append(f"There is no score: the ranking is the one shown, by column {mapping['position']!r}.")


def _ranked_as_meant(data: RankingDataset, parsed: Parsed, table: Table, *, insist: bool) -> RankingDataset:
    """The data, unless its score looks like a rank, or its rank like a score, and nobody insists."""
    role = next((role for role in ("rank", "score") if role in parsed.columns), None)
    if role is None or data.score is None:
        return data
    column = parsed.columns[role]
    some = data[np.unique(np.linspace(0, len(data) - 1, SAMPLED_LISTS).astype(int))]
    shown = np.zeros(0) if some.score is None else some.score
    relevance = parsed.columns.get("relevance", "the relevance")
    anchors = {} if some.relevance is None or relevance == column else {relevance: some.relevance}
    look = look_at(some.query_of_item, -shown if role == "rank" else shown, anchors)
    if look.kind is None:  # columns that were not asked for may know better
        look = ranking_looks(table, parsed.columns, only=column).get(column, look)
    if look.kind in (None, role):
        return data
    if not insist:
        raise doubtful_ranking(column, parsed.name, role, look)
    return data.with_notes(f"Column {column!r} looks like a {look.kind}: it {look.reason}. It was taken as the {role}.")
