"""Compiled kernels of the exact solver: batches of flat arrays in, rankings and their proof out."""
