"""What an audit found, in sentences: the same ones in the shell, on the pages and in the report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spofr_core.fairness import NOTIONS, Quota, merit_notes
from spofr_core.reporting.items.item_words import (
    FIXED_ORDER,
    HOW_COUNTED,
    each_item,
    item_details,
    item_name,
    item_verdict,
)
from spofr_core.reporting.wording.phrases import (
    MOST_NAMED,
    counted,
    delta_text,
    gets,
    has,
    interval,
    listed,
    name_text,
    named,
    number,
    off_text,
    percent,
    start_sentence,
    tolerance_text,
    violation_text,
)
from spofr_core.reporting.wording.unknown_words import (
    range_sentences,
    surely_broken,
    three_counts,
    undecided,
    unknown_caveat,
    whose_groups,
)

NEARLY_EQUAL = 0.995
"""Exposures whose ratio is above this differ by less than a whole per cent would say."""
OF_LISTS = (
    "The group is the same for all items of a list, so it tells lists apart and not items: group by something that "
    "differs within a list, and slice by this column (“Slice the queries by” beside the upload, --slice in the shell)."
)
"""Where no list has two groups, although there are two and lists are longer than an item."""


def verdict(summary: Mapping[str, Any]) -> str:
    """The headline: who gets less exposure, and in how many queries the difference exceeds the tolerance.

    Parameters
    ----------
    summary : mapping
        `AuditResult.summary`.

    Returns
    -------
    str
        Such as "Women get 28 % less exposure than men. In 174 of 500 queries the difference from the list's mean
        exceeds the tolerance of 10 %."
    """
    if each_item(summary):
        return item_verdict(summary)
    queries = summary["queries"]
    if queries["total"] == 0:
        return "There are no queries to judge."
    if queries["applicable"] == 0:
        if queries["total"] == 1:
            return "The only query cannot be judged: it has items of a single group."
        return f"None of the {queries['total']:,} queries can be judged: each has items of a single group."
    return f"{exposure_sentence(summary)} {_tolerance_sentence(summary)}"


def verdict_details(summary: Mapping[str, Any]) -> list[str]:
    """What stands beneath the headline: how many were judged, how sure it is, and the worst case with its direction."""
    found = [] if summary["model"] is None else [_model_sentence(summary)]
    found += [] if summary["quota"] is None else [quota_sentence(summary["quota"])]
    found += [OF_LISTS] if _is_of_lists(summary) else []
    queries, ratio, unit = summary["queries"], summary["exposure_ratio"], summary["unit"]
    if queries["judged"] == 1:
        found.append("A single query was judged: it says nothing about others.")
    elif "unknown" in summary and queries["judged"]:
        found += [three_counts(summary), *range_sentences(summary)]
    elif queries["judged"]:
        low, high = queries["ci"]
        few = " So few queries make rough intervals." if queries["judged"] < summary["small_groups"]["lists"] else ""
        found.append(
            f"{queries['fair']:,} of {queries['judged']:,} judged queries hold {delta_text(summary['delta'], unit)}: "
            f"{percent(queries['share'])} (95 % CI {100 * low:.1f} to {100 * high:.1f}).{few}"
        )
    if queries["small_only"]:
        found.append(_small_only(summary))
    if queries["judged"] and queries["cannot_fail"]:
        found.append(
            f"{counted(queries['cannot_fail'], 'more query', 'more queries')} could not exceed it in any order, and "
            f"{'is' if queries['cannot_fail'] == 1 else 'are'} not counted."
        )
    if ratio is not None and ratio["value"] is not None:
        sure = "" if ratio["ci"] is None else f" (95 % CI {interval(ratio['ci'])})"
        low, high = ratio["lowest"], ratio["highest"]
        shares = [percent(summary["groups"][name]["relative_mean"], 0) for name in (low, high)]
        found.append(
            f"Of the mean exposure in their lists, {named(low)} {gets(low)} {shares[0]} and {named(high)} {shares[1]}, "
            f"a ratio of {number(ratio['value'])}{sure}."
        )
    if each_item(summary):
        found += item_details(summary)
    worst = _worst_sentence(summary)
    found += [worst] if worst else []
    if "label_shift" in summary:
        found += merit_notes(summary["merits"], summary["label_shift"])
    fixed = each_item(summary) and summary["model"] is None and queries["fair"] < queries["judged"]
    return found + ([FIXED_ORDER] if fixed else [])


def _is_of_lists(summary: Mapping[str, Any]) -> bool:
    queries, groups = summary["queries"], [group for group in summary["groups"].values() if group["items"]]
    longer = sum(group["items"] for group in groups) > queries["total"]
    return len(groups) > 1 and longer and not queries["applicable"]


def _model_sentence(summary: Mapping[str, Any]) -> str:
    """Whether a model's policies were audited, and what the plain sort by the same scores would do."""
    model = summary["model"]
    title, plain = name_text(model["title"]), model["plain_sort"]
    if not model["guaranteed"]:
        whose = f"“{title}”" if " " in title else title  # "sorted by score" is no name
        return f"Audited is what {whose} puts out, which has no guarantee{_of_either(summary)}."
    held = "delta" if summary["quota"] is None else "delta and the quota"
    sentence = f"Audited are the policies of {title}, which hold {held} wherever a list can"
    if plain is None or not plain["queries"]["judged"]:
        return f"{sentence}."
    queries, largest = plain["queries"], violation_text(plain["violation"]["max"], summary["unit"])
    return (
        f"{sentence}; sorted plainly by the same scores, {queries['fair']:,} of "
        f"{counted(queries['judged'], 'judged query', 'judged queries')} would, with violations of up to {largest}."
    )


def _of_either(summary: Mapping[str, Any]) -> str:
    return "" if summary["quota"] is None else ": it can hold neither delta nor a quota"


def quota_sentence(quota: Mapping[str, Any]) -> str:
    """How often what is shown breaks the quota.

    Parameters
    ----------
    quota : mapping
        `AuditResult.summary["quota"]`.

    Returns
    -------
    str
        Such as "In 112 of 500 queries some ranking that may be shown has a group more than 1 away from its share in
        the top 10; 22.3 % of what is shown does."
    """
    queries, draws = quota["queries"], quota["draws"]
    if not queries["applicable"]:
        return "No query can be asked about the quota: none has two groups and a ranking that meets it."
    if not queries["broken"]:
        return f"Every ranking that may be shown is within the quota: {name_text(quota['text'], 200)}."
    broken = Quota(**{name: quota[name] for name in ("slack", "top", "minimum")}).broken_text
    all_of_them = "the only query" if queries["applicable"] == 1 else f"all {queries['applicable']:,} queries"
    some = f"{queries['broken']:,} of {queries['applicable']:,} queries"
    where = all_of_them if queries["broken"] == queries["applicable"] else some
    sentence = f"In {where} some ranking that may be shown {name_text(broken, 200)}"
    if abs(draws["share"] - queries["share"]) < 5e-4:
        return f"{sentence}."
    sure = f" (drawn, give or take {percent(2 * quota['error'])})" if quota["error"] >= 5e-4 else ""
    return f"{sentence}; {percent(draws['share'])} of what is shown does{sure}."


def exposure_sentence(summary: Mapping[str, Any]) -> str | None:
    """Who gets less exposure per item, and how much less; None where no query has two groups.

    Small groups are not spoken of, and no direction is claimed where the interval of the ratio includes 1.
    """
    if not summary["queries"]["applicable"]:
        return None
    ratio, large = summary["exposure_ratio"], [name for name, group in summary["groups"].items() if not group["small"]]
    if ratio is None:
        limits = summary["small_groups"]
        small = f"fewer than {limits['items']:,} items or {counted(limits['lists'], 'list', 'lists')}"
        if large:
            return f"Only {named(large[0])} is large enough to compare: the other groups have {small}."
        return f"Every group is too small to compare: each has {small}."
    if ratio["value"] is None:
        return "No group gets any exposure."
    low, high = ratio["lowest"], ratio["highest"]
    sure = ratio["ci"] is None or not ratio["ci"][0] <= 1 <= ratio["ci"][1]
    between = f"between {named(low)} and {named(high)}" if len(large) == 2 else f"among the {len(large)} groups"
    known = "Where the group is known, " if "unknown" in summary else ""
    if not sure:
        return f"{start_sentence(f'{known}{between}')} there is no difference in exposure that these queries can show."
    if ratio["value"] > NEARLY_EQUAL:
        return f"{start_sentence(f'{known}{between} the exposure differs by less than half a per cent')}."
    less = "no exposure at all, unlike" if ratio["value"] == 0 else f"{_less(ratio['value'])} less exposure than"
    whom = "" if not NOTIONS[summary["notion"]].needs_merits else ", before merit is taken into account"
    one = known or ("In the one query, " if summary["queries"]["applicable"] == 1 else "")
    if len(large) == 2:
        sentence = f"{one}{named(low)} {gets(low)} {less} {named(high)}{whom}."
    else:
        least = f"of {len(large)} groups, {named(low)} {gets(low)} the least exposure"
        amount = "none at all" if ratio["value"] == 0 else f"{_less(ratio['value'])} less than {named(high)}"
        sentence = f"{one}{least}: {amount}, the most exposed{whom}."
    return start_sentence(sentence)


def _tolerance_sentence(summary: Mapping[str, Any]) -> str:
    """In how many of the judged queries the difference exceeds delta, other than through small groups alone."""
    queries, unit = summary["queries"], summary["unit"]
    judged, tolerance = queries["judged"], tolerance_text(summary["delta"], unit)
    if not judged:
        lists = "this list" if queries["applicable"] == 1 else "these lists"
        suggested = summary["suggested_delta"]
        other = "" if suggested is None else f"; {violation_text(suggested, unit)} would forbid something"
        return f"This delta forbids nothing here: no ranking of {lists} could exceed it{other}."
    everybody_small = all(group["small"] for group in summary["groups"].values())
    excused = 0 if everybody_small else queries["small_only"]
    open_, exceeding = undecided(summary), surely_broken(summary) - excused
    all_of_them = "the judged query" if judged == 1 else f"all {judged:,} queries"
    what = NOTIONS[summary["notion"]].difference
    if open_ and judged == 1:
        return f"Whether {what} exceeds {tolerance} depends on {whose_groups(summary)}."
    rest = f"; in {open_:,} it depends on {whose_groups(summary)}." if open_ else "."
    if exceeding and queries["applicable"] == 1:
        return f"{start_sentence(what)} exceeds {tolerance}."
    if exceeding:
        where = all_of_them if exceeding == judged else f"{exceeding:,} of {judged:,} queries"
        return f"In {where} {what} exceeds {tolerance}{rest}"
    if excused:
        return f"Only small groups exceed {tolerance}, in {excused:,} of {counted(judged, 'query', 'queries')}{rest}"
    if open_ == judged:
        return f"Whether {what} exceeds {tolerance} depends, in {all_of_them}, on {whose_groups(summary)}."
    if open_:
        stay = f"{queries['fair']:,} of {judged:,} queries {'stays' if queries['fair'] == 1 else 'stay'} within"
        return f"{stay} {tolerance}{rest}"
    return f"{start_sentence(all_of_them)} {'stays' if judged == 1 else 'stay'} within {tolerance}."


def _small_only(summary: Mapping[str, Any]) -> str:
    small = [named(name) for name, group in summary["groups"].items() if group["small"]]
    who = f"small groups ({listed(small)})" if len(small) <= MOST_NAMED else f"small groups ({len(small):,} of them)"
    return f"In {counted(summary['queries']['small_only'], 'query', 'queries')} only {who} exceed it."


def _worst_sentence(summary: Mapping[str, Any]) -> str | None:
    if not summary["worst"] or abs(summary["worst"][0]["violation"]) < 1e-9:
        return None
    worst = summary["worst"][0]
    off = off_text(worst["violation"], summary["unit"])
    who = f"{named(worst['group'])} {gets(worst['group'])}"
    if each_item(summary):
        who = f"{item_name(worst['item'])} gets"
    return (
        f"Furthest off: query {name_text(worst['query'])}, where {who} {off}"
        f" (exposure {number(worst['exposure'])}; the list's mean is {number(worst['mean_exposure'])})."
    )


def caveats(summary: Mapping[str, Any]) -> list[str]:
    """Everything that stands outside the verdict: not judged, impossible, left out, too small, noted."""
    found = []
    queries, infeasible, unit = summary["queries"], summary["infeasible"], summary["unit"]
    if queries["not_applicable"]:
        found.append(
            f"{counted(queries['not_applicable'], 'query', 'queries')} with "
            f"{'a single item' if each_item(summary) else 'items of a single group'}: "
            f"there is nobody to be fair between; counted, not judged.{'' if 'unknown' in summary else _alone(summary)}"
        )
    if queries["cannot_fail"]:
        found.append(
            f"{counted(queries['cannot_fail'], 'query', 'queries')} that no ranking could bring above this delta: "
            "holding it says nothing there; counted, not judged."
        )
    found += [f"{unknown_caveat(summary)}{_alone(summary)}"] if "unknown" in summary else []
    if infeasible["count"]:
        hardest = infeasible["queries"][0]
        found.append(
            f"{counted(infeasible['count'], 'query', 'queries')} that no policy can bring within this delta; "
            f"the hardest, {name_text(hardest['query'])}, needs at least {violation_text(hardest['min_delta'], unit)}."
        )
    if summary["quota"] is not None and summary["quota"]["impossible"]:
        first = summary["quota"]["impossible_queries"][0]
        found.append(
            f"{counted(summary['quota']['impossible'], 'query', 'queries')} of which no ranking can meet the quota, "
            f"such as {name_text(first['query'])} in its first {first['prefix']:,} positions; counted, not judged."
        )
    found += [
        f"{rows:,} not compared: {name_text(reason, 120)}." for reason, rows in summary["excluded"].items() if rows
    ]
    small = [(name, group) for name, group in summary["groups"].items() if group["small"] and queries["applicable"]]
    found += [_small_sentence(name, group) for name, group in small]
    utility = summary["utility"]
    if utility and utility["queries_without_relevant"]:
        without = counted(utility["queries_without_relevant"], "query", "queries")
        found.append(f"{without} without a relevant item: nDCG is undefined there, and its mean is over the others.")
    return found + [name_text(note, 400) for note in summary["notes"]]


def _alone(summary: Mapping[str, Any]) -> str:
    """How many items stand beside no other group, where others do."""
    alone = sum(group["items"] - group["compared"] for group in summary["groups"].values())
    if not alone or not summary["queries"]["applicable"]:
        return ""
    if "unknown" in summary:
        more = counted(alone, "more item stands", "more items stand")
        return f" {more} beside no item of another known group, and {'is' if alone == 1 else 'are'} not compared."
    whose = "Its" if summary["queries"]["not_applicable"] == 1 else "Their"
    return f" {whose} {counted(alone, 'item is', 'items are')} in none of the numbers of groups."


def _small_sentence(name: str, group: Mapping[str, Any]) -> str:
    size = f"{counted(group['items'], 'item', 'items')} in {counted(group['queries'], 'list', 'lists')}"
    beside = "" if group["compared"] == group["items"] else f", {group['compared']:,} of them beside another group"
    return f"{start_sentence(named(name))} {has(name)} only {size}{beside}: too few to stand in the headline."


def limits_of(summary: Mapping[str, Any]) -> list[str]:
    """What an audit of exposure does not show."""
    compared = [
        "The groups are taken as they are in the data; other ways of grouping the same items can show other gaps.",
        "A group's mean says nothing about how exposure is spread among the items of the group.",
    ]
    if each_item(summary):
        compared = [
            f"Items are compared within their list; what they get over many lists is not added up. {HOW_COUNTED}"
        ]
    return [
        f"Exposure is modelled, not observed: {summary['position_bias']} stands for the attention to position j.",
        *compared,
        "The intervals speak of queries like these; other traffic, other seasons and other markets may differ.",
        NOTIONS[summary["notion"]].caveat,
    ]


def _less(ratio: float) -> str:
    return percent(1 - ratio, 0)
