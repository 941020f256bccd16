"""From columns to a `RankingDataset`: the checks, the exclusions, the order of the rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from spofr_core.data.dataset import RankingDataset
from spofr_core.data.group_spec import Grouping, resolve_missing
from spofr_core.data.groups.each_item import item_groups
from spofr_core.data.groups.regrouping import EMPTIED, LEFT_OUT, LEFT_OUT_CODE, relabelled
from spofr_core.data.ids import has_duplicates, plain
from spofr_core.data.limits import Limits
from spofr_core.data.query_attributes import at_queries, attribute_notes
from spofr_core.data.reading.query_columns import OfQueries
from spofr_core.data.rows import all_finite, offsets_of
from spofr_core.errors import DataError

NO_GROUP = "rows without a group"
NO_ITEM_COLUMN = "There is no item column: the items are called by their row number."


class NothingLeft(DataError):
    """No item has a group, and items without one were to be left out.

    Attributes
    ----------
    excluded : dict of str to int
        What was left out, as in `RankingDataset.excluded`.
    """

    def __init__(self, message: str, *, column: str | None = None, excluded: Mapping[str, int] | None = None) -> None:
        super().__init__(message, column=column)
        self.excluded = dict(excluded or {})


@dataclass
class Parsed:
    """The columns of a source, a row per item, before they are checked against each other.

    `numbers` is keyed by role (relevance, score, click, position, propensity), `columns` names the column that each
    role came from; `line_of` turns a row into the place to show in a message.
    """

    name: str
    query_codes: npt.NDArray[np.integer[Any]]
    query_ids: npt.NDArray[Any]
    item_ids: npt.NDArray[Any] | None
    grouping: Grouping
    line_of: Callable[[int], int]
    columns: dict[str, str]
    numbers: dict[str, npt.NDArray[np.float64]] = field(default_factory=dict)
    features: npt.NDArray[np.float64] | None = None
    feature_names: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)
    about: OfQueries = field(default_factory=OfQueries)


def assemble(parsed: Parsed, limits: Limits) -> RankingDataset:
    """Check the columns, leave out what was asked to be left out, and bring the rows of a query together."""
    limits.check_rows(len(parsed.query_codes), parsed.name)
    for role in parsed.numbers:
        _check_numbers(parsed, role)
    _check_features(parsed)
    if parsed.item_ids is None:
        parsed.item_ids = np.arange(1, len(parsed.query_codes) + 1, dtype=np.int64)
        parsed.notes.append(NO_ITEM_COLUMN)
    _check_missing_groups(parsed)
    grouping = relabelled(resolve_missing(parsed.grouping, limits))
    parsed.notes.extend(grouping.notes)
    keep, excluded = _exclude(grouping.codes, parsed)
    query_codes, present = _present_queries(parsed, keep, excluded)
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
    groups, names = pick(grouping.codes), grouping.names
    if grouping.spec.each_item:
        groups, names = item_groups(query_ids, offsets, limits)
    about = at_queries(parsed.about.attributes, parsed.about.times, present)
    known = [*parsed.about.notes, *attribute_notes(**about)]
    notes = [*parsed.notes, *known, *([] if grouping.spec.each_item else _lonely_groups(groups, names))]
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
        ranks="score" in numbers and ("rank" in parsed.columns or "score" not in parsed.columns),
        **about,
    )


_RULES: dict[str, tuple[Callable[[npt.NDArray[np.float64]], npt.NDArray[np.bool_]], str]] = {
    "relevance": (lambda values: values < 0, "relevance is zero or more: shift the labels, or clip them at 0"),
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
    if spec.missing != "error" or not missing.any():
        return
    row = int(np.argmax(missing))
    line = parsed.line_of(row)
    column = " & ".join(spec.columns)
    raise DataError(
        f"{int(missing.sum()):,} of {len(missing):,} items have no group: column {column!r} of {parsed.name} is empty "
        f"at row {line} first.",
        column=spec.columns[0],
        row=line,
        fields=("missing",),
        mend="Choose what becomes of them: missing='own_group' makes them a group, missing='exclude' leaves them out "
        "and counts them.",
        on_page="Choose what becomes of them: a group of their own, or left out and counted.",
    )


def _exclude(codes: npt.NDArray[np.int32], parsed: Parsed) -> tuple[npt.NDArray[np.bool_] | None, dict[str, int]]:
    keep = codes >= 0
    if keep.all():
        return None, {}
    counts = {LEFT_OUT: int((codes == LEFT_OUT_CODE).sum()), NO_GROUP: int((codes == -1).sum())}
    excluded = {reason: count for reason, count in counts.items() if count}
    if not keep.any():
        why = "has a group that is kept" if LEFT_OUT in excluded else "has a group"
        raise NothingLeft(
            f"No item of {parsed.name} {why}: nothing is left.",
            column=parsed.grouping.spec.columns[0],
            excluded={**excluded, EMPTIED: len(parsed.query_ids)},
        )
    if NO_GROUP in excluded:
        parsed.notes.append(f"{excluded[NO_GROUP]:,} of {len(codes):,} items have no group and were left out.")
    return keep, excluded


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
        parsed.notes.append(f"{excluded[EMPTIED]:,} queries lost all their items that way and are not in the data.")
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


def _lonely_groups(groups: npt.NDArray[np.int32], names: tuple[str, ...]) -> list[str]:
    sizes = np.bincount(groups, minlength=len(names))
    lonely = [name for name, size in zip(names, sizes, strict=True) if size == 1]
    if not lonely:
        return []
    listed = ", ".join(repr(name) for name in lonely)
    return [f"Groups with a single member in all of the data: {listed}. What is said of them rests on one item."]
