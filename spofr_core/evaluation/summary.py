"""One plain dict that says what an audit found; reports and pages only ever read this.

Schema 2 (JSON types; null where a number does not exist):

- ``delta`` (number or {group: number}), ``unit`` ("absolute" or "share": of delta and of all violations), ``notion``,
  ``definition``, ``formula``, ``position_bias``, ``discount``
- ``queries``: total, applicable (two groups or more), not_applicable, cannot_fail (applicable, but no ranking of the
  list could exceed delta), judged = applicable - cannot_fail, fair (judged, and every group holds delta),
  share = fair / judged, ci (Wilson, 95 %), small_only (judged, and only small groups exceed delta)
- ``quota``: null, or slack, top, minimum (null where not set), text; queries: {applicable (two groups or more, and some
  ranking meets it), broken (of these, some ranking that may be shown breaks it), share, ci (Wilson)}; draws: {share:
  mean over applicable queries of the probability that a shown ranking breaks it, ci (bootstrap over queries)}; error:
  standard error of that share from rankings that had to be drawn; impossible: queries of which no ranking can meet it,
  impossible_queries: the first of them, {query, prefix (the first that fails)}
- ``unknown``: only where groups of items are not known: items, lists (that have some); of the judged queries: fair
  (hold delta whatever those groups are), broken (break it whatever they are), undecided (cannot be told), share
  [fair / judged, (fair + undecided) / judged], which widens ``queries.ci``; violation: [least, most] of
  ``violation.mean`` whatever the groups are, null where that is not known; groups: {name: exposure, relative: [least,
  most] of exposure_mean and relative_mean whatever they are}. All else is said of the items whose group is known
- ``suggested_delta``: where delta forbids nothing at all, a round one that forbids something
- ``violation``: over applicable queries, of max over groups of abs(violation): mean, mean_ci (bootstrap over
  queries), max, quantiles {level: value}, quantiles_ci; signed_mean and signed_group: of the groups that are not small
  the one whose mean signed violation is furthest from zero (opposite signs cancel in it); pairwise_mean: mean sum over
  pairs of groups of abs(e_g - e_h)
- ``each_item``: whether each item is on its own; then a group is one item of one list: ``groups`` is empty, no group is
  small, ``exposure_ratio`` is null, and ``worst`` names an item
- ``items``: null, or where each item is on its own: total; compared: those in applicable queries; relative: quantiles
  {level: value} over these of exposure over the list's mean; most, least: {mean, ci (bootstrap over queries)} over
  queries of what the item with the most, and the least, gets of the list's mean; judged: items of judged queries;
  above, below: those of them that get more, and less, than delta allows
- ``worst``: up to ten {query, group (null, and item its id, where each item is on its own), violation, exposure,
  mean_exposure (of the list)} of groups that are not small, the largest violation first
- ``groups``: {name: items, queries: all there are; compared, compared_queries: the items in applicable queries, and
  these queries; of these exposure_mean, exposure_ci, relative_mean (their exposure over what they would get if each
  item had its list's mean), relative_ci, violation_mean (over queries), violation_ci (bootstrap over queries); small}
- ``small_groups``: {items, lists}: with fewer compared items or lists (or fewer lists than there are) a group is small
- ``exposure_ratio``: {value, ci, lowest, highest}: lowest over highest relative_mean of the groups that are not small,
  which being in longer lists than others does not move; the interval allows for the pair having been picked among them
- ``range``: smallest delta that all queries can satisfy, largest that matters
- ``infeasible``: count and the first queries with the smallest delta that would do
- ``utility``: {dcg, dcg_ci, ndcg, ndcg_ci, cutoff, queries_without_relevant} or null
- ``measures``: {name: label, unit, better ("higher", "lower" or ""), mean, ci (bootstrap over queries), n: queries
  where it is defined}
- ``label_shift``: only where labels are below 0: what is added to them in nDCG, merits and measures whose label says so
- ``excluded``: {reason: rows}; ``notes``: sentences
- ``model``: null, or {title, guaranteed, plain_sort} of the model whose policies were audited; plain_sort: null, or
  {queries, violation: {mean, max}, dcg} of the plain sort by its scores
- ``slices``: only where asked for: [`Slicing.summary`], with ``not_crossed`` where several make too many; ``time``:
  only where asked for, as in `SlicedResult.summary`
- ``selection``: only where it was asked for; its schema is written in `spofr_core.evaluation.selection.rates`
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from pydantic import Field

from spofr_core.config import StrictModel
from spofr_core.data.ids import plain
from spofr_core.evaluation.intervals import CONFIDENCE, RatiosOfSums, bootstrap_mean, quantile_interval, wilson
from spofr_core.evaluation.items.item_summary import judged_items, measured_items
from spofr_core.evaluation.measuring.unknown_groups import unknown_summary
from spofr_core.evaluation.query_table import BoolArray, FloatArray, JudgedTable, QueryTable
from spofr_core.fairness import Fairness, Quota

SCHEMA = 2
QUANTILES = (0.5, 0.9, 0.95, 0.99)
LISTED = 10
USUAL_SHARE = 0.1
"""No larger share than this is suggested as delta."""
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
    "unknown",
    "quota",
    "suggested_delta",
    "violation",
    "each_item",
    "items",
    "worst",
    "groups",
    "small_groups",
    "exposure_ratio",
    "range",
    "infeasible",
    "utility",
    "measures",
    "label_shift",
    "excluded",
    "notes",
)
"""What the summary says, in the order in which it says it."""


class SmallGroups(StrictModel):
    """From which size on a group may write the headline; smaller ones are listed with their n.

    Parameters
    ----------
    items : int
        Items in lists where groups compete.
    lists : int
        Lists of that kind; where there are fewer in all, the group must be in every one.
    """

    items: int = Field(default=30, ge=0)
    lists: int = Field(default=10, ge=0)

    def of(self, table: QueryTable) -> BoolArray:
        """(G,): which groups are small; with each item on its own, none is."""
        if table.each_item:
            return np.zeros(len(table.group_names), dtype=np.bool_)
        sizes = table.sizes[table.applicable]
        items, lists = sizes.sum(axis=0), np.count_nonzero(sizes, axis=0)
        return np.asarray((items < self.items) | (lists < min(self.lists, len(sizes))) | (items == 0))


def measured_summary(table: QueryTable, *, cutoff: int, seed: int, small: SmallGroups) -> dict[str, Any]:
    """The entries of the summary that follow from what was measured."""
    measures = _measures(table, cutoff, seed)
    is_small = small.of(table)
    return {
        **(_of_items(table, seed) if table.each_item else _of_groups(table, seed, is_small)),
        "each_item": table.each_item,
        "worst": _worst(table, is_small),
        "small_groups": small.to_dict(),
        "range": delta_range(table),
        "utility": _utility(table, measures, cutoff),
        "measures": measures,
    } | ({"label_shift": table.label_shift} if table.label_shift else {})


def _of_groups(table: QueryTable, seed: int, is_small: BoolArray) -> dict[str, Any]:
    means = _GroupMeans(table, seed)
    return {
        "violation": _violation(table, seed, np.where(is_small, np.nan, means.violation)),
        "items": None,
        "groups": _groups(table, means, is_small),
        "exposure_ratio": _exposure_ratio(table.group_names, means, is_small),
    }


def _of_items(table: QueryTable, seed: int) -> dict[str, Any]:
    return {
        "violation": _violation(table, seed, np.array([np.nan])),
        "items": measured_items(table, seed=seed),
        "groups": {},
        "exposure_ratio": None,
    }


def summarise(
    measured: dict[str, Any], table: JudgedTable, fairness: Fairness, small: SmallGroups, *, seed: int
) -> dict[str, Any]:
    """The summary of the module's docstring, from `Measurement.summary` and what is judged by delta."""
    told = fairness.told(each_item=table.each_item)
    judged = {
        "schema": SCHEMA,
        "delta": fairness.delta,
        "definition": told.definition,
        "formula": told.formula,
        "queries": _queries(table, small.of(table)),
        "quota": None if fairness.every_ranking is None else _quota(table, fairness.every_ranking, seed),
        "suggested_delta": _suggested_delta(table, fairness),
        "infeasible": _infeasible(table),
    }
    found = judged | measured
    if table.unknown:
        found["unknown"] = unknown_summary(table)
    if table.each_item:
        found["items"] = measured["items"] | judged_items(table)
    return {name: found[name] for name in ORDER if name in found}


def _queries(table: JudgedTable, small: BoolArray) -> dict[str, Any]:
    applicable, judged, fair = (int(lists.sum()) for lists in (table.possible, table.judged, table.fair))
    interval = _pair(wilson(fair, judged))
    if interval is not None and table.undecided.any():
        interval[1] = (wilson(fair + int(table.undecided.sum()), judged) or interval)[1]
    held_by_others = table.broken & (table.holds | small).all(axis=1)
    return {
        "total": len(table),
        "applicable": applicable,
        "not_applicable": len(table) - applicable,
        "cannot_fail": applicable - judged,
        "judged": judged,
        "fair": fair,
        "share": fair / judged if judged else None,
        "ci": interval,
        "small_only": int(held_by_others.sum()),
    }


def _quota(table: QueryTable, quota: Quota, seed: int) -> dict[str, Any]:
    chance, first_failing = table.quota["chance"], table.quota["impossible"]
    known = ~np.isnan(chance)
    applicable, broken = int(known.sum()), int(table.quota["broken"].sum())
    impossible = np.flatnonzero(first_failing)
    drawn = float(np.sqrt(np.sum(table.quota["error"] ** 2)))
    return {
        **{"slack": None, "top": None, "minimum": None},
        **quota.to_dict(),
        "text": quota.text,
        "queries": {
            "applicable": applicable,
            "broken": broken,
            "share": broken / applicable if applicable else None,
            "ci": _pair(wilson(broken, applicable)),
        },
        "draws": {"share": _mean(chance[known]), "ci": _pair(bootstrap_mean(chance[known], seed=seed))},
        "error": drawn / applicable if applicable else 0.0,
        "impossible": len(impossible),
        "impossible_queries": [
            {"query": plain(table.query_ids[q]), "prefix": int(first_failing[q])} for q in impossible[:LISTED]
        ],
    }


def _suggested_delta(table: JudgedTable, fairness: Fairness) -> float | None:
    """Where delta forbids nothing, a round one that does: at most a fifth of what half of the lists could reach.

    Round is 1, 2 or 5 times a power of ten; a share is no larger than `USUAL_SHARE`.
    """
    if table.judged.any() or not table.possible.any():
        return None
    reach = table.reach[table.possible & np.isfinite(table.reach)]
    wanted = (float(np.median(reach)) or float(reach.max())) / 5
    if wanted <= 0:
        return None
    if fairness.unit == "share":
        wanted = min(wanted, USUAL_SHARE)
    power = 10.0 ** math.floor(math.log10(wanted))
    return float(f"{max(digit * power for digit in (1, 2, 5) if digit * power <= wanted * (1 + 1e-9)):.6g}")


class _GroupMeans:
    """Of every group over the applicable lists: exposure per item, the same relative to the lists, signed violation."""

    def __init__(self, table: QueryTable, seed: int) -> None:
        sizes, present = table.sizes[table.applicable], table.present[table.applicable]
        exposure = np.where(present, sizes * table.exposure[table.applicable], 0.0)
        violation = np.where(present, table.violation[table.applicable], 0.0)
        due = sizes * table.list_exposure[table.applicable][:, None]
        numerators = np.hstack([exposure, exposure, violation])
        denominators = np.hstack([sizes, due, present]).astype(np.float64)
        self.items, self.lists = sizes.sum(axis=0), present.sum(axis=0)
        self._ratios = RatiosOfSums(numerators, denominators, seed=seed)
        self.exposure, self.relative, self.violation = np.split(self._ratios.values, 3)

    def exposure_ci(self, group: int) -> list[float] | None:
        """Interval of the mean exposure."""
        return _pair(self._ratios.interval(group))

    def relative_ci(self, group: int) -> list[float] | None:
        """Interval of the exposure relative to the lists."""
        return _pair(self._ratios.interval(len(self.items) + group))

    def violation_ci(self, group: int) -> list[float] | None:
        """Interval of the mean signed violation."""
        return _pair(self._ratios.interval(2 * len(self.items) + group))

    def ratio_ci(self, low: int, high: int, pairs: int) -> list[float] | None:
        """Interval of the ratio of two groups' relative exposures that were picked among so many pairs."""
        places = len(self.items) + low, len(self.items) + high
        return _pair(self._ratios.quotient_interval(*places, confidence=1 - (1 - CONFIDENCE) / pairs))


def _violation(table: QueryTable, seed: int, signed: FloatArray) -> dict[str, Any]:
    sizes = np.sort(np.abs(table.worst_violation[table.applicable]))
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


def _worst(table: QueryTable, small: BoolArray) -> list[dict[str, Any]]:
    counted = table.present & table.applicable[:, None] & ~small
    sizes = np.where(counted, np.abs(table.violation), -1.0)
    groups = sizes.argmax(axis=1)
    largest = sizes[np.arange(len(table)), groups]
    order = np.argsort(-largest, kind="stable")[:LISTED]
    return [
        {
            "query": plain(table.query_ids[q]),
            "group": None if table.each_item else table.group_names[groups[q]],
            **({} if table.items is None else {"item": plain(table.items[q, groups[q]])}),
            "violation": float(table.violation[q, groups[q]]),
            "exposure": float(table.exposure[q, groups[q]]),
            "mean_exposure": float(table.list_exposure[q]),
        }
        for q in order
        if largest[q] >= 0
    ]


def _groups(table: QueryTable, means: _GroupMeans, small: BoolArray) -> dict[str, dict[str, Any]]:
    items, lists = table.sizes.sum(axis=0), table.present.sum(axis=0)
    return {
        name: {
            "items": int(items[g]),
            "queries": int(lists[g]),
            "compared": int(means.items[g]),
            "compared_queries": int(means.lists[g]),
            "exposure_mean": _known(means.exposure[g]),
            "exposure_ci": means.exposure_ci(g),
            "relative_mean": _known(means.relative[g]),
            "relative_ci": means.relative_ci(g),
            "violation_mean": _known(means.violation[g]),
            "violation_ci": means.violation_ci(g),
            "small": bool(small[g]),
        }
        for g, name in enumerate(table.group_names)
    }


def _exposure_ratio(names: tuple[str, ...], means: _GroupMeans, small: BoolArray) -> dict[str, Any] | None:
    """Lowest over highest relative exposure; None without two groups that are not small."""
    large = np.flatnonzero(~small)
    if len(large) < 2:
        return None
    low, high = (int(large[place(means.relative[large])]) for place in (np.argmin, np.argmax))
    if low == high:  # all get the same: two groups are compared all the same, not one with itself
        high = int(large[-1])
    pairs = len(large) * (len(large) - 1) // 2
    return {
        "value": float(means.relative[low] / means.relative[high]) if means.relative[high] > 0 else None,
        "ci": means.ratio_ci(low, high, pairs),
        "lowest": names[low],
        "highest": names[high],
    }


def delta_range(table: QueryTable) -> dict[str, float]:
    """The smallest delta that every list can hold, and the largest that still forbids something."""
    return {
        "smallest": float(table.smallest_delta.max(initial=0.0)),
        "largest": float(table.reach[np.isfinite(table.reach)].max(initial=0.0)),
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
        measure, defined = table.kinds[name], _defined(values)
        found[name] = {
            "label": measure.title(cutoff, label_shift=table.label_shift),
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


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _pair(interval: tuple[float, float] | None) -> list[float] | None:
    return None if interval is None else list(interval)
