"""Which columns a scorer can learn from, and why not the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from spofr_core.data.formats.tables import Table
from spofr_core.data.reading.columns import is_id_name, missing_column
from spofr_core.data.reading.ranks import look_at, sampled_lists
from spofr_core.errors import ConfigError

FloatArray = npt.NDArray[np.float64]

_LOOKED_ROWS = 1000
_LISTED = 12
_MANY = 10
_FEW_VALUES = 20
_ENOUGH = 10
"""Rows of the second group from which on it is no accident that a feature tells it from the others."""


def feature_columns(
    table: Table, features: Sequence[str] | Literal["auto"] | None, leave_out: Sequence[str], used: set[str]
) -> tuple[list[str], dict[str, str]]:
    """The columns to read as features, and what "auto" leaves out at first sight, by column, with the reason."""
    if features not in (None, "auto") and isinstance(features, str):
        raise ConfigError(f"'features' must be a list of columns or 'auto', got {features!r}.")
    for name in (*leave_out, *(features if isinstance(features, Sequence) and features != "auto" else ())):
        if name not in table.names:
            raise missing_column(name, table.names, "feature", table.name)
    reasons: dict[str, str] = {}
    if features is None or (features == "auto" and table.feature_names):
        names = list(table.feature_names)
    elif features == "auto":
        names, reasons = _numeric(table, used | {*leave_out})
    else:
        names = list(features)
    return [name for name in names if name not in set(leave_out)], reasons


def _numeric(table: Table, used: set[str]) -> tuple[list[str], dict[str, str]]:
    head = table.head(_LOOKED_ROWS)
    names: list[str] = []
    reasons: dict[str, str] = {}
    for k, name in enumerate(table.names):
        column = head.iloc[:, k]
        if not name or name in used:
            continue
        if pd.api.types.is_numeric_dtype(column):
            names.append(name)
        else:
            reasons[name] = "no value" if column.isna().all() else "text"
    return names, reasons


def unlearnable(
    names: Sequence[str], matrix: FloatArray, codes: npt.NDArray[np.integer[Any]], known: Mapping[str, FloatArray]
) -> dict[str, str]:
    """Features that nothing can be learned from, or that give away what is to be learned, with the reason.

    Parameters
    ----------
    names : sequence of str
        The features, one per column of `matrix`.
    matrix : array of shape (N, F)
        Their values.
    codes : array of shape (N,)
        The query of each row.
    known : mapping of str to array
        The columns of relevance, score, rank or clicks: a copy of one of them is no feature.
    """
    rows = np.concatenate([np.zeros(0, dtype=np.int64), *sampled_lists(codes)])
    found = ((name, _reason(name, matrix[:, k], codes, known, rows)) for k, name in enumerate(names))
    return {name: reason for name, reason in found if reason}


def _reason(
    name: str,
    values: FloatArray,
    codes: npt.NDArray[np.integer[Any]],
    known: Mapping[str, FloatArray],
    rows: npt.NDArray[np.int64],
) -> str:
    missing = int(np.isnan(values).sum())
    if missing:
        return "no value" if missing == len(values) else f"{missing:,} missing value{'s' if missing > 1 else ''}"
    if np.isinf(values).any():
        return f"{int(np.isinf(values).sum()):,} infinite values"
    if (values == values[0]).all():
        return f"always {values[0]:g}"
    for column, other in known.items():
        if np.array_equal(values, other) or np.array_equal(values, -other):
            return f"a copy of {column!r}"
    if (values % 1 != 0).any():
        return ""
    look = look_at(codes[rows], values[rows])
    if look.counts:
        return f"a rank: it {look.reason}"
    dense = values.max() - values.min() < 2 * len(values)
    if len(values) >= _MANY and (dense or is_id_name(name)) and len(np.unique(values)) == len(values):
        return "an id: no two rows share one"
    return ""


def telling_note(
    names: Sequence[str],
    matrix: FloatArray,
    codes: npt.NDArray[np.integer[Any]],
    groups: npt.NDArray[np.integer[Any]],
) -> list[str]:
    """One sentence about features that tell the group by themselves, as a column 0/1 beside one of names does.

    Parameters
    ----------
    names, matrix, codes
        As for `unlearnable`.
    groups : array of shape (N,)
        The group of each row; below 0 where it is not known.
    """
    rows = np.concatenate([np.zeros(0, dtype=np.int64), *sampled_lists(codes)])
    rows = rows[groups[rows] >= 0]
    sizes = np.sort(np.unique(groups[rows], return_counts=True)[1])
    if len(sizes) < 2 or sizes[-2] < _ENOUGH:
        return []
    telling = [repr(name) for k, name in enumerate(names) if _tells(matrix[rows, k], groups[rows], len(sizes))]
    if not telling:
        return []
    more = f" and {len(telling) - _LISTED} more" if len(telling) > _LISTED else ""
    tell, they = ("tells", "it") if len(telling) == 1 else ("tell", "them")
    return [
        f"Among the features, {', '.join(telling[:_LISTED])}{more} {tell} the group: leave {they} out where a scorer "
        "is not to see it."
    ]


def _tells(values: FloatArray, groups: npt.NDArray[np.integer[Any]], n_groups: int) -> bool:
    """Whether each value is of one group only: of few values, or of values that cut the groups apart."""
    order = np.lexsort((groups, values))
    value, group = values[order], groups[order]
    changes = group[1:] != group[:-1]
    if (changes & (value[1:] == value[:-1])).any():
        return False
    few = min(_FEW_VALUES, len(value) // _ENOUGH)
    return int(changes.sum()) < n_groups or len(np.unique(value)) <= few


def left_out_note(reasons: Mapping[str, str]) -> list[str]:
    """One sentence about the columns that are no features; none where all are."""
    if not reasons:
        return []
    shown = [f"{name!r} ({reason})" for name, reason in list(reasons.items())[:_LISTED]]
    more = f" and {len(reasons) - _LISTED} more" if len(reasons) > _LISTED else ""
    return [f"Not among the features: {', '.join(shown)}{more}."]
