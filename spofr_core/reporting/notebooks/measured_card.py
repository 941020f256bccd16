"""Measures in a notebook: what each is worth over the queries, and where it has no value."""

from __future__ import annotations

from typing import Any, Protocol

from spofr_core.reporting.measured.measured_words import better_text, undefined_notes
from spofr_core.reporting.notebooks.card import Card, cut_table
from spofr_core.reporting.wording.phrases import counted, interval, name_text, number

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
            better_text(entry),
        )
        for name, entry in measures.items()
    ]
    total = summary["queries"]
    return Card(
        kind="Measures",
        headline=f"{counted(len(measures), 'measure', 'measures')} of {counted(total, 'query', 'queries')}",
        tables=[cut_table(HEAD, rows, many="measures", left=2, most=MOST_MEASURES)],
        notes=[*undefined_notes(summary), *summary["notes"]],
    ).html()
