"""The audit of what was shown: realised exposure over impressions, from the log of any ranker.

An impression t of a query shows a list; with e_g(t) the mean exposure of the items of group g in it, its violation is
scale_g e_g(t) - target_g, as for any ranking. Over T impressions of a query the realised violation is the mean over
those that show the group: where the list stays the same, the violation of the realised mean exposure.

A schedule promises abs(realised violation) <= delta + (sum over the policies of `added`) / T. Impressions of a policy
that are logged from its first on keep to `added`; a log that begins later is a difference of two such, hence twice
that. A query seen once shows one ranking, of which nothing is promised: those are taken together.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spofr_core.evaluation.intervals import bootstrap_mean
from spofr_core.fairness import TOLERANCE, Composition, Fairness
from spofr_core.serving.shown_log import ShownLog

FloatArray = NDArray[np.float64]
SCHEMA_VERSION = 1


@dataclass(frozen=True, eq=False)
class ShownAudit:
    """What readers were shown; made by `audit_shown`.

    Attributes
    ----------
    fairness : Fairness
    group_names : tuple of str
    queries : DataFrame
        A row per query: "query", "impressions" (T), "group" (the one that is off most), "violation" (signed, of that
        group), "delta", "bound" (what the schedule may add; NaN where none is known), "holds" (within delta), "within"
        (within delta + bound) and "by score" (impressions that were sorted by score because fairness could not be had).
    violations : (Q, G) float
        Realised violation of each group; NaN where it was never shown.
    exposure : (Q, G) float
        Realised mean exposure.
    seed : int
    """

    fairness: Fairness
    group_names: tuple[str, ...]
    queries: pd.DataFrame
    violations: FloatArray
    exposure: FloatArray
    seed: int = 0

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Plain and JSON-able: counts, the worst query, and those seen once, taken together."""
        table = self.queries
        again = table[table["impressions"] > 1]
        judged = again[again["violation"].notna()]
        promised = judged[judged["bound"].notna()]
        worst = int(judged["violation"].abs().to_numpy().argmax()) if len(judged) else None
        return {
            "schema": SCHEMA_VERSION,
            "fairness": self.fairness.to_dict(),
            "impressions": int(table["impressions"].sum()),
            "sorted_by_score": int(table["by score"].sum()),
            "queries": {
                "shown": len(table),
                "once": len(table) - len(again),
                "judged": len(judged),
                "hold": int(judged["holds"].sum()),
                "promised": len(promised),
                "within_promise": int(promised["within"].sum()),
                "least_impressions": int(judged["impressions"].min()) if len(judged) else None,
            },
            "worst": None if worst is None else _plain_row(judged.iloc[worst]),
            "once": self._once(),
        }

    def _once(self) -> dict[str, Any]:
        """Queries seen once: the mean of their violations, group by group."""
        rows = (self.queries["impressions"] == 1).to_numpy()
        found = {}
        for g, name in enumerate(self.group_names):
            values = self.violations[rows, g]
            values = values[~np.isnan(values)]
            if len(values):
                found[name] = {
                    "violation": float(values.mean()),
                    "ci": list(bootstrap_mean(values, seed=self.seed) or ()),
                    "n": len(values),
                }
        return found

    @property
    def ok(self) -> bool:
        """Whether every query that was shown again holds delta, or what its schedule promised."""
        judged = self.queries[(self.queries["impressions"] > 1) & self.queries["violation"].notna()]
        return bool((judged["holds"] | judged["within"]).all())


def audit_shown(log: ShownLog, fairness: Fairness, *, seed: int = 0) -> ShownAudit:
    """Audit what was shown.

    Parameters
    ----------
    log : ShownLog
        From `read_shown`.
    fairness : Fairness
        Of which delta the queries are held to; where the log says which delta was in force in an impression, the
        promise of the schedule is about that one.
    """
    composition = Composition.of(log.groups, log.offsets, log.group_names)
    terms = fairness.terms(composition)
    vector = fairness.position_bias.vector(int(composition.lengths.max(initial=0)))
    starts = np.repeat(log.offsets[:-1], np.diff(log.offsets))
    shown = vector[np.arange(len(log.groups)) - starts]
    means = composition.group_means(shown, log.groups, log.offsets)
    each = np.where(terms.constrained, terms.violations(means), np.nan)
    violations, exposure = _mean_by(log.queries, each), _mean_by(log.queries, means)
    in_force = terms.delta if log.delta is None else np.broadcast_to(log.delta[:, None], means.shape)
    promised = _mean_by(log.queries, np.where(composition.present, in_force, np.nan))
    bounds = _bounds(log, composition.present)
    table = _judged(log, violations, fairness.deltas(log.group_names), promised, bounds)
    return ShownAudit(fairness, log.group_names, table, violations, exposure, seed)


def _judged(
    log: ShownLog, violations: FloatArray, deltas: FloatArray, promised: FloatArray, bounds: FloatArray
) -> pd.DataFrame:
    n = len(log.query_names)
    off = np.where(np.isnan(violations), -np.inf, np.abs(violations))
    known = np.asarray(np.isfinite(off).any(axis=1))
    worst = off.argmax(axis=1)
    rows = np.arange(n)
    kept = (off <= promised + bounds + TOLERANCE) | ~np.isfinite(off)  # NaN where nothing is promised is not kept
    return pd.DataFrame(
        {
            "query": list(log.query_names),
            "impressions": np.bincount(log.queries, minlength=n),
            "group": [log.group_names[g] if k else "" for g, k in zip(worst.tolist(), known.tolist(), strict=True)],
            "violation": np.where(known, violations[rows, worst], np.nan),
            "delta": deltas[worst],
            "bound": bounds[rows, worst],
            "holds": (off <= deltas + TOLERANCE).all(axis=1),
            "within": kept.all(axis=1),
            "by score": np.bincount(log.queries, weights=log.by_score, minlength=n).astype(int),
        }
    )


def _bounds(log: ShownLog, present: NDArray[np.bool_]) -> FloatArray:
    """(Q, G): what the schedules of a query may add to the violation of a group; NaN where one promises nothing.

    The sum of `added` over the policies that show the group, over the impressions that do.
    """
    n = len(log.query_names)
    shown = np.zeros((n, present.shape[1]))
    np.add.at(shown, log.queries, present)
    if log.added is None or log.policies is None or log.numbers is None:
        return np.full(shown.shape, np.nan)
    frame = pd.DataFrame({"query": log.queries, "policy": log.policies, "added": log.added, "number": log.numbers})
    frame["place"] = np.arange(len(frame))
    frame["known"] = frame["added"].notna()
    each = frame.groupby(["query", "policy"], as_index=False).agg(
        added=("added", "max"), number=("number", "min"), place=("place", "first"), known=("known", "all")
    )
    allowed = each["added"].where(each["number"] == 1, 2 * each["added"]).where(each["known"]).to_numpy(np.float64)
    total = np.zeros(shown.shape)
    shows = present[each["place"].to_numpy()]
    np.add.at(total, each["query"].to_numpy(), np.where(shows, allowed[:, None], 0.0))
    return np.asarray(total / np.maximum(shown, 1))


def _mean_by(queries: NDArray[np.int64], values: FloatArray) -> FloatArray:
    """Mean over the impressions of each query that have a value."""
    return pd.DataFrame(values).groupby(queries).mean().to_numpy(dtype=np.float64)


def _plain_row(row: pd.Series) -> dict[str, Any]:
    return {
        "query": row["query"],
        "impressions": int(row["impressions"]),
        "group": row["group"],
        "violation": float(row["violation"]),
        "delta": float(row["delta"]),
        "bound": None if np.isnan(row["bound"]) else float(row["bound"]),
    }
