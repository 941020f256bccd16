"""What was shown, in words: for the shell and the pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spofr_core.fairness import Fairness
from spofr_core.reporting import counted, interval, listed, name_text, named, off_text, violation_text

Plain = Mapping[str, Any]
_MOST_GROUPS = 12


def shown_verdict(summary: Plain, fairness: Fairness) -> str:
    """The sentence that comes first: how many of the queries shown again hold delta in what was really shown."""
    queries, delta = summary["queries"], fairness.delta_text
    if not queries["judged"]:
        if queries["cannot_fail"]:
            return f"No query that was shown twice or more could have exceeded delta {delta}."
        return f"No query was shown twice or more: what was shown is judged together, against delta {delta}."
    told = (
        f"Of {counted(queries['judged'], 'query', 'queries')} shown twice or more (at least "
        f"{queries['least_impressions']:,} times), {counted(queries['hold'], 'holds', 'hold')} delta {delta} in what "
        "was really shown"
    )
    if "unknown" in summary:
        depend, items = queries["depend"], counted(summary["unknown"], "shown item", "shown items")
        broken = counted(queries["judged"] - queries["hold"] - depend, "breaks", "break")
        depend = counted(depend, "depends", "depend")
        told += f" whatever the unknown groups are, {broken} it, and {depend} on the {items} whose group is unknown"
    if not queries["promised"]:
        return f"{told}."
    within = f"{queries['within']:,} of {queries['promised']:,} {'is' if queries['within'] == 1 else 'are'}"
    return f"{told}; {within} within delta and the bound of their schedule."


def shown_sentences(summary: Plain, fairness: Fairness) -> list[str]:
    """How much was shown, what holds delta, what the schedule promised, and what was seen once."""
    queries = summary["queries"]
    told = [
        f"{counted(summary['impressions'], 'impression', 'impressions')} of "
        f"{counted(queries['shown'], 'query', 'queries')} were shown.",
        shown_verdict(summary, fairness),
    ]
    worst = summary["worst"]
    if worst is not None:
        told.append(
            f"The furthest off is {name_text(worst['query'])!r}: {named(worst['group'])} "
            f"{off_text(worst['violation'], fairness.unit)} over {worst['impressions']:,} impressions."
        )
    if queries["cannot_fail"] and queries["judged"]:
        told.append(
            f"{counted(queries['cannot_fail'], 'more query', 'more queries')} shown twice or more could not exceed "
            "delta, whatever the order: not counted here."
        )
    return [*told, *once_sentences(summary, fairness), *doubt_sentences(summary, fairness)]


def once_sentences(summary: Plain, fairness: Fairness) -> list[str]:
    """Queries seen once, taken together."""
    once = summary["queries"]["once"]
    if not once:
        return []
    told = [
        f"{counted(once, 'query', 'queries')} seen once {'is' if once == 1 else 'are'} judged together only: of a "
        "single ranking nothing is promised."
    ]
    beyond = [named(name) for name, group in summary["once"].items() if group["exceeds"]]
    if beyond:
        told.append(f"Together they exceed delta {fairness.delta_text} for {listed(beyond)}.")
    elif summary["once"]:
        told.append(f"Together nothing shows that they exceed delta {fairness.delta_text}.")
    return told


def doubt_sentences(summary: Plain, fairness: Fairness) -> list[str]:
    """What a reader should know before believing the rest."""
    told = []
    if summary["sorted_by_score"]:
        were = counted(summary["sorted_by_score"], "impression was", "impressions were")
        told.append(f"{were} sorted by score, because no policy could be had.")
    if summary["larger_delta"]:
        were = counted(summary["larger_delta"], "impression was", "impressions were")
        told.append(f"{were} ranked with a larger delta than {fairness.delta_text}.")
    if summary["lacking"]:
        told.append(
            f"The log lacks {counted(summary['lacking'], 'impression', 'impressions')} of which its numbers speak: is "
            "a part missing? No bound is given for those queries."
        )
    return told


def shown_groups(groups: Mapping[str, Plain], fairness: Fairness) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Head and cells of the table of groups: `summary["groups"]` or `summary["once"]`."""
    head = ("group", "queries", "impressions", "exposure", "in the mean", "95 % interval")
    rows: list[tuple[str, ...]] = [
        (
            name_text(name),
            f"{group['n']:,}",
            f"{group['impressions']:,}",
            violation_text(group["exposure"], "absolute"),
            off_text(group["violation"], fairness.unit),
            interval(group["ci"], fairness.unit),
        )
        for name, group in list(groups.items())[:_MOST_GROUPS]
    ]
    return head, rows
