"""The figures and claims of the paper, redrawn."""
