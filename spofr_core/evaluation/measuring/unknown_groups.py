"""What a table of queries says where the groups of some items are not known: ranges, and three verdicts for a list.

A list holds delta whatever those groups are, breaks it whatever they are, or cannot be told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from spofr_core.fairness import Fairness, Labellings, cannot_fail, largest_first, mean_range, rounding_of_violations
from spofr_core.measures import RankingView

if TYPE_CHECKING:
    from spofr_core.evaluation.query_table import FloatArray, JudgedTable, QueryTable

Columns = dict[str, NDArray[Any]]


def unknown_columns(view: RankingView, fairness: Fairness) -> Columns:
    """What is measured of the items whose group is not known; empty where there are none.

    Returns
    -------
    dict
        exposures: (Q,) object, their exposures in each list, the largest first; items (Q,): how many they are. lower,
        upper (Q, G): smallest and largest mean exposure of each group; possible (Q,): whether some of the groups that
        they could have leave two or more in the list. Of lists that have some, NaN in the others: least, most (Q,):
        smallest and largest violation of the group furthest off, what floating point adds taken away; reach (Q,): the
        delta that no ranking of the list could exceed; rounding (Q,).
    """
    data = view.data
    if not data.unknown.any():
        return {}
    exposures = largest_first(view.item_exposure, data.unknown, data.offsets)
    items = np.fromiter(map(len, exposures), dtype=np.int64, count=len(exposures))
    rows = np.flatnonzero(items)
    lists = Labellings(view.composition[rows], view.group_exposure[rows], exposures[rows])
    least, most = lists.excess(fairness)
    columns = {"exposures": exposures, "items": items} | known_columns(view.group_exposure, view.composition.applicable)
    rounding = rounding_of_violations(fairness, fairness.terms(lists.least))
    found = (*lists.ranges, least, most, lists.largest_delta(fairness), rounding, lists.applicable)
    for name, values in zip(("lower", "upper", "least", "most", "reach", "rounding", "possible"), found, strict=True):
        columns[name][rows] = values
    return columns


def known_columns(exposure: FloatArray, applicable: NDArray[np.bool_]) -> Columns:
    """The same, but for the exposures, of lists in which every group is known."""
    lines = {name: np.full(len(exposure), np.nan) for name in ("least", "most", "reach", "rounding")}
    return {"lower": exposure.copy(), "upper": exposure.copy(), **lines, "possible": applicable.copy()}


def nothing_unknown(table: QueryTable) -> Columns:
    """The columns of a part in which every group is known, beside parts in which not every one is."""
    exposures = np.empty(len(table), dtype=object)
    exposures[:] = [np.zeros(0)] * len(table)
    items = np.zeros(len(table), dtype=np.int64)
    return {"exposures": exposures, "items": items} | known_columns(table.exposure, table.applicable)


def decided(table: QueryTable, fairness: Fairness) -> Columns:
    """What delta makes of lists with unknown groups; empty where there are none.

    Returns
    -------
    dict
        holds, breaks, cannot_fail (Q,): of lists with unknown groups, whatever these are; groups (Q, G): groups that
        hold their delta in them, whatever these are; beyond (Q, G): -1 and 1 where they are below and above their
        bounds, whatever these are, and 0 where not or that is not known.
    """
    if not table.unknown:
        return {}
    rows = np.flatnonzero(table.unknown_items)
    lists = Labellings(table.composition[rows], table.exposure[rows], table.unknown["exposures"][rows])
    deltas = fairness.deltas(table.group_names)
    within = lists.applicable & (table.unknown["reach"][rows] <= deltas.min() + table.unknown["rounding"][rows])
    least, most = (table.unknown[name][rows] - deltas.min() for name in ("least", "most"))
    if np.ptp(deltas) > 0:
        least, most = lists.excess(fairness, deltas)
    found: Columns = {name: np.zeros(len(table), dtype=np.bool_) for name in ("holds", "breaks", "cannot_fail")}
    groups = np.ones(table.sizes.shape, dtype=np.bool_)
    groups[rows], beyond = (most <= 0)[:, None], np.zeros(groups.shape)
    if fairness.rule.bounds_by_length:
        terms = fairness.terms(lists.least)
        within = cannot_fail(fairness, terms) & lists.applicable
        limits = deltas + table.unknown["rounding"][rows, None]
        ends = np.array([terms.scale * table.unknown[name][rows] - terms.target for name in ("lower", "upper")])
        groups[rows] = np.all(np.isnan(ends) | (np.abs(ends) <= limits), axis=0)
        beyond[rows] = table.present[rows] * (np.all(ends > limits, axis=0) * 1.0 - np.all(ends < -limits, axis=0))
    found["holds"][rows], found["breaks"][rows], found["cannot_fail"][rows] = most <= 0, least > 0, within
    return found | {"groups": groups, "beyond": beyond}


def unknown_summary(table: JudgedTable) -> dict[str, Any]:
    """The entry "unknown" of a summary, from a table that has some: counts of lists, and the ranges of the groups."""
    judged, fair = int(table.judged.sum()), int(table.fair.sum())
    undecided, compared = int(table.undecided.sum()), table.applicable
    sizes = np.abs(table.worst_violation[compared])
    with_unknown = table.unknown_items[compared] > 0
    ends = (np.where(with_unknown, np.maximum(table.unknown[name][compared], 0.0), sizes) for name in ("least", "most"))
    means = [float(end.mean()) if len(end) else np.nan for end in ends]
    return {
        "items": int(table.unknown_items.sum()),
        "lists": int(np.count_nonzero(table.unknown_items)),
        "fair": fair,
        "broken": int(table.broken.sum()),
        "undecided": undecided,
        "share": [fair / judged, (fair + undecided) / judged] if judged else None,
        "violation": means if np.isfinite(means).all() else None,
        "groups": _group_ranges(table),
    }


def _group_ranges(table: QueryTable) -> dict[str, dict[str, Any]]:
    """Of each group, over lists with two known groups: its exposure per item, and over what their means would give."""
    lists = np.flatnonzero(table.applicable)
    exposures = [*table.unknown["exposures"][lists]]
    values, due = (
        np.concatenate([np.zeros(0), *exposures]),
        np.repeat(table.list_exposure[lists], list(map(len, exposures))),
    )
    got = np.where(table.present, table.sizes * np.nan_to_num(table.exposure), 0.0)[lists].sum(axis=0)
    sizes = table.sizes[lists]
    owed = (sizes * table.list_exposure[lists][:, None]).sum(axis=0)
    exposed = due > 0  # where a list exposes nothing, all are 0
    return {
        name: {
            "exposure": _known(mean_range(float(got[g]), float(sizes[:, g].sum()), values, np.ones(len(values)))),
            "relative": _known(mean_range(float(got[g]), float(owed[g]), values[exposed], due[exposed])),
        }
        for g, name in enumerate(table.group_names)
    }


def _known(ends: tuple[float, float]) -> list[float] | None:
    return None if np.isnan(ends).any() else list(ends)
