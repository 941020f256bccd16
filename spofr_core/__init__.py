"""Audit, repair and learn rankings whose exposure is provably fair for every query."""
