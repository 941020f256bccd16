"""Exposure models, and notions of fairness as bounds on each group's exposure."""

from spofr_core.fairness.composition import Composition
from spofr_core.fairness.delta_text import (
    Delta,
    Unit,
    format_delta,
    parse_delta,
    parse_deltas,
    share_settings,
    written_delta,
)
from spofr_core.fairness.exposure import Discount, PositionBias, is_nonincreasing
from spofr_core.fairness.fairness import Fairness
from spofr_core.fairness.feasibility import cannot_fail, feasible, largest_delta, rounding_of_violations, smallest_delta
from spofr_core.fairness.labellings import MOST_LABELLINGS, Labellings, largest_first, mean_range
from spofr_core.fairness.merits import MeritVariant, group_merits, merit_notes
from spofr_core.fairness.notions import NOTIONS, Notion
from spofr_core.fairness.quota import Quota, Windows
from spofr_core.fairness.quota_text import parse_quota, quota_options
from spofr_core.fairness.terms import TOLERANCE, Terms

__all__ = [
    "MOST_LABELLINGS",
    "NOTIONS",
    "TOLERANCE",
    "Composition",
    "Delta",
    "Discount",
    "Fairness",
    "Labellings",
    "MeritVariant",
    "Notion",
    "PositionBias",
    "Quota",
    "Terms",
    "Unit",
    "Windows",
    "cannot_fail",
    "feasible",
    "format_delta",
    "group_merits",
    "is_nonincreasing",
    "largest_delta",
    "largest_first",
    "mean_range",
    "merit_notes",
    "parse_delta",
    "parse_deltas",
    "parse_quota",
    "quota_options",
    "rounding_of_violations",
    "share_settings",
    "smallest_delta",
    "written_delta",
]
