"""Measures of how useful the order is: they need relevance."""
