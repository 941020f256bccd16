"""What an audit says where the groups of some items are not known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spofr_core.reporting.wording.phrases import counted, delta_text, gets, interval, named, percent


def undecided(summary: Mapping[str, Any]) -> int:
    """Judged queries of which cannot be told whether they hold delta."""
    return int((summary.get("unknown") or {"undecided": 0})["undecided"])


def surely_broken(summary: Mapping[str, Any]) -> int:
    """Judged queries that break delta, whatever the unknown groups are."""
    queries = summary["queries"]
    return int(queries["judged"] - queries["fair"] - undecided(summary))


def whose_groups(summary: Mapping[str, Any]) -> str:
    """ "the 212 items whose group is unknown"."""
    items = summary["unknown"]["items"]
    return "the one item whose group is unknown" if items == 1 else f"the {items:,} items whose group is unknown"


def three_counts(summary: Mapping[str, Any]) -> str:
    """How many of the judged queries hold delta, break it, and cannot be told.

    Returns
    -------
    str
        Such as "Of 500 judged queries 81 hold delta = 10 % whatever the unknown groups are, 402 break it, and 17 depend
        on the 212 items whose group is unknown: 16.2 % to 19.6 % hold it (95 % CI 13.3 to 23.3)."
    """
    queries, unknown = summary["queries"], summary["unknown"]
    delta = delta_text(summary["delta"], summary["unit"])
    open_ = unknown["undecided"]
    depend = f"{open_:,} {'depends' if open_ == 1 else 'depend'} on {whose_groups(summary)}"
    low, high = (percent(share) for share in unknown["share"])
    share = low if low == high else f"{low} to {high}"
    lower, upper = queries["ci"]
    return (
        f"Of {counted(queries['judged'], 'judged query', 'judged queries')} "
        f"{none_or(unknown['fair'], 'holds', 'hold')} {delta} whatever the unknown groups are, "
        f"{none_or(unknown['broken'], 'breaks', 'break')} it, and {depend if open_ else 'none depends on them'}: "
        f"{share} hold it (95 % CI {100 * lower:.1f} to {100 * upper:.1f})."
    )


def range_sentences(summary: Mapping[str, Any], most: int = 4) -> list[str]:
    """Between what the exposure of groups lies, whatever the unknown groups are."""
    ranges = summary["unknown"]["groups"]
    said = [
        f"{named(name)} {gets(name)} {relative_range(summary, name)}"
        for name, group in summary["groups"].items()
        if not group["small"] and ranges[name]["relative"]
    ]
    if not said or len(said) > most:
        return []
    spread = summary["unknown"]["violation"]
    mean = "" if spread is None else f"; the mean violation is {interval(spread, summary['unit'])}"
    return [f"Whatever the unknown groups are, of the mean exposure in their lists {', '.join(said)}{mean}."]


def relative_range(summary: Mapping[str, Any], name: str) -> str:
    """ "70 % to 81 %"; a dash where there is none."""
    ends = summary["unknown"]["groups"][name]["relative"]
    return "-" if ends is None else " to ".join(dict.fromkeys(percent(end, 0) for end in ends))


def none_or(count: int, one: str, many: str) -> str:
    """ "none breaks", "1 breaks", "2 break"."""
    return f"{count:,} {many}" if count > 1 else f"{count or 'none'} {one}"


def exposure_range(summary: Mapping[str, Any], name: str) -> str:
    """The same of the mean exposure per item."""
    return interval(summary["unknown"]["groups"][name]["exposure"])


def unknown_caveat(summary: Mapping[str, Any]) -> str:
    """What the numbers are of, where groups are not known."""
    unknown = summary["unknown"]
    lists, whose = counted(unknown["lists"], "list", "lists"), whose_groups(summary).removeprefix("the ")
    return (
        f"Measures of groups leave out {lists} with {whose}; what else is said of groups is of the other items, with "
        "what it could be whatever the unknown groups are beside it."
    )
