"""Audit, repair and learn rankings whose exposure is provably fair for every query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spofr_core.lazy import lazy_names
from spofr_core.notebook import draws

if TYPE_CHECKING:
    from spofr_core.data import RankingDataset, load_sample, read_dataset, simulate_clicks
    from spofr_core.errors import ConfigError, DataError, InfeasibleFairness, SpofrError
    from spofr_core.evaluation import (
        AuditResult,
        Comparison,
        Measured,
        Measurement,
        Repair,
        SelectionRates,
        audit,
        audit_folder,
        compare,
        log_to_mlflow,
        measure,
        repair,
        selection_rates,
    )
    from spofr_core.fairness import Discount, Fairness, PositionBias, Quota, group_merits
    from spofr_core.learning import DELTR, FULTR, SPOFR, PredictThenOptimize, Unfair, Uniform, load_model
    from spofr_core.policy import Policies, Policy, Schedule, decompose, fair_policies, fair_policy, verify
    from spofr_core.serving import Reranker

_HOME = {
    "data": ("RankingDataset", "load_sample", "read_dataset", "simulate_clicks"),
    "errors": ("ConfigError", "DataError", "InfeasibleFairness", "SpofrError"),
    "evaluation": (
        "AuditResult",
        "Comparison",
        "Measured",
        "Measurement",
        "Repair",
        "SelectionRates",
        "audit",
        "audit_folder",
        "compare",
        "log_to_mlflow",
        "measure",
        "repair",
        "selection_rates",
    ),
    "fairness": ("Discount", "Fairness", "PositionBias", "Quota", "group_merits"),
    "learning": ("DELTR", "FULTR", "SPOFR", "PredictThenOptimize", "Unfair", "Uniform", "load_model"),
    "policy": ("Policies", "Policy", "Schedule", "decompose", "fair_policies", "fair_policy", "verify"),
    "serving": ("Reranker",),
}

__all__ = [
    "DELTR",
    "FULTR",
    "SPOFR",
    "AuditResult",
    "Comparison",
    "ConfigError",
    "DataError",
    "Discount",
    "Fairness",
    "InfeasibleFairness",
    "Measured",
    "Measurement",
    "Policies",
    "Policy",
    "PositionBias",
    "PredictThenOptimize",
    "Quota",
    "RankingDataset",
    "Repair",
    "Reranker",
    "Schedule",
    "SelectionRates",
    "SpofrError",
    "Unfair",
    "Uniform",
    "audit",
    "audit_folder",
    "compare",
    "decompose",
    "fair_policies",
    "fair_policy",
    "group_merits",
    "load_model",
    "load_sample",
    "log_to_mlflow",
    "measure",
    "read_dataset",
    "repair",
    "selection_rates",
    "simulate_clicks",
    "verify",
]


__getattr__ = lazy_names(__name__, _HOME)  # an audit does not wait for torch
draws("policy", "spofr_core.reporting.notebooks.policy_card:policy_card")
