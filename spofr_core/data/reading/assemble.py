"""From columns to a `RankingDataset`: the checks, the exclusions, the order of the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from spofr_core.data.dataset import RankingDataset
from spofr_core.data.formats.source import Source
from spofr_core.data.formats.trec import relevance_from_qrels
from spofr_core.data.group_spec import MISSING_MEND, MISSING_ON_PAGE, Grouping, resolve_missing
from spofr_core.data.groups.each_item import item_groups
from spofr_core.data.groups.labels import NO_GROUP, UNKNOWN
from spofr_core.data.groups.regrouping import LEFT_OUT, relabelled
from spofr_core.data.ids import has_duplicates, id_texts, plain
from spofr_core.data.limits import Limits
from spofr_core.data.query_attributes import at_queries, attribute_notes
from spofr_core.data.reading.query_columns import OfQueries
from spofr_core.data.rows import Origin, all_finite, offsets_of
from spofr_core.data.score_array import clip_note, shift_of_labels
from spofr_core.errors import DataError

NegativeLabels = Literal["shift", "clip"]
"""What becomes of labels below 0: the lowest counts as 0 where labels must not be negative, or they all count as 0."""
WITHOUT = "items without a group, which kept their places"
DROPPED = {
    WITHOUT: "rows without a group (the items below moved up)",
    LEFT_OUT: "rows of groups left out (the items below moved up)",
}
EMPTIED = "queries left without items"
NO_ITEM_COLUMN = "There is no item column: the items are called by their row number."


def without_a_group(data: RankingDataset) -> int:
    """Items of which the file says no group: kept in their places, or dropped."""
    told = data.excluded.get(WITHOUT, 0) + data.excluded.get(DROPPED[WITHOUT], 0)
    return told + int(data.unknown.sum())


class NothingLeft(DataError):
    """No item has a group, and rows without one were to be dropped.

    Attributes
    ----------
    excluded : dict of str to int
        What was left out, as in `RankingDataset.excluded`.
    """

    def __init__(self, message: str, *, excluded: Mapping[str, int] | None = None, **where: Any) -> None:
        super().__init__(message, **where)
        self.excluded = dict(excluded or {})


@dataclass
class Parsed:
    """The columns of a source, a row per item, before they are checked against each other.

    `numbers` is keyed by role (relevance, score, click, position, propensity), `columns` names the column that each
    role came from; `line_of` turns a row into the place to show in a message; `label_shift` is as in `RankingDataset`.
    With `order_only` the scores are places.
    """

    name: str
    query_codes: npt.NDArray[np.integer[Any]]
    query_ids: npt.NDArray[Any]
    item_ids: npt.NDArray[Any] | None
    grouping: Grouping
    line_of: Callable[[int], int]
    columns: dict[str, str]
    origin: Origin
    numbers: dict[str, npt.NDArray[np.float64]] = field(default_factory=dict)
    features: npt.NDArray[np.float64] | None = None
    feature_names: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)
    about: OfQueries = field(default_factory=OfQueries)
    order_only: bool = False
    label_shift: float = 0.0


def judge(parsed: Parsed, qrels: Source, limits: Limits) -> None:
    """Give each row the relevance that TREC judgments have for it."""
    if parsed.item_ids is None:
        raise DataError(
            "Relevance judgments need an item column in the data.",
            column="item",
            fields=("item",),
            mend="Name it: item='...'.",
            on_page="Choose the item column.",
        )
    queries = id_texts(parsed.query_ids)[parsed.query_codes]
    relevance, lowest, notes = relevance_from_qrels(qrels, queries, parsed.item_ids, limits)
    parsed.numbers["relevance"], parsed.label_shift = relevance, max(-lowest, 0.0)
    parsed.notes.extend(notes)


def assemble(parsed: Parsed, limits: Limits, negative_labels: NegativeLabels = "shift") -> RankingDataset:
    """Check the columns, leave out what was asked to be left out, and bring the rows of a query together."""
    limits.check_rows(len(parsed.query_codes), parsed.name)
    for role in parsed.numbers:
        _check_numbers(parsed, role)
    _settle_labels(parsed, negative_labels)
    _check_features(parsed)
    if parsed.item_ids is None:
        parsed.item_ids = np.arange(1, len(parsed.query_codes) + 1, dtype=np.int64)
        parsed.notes.append(NO_ITEM_COLUMN)
    _check_missing_groups(parsed)
    grouping = relabelled(resolve_missing(parsed.grouping, limits))
    parsed.notes.extend(grouping.notes)
    codes, keep, excluded = _exclude(grouping, parsed)
    query_codes, present = _present_queries(parsed, keep, excluded)
    unknown = 0 if keep is not None else int((codes == UNKNOWN).sum())
    parsed.notes.extend(missing_group_notes(len(query_codes), unknown, excluded))
    query_ids = parsed.query_ids[present]
    offsets, order = offsets_of(query_codes, len(query_ids))
    # Rows of the source in the order of the dataset; None where they are the same.
    rows = None if keep is None else np.flatnonzero(keep)
    if order is not None:
        rows = order if rows is None else rows[order]
        query_codes = query_codes[order]

    def pick(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return array if rows is None else array[rows]

    item_ids = pick(parsed.item_ids)
    lengths = np.diff(offsets)
    longest = int(np.argmax(lengths))
    limits.check_list(int(lengths[longest]), repr(plain(query_ids[longest])))
    _check_duplicates(parsed, item_ids, query_codes, query_ids, rows)
    groups, names = pick(codes), grouping.names
    if grouping.spec.each_item:
        groups, names = item_groups(query_ids, offsets, limits)
    about = at_queries(parsed.about.attributes, parsed.about.times, present)
    known = [*parsed.about.notes, *attribute_notes(**about)]
    sizes = {} if grouping.spec.each_item else group_sizes(groups, names)
    notes = [*parsed.notes, *known, *lonely_group_notes(sizes)]
    numbers = {role: pick(values) for role, values in parsed.numbers.items()}
    return RankingDataset(
        query_ids=query_ids,
        offsets=offsets,
        item_ids=item_ids,
        groups=groups,
        group_names=names,
        relevance=numbers.get("relevance"),
        score=numbers.get("score"),
        features=None if parsed.features is None else pick(parsed.features),
        feature_names=parsed.feature_names,
        clicks=numbers.get("click"),
        positions=numbers["position"].astype(np.int64) if "position" in numbers else None,
        propensities=numbers.get("propensity"),
        notes=tuple(notes),
        excluded=excluded,
        group_spec=grouping.spec,
        # Ranks and positions became scores; only a score has a column of its own.
        ranks="score" in numbers and (parsed.order_only or "rank" in parsed.columns or "score" not in parsed.columns),
        label_shift=parsed.label_shift,
        rows=np.arange(len(codes)) if rows is None else rows,
        origin=parsed.origin,
        **about,
    )


_RULES: dict[str, tuple[Callable[[npt.NDArray[np.float64]], npt.NDArray[np.bool_]], str]] = {
    "click": (lambda values: values < 0, "a click column holds 0 (no click) or 1"),
    "position": (
        lambda values: (values < 1) | (values != np.floor(values)),
        "positions are whole numbers from 1 (the top)",
    ),
    "propensity": (
        lambda values: (values <= 0) | (values > 1),
        "a propensity is a probability above 0 and at most 1",
    ),
}


def _check_numbers(parsed: Parsed, role: str) -> None:
    values = parsed.numbers[role]
    column = parsed.columns.get(role, role)
    if not all_finite(values):
        row = int(np.argmax(~np.isfinite(values)))
        line = parsed.line_of(row)
        what = "is missing (or not a number)" if np.isnan(values[row]) else f"is {values[row]}"
        raise DataError(
            f"The {role} {what} in column {column!r} of {parsed.name} at row {line}: a finite number is needed. "
            "Fill it in, or remove the row.",
            column=column,
            row=line,
        )
    if role in _RULES:
        broken, rule = _RULES[role]
        bad = broken(values)
        if bad.any():
            row = int(np.argmax(bad))
            line = parsed.line_of(row)
            raise DataError(
                f"The {role} in column {column!r} of {parsed.name} is {values[row]:g} at row {line}: {rule}.",
                column=column,
                row=line,
            )


def _settle_labels(parsed: Parsed, negative_labels: NegativeLabels) -> None:
    """Find the shift of all rows, those without a group too, so that it does not depend on who is left out; or clip."""
    labels = parsed.numbers.get("relevance")
    if labels is None or negative_labels == "shift":
        parsed.label_shift = shift_of_labels(labels, parsed.label_shift)
        return
    parsed.numbers["relevance"], parsed.label_shift = np.maximum(labels, 0.0), 0.0
    if (labels < 0).any():
        parsed.notes.append(clip_note(int((labels < 0).sum()), len(labels)))


def _check_features(parsed: Parsed) -> None:
    features = parsed.features
    if features is None or all_finite(features):
        return
    row, k = np.argwhere(~np.isfinite(features))[0]
    line = parsed.line_of(int(row))
    raise DataError(
        f"Feature {parsed.feature_names[k]!r} of {parsed.name} is {features[row, k]} at row {line}: features must be "
        "finite numbers. Fill in missing values, or leave the feature out.",
        column=parsed.feature_names[k],
        row=line,
    )


def _check_missing_groups(parsed: Parsed) -> None:
    missing = parsed.grouping.codes < 0
    spec = parsed.grouping.spec
    if spec.missing != "error" or spec.drop_rows or not missing.any():
        return
    row = int(np.argmax(missing))
    line = parsed.line_of(row)
    column = " & ".join(spec.columns)
    raise DataError(
        f"{int(missing.sum()):,} of {len(missing):,} items have no group: column {column!r} of {parsed.name} is first "
        f"empty at row {line}.",
        column=spec.columns[0],
        row=line,
        fields=("missing",),
        mend=MISSING_MEND,
        on_page=MISSING_ON_PAGE,
    )


def _exclude(
    grouping: Grouping, parsed: Parsed
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.bool_] | None, dict[str, int]]:
    """Codes of all items, the rows that stay (None: all), and how many items have no group, by reason."""
    codes, spec = grouping.codes, grouping.spec
    if (codes >= 0).all():
        return codes, None, {}
    unknown = int((codes == UNKNOWN).sum())
    counts = {LEFT_OUT: int((codes == NO_GROUP).sum()), WITHOUT: 0 if spec.missing == "keep" else unknown}
    excluded = {DROPPED[why] if spec.drop_rows else why: count for why, count in counts.items() if count}
    if not (codes >= 0).any() and (spec.drop_rows or not grouping.names):
        why = "has a group that is kept" if counts[LEFT_OUT] else "has a group"
        raise NothingLeft(
            f"No item of {parsed.name} {why} in column {' & '.join(spec.columns)!r}: there is nothing to compare.",
            excluded={**excluded, EMPTIED: len(parsed.query_ids)},
            column=spec.columns[0],
            fields=("group",),
            mend="Choose a column that says the groups: group='...'.",
            on_page="Choose a column that says the groups.",
        )
    if spec.missing == "keep":
        return codes, None, excluded
    if spec.drop_rows:
        return codes, codes >= 0, excluded
    return np.where(codes == UNKNOWN, np.int32(NO_GROUP), codes), None, excluded


def missing_group_notes(items: int, unknown: int, excluded: Mapping[str, int]) -> list[str]:
    """What becomes of items without a group: `unknown` of the `items` in the data keep an unknown one."""
    dropped = sum(excluded.get(reason, 0) for reason in DROPPED.values())
    left, emptied = excluded.get(WITHOUT, 0), excluded.get(EMPTIED, 0)
    said = {
        f"{unknown:,} of {items:,} items have an unknown group: they keep their places and have no bound.": unknown,
        f"{dropped:,} of {items + dropped:,} rows have no group, or one that is left out, and were dropped: the items "
        "below them moved up, and their exposure is that of their new places.": dropped,
        f"{left:,} of {items:,} items have no group: they keep their places, belong to no group and have no bound.": (
            left
        ),
        f"{emptied:,} queries lost all their items that way and are not in the data.": emptied,
    }
    return [note for note, count in said.items() if count]


def _present_queries(
    parsed: Parsed, keep: npt.NDArray[np.bool_] | None, excluded: dict[str, int]
) -> tuple[npt.NDArray[np.integer[Any]], slice | npt.NDArray[np.bool_]]:
    """Codes of the queries that still have items, and which these are."""
    codes = parsed.query_codes
    if keep is None:
        return codes, slice(None)
    codes = codes[keep]
    present = np.bincount(codes, minlength=len(parsed.query_ids)) > 0
    if not present.all():
        excluded[EMPTIED] = int((~present).sum())
        codes = (np.cumsum(present) - 1)[codes]
    return codes, present


def _check_duplicates(
    parsed: Parsed,
    item_ids: npt.NDArray[Any],
    query_codes: npt.NDArray[np.integer[Any]],
    query_ids: npt.NDArray[Any],
    rows: npt.NDArray[np.int64] | None,
) -> None:
    duplicated = has_duplicates(item_ids, query_codes)
    if duplicated is None:
        return
    places = np.flatnonzero(duplicated)
    first = int(places[0] if rows is None else places[np.argmin(rows[places])])
    line = parsed.line_of(first if rows is None else int(rows[first]))
    column = parsed.columns.get("item", "item")
    raise DataError(
        f"Item {plain(item_ids[first])!r} occurs twice in query {plain(query_ids[query_codes[first]])!r}: column "
        f"{column!r} of {parsed.name}, second time at row {line} ({int(duplicated.sum()):,} such rows). "
        "An item stands in a list once: remove the copies, or choose the column that tells the items (or the queries) "
        "apart.",
        column=column,
        row=line,
    )


def group_sizes(groups: npt.NDArray[np.int32], names: tuple[str, ...]) -> dict[str, int]:
    """Items of each group."""
    return dict(zip(names, np.bincount(groups[groups >= 0], minlength=len(names)).tolist(), strict=True))


def lonely_group_notes(sizes: Mapping[str, int]) -> list[str]:
    """A note that lists the groups of one item, if there are any."""
    lonely = ", ".join(repr(name) for name, size in sizes.items() if size == 1)
    rest = "What is said of them rests on one item."
    return [f"Groups with a single member in all of the data: {lonely}. {rest}"] if lonely else []


@dataclass(frozen=True)
class PartContents:
    """What the notes of a folder are made of: counts of a part, and how the times of its queries were read.

    `groups` are the items of each group, nothing where each item is on its own.
    """

    items: int = 0
    unknown: int = 0
    groups: Mapping[str, int] = field(default_factory=dict)
    excluded: Mapping[str, int] = field(default_factory=dict)
    time_notes: tuple[str, ...] = ()

    @classmethod
    def together(cls, parts: Iterable[PartContents]) -> PartContents:
        """Those of the folder."""
        groups, excluded, times, items, unknown = Counter[str](), Counter[str](), dict[str, None](), 0, 0
        for part in parts:
            groups.update(part.groups)
            excluded.update(part.excluded)
            times.update(dict.fromkeys(part.time_notes))
            items, unknown = items + part.items, unknown + part.unknown
        return cls(items, unknown, groups, dict(excluded), tuple(times))

    @property
    def notes(self) -> list[str]:
        """What reading the folder in one piece would say of these."""
        missing = missing_group_notes(self.items, self.unknown, self.excluded)
        return [*missing, *self.time_notes, *lonely_group_notes(self.groups)]
