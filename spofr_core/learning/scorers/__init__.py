"""Scorers: what gives an item a score from its features, one file a kind."""

from spofr_core.learning.scorers.scorer import SCORERS, Scorer

__all__ = ["SCORERS", "Scorer"]
