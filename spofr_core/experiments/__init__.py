"""Sweeps, the run store, executors, benchmarks and the figures of the paper."""
