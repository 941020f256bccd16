"""Slices and courses over time as sentences, tables and charts."""
