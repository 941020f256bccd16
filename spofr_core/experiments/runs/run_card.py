"""What the card of a run's model says besides what the model knows of itself: its data, and how it did on the test."""

from __future__ import annotations

from typing import Any

from spofr_core.data import SAMPLES
from spofr_core.evaluation import wilson
from spofr_core.experiments.sweep_spec import RunConfig
from spofr_core.fairness import format_delta
from spofr_core.learning import CardFacts, Figure


def card_facts(
    config: RunConfig, summary: dict[str, Any], fair_share: float | None, applicable: int, notes: list[str]
) -> CardFacts:
    """The facts of a run.

    Parameters
    ----------
    summary : dict
        Of the measurement of the test part (`Measurement.summary`).
    fair_share : float or None
        Share of the lists with two groups or more that hold delta; None where no delta was asked for.
    applicable : int
        How many lists those are.
    notes : list of str
        Of the run.
    """
    licence = {} if config.dataset.sample is None else {"licence": _licence(config.dataset.sample)}
    figures = [*_held(config, fair_share, applicable), *_violations(config, summary, applicable), *_quality(summary)]
    return CardFacts(data=config.dataset.label, figures=figures, notes=tuple(notes), **licence)


def _licence(sample: str) -> str:
    return SAMPLES[sample].credit or "Synthetic; part of spofr (Apache-2.0)."


def _held(config: RunConfig, share: float | None, lists: int) -> list[Figure]:
    if share is None or config.delta is None:
        return []
    low, high = wilson(round(share * lists), lists) or (0.0, 1.0)
    name = f"Lists that hold delta = {format_delta(config.delta, config.unit)}"
    return [Figure(name, f"{share:.1%} ({low:.1%} to {high:.1%})", lists)]


def _violations(config: RunConfig, summary: dict[str, Any], lists: int) -> list[Figure]:
    found = summary["violation"]
    if found["mean"] is None:
        return []
    values = (found["mean"], *found["mean_ci"], found["max"])
    mean, low, high, most = (format_delta(value, config.unit, 3) for value in values)
    return [Figure("Mean violation", f"{mean} ({low} to {high})", lists), Figure("Largest violation", most, lists)]


def _quality(summary: dict[str, Any]) -> list[Figure]:
    utility, found = summary["utility"], []
    for name in () if utility is None else ("dcg", "ndcg"):
        measure, interval = summary["measures"][name], utility[f"{name}_ci"]
        if interval is not None:
            value = f"{utility[name]:.4f} ({interval[0]:.4f} to {interval[1]:.4f})"
            found.append(Figure(f"Mean {measure['label']}", value, measure["n"]))
    return found
