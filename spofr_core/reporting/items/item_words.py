"""What an audit found where each item is on its own, in sentences about items and lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spofr_core.fairness import format_delta
from spofr_core.reporting.wording.phrases import counted, interval, name_text, number, percent

MEDIAN, LOW, HIGH = "0.5", "0.05", "0.95"
"""Levels of `summary["items"]["relative"]` that are named."""
FIXED_ORDER = (
    "Any fixed order of a list exceeds any delta that forbids something, since its first item gets the most that there "
    "is: only a lottery over orders gives every item a turn."
)
HOW_COUNTED = "Each item counts within its list; the same item in two lists counts twice."


def each_item(summary: Mapping[str, Any]) -> bool:
    """Whether the audit compares single items rather than groups; summaries of before have no word of it."""
    return bool(summary.get("each_item"))


def item_verdict(summary: Mapping[str, Any]) -> str:
    """The headline: in how many lists some item is too far from its list's mean exposure, and how far either way.

    Returns
    -------
    str
        Such as "In 174 of 500 lists some item is more than 10 % away from its list's mean exposure. The most exposed
        item of a list gets 3.87 times the mean, the least 0.362 times."
    """
    queries = summary["queries"]
    if queries["total"] == 0:
        return "There are no lists to judge."
    if queries["applicable"] == 0:
        if queries["total"] == 1:
            return "The only list cannot be judged: it has a single item."
        return f"None of the {queries['total']:,} lists can be judged: each has a single item."
    return f"{_tolerance(summary)} {spread_sentence(summary)}"


def spread_sentence(summary: Mapping[str, Any]) -> str:
    """What the most and the least exposed item of a list get."""
    items = summary["items"]
    whose = "of the list" if summary["queries"]["applicable"] == 1 else "of a list"
    if items["most"]["mean"] is None:
        return "No item gets any exposure."
    if items["most"]["mean"] - items["least"]["mean"] < 1e-6:
        return f"All items {whose} get the same exposure."
    on_average = "" if summary["queries"]["applicable"] == 1 else " on average"
    return (
        f"The most exposed item {whose} gets{on_average} {number(items['most']['mean'])} times the mean, "
        f"the least exposed {number(items['least']['mean'])} times."
    )


def _tolerance(summary: Mapping[str, Any]) -> str:
    queries, away = summary["queries"], away_text(summary)
    judged, exceeding = queries["judged"], queries["judged"] - queries["fair"]
    if not judged:
        lists = "this list" if queries["applicable"] == 1 else "these lists"
        suggested = summary["suggested_delta"]
        other = "" if suggested is None else f"; {format_delta(suggested, summary['unit'])} would forbid something"
        return f"This delta forbids nothing here: no ranking of {lists} could exceed it{other}."
    all_of_them = "the judged list" if judged == 1 else f"all {judged:,} lists"
    if exceeding:
        where = all_of_them if exceeding == judged else f"{exceeding:,} of {judged:,} lists"
        return f"In {where} some item is {away}."
    return f"In {all_of_them} no item is {away}."


def away_text(summary: Mapping[str, Any]) -> str:
    """What delta forbids: "more than 10 % away from its list's mean exposure"."""
    delta = format_delta(summary["delta"], summary["unit"])
    if summary["notion"] != "exposure":
        return f"off by more than {delta}"
    return f"more than {delta} away from its list's mean exposure"


def item_details(summary: Mapping[str, Any]) -> list[str]:
    """What stands beneath the headline, besides how many lists hold delta: how the exposure is spread over items."""
    items, queries = summary["items"], summary["queries"]
    if not items["compared"]:
        return []
    relative = items["relative"]
    found = [
        f"Of {counted(items['compared'], 'item', 'items')} in {counted(queries['applicable'], 'list', 'lists')}, half "
        f"get at most {number(relative[MEDIAN])} times their list's mean exposure; the middle 90 % get "
        f"{number(relative[LOW])} to {number(relative[HIGH])} times."
    ]
    outside = items["above"] + items["below"]
    if outside:
        found.append(
            f"{counted(outside, 'item exceeds', 'items exceed')} delta, {percent(outside / items['judged'])} of those "
            f"in judged lists: {items['above']:,} with too much exposure, {items['below']:,} with too little."
        )
    if queries["applicable"] > 1 and items["most"]["ci"] is not None and items["least"]["ci"] is not None:
        found.append(
            f"95 % CI over lists: {interval(items['most']['ci'])} times the mean for the most exposed item, "
            f"{interval(items['least']['ci'])} times for the least exposed."
        )
    return found


def item_name(item: object) -> str:
    """An item within a sentence: "item C10620"."""
    return f"item {name_text(item, 40)}"


def item_plain(summary: Mapping[str, Any]) -> str:
    """Who is seen more, for readers without statistics."""
    items = summary["items"]
    if items["most"]["mean"] is None:
        return "nobody is seen at all."
    most, least = round(100 * items["most"]["mean"]), round(100 * items["least"]["mean"])
    if most == least:
        return "in each list all entries are seen about equally often."
    return (
        f"for every 100 times that an average entry of a list is seen, the one seen most is seen about {most:,} times "
        f"and the one seen least about {least:,} times."
    )
