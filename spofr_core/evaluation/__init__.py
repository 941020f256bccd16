"""Audits and measures: per query first, aggregates second."""

from spofr_core.evaluation.audit import AuditResult, audit
from spofr_core.evaluation.exact_tradeoff import EXACT_DELTAS, exact_tradeoff
from spofr_core.evaluation.folder_audit import Map, audit_folder
from spofr_core.evaluation.folder_repair import repair_folder
from spofr_core.evaluation.fronts import best_at_violation, grid_search
from spofr_core.evaluation.guarantees import GUARANTEE_DELTAS, LEVELS, guarantees, run_shares
from spofr_core.evaluation.intervals import bootstrap_mean, wilson
from spofr_core.evaluation.other_delta import audit_at_delta
from spofr_core.evaluation.query_table import QueryTable
from spofr_core.evaluation.repair import Repair, repair_ranking
from spofr_core.evaluation.seeds import over_seeds, paired_difference
from spofr_core.evaluation.tradeoffs import (
    asked_and_achieved,
    method_difference,
    multi_group,
    price_of_fairness,
    run_times,
    tradeoff,
    training_sizes,
)
from spofr_core.fairness import TOLERANCE
from spofr_core.measures.basic import dcg, group_exposure, ideal_dcg, ndcg, pairwise_disparity

__all__ = [
    "EXACT_DELTAS",
    "GUARANTEE_DELTAS",
    "LEVELS",
    "TOLERANCE",
    "AuditResult",
    "Map",
    "QueryTable",
    "Repair",
    "asked_and_achieved",
    "audit",
    "audit_at_delta",
    "audit_folder",
    "best_at_violation",
    "bootstrap_mean",
    "dcg",
    "exact_tradeoff",
    "grid_search",
    "group_exposure",
    "guarantees",
    "ideal_dcg",
    "method_difference",
    "multi_group",
    "ndcg",
    "over_seeds",
    "paired_difference",
    "pairwise_disparity",
    "price_of_fairness",
    "repair_folder",
    "repair_ranking",
    "run_shares",
    "run_times",
    "tradeoff",
    "training_sizes",
    "wilson",
]
