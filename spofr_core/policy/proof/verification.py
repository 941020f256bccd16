"""`verify`: does a policy hold its delta, and is it optimal? Checked from scratch, trusting no solver."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from spofr_core.errors import ConfigError, DataError
from spofr_core.fairness import TOLERANCE, Composition, Discount, Fairness, format_delta
from spofr_core.policy.policies import Policies
from spofr_core.policy.policy import Policy
from spofr_core.policy.programme import FloatArray, LinearConstraint, checked_offsets, group_codes
from spofr_core.policy.proof import formulas as proof
from spofr_core.policy.proof.certificate import Certificate, read_certificate
from spofr_core.policy.proof.prefixes import prefix_limits
from spofr_core.policy.solvers.score_sizes import checked_scores, require_scale


@dataclass(frozen=True, eq=False)
class Verification:
    """What was found, list by list.

    Attributes
    ----------
    queries : DataFrame
        A row per list: query, ok, delta_held, violation (largest abs over groups), margin (smallest delta_g -
        abs(violation_g); negative where delta is broken), utility, gap (largest possible distance to the optimum; NaN
        where no multipliers were given, so that nothing is claimed about it), relaxed (smallest feasible delta used
        instead of the one asked for), reasons (empty where all is well).
    """

    queries: pd.DataFrame

    @property
    def ok(self) -> bool:
        """Whether every list passed."""
        return bool(self.queries["ok"].all())

    @property
    def max_violation(self) -> float:
        """Largest abs(violation) of any group of any list; NaN if no list could be computed or none has two groups."""
        return _largest(self.queries["violation"])

    @property
    def gap(self) -> float:
        """Largest distance to the optimum, in utility; NaN if nothing is claimed about it."""
        return _largest(self.queries["gap"])

    @property
    def reasons(self) -> list[str]:
        """Why it is not ok, a sentence per list that failed."""
        failed = self.queries[~self.queries["ok"]]
        return [f"query {q!r}: {why}" for q, why in zip(failed["query"], failed["reasons"], strict=True)]

    def __repr__(self) -> str:
        passed = int(self.queries["ok"].sum())
        return (
            f"Verification({passed} of {len(self.queries)} lists ok, largest violation {self.max_violation:.3g}, "
            f"largest gap {self.gap:.3g})"
        )


@dataclass(frozen=True, eq=False)
class _Claim:
    """What is said about one list."""

    rankings: Sequence[Sequence[int]]
    probabilities: FloatArray
    discount: Discount | None
    multipliers: Mapping[str, float] | None
    constraint_multipliers: Sequence[float]
    relaxed: float | None
    certificate: Certificate | None = None


@dataclass(frozen=True)
class _Verdict:
    query: Any
    ok: bool = False
    delta_held: bool = False
    violation: float = np.nan
    margin: float = np.nan
    utility: float = np.nan
    gap: float = np.nan
    relaxed: float = np.nan
    reasons: str = ""


def verify(
    claim: Policy | Policies | Mapping[str, Any] | Sequence[Mapping[str, Any]],
    scores: npt.ArrayLike,
    groups: npt.ArrayLike,
    fairness: Fairness,
    *,
    offsets: npt.ArrayLike | None = None,
    discount: Discount | None = None,
    group_names: Sequence[str] | None = None,
    query_ids: Sequence[Any] | npt.NDArray[Any] | None = None,
    constraints: Sequence[LinearConstraint] = (),
    allow_relaxed: bool = False,
    tolerance: float = TOLERANCE,
) -> Verification:
    """Check policies or certificates against scores, groups and the fairness asked for.

    For each list: the lottery is one; every ranking keeps within the quota, if one is asked for; delta is held by the
    exposures that its rankings give; with multipliers, the utility is within the gap of a dual bound computed here from
    those; and every number of a certificate is the one found here.

    Parameters
    ----------
    claim : Policy, Policies, certificate or sequence of certificates
    scores, groups : (N,)
        The caller's own data; `groups` are labels, or codes with `group_names`.
    fairness : Fairness
        The caller's own demand.
    offsets : (Q + 1,) int, optional
        For batches; a batch of policies brings its own.
    discount : Discount, optional
        By default the one that the claim names.
    query_ids : sequence, optional
        Certificates must name these.
    constraints : sequence of LinearConstraint
        For a single list.
    allow_relaxed : bool
        Accept a list that holds its smallest feasible delta where the one asked for is impossible, and one without a
        quota where no ranking can meet it; all of this is checked.
    tolerance : float
        For exposures relative to the largest exposure of a position, for utilities relative to the largest score times
        the sum of the discount.

    Returns
    -------
    Verification

    Raises
    ------
    DataError, ConfigError
        When the input cannot be read at all. A bad lottery is no exception but a verdict.
    """
    Fairness.require(fairness)
    codes, names = group_codes(groups, group_names)
    claims = list(_claims(claim))
    places = checked_offsets(_default_offsets(claim, len(codes)) if offsets is None else offsets, len(codes))
    values = checked_scores(scores, places)
    fairness.terms(Composition.of(codes, places, names))  # refuses a notion that does not fit these groups
    if len(claims) != len(places) - 1:
        raise DataError(f"There are {len(claims)} policies for {len(places) - 1} lists; give one per list.")
    if constraints and len(claims) != 1:
        raise ConfigError("Constraints of one's own are for one list at a time.")
    labels = np.array(names)[codes]
    verdicts = []
    for q, said in enumerate(claims):
        rows = slice(int(places[q]), int(places[q + 1]))
        n = rows.stop - rows.start
        chosen = discount or said.discount or Discount()
        quota = fairness.every_ranking
        prefixes = None if quota is None else prefix_limits(quota, labels[rows])
        case = proof.ListCase(
            values[rows], labels[rows], fairness.position_bias.vector(n), chosen.vector(n), constraints, prefixes
        )
        name = query_ids[q] if query_ids is not None else _claimed_query(claim, said, q)
        require_scale(values[rows], np.array([0, n]), case.v, case.w, [name].__getitem__)
        checker = _Checker(case, fairness, chosen, said, None if query_ids is None else query_ids[q], tolerance)
        verdicts.append(replace(checker.verdict(allow_relaxed), query=name))
    return Verification(pd.DataFrame(verdicts))


class _Checker:
    """The checks of one list; each adds its reasons."""

    def __init__(
        self,
        case: proof.ListCase,
        fairness: Fairness,
        discount: Discount,
        said: _Claim,
        query: Any,
        tolerance: float,
    ) -> None:
        self.case, self.fairness, self.discount, self.said, self.query = case, fairness, discount, said, query
        self.tolerance = tolerance
        self.unit = max(float(np.abs(case.scores).max()) * float(case.w.sum()), np.finfo(float).tiny)
        self.reasons: list[str] = []

    def verdict(self, allow_relaxed: bool) -> _Verdict:
        case, said = self.case, self.said
        self.reasons += proof.lottery_faults(said.rankings, said.probabilities, len(case.scores), self.tolerance)
        if self.reasons:
            return _Verdict(None, reasons="; ".join(self.reasons))
        rankings = np.asarray(said.rankings, dtype=np.int64)
        within = self._quota(rankings, allow_relaxed)
        case = self.case
        asked = self._asked(allow_relaxed)
        violation, margin, held = self._delta(asked, proof.expected(rankings, said.probabilities, case.v))
        self._own_constraints(rankings)
        utility = float(case.scores @ proof.expected(rankings, said.probabilities, case.w))
        bounds = {name: condition.bounds for name, condition in asked.items()}
        bound = self._bound(bounds, rankings[0]) if within else np.nan
        if held and bound - utility > self.tolerance * self.unit:
            self.reasons.append(f"the utility {utility:.9g} is not shown to be optimal: the bound is {bound:.9g}")
        if said.certificate is not None:
            self._certificate(said.certificate, asked, bounds, utility, bound)
        return _Verdict(
            query=None,
            ok=not self.reasons,
            delta_held=held,
            violation=violation,
            margin=margin,
            utility=utility,
            gap=max(bound - utility, 0.0) if np.isfinite(bound) else bound,
            relaxed=np.nan if said.relaxed is None else said.relaxed,
            reasons="; ".join(self.reasons),
        )

    def _quota(self, rankings: npt.NDArray[np.int64], allow_relaxed: bool) -> bool:
        """Whether every ranking is within the quota; one that no ranking can meet is dropped, if that is allowed."""
        prefixes = self.case.prefixes
        if prefixes is None:
            return True
        impossible = prefixes.first_impossible
        if impossible and allow_relaxed:
            self.case = replace(self.case, prefixes=None)
            return True
        faults = prefixes.faults(self.case.groups, rankings)
        if impossible:
            faults = [f"no ranking can meet the quota in the first {impossible} positions (allow_relaxed=False)"]
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
            self.reasons.append(f"relaxed to delta {said}, but the smallest feasible delta is {least}")
            return asked
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

    def _delta(self, asked: Mapping[str, proof.Condition], exposure: FloatArray) -> tuple[float, float, bool]:
        """Largest violation, smallest margin, and whether every group is within its delta."""
        if not asked:
            return np.nan, np.nan, True
        violations = {
            name: c.scale * float(exposure[self.case.members(name)].mean()) - c.target for name, c in asked.items()
        }
        margins = {name: c.delta - abs(violations[name]) for name, c in asked.items()}
        held = True
        for name, margin in margins.items():
            if not margin >= -self.tolerance * self._scale(asked):
                held = False
                self.reasons.append(
                    f"group {name!r} has a violation of {self._text(violations[name])}, "
                    f"delta is {self._text(asked[name].delta)}"
                )
        return max(abs(value) for value in violations.values()), min(margins.values()), held

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
            self.reasons.append(f"multipliers name {sorted(said.multipliers)}, the list has {self.case.names}")
            return np.nan
        if len(said.constraint_multipliers) != len(self.case.constraints):
            self.reasons.append(
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
        if self.query is not None and str(certificate.query) != str(self.query):
            self.reasons.append(f"the certificate is of query {certificate.query!r}, not {self.query!r}")
        for field, given, wanted in (
            # Certificates from before deltas had units are of absolute ones.
            ("fairness", {"unit": "absolute"} | certificate.fairness, self.fairness.to_dict()),
            ("discount", certificate.discount, self.discount.to_dict()),
        ):
            if given != wanted:
                self.reasons.append(f"the certificate's {field} is {given}, asked for is {wanted}")
        self._same_deltas(certificate, asked)
        self._same_bounds(certificate, bounds)
        unit = self.tolerance * self.unit
        for field, said, found in (
            ("utility", certificate.utility, utility),
            ("dual_bound", certificate.dual_bound, bound),
            ("gap", certificate.gap, bound - utility),
        ):
            if not abs(said - found) <= unit:
                self.reasons.append(f"the certificate's {field} is {said:.9g}, found is {found:.9g}")

    def _same_deltas(self, certificate: Certificate, asked: Mapping[str, proof.Condition]) -> None:
        unit = self.tolerance * self._scale(asked)
        if set(certificate.deltas) != set(self.case.names):
            self.reasons.append(f"deltas name {sorted(certificate.deltas)}, the list has {self.case.names}")
            return
        for name, condition in asked.items():
            if not abs(certificate.deltas[name] - condition.delta) <= unit:
                self.reasons.append(
                    f"the certificate's delta of group {name!r} is {self._text(certificate.deltas[name])}, "
                    f"in force is {self._text(condition.delta)}"
                )

    def _same_bounds(self, certificate: Certificate, bounds: Mapping[str, tuple[float, float]]) -> None:
        unit = self.tolerance * float(self.case.v.max())
        if set(certificate.bounds) != set(self.case.names):
            self.reasons.append(f"bounds name {sorted(certificate.bounds)}, the list has {self.case.names}")
            return
        for name, (low, high) in certificate.bounds.items():
            lower, upper = bounds.get(name, (-np.inf, np.inf))
            said = (-np.inf if low is None else low, np.inf if high is None else high)
            for given, found in zip(said, (lower, upper), strict=True):
                if given != found and not abs(given - found) <= unit:
                    self.reasons.append(
                        f"the certificate's bound of group {name!r} is {given:.9g}, found is {found:.9g}"
                    )


def _claims(claim: Any) -> Iterator[_Claim]:
    if isinstance(claim, Policy):
        yield _claim_of(claim)
    elif isinstance(claim, Policies):
        yield from (_claim_of(policy) for policy in claim)
    elif isinstance(claim, Mapping):
        yield _claim_in(claim)
    elif isinstance(claim, Sequence) and not isinstance(claim, str):
        yield from (_claim_in(one) for one in claim)
    else:
        raise DataError(f"A {type(claim).__name__} is neither a policy nor a certificate, nor a batch of them.")


def _claim_of(policy: Policy) -> _Claim:
    multipliers = policy.multipliers
    known = all(np.isfinite(value) for value in multipliers.values())
    return _Claim(
        rankings=policy.rankings.tolist(),
        probabilities=np.asarray(policy.probabilities),
        discount=policy.discount,
        multipliers=multipliers if known else None,
        constraint_multipliers=policy.constraint_multipliers,
        relaxed=policy.relaxed,
    )


def _claim_in(given: Any) -> _Claim:
    if not isinstance(given, Mapping):
        raise DataError(f"A certificate is an object with named fields, not a {type(given).__name__}.")
    certificate = read_certificate(given)
    try:
        discount = Discount.from_dict(certificate.discount)
    except ConfigError as error:
        raise DataError(f"The discount of the certificate cannot be read: {error}") from error
    return _Claim(
        rankings=certificate.rankings,
        probabilities=np.array(certificate.probabilities, dtype=np.float64),
        discount=discount,
        multipliers=certificate.multipliers,
        constraint_multipliers=certificate.constraint_multipliers,
        relaxed=certificate.relaxed,
        certificate=certificate,
    )


def _default_offsets(claim: Any, n_items: int) -> npt.NDArray[np.int64]:
    if isinstance(claim, Policies):
        return claim.lists.offsets
    if isinstance(claim, Sequence) and len(claim) != 1:
        raise ConfigError("Certificates of several lists need offsets=, the first item of each list and the end.")
    return np.array([0, n_items], dtype=np.int64)


def _claimed_query(claim: Any, said: _Claim, q: int) -> Any:
    if isinstance(claim, Policy):
        return claim.query
    if isinstance(claim, Policies):
        return claim.lists.query_name(q)
    return said.certificate.query if said.certificate is not None and said.certificate.query is not None else q


def _largest(column: pd.Series[float]) -> float:
    values = column.to_numpy(dtype=np.float64)
    known = values[~np.isnan(values)]
    return float(known.max()) if len(known) else np.nan
