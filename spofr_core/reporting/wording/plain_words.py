"""What an audit found, for readers without statistics: no formula, no interval, no abbreviation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spofr_core.fairness import NOTIONS
from spofr_core.reporting.items.item_words import each_item, item_plain
from spofr_core.reporting.wording.phrases import MOST_NAMED, counted, listed, name_text, named, violation_text
from spofr_core.reporting.wording.unknown_words import surely_broken, undecided, whose_groups


def plain_summary(summary: Mapping[str, Any], repaired: Mapping[str, Any] | None = None) -> list[str]:
    """The audit as a handful of sentences that can be read aloud to anybody.

    Parameters
    ----------
    summary : mapping
        `AuditResult.summary`.
    repaired : mapping, optional
        `AuditResult.summary` of the repair, where there is one.
    """
    queries, groups = summary["queries"], summary["groups"]
    alone = each_item(summary)
    items = summary["items"]["total"] if alone else sum(group["items"] for group in groups.values())
    items += summary.get("unknown", {"items": 0})["items"]
    of_what = "" if alone else f" of {counted(len(groups), 'group', 'groups')}"
    found = [
        f"What was looked at: {counted(queries['total'], 'ranked list', 'ranked lists')} with "
        f"{counted(items, 'entry', 'entries')}{of_what}. "
        "Whoever stands higher in a list is seen more; being seen is called exposure."
    ]
    if not queries["applicable"]:
        two = "two entries" if alone else "entries of two groups"
        return [*found, f"No list has {two}, so there is nothing to compare."]
    found += [
        f"Who is seen more: {item_plain(summary) if alone else _who(summary)}",
        f"List by list: {_lists(summary)}",
    ]
    if summary["quota"] is not None and summary["quota"]["queries"]["applicable"]:
        found.append(f"One list at a time: {_quota(summary['quota'])}")
    if repaired is not None:
        found.append(f"What can be done: {_repair(summary, repaired)}")
    small = [named(name) for name, group in groups.items() if group["small"]]
    if small:
        who = listed(small) if len(small) <= MOST_NAMED else f"{len(small):,} groups"
        found.append(f"Too few to say anything about: {who}.")
    return [*found, "What this cannot say: why there is a difference, and whether there are good reasons for it."]


def _who(summary: Mapping[str, Any]) -> str:
    ratio = summary["exposure_ratio"]
    if ratio is None or ratio["value"] is None:
        return "there are not two groups that are large enough to compare."
    low, high = named(ratio["lowest"]), named(ratio["highest"])
    if ratio["ci"] is not None and ratio["ci"][0] <= 1 <= ratio["ci"][1]:
        return "on average no group stands out; what difference there is may be chance."
    views = round(100 * ratio["value"])
    if views == 100:
        return f"on average an entry of {low} is seen about as often as one of {high}."
    return f"for every 100 times that an entry of {high} is seen, one of {low} is seen about {views} times."


def _lists(summary: Mapping[str, Any]) -> str:
    queries, delta = summary["queries"], summary["delta"]
    if not queries["judged"]:
        return "the limit that was set is so wide that no order of these lists could break it. It says nothing here."
    limit = "the limit" if isinstance(delta, Mapping) else f"the limit of {violation_text(delta, summary['unit'])}"
    broken, open_ = surely_broken(summary), undecided(summary)
    if open_ and queries["judged"] == 1:
        kept = f"whether the one list that could break {limit} keeps it depends on {whose_groups(summary)}"
    elif open_:
        kept = (
            f"of the {queries['judged']:,} lists that could break {limit}, {broken:,} do and {queries['fair']:,} keep "
            f"it, whatever is not known; {open_:,} depend on {whose_groups(summary)}"
        )
    elif queries["judged"] == 1:
        kept = f"the one list that could break {limit} {'does' if broken else 'keeps it'}"
    elif broken:
        kept = f"{broken:,} of the {queries['judged']:,} lists that could break {limit} do"
    else:
        kept = f"all {queries['judged']:,} lists that could break {limit} keep it"
    said = NOTIONS[summary["notion"]].plain_limit
    return f"{kept}. {said.replace('a group', 'an entry') if each_item(summary) else said}"


def _quota(quota: Mapping[str, Any]) -> str:
    queries = quota["queries"]
    text = name_text(quota["text"], 200)
    if not queries["broken"]:
        return f"no order that readers may see breaks the rule for single lists ({text})."
    return (
        f"in {queries['broken']:,} of {queries['applicable']:,} lists readers may see an order that breaks the rule "
        f"for single lists ({text})."
    )


def _repair(summary: Mapping[str, Any], repaired: Mapping[str, Any]) -> str:
    before, after = summary["queries"], repaired["queries"]
    quota = summary["quota"]
    if before["fair"] == before["judged"] and not (quota and quota["queries"]["broken"]):
        return "nothing has to change."
    open_ = undecided(repaired)
    if open_:
        return (
            "the same entries can be put into orders, drawn by lot, with which "
            f"{after['fair']:,} of {after['judged']:,} lists surely keep the limit; {open_:,} depend on "
            f"{whose_groups(repaired)}."
        )
    if after["fair"] == after["judged"]:
        return "the same entries can be put into orders, drawn by lot, with which every list keeps the limit."
    return (
        "the same entries can be put into orders, drawn by lot, with which "
        f"{after['fair']:,} of {after['judged']:,} lists keep the limit; the others cannot."
    )
