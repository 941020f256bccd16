"""How the group of an item is told: by a column, by quantiles of a number, by crossing columns; or each its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from spofr_core.config import StrictModel
from spofr_core.data.ids import bare
from spofr_core.data.limits import Limits
from spofr_core.errors import DataError

Missing = Literal["error", "keep", "exclude", "own_group"]
MISSING_NAME = "(missing)"
MISSING_MEND = (
    "Choose what becomes of them: missing='keep' keeps them in their places with an unknown group, missing='exclude' "
    "in their places without a group, missing='own_group' makes them a group."
)
MISSING_ON_PAGE = (
    "Choose what becomes of them: they keep their places with an unknown group, or without one, or make up a group."
)


def _one_or_many(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


def _bare(value: Any) -> Any:
    """Names as the data has them: without blanks around."""
    if isinstance(value, str):
        return bare(value)
    if isinstance(value, dict):
        return {bare(name): new for name, new in value.items()}
    return tuple(map(bare, value)) if isinstance(value, tuple) else value


class GroupSpec(StrictModel):
    """Where the groups come from.

    A dataset keeps the spec that it was read with, completed by what was found out (`thresholds` and
    `names`): reading a test part with the spec of the training part gives the same groups under the
    same codes.

    Parameters
    ----------
    columns : str or tuple of str
        The column that holds the group; several columns are crossed ("female & north"). None with `each_item`.
    quantiles : int, optional
        Cut the one (numeric) column at its k-quantiles into this many groups.
    thresholds : tuple of float, optional
        Cut the one (numeric) column here instead: increasing; a value equal to a threshold belongs to
        the group above it.
    against_rest : str, optional
        Two groups only: this value of the column, and everything else.
    missing : {"error", "keep", "exclude", "own_group"}
        What to do with an item whose group is missing: refuse the data; keep it in its place with an unknown group,
        so that what depends on it is told; keep it in its place as an item of no group (counted in
        `RankingDataset.excluded`); or make "(missing)" a group of its own. Neither of those kept in place has a bound.
    names : tuple of str
        Group names in the order of their codes, before renaming; values not named here are added behind them.
    renamed : mapping of str to str
        What groups are called instead; two groups of one new name become one.
    left_out : tuple of str
        Groups, by their names before renaming, whose items keep their places and belong to no group (counted in
        `RankingDataset.excluded`).
    drop_rows : bool
        Remove the rows of items that belong to no group, so that those below them move up.
    each_item : bool
        Each item is on its own: a group of one, compared within its list, without a name. Nothing else goes with it.
    """

    columns: Annotated[tuple[str, ...], BeforeValidator(_one_or_many)] = ()
    quantiles: Annotated[int | None, Field(ge=2, le=10_000)] = None
    thresholds: tuple[float, ...] | None = None
    against_rest: Annotated[str | None, AfterValidator(_bare)] = None
    missing: Missing = "error"
    names: tuple[str, ...] = ()
    renamed: Annotated[dict[str, str], AfterValidator(_bare)] = Field(default_factory=dict)
    left_out: Annotated[tuple[str, ...], BeforeValidator(_one_or_many), AfterValidator(_bare)] = ()
    drop_rows: bool = False
    each_item: bool = False

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.each_item:
            return self._alone()
        if self.drop_rows and self.missing == "keep":
            raise ValueError(
                "missing='keep' keeps items without a group in their places, and drop_rows=True removes their rows: "
                "leave one of them out."
            )
        if not self.columns:
            raise ValueError("name a column in 'columns', or set each_item=True: each item on its own.")
        numeric = self.quantiles is not None or self.thresholds is not None
        if numeric and self.against_rest is not None:
            raise ValueError("'against_rest' names a value and cannot go with 'quantiles' or 'thresholds'.")
        if len(self.columns) > 1 and (numeric or self.against_rest is not None):
            raise ValueError(
                f"{len(self.columns)} columns are crossed as they are; 'quantiles', 'thresholds' and "
                "'against_rest' need exactly one column."
            )
        if self.thresholds is not None and any(low >= high for low, high in pairwise(self.thresholds)):
            raise ValueError(f"'thresholds' must increase, got {list(self.thresholds)}.")
        return self

    def _alone(self) -> Self:
        beside = sorted(self.model_fields_set - {"each_item", "missing"})
        beside = [name for name in beside if getattr(self, name) not in (None, (), {}, False)]
        if beside:
            raise ValueError(f"with each_item every item is a group of its own: leave out '{beside[0]}'.")
        return self

    @property
    def numeric(self) -> bool:
        """Whether the groups are cut from a number."""
        return self.quantiles is not None or self.thresholds is not None


@dataclass(frozen=True, eq=False)
class Grouping:
    """Groups of rows: codes (`UNKNOWN` where the group is missing), names, and the completed spec."""

    codes: npt.NDArray[np.int32]
    names: tuple[str, ...]
    spec: GroupSpec
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Labels:
    """One column of labels: codes into `values` (-1 where missing)."""

    codes: npt.NDArray[np.int32]
    values: tuple[str, ...]


def group_by_labels(columns: Sequence[Labels], spec: GroupSpec, limits: Limits) -> Grouping:
    """Groups from one column of labels, from several crossed, or from one value against the rest."""
    notes: list[str] = []
    labels = columns[0] if len(columns) == 1 else _cross(columns, limits, spec)
    if spec.against_rest is not None:
        labels = _against_rest(labels, spec)
    present = np.bincount(labels.codes[labels.codes >= 0], minlength=len(labels.values)) > 0
    found = [value for value, there in zip(labels.values, present, strict=True) if there]
    if len(found) > limits.groups:
        raise too_many_groups(spec, len(found), found[:3], limits)
    new = [value for value in found if value not in spec.names]
    names = (*spec.names, *sorted(new, key=natural_order))
    if spec.names and new:
        notes.append(f"Groups that were not known before: {', '.join(map(repr, new))}.")
    place = {name: code for code, name in enumerate(names)}
    recode = np.array([place.get(value, -1) for value in labels.values] + [-1], dtype=np.int32)
    return Grouping(recode[labels.codes], names, spec.model_copy(update={"names": names}), tuple(notes))


def group_by_number(values: npt.NDArray[np.float64], spec: GroupSpec) -> Grouping:
    """Groups from a number cut at thresholds: group i holds t_i <= value < t_(i+1).

    The thresholds of k quantiles are the i/k quantiles (linear interpolation) of the values given, i = 1..k-1.
    A value equal to a threshold belongs to the group above it. Where many values tie, thresholds coincide, or a group
    would be empty: then there are fewer groups than asked for, and a note says so.
    """
    column = spec.columns[0]
    known = values[~np.isnan(values)]
    notes: list[str] = []
    if spec.thresholds is not None:
        thresholds = np.array(spec.thresholds)
    else:
        asked = spec.quantiles or 2
        if not known.size:
            raise DataError(f"Column {column!r} has no value to take quantiles of.", column=column)
        cuts = np.unique(np.quantile(known, np.arange(1, asked) / asked))
        # Between two distinct values lies no third: of the cuts there the highest tells as much as all.
        _, last = np.unique(np.searchsorted(np.sort(known), cuts)[::-1], return_index=True)
        thresholds = np.sort(cuts[::-1][last])
        thresholds = thresholds[thresholds > known.min()]
        if len(thresholds) + 1 < asked:
            notes.append(
                f"Column {column!r} has too many equal values for {asked} quantile groups: "
                f"{len(thresholds) + 1} groups could be told apart."
            )
    codes = np.searchsorted(thresholds, values, side="right").astype(np.int32)
    codes[np.isnan(values)] = -1
    names = spec.names or _interval_names(thresholds)
    if len(names) != len(thresholds) + 1:
        raise DataError(
            f"{len(thresholds)} thresholds make {len(thresholds) + 1} groups, but {len(names)} names were given."
        )
    notes.append(_tie_note(column, known, thresholds, codes, names))
    done = spec.model_copy(update={"thresholds": tuple(thresholds.tolist()), "names": tuple(names)})
    return Grouping(codes, tuple(names), done, tuple(notes))


def resolve_missing(grouping: Grouping, limits: Limits) -> Grouping:
    """Give items without a group the group "(missing)", where the spec asks for that."""
    if grouping.spec.missing != "own_group" or not np.any(grouping.codes < 0):
        return grouping
    names = grouping.names if MISSING_NAME in grouping.names else (*grouping.names, MISSING_NAME)
    if len(names) > limits.groups:
        raise too_many_groups(grouping.spec, len(names), names[:3], limits)
    code = names.index(MISSING_NAME)
    spec = grouping.spec
    if not spec.numeric:
        spec = spec.model_copy(update={"names": names})
    count = int(np.sum(grouping.codes < 0))
    note = f"{count:,} items without a group make up the group {MISSING_NAME!r}."
    codes = np.where(grouping.codes < 0, code, grouping.codes).astype(np.int32)
    return Grouping(codes, names, spec, (*grouping.notes, note))


def too_many_groups(spec: GroupSpec, count: int, examples: Sequence[str], limits: Limits) -> DataError:
    """The error for a group column with more distinct values than groups can sensibly be."""
    column = " & ".join(spec.columns)
    return DataError(
        f"Column {column!r} has {count:,} distinct values ({', '.join(map(repr, examples))}, ...), more than the limit "
        f"of {limits.groups} groups: with that many, nearly every item would be a group of its own and no exposure "
        "could be compared.",
        column=spec.columns[0],
        fields=("group",),
        mend="If it is a number, cut it: group_quantiles=2; if one value matters: group_against_rest='...'; if it is "
        "an id, choose another column; if it is right, raise the limit: limits=Limits(groups=...).",
        on_page="If it is a number, cut it into equal parts; if it is an id, choose another column.",
    )


def _cross(columns: Sequence[Labels], limits: Limits, spec: GroupSpec) -> Labels:
    """One label per combination that occurs; missing where one part is missing."""
    codes = columns[0].codes.astype(np.int64)
    values: tuple[str, ...] = columns[0].values
    for column in columns[1:]:
        width = len(column.values)
        missing = (codes < 0) | (column.codes < 0)
        pairs = np.where(missing, -1, codes * width + column.codes)
        occurring, inverse = np.unique(pairs, return_inverse=True)
        shift = int(len(occurring) > 0 and occurring[0] < 0)
        occurring = occurring[shift:]
        if len(occurring) > 100 * limits.groups:
            raise too_many_groups(spec, len(occurring), values[:3], limits)
        values = tuple(f"{values[pair // width]} & {column.values[pair % width]}" for pair in occurring.tolist())
        codes = inverse.astype(np.int64) - shift
    return Labels(codes.astype(np.int32), values)


def _against_rest(labels: Labels, spec: GroupSpec) -> Labels:
    wanted = str(spec.against_rest)
    if wanted not in labels.values and wanted not in spec.names:
        shown = ", ".join(repr(value) for value in sorted(labels.values, key=natural_order)[:10])
        raise DataError(
            f"Column {spec.columns[0]!r} has no value {wanted!r} to set against the rest; it has {shown}.",
            column=spec.columns[0],
        )
    rest = f"not {wanted}"
    recode = np.array([0 if value == wanted else 1 for value in labels.values] + [-1], dtype=np.int32)
    return Labels(recode[labels.codes], (wanted, rest))


def _interval_names(thresholds: npt.NDArray[np.float64]) -> tuple[str, ...]:
    if not len(thresholds):
        return ("all",)
    shown = next(
        texts
        for digits in (6, 9, 12, 17)
        if len(set(texts := [f"{value:.{digits}g}" for value in thresholds])) == len(thresholds)
    )
    between = [f"{low} to < {high}" for low, high in pairwise(shown)]
    return (f"< {shown[0]}", *between, f">= {shown[-1]}")


def _tie_note(
    column: str,
    known: npt.NDArray[np.float64],
    thresholds: npt.NDArray[np.float64],
    codes: npt.NDArray[np.int32],
    names: Sequence[str],
) -> str:
    sizes = np.bincount(codes[codes >= 0], minlength=len(names))
    listed = ", ".join(f"{name!r} {size:,}" for name, size in zip(names, sizes, strict=True))
    ties = int(np.isin(known, thresholds).sum())
    return (
        f"Groups cut from {column!r}: {listed} items. {ties:,} values equal a threshold; they belong to the group "
        "above it (>=)."
    )


def natural_order(value: str) -> tuple[int, float, str]:
    """Numbers in numeric order before text in alphabetic order."""
    try:
        return (0, float(value), value)
    except ValueError:
        return (1, 0.0, value)
