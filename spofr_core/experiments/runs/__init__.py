"""Runs: the store that keeps them, and what one run is."""
