"""Audits and measures: per query first, aggregates second."""

from spofr_core.evaluation.audit import AuditResult, audit
from spofr_core.evaluation.intervals import bootstrap_mean, wilson
from spofr_core.evaluation.measures import dcg, group_exposure, ideal_dcg, ndcg, pairwise_disparity
from spofr_core.evaluation.repair import Repair, repair_ranking
from spofr_core.evaluation.streaming import audit_folder
from spofr_core.evaluation.table import TOLERANCE, QueryTable

__all__ = [
    "TOLERANCE",
    "AuditResult",
    "QueryTable",
    "Repair",
    "audit",
    "audit_folder",
    "bootstrap_mean",
    "dcg",
    "group_exposure",
    "ideal_dcg",
    "ndcg",
    "pairwise_disparity",
    "repair_ranking",
    "wilson",
]
