"""Exposure models, and notions of fairness as bounds on each group's exposure."""

from spofr_core.fairness.composition import Composition
from spofr_core.fairness.exposure import Discount, PositionBias, is_nonincreasing
from spofr_core.fairness.fairness import Fairness, Unit
from spofr_core.fairness.feasibility import feasible, largest_delta, smallest_delta
from spofr_core.fairness.merits import MeritVariant, group_merits
from spofr_core.fairness.notions import NOTIONS, Notion
from spofr_core.fairness.terms import TOLERANCE, Terms

__all__ = [
    "NOTIONS",
    "TOLERANCE",
    "Composition",
    "Discount",
    "Fairness",
    "MeritVariant",
    "Notion",
    "PositionBias",
    "Terms",
    "Unit",
    "feasible",
    "group_merits",
    "is_nonincreasing",
    "largest_delta",
    "smallest_delta",
]
