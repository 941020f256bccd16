"""Notions of fairness: what each asks of a list, one file a notion."""

from spofr_core.fairness.notions.notion import NOTIONS, Notion

__all__ = ["NOTIONS", "Notion"]
