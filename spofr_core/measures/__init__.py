"""What is measured of rankings and policies: one object a measure, one value per query first."""

from spofr_core.measures.catalogue import MEASURES, parse_measure, parse_measures
from spofr_core.measures.measure import Better, Measure, Values
from spofr_core.measures.ranking_view import TARGETS, Patterns, RankingView, Target

__all__ = [
    "MEASURES",
    "TARGETS",
    "Better",
    "Measure",
    "Patterns",
    "RankingView",
    "Target",
    "Values",
    "parse_measure",
    "parse_measures",
]
