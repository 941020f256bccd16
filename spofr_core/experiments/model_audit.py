"""`audit_model`: what a trained model shows, with its plain sort as the contrast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spofr_core.data import RankingDataset
from spofr_core.evaluation import AuditResult, SmallGroups, audit
from spofr_core.experiments.trained_model import with_estimates
from spofr_core.fairness import Fairness
from spofr_core.learning import METHODS, Estimator, ProgrammeEstimator
from spofr_core.policy import RankingPolicies


def shown_policies(model: Estimator, data: RankingDataset, fairness: Fairness) -> RankingPolicies:
    """What a trained model shows: solved at `fairness` where it solves the programme, otherwise as it was trained."""
    return model.policies(data, fairness if isinstance(model, ProgrammeEstimator) else None, on_infeasible="relax")


def audit_model(
    model: Estimator,
    data: RankingDataset,
    fairness: Fairness | None = None,
    *,
    cutoff: int = 10,
    seed: int = 0,
    small: SmallGroups | None = None,
    measures: Sequence[str] = (),
) -> AuditResult:
    """Audit what a model shows: its policies, not a sort by its scores.

    Parameters
    ----------
    model : Estimator
        A trained one. Where it solves the programme, its policies are solved at `fairness`, a list that cannot hold
        delta getting its smallest feasible one, and `AuditResult.model.contrast` is the audit of the plain sort by the
        same estimates. Other methods put out the same at every delta, and have no guarantee.
    data : RankingDataset
        With the features that the model learned from.
    fairness : Fairness, optional
        What is asked; without it, what the model was trained for.
    cutoff, seed, small, measures
        As for `audit`.
    """
    asked = fairness or model.fairness
    programme = isinstance(model, ProgrammeEstimator)
    policies = shown_policies(model, data, asked)
    how: dict[str, Any] = {"cutoff": cutoff, "seed": seed, "small": small, "measures": measures}
    contrast = audit(with_estimates(model, data), asked, **how) if programme else None
    method = METHODS[model.method]
    found = audit(data, asked, policies=policies, **how)
    return found.of_model(method.title, guaranteed=method.guaranteed, contrast=contrast)
