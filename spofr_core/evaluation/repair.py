"""What an exact fair re-ranking changes: exposure, violation and utility, before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from spofr_core.data import RankingDataset
from spofr_core.data.ids import plain
from spofr_core.data.rows import list_sums
from spofr_core.evaluation.audit import AuditResult, audit
from spofr_core.evaluation.intervals import bootstrap_mean
from spofr_core.evaluation.query_table import FloatArray
from spofr_core.fairness import Discount, Fairness
from spofr_core.policy import Policies, fair_policies, tied_expectation


@dataclass(frozen=True, eq=False)
class Repair:
    """A dataset's own ranking and its exact fair re-ranking, audited alike.

    Attributes
    ----------
    policies : Policies
        The re-ranking, optimal for the dataset's scores within the bounds.
    before, after : AuditResult
    score_utility : (2, Q) float
        scores' Pi w of each query before and after: what the programme maximises.
    """

    policies: Policies
    before: AuditResult
    after: AuditResult
    score_utility: FloatArray
    seed: int

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Plain dict: share of delta-fair queries, violations, DCG and score utility, before and after."""
        return repair_summary(
            self.before,
            self.after,
            self.score_utility,
            rankings=int(self.policies.solution.counts.sum()),
            solver=self.policies.solution.solver,
            relaxed=self.policies.relaxed,
            notes=self.policies.notes,
            seed=self.seed,
        )


def repair_ranking(
    data: RankingDataset,
    fairness: Fairness,
    *,
    solver: str = "exact",
    discount: Discount | None = None,
    cutoff: int = 10,
    seed: int = 0,
    relax: bool = True,
) -> Repair:
    """Re-rank every list of the data optimally within the bounds, and audit both rankings.

    Parameters
    ----------
    data : RankingDataset
        With scores.
    relax : bool
        Where no policy satisfies delta (merit notion), use the smallest feasible delta of that query and list it;
        otherwise raise `InfeasibleFairness`.
    """
    worth = discount or Discount()
    policies = fair_policies(
        data, fairness, solver=solver, discount=worth, seed=seed, on_infeasible="relax" if relax else "raise"
    )
    scores = np.asarray(data.score)
    longest = int(data.list_lengths.max(initial=0))
    sorted_worth = tied_expectation(scores, data.offsets, worth.vector(longest))
    return Repair(
        policies=policies,
        before=audit(data, fairness, discount=worth, cutoff=cutoff, seed=seed),
        after=audit(data, fairness, policies=policies, discount=worth, cutoff=cutoff, seed=seed),
        score_utility=np.stack([list_sums(scores * sorted_worth, data.offsets), policies.utility]),
        seed=seed,
    )


def repair_summary(
    before: AuditResult,
    after: AuditResult,
    score_utility: FloatArray,
    *,
    rankings: int,
    solver: str,
    relaxed: Mapping[int, float],
    notes: Sequence[str],
    seed: int,
) -> dict[str, Any]:
    """The plain dict of `Repair.summary`, from what is known of the queries without their policies."""
    dcg_before, dcg_after = before.table.dcg, after.table.dcg
    return {
        "schema": 1,
        "delta": after.summary["delta"],
        "notion": after.summary["notion"],
        "queries": len(after.table),
        "rankings": rankings,
        "solver": solver,
        "before": _state(before, score_utility[0]),
        "after": _state(after, score_utility[1]),
        "score_utility_change": _mean_change(score_utility[1] - score_utility[0], seed),
        "dcg_change": None if dcg_before is None or dcg_after is None else _mean_change(dcg_after - dcg_before, seed),
        "relaxed": [{"query": plain(before.table.query_ids[q]), "min_delta": delta} for q, delta in relaxed.items()],
        "notes": list(notes),
    }


def _mean_change(change: FloatArray, seed: int) -> dict[str, Any]:
    return {"mean": float(change.mean()), "ci": list(bootstrap_mean(change, seed=seed) or ())}


def _state(result: AuditResult, score_utility: FloatArray) -> dict[str, Any]:
    summary = result.summary
    return {
        "fair": summary["queries"]["fair"],
        "applicable": summary["queries"]["applicable"],
        "share": summary["queries"]["share"],
        "violation_mean": summary["violation"]["mean"],
        "violation_max": summary["violation"]["max"],
        "score_utility": float(score_utility.mean()),
        "dcg": None if summary["utility"] is None else summary["utility"]["dcg"],
        "ndcg": None if summary["utility"] is None else summary["utility"]["ndcg"],
    }
