"""Benchmarks behind `spofr bench`: plain functions that return what they measured."""
