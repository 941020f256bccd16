"""Slices of the queries: named where a file is read, chosen beside every page."""
