"""Measures in a notebook: what each is worth over the queries, and where it has no value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from spofr_core.reporting.notebooks.card import Card, cut_table
from spofr_core.reporting.words import counted, interval, name_text, number, within_a_sentence

HEAD = ("Measure", "In words", "Mean", "95 % CI", "Queries", "Better")
MOST_MEASURES = 50


class HasSummary(Protocol):
    """What has a plain summary."""

    @property
    def summary(self) -> dict[str, Any]:
        """With its schema."""
        ...


def measured_card(result: HasSummary) -> str:
    """The card of a `Measured`."""
    summary = result.summary
    measures = summary["measures"]
    rows = [
        (
            name_text(name),
            name_text(entry["label"]),
            number(entry["mean"]),
            interval(entry["ci"]),
            f"{entry['n']:,}",
            _better(entry),
        )
        for name, entry in measures.items()
    ]
    total = summary["queries"]
    return Card(
        kind="Measures",
        headline=f"{counted(len(measures), 'measure', 'measures')} of {counted(total, 'query', 'queries')}",
        tables=[cut_table(HEAD, rows, many="measures", left=2, most=MOST_MEASURES)],
        notes=[*_undefined(measures, total), *summary["notes"]],
    ).html()


def _better(entry: Mapping[str, Any]) -> str:
    return f"closer to {entry['ideal']:g}" if entry["better"] == "closer" else entry["better"] or "-"


def _undefined(measures: Mapping[str, Any], total: int) -> list[str]:
    return [
        f"{name_text(name)} has no value in {queries:,} of {counted(total, 'query', 'queries')}: "
        f"{within_a_sentence(reason)}."
        for name, entry in measures.items()
        for reason, queries in entry["undefined"].items()
    ]
