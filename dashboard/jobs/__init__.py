"""Background work: the run directory is the truth."""
