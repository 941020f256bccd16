"""One plain dict that says what an audit found; reports and pages only ever read this.

Schema 1 (JSON types; null where a number does not exist):

- ``delta`` (number or {group: number}), ``unit`` ("absolute" or "share": of delta and of all violations), ``notion``,
  ``definition``, ``formula``, ``position_bias``, ``discount``
- ``queries``: total, applicable, not_applicable, fair, share = fair / applicable, ci (Wilson, 95 %)
- ``violation``: over applicable queries, of max over groups of abs(violation): mean, mean_ci (bootstrap over
  queries), max, quantiles {level: value}, quantiles_ci; signed_mean and signed_group: the group whose mean signed
  violation is furthest from zero (opposite signs cancel in it); pairwise_mean: mean sum over pairs of groups of
  abs(e_g - e_h)
- ``worst``: up to ten {query, group, violation}, the largest first
- ``groups``: {name: items, queries, exposure_mean, violation_mean, small}; exposure_ratio: {value, lowest, highest}
- ``range``: smallest delta that all queries can satisfy, largest that matters
- ``infeasible``: count and the first queries with the smallest delta that would do
- ``utility``: {dcg, dcg_ci, ndcg, ndcg_ci, cutoff, queries_without_relevant} or null
- ``measures``: {name: label, unit, better ("higher", "lower" or ""), mean, ci (bootstrap over queries), n: queries
  where it is defined}
- ``excluded``: {reason: rows}; ``notes``: sentences
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spofr_core.data.ids import plain
from spofr_core.evaluation.intervals import bootstrap_mean, quantile_interval, wilson
from spofr_core.evaluation.query_table import FloatArray, JudgedTable, QueryTable
from spofr_core.fairness import Fairness
from spofr_core.measures import MEASURES

SCHEMA = 1
QUANTILES = (0.5, 0.9, 0.95, 0.99)
SMALL_GROUP = 30
"""Groups with fewer items than this are marked: their means say little."""
LISTED = 10
ORDER = (
    "schema",
    "delta",
    "unit",
    "notion",
    "definition",
    "formula",
    "merits",
    "position_bias",
    "discount",
    "queries",
    "violation",
    "worst",
    "groups",
    "exposure_ratio",
    "range",
    "infeasible",
    "utility",
    "measures",
    "excluded",
    "notes",
)
"""What the summary says, in the order in which it says it."""


def measured_summary(table: QueryTable, *, cutoff: int, seed: int) -> dict[str, Any]:
    """The entries of the summary that follow from what was measured."""
    measures = _measures(table, cutoff, seed)
    return {
        "violation": _violation(table, seed),
        "worst": _worst(table),
        "groups": _groups(table),
        "exposure_ratio": _exposure_ratio(table),
        "range": delta_range(table),
        "utility": _utility(table, measures, cutoff),
        "measures": measures,
    }


def summarise(measured: dict[str, Any], table: JudgedTable, fairness: Fairness) -> dict[str, Any]:
    """The summary of the module's docstring, from `Measurement.summary` and what is judged by delta."""
    judged = {
        "schema": SCHEMA,
        "delta": fairness.delta,
        "definition": fairness.definition,
        "formula": fairness.formula,
        "queries": _queries(table),
        "infeasible": _infeasible(table),
    }
    return {name: (judged | measured)[name] for name in ORDER}


def _queries(table: JudgedTable) -> dict[str, Any]:
    applicable, fair = int(table.applicable.sum()), int(table.fair.sum())
    interval = wilson(fair, applicable)
    return {
        "total": len(table),
        "applicable": applicable,
        "not_applicable": len(table) - applicable,
        "fair": fair,
        "share": fair / applicable if applicable else None,
        "ci": list(interval) if interval else None,
    }


def _violation(table: QueryTable, seed: int) -> dict[str, Any]:
    sizes = np.sort(np.abs(table.worst_violation[table.applicable]))
    signed = _signed_means(table)
    loudest = None if np.all(np.isnan(signed)) else int(np.nanargmax(np.abs(signed)))
    return {
        "mean": _mean(sizes),
        "mean_ci": _pair(bootstrap_mean(sizes, seed=seed)),
        "max": float(sizes[-1]) if len(sizes) else None,
        "quantiles": {f"{q:g}": float(np.quantile(sizes, q)) if len(sizes) else None for q in QUANTILES},
        "quantiles_ci": {f"{q:g}": _pair(quantile_interval(sizes, q)) for q in QUANTILES},
        "signed_mean": None if loudest is None else float(signed[loudest]),
        "signed_group": None if loudest is None else table.group_names[loudest],
        "pairwise_mean": _mean(_defined(table.measures["pairwise"])) if "pairwise" in table.measures else None,
    }


def _signed_means(table: QueryTable) -> FloatArray:
    """Mean over applicable lists of each group's signed violation; NaN for a group that is in none of them."""
    counted = table.present & table.applicable[:, None]
    totals = np.where(counted, table.violation, 0.0).sum(axis=0)
    counts = counted.sum(axis=0)
    return np.asarray(np.divide(totals, counts, out=np.full(len(counts), np.nan), where=counts > 0))


def _worst(table: QueryTable) -> list[dict[str, Any]]:
    sizes = np.where(table.applicable, np.abs(table.worst_violation), -1.0)
    order = np.argsort(-sizes, kind="stable")[:LISTED]
    return [
        {
            "query": plain(table.query_ids[q]),
            "group": table.group_names[table.worst_group[q]],
            "violation": float(table.worst_violation[q]),
        }
        for q in order
        if table.applicable[q]
    ]


def _groups(table: QueryTable) -> dict[str, dict[str, Any]]:
    items, lists = table.sizes.sum(axis=0), table.present.sum(axis=0)
    totals = np.nansum(table.sizes * table.exposure, axis=0)
    signed = _signed_means(table)
    return {
        name: {
            "items": int(items[g]),
            "queries": int(lists[g]),
            "exposure_mean": float(totals[g] / items[g]) if items[g] else None,
            "violation_mean": None if np.isnan(signed[g]) else float(signed[g]),
            "small": bool(items[g] < SMALL_GROUP),
        }
        for g, name in enumerate(table.group_names)
    }


def _exposure_ratio(table: QueryTable) -> dict[str, Any] | None:
    """Lowest over highest mean exposure per item, over the lists where groups compete."""
    sizes = table.sizes[table.applicable]
    items = sizes.sum(axis=0)
    if np.count_nonzero(items) < 2:
        return None
    totals = np.nansum(sizes * table.exposure[table.applicable], axis=0)
    means = np.divide(totals, items, out=np.full(len(items), np.nan), where=items > 0)
    low, high = int(np.nanargmin(means)), int(np.nanargmax(means))
    return {
        "value": float(means[low] / means[high]) if means[high] > 0 else None,
        "lowest": table.group_names[low],
        "highest": table.group_names[high],
    }


def delta_range(table: QueryTable) -> dict[str, float]:
    """The smallest delta that every list can hold, and the largest that still forbids something."""
    return {
        "smallest": float(table.smallest_delta.max(initial=0.0)),
        "largest": float(table.largest_delta.max(initial=0.0)),
    }


def _infeasible(table: JudgedTable) -> dict[str, Any]:
    bad = np.flatnonzero(~table.feasible)
    hardest = bad[np.argsort(-table.smallest_delta[bad], kind="stable")][:LISTED]
    return {
        "count": len(bad),
        "queries": [{"query": plain(table.query_ids[q]), "min_delta": float(table.smallest_delta[q])} for q in hardest],
    }


def _measures(table: QueryTable, cutoff: int, seed: int) -> dict[str, dict[str, Any]]:
    """Of each measure: what it is, its mean over the queries where it is defined, and how many those are."""
    found = {}
    for name, values in table.measures.items():
        measure, defined = MEASURES[name], _defined(values)
        found[name] = {
            "label": measure.title(cutoff),
            "unit": measure.unit,
            "better": measure.better,
            "mean": _mean(defined),
            "ci": _pair(bootstrap_mean(defined, seed=seed)),
            "n": len(defined),
        }
    return found


def _utility(table: QueryTable, measures: dict[str, dict[str, Any]], cutoff: int) -> dict[str, Any] | None:
    if "dcg" not in measures or "ndcg" not in measures:
        return None
    return {
        "dcg": measures["dcg"]["mean"],
        "dcg_ci": measures["dcg"]["ci"],
        "ndcg": measures["ndcg"]["mean"],
        "ndcg_ci": measures["ndcg"]["ci"],
        "cutoff": cutoff,
        "queries_without_relevant": len(table) - measures["ndcg"]["n"],
    }


def _defined(values: FloatArray) -> FloatArray:
    return values[~np.isnan(values)]


def _mean(values: FloatArray) -> float | None:
    return float(values.mean()) if len(values) else None


def _pair(interval: tuple[float, float] | None) -> list[float] | None:
    return None if interval is None else list(interval)
