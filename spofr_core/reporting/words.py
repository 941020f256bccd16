"""What an audit found, in sentences: the same ones in the shell, on the pages and in the report."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from spofr_core.fairness import NOTIONS

LONGEST_NAME = 60
"""Names from the data are cut after this many characters when they stand in a sentence."""


def verdict(summary: Mapping[str, Any]) -> str:
    """The one sentence that an audit comes down to.

    Parameters
    ----------
    summary : mapping
        `AuditResult.summary`.

    Returns
    -------
    str
        Such as "1,432 of 1,500 queries (95.5 %, 95 % CI 94.3-96.4) hold delta = 0.05; worst: q811, group B, 0.092".
    """
    queries = summary["queries"]
    if queries["total"] == 0:
        return "There are no queries to judge"
    if queries["applicable"] == 0:
        return f"None of the {queries['total']:,} queries can be judged: each has items of a single group"
    low, high = queries["ci"]
    share = f"{percent(queries['share'])}, 95 % CI {100 * low:.1f}-{100 * high:.1f}"
    verb = "holds" if queries["applicable"] == 1 else "hold"
    noun = "query" if queries["applicable"] == 1 else "queries"
    worst = summary["worst"][0]
    return (
        f"{queries['fair']:,} of {queries['applicable']:,} {noun} ({share}) {verb} {delta_text(summary['delta'])}; "
        f"worst: {name_text(worst['query'])}, group {name_text(worst['group'])}, {number(worst['violation'])}"
    )


def exposure_sentence(summary: Mapping[str, Any]) -> str | None:
    """Who gets less exposure per item, and how much less; None where there are not two groups to compare."""
    ratio = summary["exposure_ratio"]
    if ratio is None or ratio["value"] is None:
        return None
    low, high = name_text(ratio["lowest"]), name_text(ratio["highest"])
    if ratio["value"] > 0.995:
        return f"On average, {low} and {high} get the same exposure per item, within half a per cent."
    return f"On average, {low} gets {percent(1 - ratio['value'], 0)} less exposure per item than {high}."


def caveats(summary: Mapping[str, Any]) -> list[str]:
    """Everything that stands outside the verdict: not judged, impossible, left out, too small, noted."""
    found = []
    queries, infeasible = summary["queries"], summary["infeasible"]
    if queries["not_applicable"]:
        found.append(
            f"{counted(queries['not_applicable'], 'query', 'queries')} with items of a single group: "
            "there is nobody to be fair between, so they are counted but not judged."
        )
    if infeasible["count"]:
        hardest = infeasible["queries"][0]
        found.append(
            f"{counted(infeasible['count'], 'query', 'queries')} that no policy can bring within this delta; "
            f"the hardest, {name_text(hardest['query'])}, needs at least {number(hardest['min_delta'])}."
        )
    found += [f"{rows:,} left out: {name_text(reason, 120)}." for reason, rows in summary["excluded"].items() if rows]
    found += [
        f"Group {name_text(name)} has only {counted(group['items'], 'item', 'items')}: its means say little."
        for name, group in summary["groups"].items()
        if group["small"]
    ]
    utility = summary["utility"]
    if utility and utility["queries_without_relevant"]:
        without = counted(utility["queries_without_relevant"], "query", "queries")
        found.append(f"{without} without a relevant item: nDCG is undefined there and averages over the others.")
    return found + [name_text(note, 400) for note in summary["notes"]]


def repair_sentence(before: Mapping[str, Any], after: Mapping[str, Any], relaxed: int) -> str:
    """What an exact fair re-ranking of the same scores changes.

    Parameters
    ----------
    before, after : mapping
        `AuditResult.summary` of the present ranking and of its repair.
    relaxed : int
        Queries that cannot hold delta.
    """
    queries = after["queries"]
    held = f"{queries['fair']:,} of {queries['applicable']:,} queries hold {delta_text(before['delta'])}"
    sentence = f"Re-ranked exactly from the same scores, {held}"
    utility, repaired = before["utility"], after["utility"]
    if utility and utility["dcg"]:
        change = repaired["dcg"] / utility["dcg"] - 1
        sentence += f"; DCG goes from {number(utility['dcg'])} to {number(repaired['dcg'])} ({100 * change:+.1f} %)"
    if relaxed:
        sentence += f"; {counted(relaxed, 'query', 'queries')} cannot hold it and got the least that they can"
    return sentence + "."


def limits_of(summary: Mapping[str, Any]) -> list[str]:
    """What an audit of exposure does not show."""
    return [
        f"Exposure is modelled, not observed: {summary['position_bias']} stands for the attention to position j.",
        "The groups are taken as they are in the data; other ways of grouping the same items can show other gaps.",
        "A group's mean says nothing about how exposure is spread among the items of the group.",
        "The intervals speak of queries like these; other traffic, other seasons and other markets may differ.",
        NOTIONS[summary["notion"]].caveat,
    ]


def delta_text(delta: float | Mapping[str, float]) -> str:
    """delta as sentences name it."""
    if isinstance(delta, Mapping):
        each = ", ".join(f"{name_text(name)} {number(value)}" for name, value in delta.items())
        return f"delta by group ({each})"
    return f"delta = {number(delta)}"


def number(value: float | None, digits: int = 3) -> str:
    """Three significant digits without exponents; what is below 1e-9 is what floating point left of 0."""
    if value is None or math.isnan(value):
        return "-"
    if abs(value) < 1e-9:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def interval(pair: list[float] | None) -> str:
    """An interval as "0.021 to 0.034"; a dash where there is none."""
    return "-" if pair is None else f"{number(pair[0])} to {number(pair[1])}"


def percent(share: float, decimals: int = 1) -> str:
    """A share as "95.5 %"; it says 100 or 0 only where that is exact."""
    shown = round(100 * share, decimals)
    step = 10.0**-decimals
    if shown >= 100 and share < 1:
        shown = 100 - step
    if shown <= 0 and share > 0:
        shown = step
    return f"{shown:.{decimals}f} %"


def counted(count: int, one: str, many: str) -> str:
    """ "1 query", "2,000 queries"."""
    return f"{count:,} {one if count == 1 else many}"


def listed(names: Sequence[str], *, word: str = "and", start: bool = False) -> str:
    """Names as a list in a sentence: "a, b and c"; with a capital where the sentence starts with it."""
    text = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"
    return text[:1].upper() + text[1:] if start else text


def name_text(name: object, longest: int = LONGEST_NAME) -> str:
    """A name from the data as it may stand in a sentence: one line, printable, not too long."""
    text = "".join(letter if letter.isprintable() else " " for letter in str(name))
    return text if len(text) <= longest else text[: longest - 1] + "…"
