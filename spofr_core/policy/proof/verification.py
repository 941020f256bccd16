"""`verify`: does a policy hold its delta, and is it optimal? Checked from scratch, trusting no solver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, overload

import numpy as np
import numpy.typing as npt
import pandas as pd

from spofr_core.data import RankingDataset
from spofr_core.data.groups.labels import UNKNOWN, GroupLabels, MissingLabels
from spofr_core.data.score_array import ranking_scores, refuse_unlike_indexes
from spofr_core.errors import ConfigError
from spofr_core.fairness import TOLERANCE, Composition, Discount, Fairness, format_delta
from spofr_core.policy.policies import Policies
from spofr_core.policy.policy import Policy
from spofr_core.policy.programme import FloatArray, LinearConstraint, call_either, checked_offsets, group_codes
from spofr_core.policy.proof import formulas as proof
from spofr_core.policy.proof.certificate import Certificate
from spofr_core.policy.proof.claims import Claim, claims_in, claims_of_lists, default_offsets, query_name
from spofr_core.policy.proof.prefixes import prefix_limits
from spofr_core.policy.proof.verdicts import NO_POLICY, Verification
from spofr_core.policy.solvers.score_sizes import checked_scores, require_scale


@dataclass(frozen=True)
class _Verdict:
    query: Any
    ok: bool = False
    fair: bool = False
    optimal: bool | None = None
    violation: float = np.nan
    margin: float = np.nan
    utility: float = np.nan
    gap: float = np.nan
    relaxed: float = np.nan
    lifted: float = np.nan
    reasons: str = ""


@overload
def verify(
    claim: Any,
    data: RankingDataset,
    fairness: Fairness,
    /,
    *,
    scores: npt.ArrayLike | pd.Series | pd.DataFrame | None = None,
    discount: Discount | None = None,
    constraints: Sequence[LinearConstraint] = (),
    optimal: bool = True,
    allow_relaxed: bool = False,
    tolerance: float = TOLERANCE,
) -> Verification: ...


@overload
def verify(
    claim: Policy | Policies | Mapping[str, Any] | Sequence[Mapping[str, Any]],
    scores: npt.ArrayLike,
    groups: GroupLabels,
    fairness: Fairness,
    *,
    offsets: npt.ArrayLike | None = None,
    discount: Discount | None = None,
    group_names: Sequence[str] | None = None,
    query_ids: Sequence[Any] | npt.NDArray[Any] | None = None,
    constraints: Sequence[LinearConstraint] = (),
    optimal: bool = True,
    allow_relaxed: bool = False,
    tolerance: float = TOLERANCE,
    missing: MissingLabels = "error",
) -> Verification: ...


def verify(claim: Any, *lists: Any, **settings: Any) -> Verification:
    """Check policies or certificates: `verify(claim, data, fairness)`, or against flat scores and groups.

    For each list: the lottery is one; every ranking keeps within the quota, if one is asked for; delta is held by the
    exposures that its rankings give; with multipliers, the utility is within the gap of a dual bound computed here from
    those; and every number of a certificate is the one found here. `Verification` says what each verdict means.

    Parameters
    ----------
    claim : Policy, Policies, certificate or sequence of certificates
    data : RankingDataset
        The caller's own; its scores, or `scores` in any way that `data.with_scores` takes.
    scores, groups : (N,)
        The same without a dataset, in the order of the lists; `groups` are labels, or codes with `group_names`. Which
        items have no group, and so no bound, is said here alone.
    fairness : Fairness
        The caller's own demand.
    offsets : (Q + 1,) int, optional
        For batches; a batch of policies brings its own.
    discount : Discount, optional
        By default the one that the claim names.
    query_ids : sequence, optional
        Certificates belong to the lists that they name, as text, and may come in any order. Where there is one for a
        single list of many, that list is checked.
    constraints : sequence of LinearConstraint
        For a single list.
    optimal : bool
        Whether the largest utility is asked for too, or fairness alone; certificates always state both.
    allow_relaxed : bool
        Accept a list that holds its smallest feasible delta where the one asked for is impossible, and one without a
        quota where no ranking can meet it; all of this is checked.
    tolerance : float
        For exposures relative to the largest exposure of a position, for utilities relative to the largest score times
        the sum of the discount.
    missing : {"error", "keep"}
        As for `fair_policy`.

    Returns
    -------
    Verification

    Raises
    ------
    DataError, ConfigError
        When the input cannot be read at all, or certificates name no list, or one list twice. A bad lottery is no
        exception but a verdict.
    """
    ways = "'verify' takes (claim, data, fairness), or (claim, scores, groups, fairness)"
    return call_either(_verify_data, _verify_arrays, ways, (claim, *lists), settings)


def _verify_data(
    claim: Any,
    data: RankingDataset,
    fairness: Fairness,
    /,
    *,
    scores: npt.ArrayLike | pd.Series | pd.DataFrame | None = None,
    discount: Discount | None = None,
    constraints: Sequence[LinearConstraint] = (),
    optimal: bool = True,
    allow_relaxed: bool = False,
    tolerance: float = TOLERANCE,
) -> Verification:
    if data.each_item:
        fairness.check_items()
    return _verify_arrays(
        claim,
        ranking_scores(data, scores),
        data.groups,
        fairness,
        offsets=data.offsets,
        discount=discount,
        group_names=data.group_names,
        query_ids=data.query_ids,
        constraints=constraints,
        optimal=optimal,
        allow_relaxed=allow_relaxed,
        tolerance=tolerance,
    )


def _verify_arrays(
    claim: Policy | Policies | Mapping[str, Any] | Sequence[Mapping[str, Any]],
    scores: npt.ArrayLike,
    groups: GroupLabels,
    fairness: Fairness,
    *,
    offsets: npt.ArrayLike | None = None,
    discount: Discount | None = None,
    group_names: Sequence[str] | None = None,
    query_ids: Sequence[Any] | npt.NDArray[Any] | None = None,
    constraints: Sequence[LinearConstraint] = (),
    optimal: bool = True,
    allow_relaxed: bool = False,
    tolerance: float = TOLERANCE,
    missing: MissingLabels = "error",
) -> Verification:
    Fairness.require(fairness)
    refuse_unlike_indexes(scores=scores, groups=groups)
    codes, names = group_codes(groups, group_names, missing)
    claims = list(claims_in(claim))
    places = checked_offsets(default_offsets(claim, len(codes)) if offsets is None else offsets, len(codes))
    values = checked_scores(scores, places)
    fairness.terms(Composition.of(codes, places, names))  # refuses a notion that does not fit these groups
    total = len(places) - 1
    of_lists = claims_of_lists(claim, claims, query_ids, total)
    if constraints and len(claims) != 1:
        raise ConfigError("Constraints of one's own are for one list at a time.")
    labels = np.array([*names, None], dtype=object)[np.where(codes < 0, len(names), codes)]
    alone = total > 1 and sum(said is not None for said in of_lists) == 1
    verdicts = []
    for q, said in enumerate(of_lists):
        if said is None:
            if not alone:
                verdicts.append(_Verdict(query_name(claim, said, query_ids, q), reasons=NO_POLICY))
            continue
        rows = slice(int(places[q]), int(places[q + 1]))
        n = rows.stop - rows.start
        chosen = discount or said.discount or Discount()
        quota = fairness.every_ranking
        prefixes = None if quota is None else prefix_limits(quota, labels[rows])
        case = proof.ListCase(
            values[rows], labels[rows], fairness.position_bias.vector(n), chosen.vector(n), constraints, prefixes
        )
        name = query_name(claim, said, query_ids, q)
        require_scale(values[rows], np.array([0, n]), case.v, case.w, [name].__getitem__)
        checker = _Checker(case, fairness, chosen, said, None if query_ids is None else query_ids[q], tolerance)
        verdicts.append(replace(checker.verdict(optimal, allow_relaxed), query=name))
    table = pd.DataFrame(verdicts, columns=[field.name for field in fields(_Verdict)])
    table["optimal"] = np.array([verdict.optimal for verdict in verdicts], dtype=object)
    checked = np.repeat([said is not None for said in of_lists], np.diff(places))
    return Verification(table, fairness, total, unknown=int(((codes == UNKNOWN) & checked).sum()))


class _Checker:
    """The checks of one list; each adds its reasons."""

    def __init__(
        self,
        case: proof.ListCase,
        fairness: Fairness,
        discount: Discount,
        said: Claim,
        query: Any,
        tolerance: float,
    ) -> None:
        self.case, self.fairness, self.discount, self.said, self.query = case, fairness, discount, said, query
        self.tolerance = tolerance
        self.unit = max(float(np.abs(case.scores).max()) * float(case.w.sum()), np.finfo(float).tiny)
        self.reasons: list[str] = []
        """Why the list is not fair, before anything is said about its utility."""
        self.false: list[str] = []
        """What the claim says that is not so."""
        self.raised, self.lifted = np.nan, np.nan

    def verdict(self, optimal: bool, allow_relaxed: bool) -> _Verdict:
        said = self.said
        self.reasons += proof.lottery_faults(said.rankings, said.probabilities, len(self.case.scores), self.tolerance)
        if self.reasons:
            return _Verdict(None, reasons="; ".join(self.reasons))
        rankings = np.asarray(said.rankings, dtype=np.int64)
        within = self._quota(rankings, allow_relaxed)
        case = self.case
        asked = self._asked(allow_relaxed)
        violation, margin = self._delta(asked, proof.expected(rankings, said.probabilities, case.v))
        self._own_constraints(rankings)
        utility = float(case.scores @ proof.expected(rankings, said.probabilities, case.w))
        bounds = {name: condition.bounds for name, condition in asked.items()}
        bound = self._bound(bounds, rankings[0]) if within else np.nan
        if said.certificate is not None:
            self._certificate(said.certificate, asked, bounds, utility, bound)
        fair, proved = not self.reasons, None
        if fair and not np.isnan(bound):
            short = bound - utility > self.tolerance * self.unit
            proved = False if short else None if self.false else True
        wanted = optimal or said.certificate is not None
        if wanted and proved is False:
            self.reasons.append(f"the utility {utility:.9g} is not shown to be optimal: the bound is {bound:.9g}")
        elif wanted and fair and said.multipliers is None:
            self.reasons.append("nothing shows that its utility is optimal: it has no multipliers (optimal=True)")
        reasons = [*self.reasons, *self.false]
        return _Verdict(
            query=None,
            ok=fair and proved is True,
            fair=fair,
            optimal=proved,
            violation=violation,
            margin=margin,
            utility=utility,
            gap=max(bound - utility, 0.0) if np.isfinite(bound) else bound,
            relaxed=self.raised,
            lifted=self.lifted,
            reasons="; ".join(reasons),
        )

    def _quota(self, rankings: npt.NDArray[np.int64], allow_relaxed: bool) -> bool:
        """Whether every ranking is within the quota as far as it is asked; one that none can meet is dropped."""
        prefixes = self.case.prefixes
        if prefixes is None:
            return True
        impossible = prefixes.first_impossible
        self.lifted = impossible or np.nan
        if impossible:
            self.case = replace(self.case, prefixes=None)
            if not allow_relaxed:
                self.reasons.append(
                    f"no ranking can meet the quota in the first {impossible} positions (allow_relaxed=False)"
                )
            return True
        faults = prefixes.faults(self.case.groups, rankings)
        self.reasons += faults
        return not faults

    def _asked(self, allow_relaxed: bool) -> dict[str, proof.Condition]:
        """The conditions, relaxed to the smallest feasible delta where that is claimed, allowed and true."""
        asked = proof.conditions(self.case, self.fairness)
        claimed = self.said.relaxed
        if claimed is None:
            return asked
        smallest = proof.smallest_feasible_delta(self.case, asked) if asked else 0.0
        if not abs(claimed - smallest) <= self.tolerance * self._scale(asked):
            said, least = self._text(claimed), self._text(smallest)
            self.false.append(f"relaxed to delta {said}, but the smallest feasible delta is {least}")
            return asked
        self.raised = claimed
        if not allow_relaxed:
            self.reasons.append(
                f"the delta asked for is infeasible and {self._text(claimed)} was used instead (allow_relaxed=False)"
            )
            return asked
        return {name: replace(c, delta=max(c.delta, claimed)) for name, c in asked.items()}

    def _text(self, delta: float) -> str:
        return format_delta(delta, self.fairness.unit, 9)

    def _scale(self, asked: Mapping[str, proof.Condition]) -> float:
        return float(self.case.v.max()) * max((c.scale for c in asked.values()), default=1.0)

    def _delta(self, asked: Mapping[str, proof.Condition], exposure: FloatArray) -> tuple[float, float]:
        """Largest violation and smallest margin."""
        if not asked:
            return np.nan, np.nan
        violations = {
            name: c.scale * float(exposure[self.case.members(name)].mean()) - c.target for name, c in asked.items()
        }
        margins = {name: c.delta - abs(violations[name]) for name, c in asked.items()}
        for name, margin in margins.items():
            if not margin >= -self.tolerance * self._scale(asked):
                self.reasons.append(
                    f"group {name!r} has a violation of {self._text(violations[name])}, "
                    f"delta is {self._text(asked[name].delta)}"
                )
        return max(abs(value) for value in violations.values()), min(margins.values())

    def _own_constraints(self, rankings: npt.NDArray[np.int64]) -> None:
        found = proof.constraint_values(self.case, rankings, self.said.probabilities)
        for k, (value, c) in enumerate(zip(found, self.case.constraints, strict=True), start=1):
            slack = self.tolerance * max(1.0, float(np.abs(c.matrix).max()))
            if not c.lower - slack <= value <= c.upper + slack:
                self.reasons.append(f"constraint {k} has the value {value:.9g}, outside {c.lower:g} .. {c.upper:g}")

    def _bound(self, bounds: Mapping[str, tuple[float, float]], ranking: npt.NDArray[np.int64]) -> float:
        """The dual bound at the claimed multipliers; NaN where there are none."""
        said = self.said
        if said.multipliers is None:
            return np.nan
        if set(said.multipliers) != set(self.case.names):
            self.false.append(f"multipliers name {sorted(said.multipliers)}, the list has {self.case.names}")
            return np.nan
        if len(said.constraint_multipliers) != len(self.case.constraints):
            self.false.append(
                f"there are {len(said.constraint_multipliers)} constraint multipliers "
                f"for {len(self.case.constraints)} constraints"
            )
            return np.nan
        return proof.dual_bound(self.case, bounds, said.multipliers, said.constraint_multipliers, ranking)

    def _certificate(
        self,
        certificate: Certificate,
        asked: Mapping[str, proof.Condition],
        bounds: Mapping[str, tuple[float, float]],
        utility: float,
        bound: float,
    ) -> None:
        """Every statement of the certificate against what was found here."""
        if self.query is not None and (certificate.query is None or str(certificate.query) != str(self.query)):
            self.false.append(f"the certificate is of query {certificate.query!r}, not {self.query!r}")
        for field, given, wanted in (
            # Certificates from before deltas had units are of absolute ones.
            ("fairness", {"unit": "absolute"} | certificate.fairness, self.fairness.to_dict()),
            ("discount", certificate.discount, self.discount.to_dict()),
        ):
            if given != wanted:
                self.false.append(f"the certificate's {field} is {given}, asked for is {wanted}")
        self._same_deltas(certificate, asked)
        self._same_bounds(certificate, bounds)
        unit = self.tolerance * self.unit
        for field, said, found in (
            ("utility", certificate.utility, utility),
            ("dual_bound", certificate.dual_bound, bound),
            ("gap", certificate.gap, bound - utility),
        ):
            if not abs(said - found) <= unit:
                self.false.append(f"the certificate's {field} is {said:.9g}, found is {found:.9g}")

    def _same_deltas(self, certificate: Certificate, asked: Mapping[str, proof.Condition]) -> None:
        unit = self.tolerance * self._scale(asked)
        if set(certificate.deltas) != set(self.case.names):
            self.false.append(f"deltas name {sorted(certificate.deltas)}, the list has {self.case.names}")
            return
        for name, condition in asked.items():
            if not abs(certificate.deltas[name] - condition.delta) <= unit:
                self.false.append(
                    f"the certificate's delta of group {name!r} is {self._text(certificate.deltas[name])}, "
                    f"in force is {self._text(condition.delta)}"
                )

    def _same_bounds(self, certificate: Certificate, bounds: Mapping[str, tuple[float, float]]) -> None:
        unit = self.tolerance * float(self.case.v.max())
        if set(certificate.bounds) != set(self.case.names):
            self.false.append(f"bounds name {sorted(certificate.bounds)}, the list has {self.case.names}")
            return
        for name, (low, high) in certificate.bounds.items():
            lower, upper = bounds.get(name, (-np.inf, np.inf))
            said = (-np.inf if low is None else low, np.inf if high is None else high)
            for given, found in zip(said, (lower, upper), strict=True):
                if given != found and not abs(given - found) <= unit:
                    self.false.append(f"the certificate's bound of group {name!r} is {given:.9g}, found is {found:.9g}")
