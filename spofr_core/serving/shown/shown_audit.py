"""The audit of what was shown: realised exposure over impressions, from the log of any ranker.

A query that was shown T times is judged by what its T impressions add up to (`realised`). A query seen once shows one
ranking, of which nothing is promised: those are taken together, and judged by their mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spofr_core.data import UNKNOWN, write_csv
from spofr_core.evaluation.intervals import bootstrap_mean
from spofr_core.evaluation.slicing.slices import FEWEST
from spofr_core.evaluation.slicing.windows import AUTO, Window
from spofr_core.fairness import TOLERANCE, Fairness
from spofr_core.files import json_text
from spofr_core.serving.shown.realised import FloatArray, Impressions, Realised
from spofr_core.serving.shown.shown_log import ShownLog
from spofr_core.serving.shown.shown_time import ShownTime, shown_over_time

SCHEMA_VERSION = 2


@dataclass(frozen=True, eq=False)
class ShownAudit:
    """What readers were shown; made by `audit_shown`.

    Attributes
    ----------
    log : ShownLog
    fairness : Fairness
        What the queries are held to.
    each : Impressions
    found : Realised
        A row per query.
    seed : int
        Of the intervals.
    """

    log: ShownLog
    fairness: Fairness
    each: Impressions
    found: Realised
    seed: int = 0

    @property
    def group_names(self) -> tuple[str, ...]:
        """The groups, in the order of all arrays."""
        return self.log.group_names

    @property
    def violations(self) -> FloatArray:
        """(Q, G): realised violation of each group; NaN where it was never shown."""
        return self.found.violations

    @property
    def unknown(self) -> int:
        """How many shown items are of a group that is not known."""
        return int(np.sum(self.log.groups == UNKNOWN))

    @property
    def exposure(self) -> FloatArray:
        """(Q, G): realised mean exposure."""
        return self.found.exposure

    @cached_property
    def _off(self) -> FloatArray:
        """(Q, G): size of the violation; below everything where there is none."""
        return np.where(np.isnan(self.violations), -np.inf, np.abs(self.violations))

    @cached_property
    def _ends(self) -> tuple[FloatArray, FloatArray]:
        """(Q, G) twice: least and most size of the violation, whatever the groups are that are not known."""
        least, most = self.found.least, self.found.most
        nearest = np.where((least <= 0) & (most >= 0), 0.0, np.minimum(np.abs(least), np.abs(most)))
        return np.where(self.found.shown > 0, nearest, np.nan), np.maximum(np.abs(least), np.abs(most))

    @cached_property
    def _kept(self) -> dict[str, NDArray[np.bool_]]:
        """(Q, G) each: whether delta holds, delta with the bound, and the delta in force with the bound.

        A bound that is not known is NaN, and never kept. Where groups are not known, whatever these are.
        """
        off = self._ends[1]
        delta, none = self.fairness.deltas(self.group_names), np.isnan(off)
        limits = {
            "holds": np.broadcast_to(delta, self._off.shape),
            "within": delta + self.found.bounds,
            "promise": self.found.promised + self.found.bounds,
        }
        return {name: (off <= limit + TOLERANCE) | none for name, limit in limits.items()}

    @cached_property
    def _broken(self) -> NDArray[np.bool_]:
        """(Q,): whether some group exceeds delta, whatever the groups are that are not known."""
        limit = self.fairness.deltas(self.group_names) + TOLERANCE
        return np.asarray((np.nan_to_num(self._ends[0]) > limit).any(axis=1))

    @cached_property
    def queries(self) -> pd.DataFrame:
        """A row per query.

        "query", "impressions" (T), "group" (the one that is off most), "violation" (signed, of that group), "delta",
        "bound" (what the schedule may add; NaN where none is known), "holds" (within delta), "within" (within delta +
        bound), "promise" (within delta in force + bound), "could fail" and "by score" (impressions that were sorted by
        score because fairness could not be had). The groups count together: one that does not hold is enough. Where
        groups are not known, "depends": neither holds nor breaks delta whatever they are.
        """
        log, n = self.log, len(self.log.query_names)
        worst, rows = self._off.argmax(axis=1), np.arange(n)
        known = np.isfinite(self._off).any(axis=1)
        by_score = np.zeros(len(log)) if log.own is None else log.own.by_score
        names = np.array(self.group_names, dtype=object)
        return pd.DataFrame(
            {
                "query": list(log.query_names),
                "impressions": self.found.impressions,
                "group": np.where(known, names[worst], ""),
                "violation": np.where(known, self.violations[rows, worst], np.nan),
                "delta": self.fairness.deltas(self.group_names)[worst],
                "bound": self.found.bounds[rows, worst],
                **{name: kept.all(axis=1) for name, kept in self._kept.items()},
                **({"depends": ~self._kept["holds"].all(axis=1) & ~self._broken} if self.unknown else {}),
                "could fail": self.found.could_fail,
                "by score": np.bincount(log.queries, weights=by_score, minlength=n).astype(int),
            }
        )

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row per query and group that was shown: T, how often it was shown, its realised exposure and violation."""
        found = self.found
        rows, groups = np.nonzero(found.shown)
        at = rows, groups
        return pd.DataFrame(
            {
                "query": np.array(self.log.query_names, dtype=object)[rows],
                "group": np.array(self.group_names, dtype=object)[groups],
                "impressions": found.impressions[rows],
                "shown": found.shown[at],
                "exposure": found.exposure[at],
                "violation": found.violations[at],
                "delta": self.fairness.deltas(self.group_names)[groups],
                "bound": found.bounds[at],
                "holds": self._kept["holds"][at],
                "within": self._kept["within"][at],
            }
        )

    @cached_property
    def judged(self) -> pd.DataFrame:
        """Those of `queries` that were shown twice or more, and could have exceeded delta."""
        return self.queries[(self.queries["impressions"] > 1) & self.queries["could fail"]]

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Plain and JSON-able: counts, groups, the worst query, those seen once taken together, and what was noted."""
        table, judged, own = self.queries, self.judged, self.log.own
        promised = judged[judged["bound"].notna()]
        worst = int(judged["violation"].abs().to_numpy().argmax()) if len(judged) else None
        deltas = self.fairness.deltas(self.group_names)
        again = int((table["impressions"] > 1).sum())
        return {
            "schema": SCHEMA_VERSION,
            "fairness": self.fairness.to_dict(),
            "impressions": len(self.log),
            "sorted_by_score": int(table["by score"].sum()),
            "larger_delta": 0 if own is None else int((own.delta > deltas.max(initial=0.0) + TOLERANCE).sum()),
            "lacking": int(self.found.lacking.sum()),
            "queries": {
                "shown": len(table),
                "once": len(table) - again,
                "cannot_fail": again - len(judged),
                "judged": len(judged),
                "hold": int(judged["holds"].sum()),
                **({"depend": int(judged["depends"].sum())} if self.unknown else {}),
                "promised": len(promised),
                "within": int(promised["within"].sum()),
                "promise_kept": int(promised["promise"].sum()),
                "least_impressions": int(judged["impressions"].min()) if len(judged) else None,
            },
            "groups": self._groups(np.ones(len(table), dtype=np.bool_)),
            "worst": None if worst is None else _plain_row(judged.iloc[worst]),
            "once": self.once,
            "excluded": self.log.excluded,
            **({"unknown": self.unknown} if self.unknown else {}),
            "notes": list(self.log.notes),
        }

    @cached_property
    def once(self) -> dict[str, Any]:
        """Queries seen once, by group: the mean of their violations; "exceeds" where its interval lies beyond delta."""
        found = self._groups(self.found.impressions == 1)
        for name, delta in zip(self.group_names, self.fairness.deltas(self.group_names), strict=True):
            if name in found:
                low, high = found[name]["ci"]
                clear = low > delta + TOLERANCE or high < -delta - TOLERANCE
                least, most = self._mean_ends(self.found.impressions == 1, self.group_names.index(name))
                clear = clear and (least > delta + TOLERANCE or most < -delta - TOLERANCE)
                found[name]["exceeds"] = bool(clear and found[name]["n"] >= FEWEST)
        return found

    def _mean_ends(self, rows: NDArray[np.bool_], g: int) -> tuple[float, float]:
        """Between what a group's mean violation lies over the queries that surely show it."""
        known = rows & ~np.isnan(self.violations[:, g])
        return float(self.found.least[known, g].mean()), float(self.found.most[known, g].mean())

    def _groups(self, rows: NDArray[np.bool_]) -> dict[str, Any]:
        """Mean over these queries of what each group was shown, each query counting once."""
        told = {}
        for g, name in enumerate(self.group_names):
            known = rows & ~np.isnan(self.violations[:, g])
            values = self.violations[known, g]
            if len(values):
                told[name] = {
                    "n": len(values),
                    "impressions": int(self.found.shown[known, g].sum()),
                    "exposure": float(self.exposure[known, g].mean()),
                    "violation": float(values.mean()),
                    "ci": list(bootstrap_mean(values, seed=self.seed) or ()),
                }
        return told

    @property
    def ok(self) -> bool:
        """Whether every judged query holds delta, or delta and the bound of its schedule, and so do those seen once.

        Queries seen once fail together where the interval of a group's mean violation, over `FEWEST` of them or more,
        lies beyond delta. What depends on groups that are not known fails nothing.
        """
        kept = self.judged["holds"] | self.judged["within"]
        held = bool((kept | self.judged["depends"] if self.unknown else kept).all())
        return held and not any(group["exceeds"] for group in self.once.values())

    def over_time(self, window: Window = AUTO) -> ShownTime:
        """What was shown in each window of time; see `ShownTime`.

        Raises
        ------
        DataError
            When the log has no times.
        """
        return shown_over_time(self.log, self.each, self.fairness, window, seed=self.seed)

    def to_csv(self, path: str | Path) -> None:
        """The table of queries and groups as CSV; cells that a spreadsheet would run as a formula are neutralised."""
        write_csv(self.table, path)

    def to_json(self, path: str | Path | None = None) -> str:
        """The summary as JSON text, also written to `path` if one is given."""
        return json_text(self.summary, path)


def audit_shown(log: ShownLog, fairness: Fairness, *, seed: int = 0) -> ShownAudit:
    """Audit what was shown.

    Parameters
    ----------
    log : ShownLog
        From `read_shown`.
    fairness : Fairness
        What the queries are held to; where the log says which delta was in force in an impression, the promise of the
        schedule is about that one.
    """
    Fairness.require(fairness)
    each = Impressions.of(log, fairness)
    return ShownAudit(log, fairness, each, each.together(log.queries, len(log.query_names)), seed)


def _plain_row(row: pd.Series) -> dict[str, Any]:
    return {
        "query": row["query"],
        "impressions": int(row["impressions"]),
        "group": row["group"],
        "violation": float(row["violation"]),
        "delta": float(row["delta"]),
        "bound": None if np.isnan(row["bound"]) else float(row["bound"]),
    }
