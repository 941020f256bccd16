"""`repair`: the exact fair re-ranking of a dataset, and what it changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from spofr_core.data import RankingDataset
from spofr_core.data.ids import plain
from spofr_core.data.rows import list_sums
from spofr_core.evaluation.audit import AuditResult
from spofr_core.evaluation.calibrating.calibrated_scores import Calibrate, CalibratedScores, calibrated_scores
from spofr_core.evaluation.intervals import bootstrap_mean
from spofr_core.evaluation.measurement import Measurement, measure_exposure
from spofr_core.evaluation.query_table import FloatArray
from spofr_core.evaluation.summary import SmallGroups
from spofr_core.fairness import Discount, Fairness, merit_notes
from spofr_core.policy import OnInfeasible, Policies, Solver, fair_policies, keep_present_order, tied_expectation
from spofr_core.reporting.wording.phrases import within_a_sentence

FACE_VALUE = "Maximised is the DCG of the scores that the policies were given, taken at face value as relevance."
# Utility moves by a constant if every score of a list does: minus the rank orders policies as n minus the rank does.
RANKS_AT_FACE_VALUE = (
    "There are ranks and no scores. Maximised is the DCG of the places that items have now, counted from the end of "
    "the list: every place is taken to be worth as much as the next."
)


@dataclass(frozen=True, eq=False)
class Repair:
    """A dataset's own ranking and its exact fair re-ranking, audited alike; each when it is asked for.

    Attributes
    ----------
    data : RankingDataset
        With the scores that were ranked by.
    policies : Policies
        The re-ranking: for each list, the lottery of greatest expected utility among all that hold delta.
    measured : Measurement, optional
        Of the ranking before, where it is known already.
    calibrated : CalibratedScores, optional
        What was ranked by, where that is not the scores themselves; `data` has it as its scores.
    """

    data: RankingDataset
    fairness: Fairness
    policies: Policies
    discount: Discount
    cutoff: int
    seed: int
    measured: Measurement | None = None
    small: SmallGroups | None = None
    calibrated: CalibratedScores | None = None

    @property
    def ranks(self) -> bool:
        """Whether it starts from ranks, which say an order and no distances."""
        return self.data.ranks if self.calibrated is None else self.calibrated.of == "ranks"

    @property
    def yields(self) -> bool:
        """Whether some list is held to less than what was asked: to a larger delta, or to no quota."""
        return bool(self.policies.relaxed or self.policies.lists.lifted)

    @property
    def maximised(self) -> str:
        """Which utility the policies maximise, for people."""
        if self.calibrated is None:
            return RANKS_AT_FACE_VALUE if self.ranks else FACE_VALUE
        return f"Maximised is the DCG of {self.calibrated.sentence}."

    @cached_property
    def before(self) -> AuditResult:
        """The audit of the sort by score."""
        measured = self.measured or self._measure(None)
        return measured.judge(self.fairness)

    @cached_property
    def after(self) -> AuditResult:
        """The audit of the policies; its notes say which utility they maximise."""
        return self._measure(self.policies).judge(self.fairness)

    @cached_property
    def score_utility(self) -> FloatArray:
        """(2, Q): scores' Pi w of each query before and after, which is what the programme maximises."""
        scores, offsets = np.asarray(self.data.score), self.data.offsets
        vector = self.discount.vector(int(self.data.list_lengths.max(initial=0)))
        sorted_worth = tied_expectation(scores, offsets, vector)
        return np.stack([list_sums(scores * sorted_worth, offsets), self.policies.utility])

    @cached_property
    def utility_without_quota(self) -> FloatArray | None:
        """(Q,): utility of the best lotteries within delta alone; None where there is no quota."""
        if self.fairness.every_ranking is None:
            return None
        alone = self.fairness.with_quota(None)
        how: dict[str, Any] = {"discount": self.discount, "seed": self.seed, "on_infeasible": "relax"}
        return fair_policies(self.data, alone, **how).utility

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Plain dict: share of delta-fair queries, violations, measures and score utility, before and after.

        "quota" is None without one, else {text, price: {without: mean utility within delta alone, mean: what the quota
        takes of it, share: the same as a share, None where that utility is not above 0, ci: interval of the mean over
        queries}}.
        """
        return repair_summary(
            self.before,
            self.after,
            self.score_utility,
            rankings=int(self.policies.solution.counts.sum()),
            solver=self.policies.solution.solver,
            relaxed=self.policies.relaxed,
            notes=self.policies.notes,
            seed=self.seed,
            maximised=self.maximised,
            calibrated=self.calibrated is not None,
            ranks=self.ranks,
            without_quota=self.utility_without_quota,
        )

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row per number that a repair may change: name, label, before, after, unit; see `repair_table`."""
        before, after = (
            _state(result, utility)
            for result, utility in zip((self.before, self.after), self.score_utility, strict=True)
        )
        how = {"unit": self.fairness.unit, "calibrated": self.calibrated is not None, "ranks": self.ranks}
        return repair_table({**how, "before": before, "after": after})

    def _measure(self, policies: Policies | None) -> Measurement:
        how: dict[str, Any] = {"discount": self.discount, "cutoff": self.cutoff, "seed": self.seed, "small": self.small}
        names = () if self.measured is None else tuple(self.measured.table.kinds.values())
        data = self.data if policies is None else self.data.with_notes(self.maximised)
        return measure_exposure(data, self.fairness, policies=policies, measures=names, **how)


def repair(
    data: RankingDataset,
    fairness: Fairness,
    *,
    scores: npt.ArrayLike | pd.Series | pd.DataFrame | None = None,
    calibrate: Calibrate = False,
    solver: str | Solver = "exact",
    discount: Discount | None = None,
    cutoff: int = 10,
    seed: int = 0,
    on_infeasible: OnInfeasible = "raise",
    measured: Measurement | None = None,
    small: SmallGroups | None = None,
) -> Repair:
    """Re-rank every list of the data optimally within the bounds; what holds delta already is not changed.

    Parameters
    ----------
    data : RankingDataset
    fairness : Fairness
    scores : optional
        What to rank by in place of the scores of the data, such as `model.estimates(data)`, in all ways that
        `data.with_scores` takes.
    calibrate : bool, "logistic", "isotonic" or RankingDataset
        Rank by estimates of relevance made from the scores: True takes the kind that fits better, each query calibrated
        by the labels of other queries; other data with scores of the same model and labels, such as a validation part,
        is fitted on as a whole. The programme weighs relevance against exposure, so it matters what a difference of
        scores is worth.
    solver : {"exact", "glop"} or Solver
    discount, cutoff
        As for `audit`.
    seed : int
        Breaks ties between equal scores, and draws the intervals.
    on_infeasible : {"raise", "relax"}
        Where no policy satisfies delta (merit notion): raise `InfeasibleFairness`, or use the smallest feasible delta
        of that query and list it.
    measured : Measurement, optional
        Of the present ranking, where it was measured before.
    small : SmallGroups, optional
        As for `audit`; where it is left out, as the present ranking was measured.

    Raises
    ------
    DataError
        When there are no scores.
    """
    RankingDataset.require(data)
    ranked = data if scores is None else data.with_scores(scores)
    discount = discount or Discount()
    calibrated = None
    if calibrate is not False:
        calibrated = calibrated_scores(ranked, calibrate, seed=seed)
        how: dict[str, Any] = {"discount": discount, "cutoff": cutoff, "seed": seed, "small": small}
        measured = measured or measure_exposure(ranked, fairness, **how)  # of the order that the scores imply
        ranked = ranked.replace(score=calibrated.estimates, ranks=False)
    policies = fair_policies(ranked, fairness, solver=solver, discount=discount, seed=seed, on_infeasible=on_infeasible)
    small = small or (measured.small if measured else None)
    return Repair(ranked, fairness, keep_present_order(policies), discount, cutoff, seed, measured, small, calibrated)


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
    maximised: str,
    calibrated: bool = False,
    ranks: bool = False,
    without_quota: FloatArray | None = None,
) -> dict[str, Any]:
    """The plain dict of `Repair.summary`, from what is known of the queries without their policies."""
    dcg_before, dcg_after = before.table.dcg, after.table.dcg
    return {
        "schema": 2,
        "delta": after.summary["delta"],
        "unit": after.summary["unit"],
        "notion": after.summary["notion"],
        "queries": len(after.table),
        "rankings": rankings,
        "solver": solver,
        "maximised": maximised,
        "calibrated": calibrated,
        "ranks": ranks,
        "before": _state(before, score_utility[0]),
        "after": _state(after, score_utility[1]),
        "score_utility_change": _mean_change(score_utility[1] - score_utility[0], seed),
        "dcg_change": None if dcg_before is None or dcg_after is None else _mean_change(dcg_after - dcg_before, seed),
        "quota": _priced(after, score_utility[1], without_quota, seed),
        "relaxed": [{"query": plain(before.table.query_ids[q]), "min_delta": delta} for q, delta in relaxed.items()],
        "notes": [*notes, *merit_notes(after.fairness.merits, after.table.label_shift)],
    }


def repair_table(summary: Mapping[str, Any]) -> pd.DataFrame:
    """Before and after, a row per number, from the summary of a repair.

    Returns
    -------
    DataFrame
        name, label, before, after, unit ("share" is said as a percentage); numbers that exist before.
    """
    before, after = summary["before"], summary["after"]
    violations = "share" if summary["unit"] == "share" else ""
    of = "ranks" if summary.get("ranks") else "scores"
    worth = f"calibrated {of}" if summary.get("calibrated") else of
    unsure = "undecided" in before
    rows: list[tuple[str, str, Any, Any, str]] = [
        (name, label, before[name], after[name], unit)
        for name, label, unit in (
            ("share", f"queries that hold delta{', whatever the unknown groups are' if unsure else ''}", "share"),
            *((("undecided", "queries that depend on the unknown groups", ""),) if unsure else ()),
            ("violation_mean", "mean violation, either way", violations),
            ("violation_max", "largest violation, either way", violations),
            ("score_utility", f"mean utility of the {worth}", ""),
        )
    ]
    rows += [
        (
            name,
            f"mean {within_a_sentence(entry['label'])}",
            entry["mean"],
            after["measures"][name]["mean"],
            entry["unit"],
        )
        for name, entry in before["measures"].items()
    ]
    # Of ranks, and of scores without a zero, utility orders rankings, and its size tells a reader nothing.
    known = [row for row in rows if row[2] is not None and not (row[0] == "score_utility" and min(row[2:4]) < 0)]
    return pd.DataFrame(known, columns=["name", "label", "before", "after", "unit"])


def _priced(after: AuditResult, utility: FloatArray, without: FloatArray | None, seed: int) -> dict[str, Any] | None:
    if without is None or after.summary["quota"] is None:
        return None
    lost, before = _mean_change(without - utility, seed), float(without.mean())
    # Of utilities around 0, as scores below 0 make them, a share says nothing.
    share = max(lost["mean"] / before, 0.0) if before > 0 and without.min() >= 0 else None
    return {"text": after.summary["quota"]["text"], "price": {"without": before, **lost, "share": share}}


def _mean_change(change: FloatArray, seed: int) -> dict[str, Any]:
    return {"mean": float(change.mean()), "ci": list(bootstrap_mean(change, seed=seed) or ())}


def _state(result: AuditResult, score_utility: FloatArray) -> dict[str, Any]:
    summary = result.summary
    return {
        "fair": summary["queries"]["fair"],
        "applicable": summary["queries"]["applicable"],
        "judged": summary["queries"]["judged"],
        "share": summary["queries"]["share"],
        **({name: summary["unknown"][name] for name in ("broken", "undecided")} if "unknown" in summary else {}),
        "quota": summary["quota"],
        "violation_mean": summary["violation"]["mean"],
        "violation_max": summary["violation"]["max"],
        "score_utility": float(score_utility.mean()),
        "dcg": None if summary["utility"] is None else summary["utility"]["dcg"],
        "ndcg": None if summary["utility"] is None else summary["utility"]["ndcg"],
        "measures": {
            name: {key: entry[key] for key in ("label", "unit", "mean")} for name, entry in summary["measures"].items()
        },
    }
