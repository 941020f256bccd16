"""What measures by their names found, in cells and sentences: they read the summary of a `Measured`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spofr_core.reporting.wording.phrases import counted, interval, listed, name_text, number, within_a_sentence

Plain = Mapping[str, Any]

MEASURED_HEAD = ("measure", "mean", "95 % CI", "queries", "better")
FOUR_FIFTHS = 0.8


def better_text(entry: Plain) -> str:
    """Which way is better: "higher", "lower", "closer to 1", or "-" where no way is."""
    return f"closer to {entry['ideal']:g}" if entry["better"] == "closer" else entry["better"] or "-"


def measured_cells(summary: Plain) -> list[tuple[str, ...]]:
    """A row of text per measure, below `MEASURED_HEAD`."""
    return [
        (
            name_text(entry["label"]),
            number(entry["mean"]),
            interval(entry["ci"]),
            f"{entry['n']:,}",
            better_text(entry),
        )
        for entry in summary["measures"].values()
    ]


def measured_notes(summary: Plain) -> list[str]:
    """What stands beneath the table: the data as a whole, what a rule flags, drawn ties, and what has no value."""
    entries = summary["measures"].values()
    said = [note for entry in entries for note in (*_whole(entry), *_flagged(entry), *_drawn(entry))]
    return [*said, *undefined_notes(summary)]


def undefined_notes(summary: Plain) -> list[str]:
    """In how many queries which measures have no value, and why: once for all that a reason concerns."""
    concerned: dict[tuple[str, int], list[str]] = {}
    for entry in summary["measures"].values():
        for reason, queries in entry["undefined"].items():
            concerned.setdefault((reason, queries), []).append(name_text(entry["label"]))
    return [
        f"{listed(labels)} {'has' if len(labels) == 1 else 'have'} no value in {queries:,} of "
        f"{_queries(summary['queries'])}: {within_a_sentence(reason)}."
        for (reason, queries), labels in concerned.items()
    ]


def formula_texts(summary: Plain) -> list[tuple[str, str, str, str]]:
    """Label, description, formula and source of each measure."""
    return [
        (name_text(entry["label"]), entry["description"], entry["formula"], entry["source"])
        for entry in summary["measures"].values()
    ]


def _whole(entry: Plain) -> list[str]:
    if entry["overall"] is None:
        return []
    return [f"{name_text(entry['label'])} of the data as a whole, not list by list: {number(entry['overall'])}."]


def _flagged(entry: Plain) -> list[str]:
    flagged = entry["flagged"]
    if flagged is None:
        return []
    named = "four fifths" if flagged["below"] == FOUR_FIFTHS else number(flagged["below"])
    said = f"{name_text(entry['label'])} is below {named} in {flagged['queries']:,} of {_queries(entry['n'])}"
    if flagged["overall"] is None:
        return [f"{said}."]
    return [f"{said}, and {'' if flagged['overall'] else 'not '}in the data as a whole."]


def _drawn(entry: Plain) -> list[str]:
    if not entry["sampling_error"]:
        return []
    error = number(entry["sampling_error"], 2)
    return [f"{name_text(entry['label'])}: drawn orders of ties add a standard error of {error} to the mean."]


def _queries(count: int) -> str:
    return counted(count, "query", "queries")
