"""What happened over time, in words and cells: they read ``summary["time"]`` of an audit and one of its measures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spofr_core.reporting.slicing.slice_words import (
    difference_interval,
    difference_text,
    percentage,
    value_interval,
    value_text,
)
from spofr_core.reporting.wording.phrases import counted, name_text, number, within_a_sentence

Plain = Mapping[str, Any]


def time_head(time: Plain) -> tuple[str, ...]:
    """The heads of `time_cells`."""
    return ("window", "queries", "mean", f"{percentage(time)} interval")


def window_text(kind: str, start: str) -> str:
    """A window by its beginning: "2024", "2024-01", "week of 2024-01-01", "2024-01-31", "from 2024-01-31"."""
    if kind in ("month", "year"):
        return start[: 7 if kind == "month" else 4]
    if kind == "week":
        return f"week of {start}"
    return start if kind == "day" else f"from {start.replace('T', ' ')}"


def change_sentence(time: Plain, entry: Plain) -> str:
    """Whether a measure changed between the first and the last window that have queries, and how sure that is."""
    change, windows, unit = entry["change"], entry["windows"], entry["unit"]
    label = within_a_sentence(name_text(entry["label"]))
    if change is None:
        return f"The {label} is known in one window of time only: there is no change to speak of."
    first, last = windows[change["first"]], windows[change["last"]]
    before, after = (f"{value_text(row['mean'], unit)} ({_when(time, row)})" for row in (first, last))
    sure = f"{_p(change['p'])}, permutation test"
    if change["ci"] is not None:
        sure = f"{percentage(time)} interval of the change {difference_interval(change['ci'], unit)}; {sure}"
    if not change["changed"]:
        nothing = "no change that these queries can show"
        return f"From first to last, the {label} goes from {before} to {after}: {nothing} ({sure})."
    verb = "rose" if change["difference"] > 0 else "fell"
    amount = difference_text(abs(change["difference"]), unit)
    return f"The {label} {verb} from {before} to {after}, by {amount} ({sure})."


def time_sentences(time: Plain, entry: Plain) -> list[str]:
    """The change, and what is missing from it."""
    found = [change_sentence(time, entry)]
    empty = sum(row["n"] == 0 for row in entry["windows"])
    if empty:
        found.append(f"{counted(empty, 'window has', 'windows have')} no such query.")
    if time["without_time"]:
        found.append(f"{counted(time['without_time'], 'query', 'queries')} without a time: in no window.")
    return found


def time_basis(time: Plain) -> str:
    """What the intervals hold for."""
    return (
        f"Windows: {time['window']}, in UTC. With {percentage(time)} confidence the intervals hold for all windows at "
        f"once (Bonferroni); windows with fewer than {time['fewest']} queries have none."
    )


def time_cells(time: Plain, entry: Plain) -> list[tuple[str, ...]]:
    """A row of text per window, below `time_head`."""
    unit = entry["unit"]
    return [
        (
            window_text(time["window"], row["start"]),
            f"{row['n']:,}",
            value_text(row["mean"], unit),
            value_interval(row["ci"], unit),
        )
        for row in entry["windows"]
    ]


def _when(time: Plain, row: Plain) -> str:
    return f"{window_text(time['window'], row['start'])}, n = {row['n']:,}"


def _p(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {number(p, 2)}"
