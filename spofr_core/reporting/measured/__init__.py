"""Measures by their names, in words and cells."""
