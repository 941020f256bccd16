"""Sweeps that take a moment."""

from __future__ import annotations

from typing import Any

from spofr_core.experiments.sweep_spec import SweepSpec

TINY = {"sample": "german-credit", "lists": 12, "test_lists": 15}


def tiny(**changes: Any) -> SweepSpec:
    """Two deltas of predict-then-optimise, and the random ranking: three runs of a few steps."""
    given: dict[str, Any] = {
        "dataset": TINY,
        "methods": ["pto", "uniform"],
        "deltas": [0.0, 0.1],
        "training": {"max_steps": 4, "validate_every": 2, "hidden": [4]},
    }
    return SweepSpec.from_dict(given | changes)


def long(**changes: Any) -> SweepSpec:
    """Runs that would take minutes, with many epochs to be cut between."""
    training = {"max_steps": 200_000, "patience": 100_000, "validate_every": 20, "hidden": [4], "batch_size": 4}
    return tiny(methods=["pto"], **{"training": training, **changes})
