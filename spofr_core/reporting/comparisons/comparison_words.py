"""What a comparison found, in sentences and in the cells of a table: the same in the shell, on pages and in reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from spofr_core.reporting.wording.phrases import (
    MOST_NAMED,
    counted,
    delta_text,
    listed,
    name_text,
    named,
    number,
    tolerance_text,
    within_a_sentence,
)

TABLE_HEAD = ("Compared", "Before", "After", "Difference", "CI", "n", "p (Holm)", "Verdict")
_FEW = 10
"""With fewer queries than this the intervals are said to be rough."""


def comparison_headline(summary: Mapping[str, Any], rival: str | None = None) -> str:
    """`comparison_sentences` as one text."""
    return " ".join(comparison_sentences(summary, rival))


def comparison_sentences(summary: Mapping[str, Any], rival: str | None = None) -> list[str]:
    """Who gets more or less exposure, how many queries hold delta, and what it costs: the most telling one first.

    Parameters
    ----------
    summary : mapping
        `Comparison.summary`.
    rival : str, optional
        Which rival it is about; the first where it is left out.

    Returns
    -------
    list of str
        Such as "The repair gives women 16 % more exposure than now (95 % CI 13 to 18).", "500 of 500 queries keep
        within the tolerance of 10 %, instead of 81 now.", "nDCG@10 is lower by 0.002: no difference that 498 queries
        can show."
    """
    name, found = _rival(summary, rival)
    first, rows = called(summary["first"]["name"]), found["rows"]
    both = counted(found["queries"]["both"], "query", "queries")
    if not rows:
        return [_opened(f"{called(name)} and {first} have nothing that can be compared.")]
    if all(row["difference"] == 0 for row in rows if not row["small"]):
        return [_opened(f"{called(name)} and {first} do not differ in anything that was compared, over {both}.")]
    if not any(_claims(row) for row in rows):
        return [f"Between {called(name)} and {first} there is no difference that {both} can show."]
    chosen = [row for row in (_loudest_group(rows), _of_kind(rows, "share"), _utility(rows)) if row is not None]
    if not any(_claims(row) for row in chosen):
        chosen = [row for row in rows if _claims(row)][:2] + chosen[:1]
    sentences = [_short_sentence(row, summary, name) for row in chosen]
    if chosen[0]["kind"] != "group":
        sentences[0] = f"With {called(name)}, {within_a_sentence(sentences[0])}"
    return [_opened(sentence) for sentence in sentences]


def comparison_details(summary: Mapping[str, Any], rival: str | None = None) -> list[str]:
    """A sentence for each number that is compared, with both values, the interval and what may be said of it."""
    name, found = _rival(summary, rival)
    return [_opened(_sentence(row, summary, name)) for row in found["rows"] if not row["small"]]


def comparison_notes(summary: Mapping[str, Any], rival: str | None = None) -> list[str]:
    """What stands outside the headline: queries without a partner, what is not compared, what was asked of each."""
    name, found = _rival(summary, rival)
    said = [_pairing(summary, name, found["queries"])]
    if 0 < found["queries"]["both"] < _FEW:
        said.append("So few queries make rough intervals.")
    said += _asked(summary, name, found)
    said += _left_out(found)
    said += [
        f"{_refused(reason['name'])} not compared: {name_text(reason['why'], 300)}." for reason in found["not_compared"]
    ]
    small = [named(row["group"]) for row in found["rows"] if row["small"]]
    if small:
        who = listed(small) if len(small) <= MOST_NAMED else f"{len(small):,} groups"
        said.append(f"Too few items or lists to be tested: {who}.")
    return [*said, *(f"{called(name)}: {name_text(note, 400)}" for note in found["notes"])]


def comparison_basis(summary: Mapping[str, Any]) -> list[str]:
    """What holds for all rivals: how differences were tested, and the notes on the data of the first ranking."""
    first = called(summary["first"]["name"])
    return [_method(summary), *(f"{first}: {name_text(note, 400)}" for note in summary["first"]["notes"])]


def change_cells(changed: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The queries that changed most (`changed` of a rival's summary) as texts: query, before, after, difference."""
    row = {"relative": False, "unit": changed["unit"]}
    return [
        (
            name_text(query["query"]),
            _value(query["before"], row),
            _value(query["after"], row),
            _signed(query["difference"], row),
        )
        for query in changed["queries"]
    ]


def comparison_cells(summary: Mapping[str, Any], rival: str | None = None) -> list[tuple[str, ...]]:
    """The rows of a comparison as texts, in the order of `TABLE_HEAD`."""
    _, found = _rival(summary, rival)
    return [
        (
            _label(row),
            _value(row["before"], row),
            _value(row["after"], row),
            "-" if row["difference"] is None else _signed(row["difference"], row),
            "-" if row["lower"] is None else f"{_signed(row['lower'], row, '')} to {_signed(row['upper'], row, '')}",
            f"{row['n']:,}",
            "-" if row["p_holm"] is None else _p_text(row["p_holm"]),
            "too small" if row["small"] else row["verdict"] if _claims(row) else "none shown",
        )
        for row in found["rows"]
    ]


def _rival(summary: Mapping[str, Any], rival: str | None) -> tuple[str, Mapping[str, Any]]:
    name = next(iter(summary["rivals"])) if rival is None else rival
    return name, summary["rivals"][name]


def _claims(row: Mapping[str, Any]) -> bool:
    return row["lower"] is not None and (row["lower"] > 0 or row["upper"] < 0)


def _of_kind(rows: Sequence[Mapping[str, Any]], kind: str) -> Mapping[str, Any] | None:
    return next((row for row in rows if row["kind"] == kind), None)


def _loudest_group(rows: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The group that got least before, where its exposure changes; otherwise the one whose exposure changes most."""
    groups = [row for row in rows if row["kind"] == "group" and not row["small"] and row["difference"] is not None]
    if not groups:
        return None
    least = min(groups, key=lambda row: row["before"])
    changing = [row for row in groups if _claims(row)]
    return least if _claims(least) or not changing else max(changing, key=lambda row: abs(row["difference"]))


def _utility(rows: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """nDCG, at whatever depth, or else DCG, or else the first measure; pairwise disparity says what groups say."""
    measures = [row for row in rows if row["kind"] == "measure"]
    ranked = [row for name in ("ndcg", "dcg") for row in measures if row["name"].partition("@")[0] == name]
    return next(iter([*ranked, *(row for row in measures if row["name"] != "pairwise")]), None)


def _short_sentence(row: Mapping[str, Any], summary: Mapping[str, Any], rival: str) -> str:
    """A row as the headline says it: with an interval only where it is about people."""
    if row["kind"] == "group":
        sure = _interval(row, summary) if row["difference"] else ""
        return f"{_group_clause(row, summary, rival)}{f' ({sure})' if sure else ''}{_unless_shown(row)}."
    if row["kind"] == "share":
        return f"{_share_clause(row, summary, rival)}{_unless_shown(row)}."
    label = _start(_in_sentence(row))
    if row["difference"] == 0:
        return f"{label} is the same."
    return f"{label} is {_way(row)} by {_amount(row)}{_unless_shown(row)}."


def _sentence(row: Mapping[str, Any], summary: Mapping[str, Any], rival: str) -> str:
    """A row with both values, its interval and its verdict."""
    if row["difference"] is None:
        return f"{_start(_in_sentence(row))} cannot be compared: {called(summary['first']['name'])} gives it none."
    sure = _interval(row, summary)
    end = {"better": ", which is better", "worse": ", which is worse", "different": ""}.get(row["verdict"])
    end = f": {row['verdict']}" if end is None else end
    if row["difference"] == 0 and row["kind"] in ("group", "share"):
        return _short_sentence(row, summary, rival)
    if row["kind"] == "group":
        return f"{_group_clause(row, summary, rival)}{f' ({sure})' if sure else ''}{end}."
    if row["kind"] == "share":
        change = f"{_amount(row)} {'more' if row['difference'] > 0 else 'fewer'}"
        return f"{_share_clause(row, summary, rival)} ({change}{f'; {sure}' if sure else ''}){end}."
    label, values = _start(_in_sentence(row)), " instead of ".join(_told_apart(row))
    if row["difference"] == 0:
        return f"{label} is the same, {_value(row['after'], row)}."
    return f"{label} is {_way(row)} by {_amount(row)} ({values}{f'; {sure}' if sure else ''}){end}."


def _group_clause(row: Mapping[str, Any], summary: Mapping[str, Any], rival: str) -> str:
    first, group = called(summary["first"]["name"]), named(row["group"])
    if row["difference"] == 0:
        return f"{called(rival)} gives {group} the same exposure as {first}"
    more = "more" if row["difference"] > 0 else "less"
    return f"{called(rival)} gives {group} {_amount(row)} {more} exposure than {first}"


def _share_clause(row: Mapping[str, Any], summary: Mapping[str, Any], rival: str) -> str:
    first, found = summary["first"], summary["rivals"][rival]
    before, after = round(row["before"] * row["n"]), round(row["after"] * row["n"])
    if found["asked"] == first["asked"]:
        what = tolerance_text(first["asked"]["delta"], first["asked"]["unit"])
        than = "as" if before == after else f"instead of {before:,}"
        surely = "surely " if "surely" in row["label"] else ""
        keep = counted(row["n"], f"query {surely}keeps", f"queries {surely}keep")
        return f"{after:,} of {keep} within {what}, {than} {_in(first['name'])}"
    than = f"{_in(first['name'])} {before:,}"
    what = "delta"
    if found["asked"]["notion"] == first["asked"]["notion"]:
        what = delta_text(found["asked"]["delta"], found["asked"]["unit"])
        than += f" hold {delta_text(first['asked']['delta'], first['asked']['unit'])}"
    return f"{after:,} of {counted(row['n'], 'query holds', 'queries hold')} {what}, {than}"


def _unless_shown(row: Mapping[str, Any]) -> str:
    return "" if _claims(row) or row["difference"] == 0 else f": {row['verdict']}"


def _interval(row: Mapping[str, Any], summary: Mapping[str, Any]) -> str:
    """The interval in the direction that the sentence names: "95 % CI 4 to 8"."""
    if row["lower"] is None or row["difference"] is None:
        return ""
    low, high = (row["lower"], row["upper"]) if row["difference"] >= 0 else (-row["upper"], -row["lower"])
    return f"{number(100 * summary['confidence'])} % CI {_size(low, row, '')} to {_size(high, row, '')}"


def _way(row: Mapping[str, Any]) -> str:
    return "higher" if row["difference"] > 0 else "lower"


def _amount(row: Mapping[str, Any]) -> str:
    return _size(abs(row["difference"]), row)


def _size(value: float, row: Mapping[str, Any], points: str = " percentage points") -> str:
    """A difference: "6 %" of an exposure, "21 percentage points" of a share, "0.004" of anything else.

    Without `points` it is the bare number, for the ends of an interval.
    """
    if row["relative"]:
        return f"{number(100 * value, 2)}{' %' if points else ''}"
    if row["unit"] != "share":
        return number(value, 2)
    text = number(100 * value, 2)
    return f"{text}{points.removesuffix('s') if text.lstrip('-') == '1' else points}"


def _signed(value: float, row: Mapping[str, Any], points: str = " points") -> str:
    return f"{'+' if value > 0 else ''}{_size(value, row, points)}"


def _value(value: float | None, row: Mapping[str, Any]) -> str:
    if value is None:
        return "-"
    return f"{number(100 * value, 2 if abs(value) < 0.995 else 3)} %" if row["unit"] == "share" else number(value)


def _told_apart(row: Mapping[str, Any]) -> tuple[str, str]:
    """The values after and before, with as many digits as it takes to tell them apart."""
    scale, unit = (100, " %") if row["unit"] == "share" else (1, "")
    for digits in range(2 if unit else 3, 9):
        after, before = (f"{number(scale * row[side], digits)}{unit}" for side in ("after", "before"))
        if after != before:
            break
    return after, before


def _label(row: Mapping[str, Any]) -> str:
    return name_text(row["label"]) if row["kind"] != "group" else f"exposure of {named(row['group'])}"


def _in_sentence(row: Mapping[str, Any]) -> str:
    if row["kind"] == "ratio":
        return "the exposure ratio (the group that gets least over the one that gets most)"
    return "the mean " + _label(row) if row["kind"] == "violation" else within_a_sentence(_label(row))


def _start(text: str) -> str:
    """With a capital, unless it is a name that has one inside, such as nDCG."""
    first = text.split(" ", 1)[0]
    return text[:1].upper() + text[1:] if first.isalpha() and first.islower() else text


def called(name: str) -> str:
    """The name of a ranking within a sentence; one that is more than a plain word stands in quotes."""
    text = name_text(name)
    if text in ("repair", "the repair"):
        return "the repair"
    return text if all(letter.isalnum() or letter in "_-." for letter in text) else f"“{text}”"


def _opened(sentence: str) -> str:
    """A sentence that may begin with a ranking: only "the" gets a capital, other names are as they were given."""
    return f"T{sentence[1:]}" if sentence.startswith("the ") else sentence


def _in(name: str) -> str:
    """Where something is so: "now", "with the repair"."""
    return name if name == "now" else f"with {called(name)}"


def _p_text(p: float) -> str:
    return "< 0.0001" if p < 0.0001 else number(p, 2)


def _pairing(summary: Mapping[str, Any], rival: str, queries: Mapping[str, Any]) -> str:
    said = f"{counted(queries['both'], 'query was', 'queries were')} compared, each with itself"
    sides = (("only_first", summary["first"]["name"]), ("only_rival", rival))
    alone = [
        f"{queries[key]:,} only {called(name)} has ({_examples(queries[f'{key}_ids'], queries[key])})"
        for key, name in sides
        if queries[key]
    ]
    return f"{said}; left out: {listed(alone)}." if alone else f"{said}."


def _examples(ids: Sequence[object], count: int) -> str:
    shown = ", ".join(name_text(name, 30) for name in ids[:3])
    return f"{shown}, ..." if count > len(ids[:3]) else shown


def _asked(summary: Mapping[str, Any], rival: str, found: Mapping[str, Any]) -> list[str]:
    mine, theirs = summary["first"]["asked"], found["asked"]
    if mine is None or theirs is None or mine == theirs:
        return []
    told = [
        f"{called(name)} by {delta_text(asked['delta'], asked['unit'])} of the notion {name_text(asked['notion'])}"
        for name, asked in ((summary["first"]["name"], mine), (rival, theirs))
    ]
    return [
        f"Each is judged by what was asked of it: {listed(told)}. That more or fewer queries hold it is neither better "
        "nor worse."
    ]


def _left_out(found: Mapping[str, Any]) -> list[str]:
    """Queries without a value, rows of the same number and reason together; groups need not be in every list."""
    together: dict[tuple[int, str], list[str]] = {}
    for row in found["rows"]:
        if row["left_out"] and row["kind"] != "group":
            together.setdefault((row["left_out"], _NO_VALUE[row["kind"]]), []).append(_label(row))
    both = counted(found["queries"]["both"], "query", "queries")
    return [
        f"{_start(listed(labels))}: {left_out:,} of {both} left out, {why}."
        for (left_out, why), labels in together.items()
    ]


_NO_VALUE = {
    "ratio": "which have no two groups",
    "violation": "which have no two groups",
    "share": "in which delta forbids nothing, or there are no two groups",
    "measure": "which have no value in one of the two at least",
}


def _refused(name: str) -> str:
    known = {
        "exposure": "The exposure of groups is",
        "exposure_ratio": "The exposure ratio is",
        "violation": "Violations are",
        "fair": "The share of queries that hold delta is",
        "quota": "The chance that what is shown breaks the quota is",
    }
    return known.get(name, f"{name_text(name)} is")


def _method(summary: Mapping[str, Any]) -> str:
    level, rows = number(100 * (1 - summary["confidence"]), 2), summary["tested"]
    if rows == 1:
        return f"A difference is claimed where its sign-flip test (at {level} %) and its bootstrap interval agree."
    return (
        f"{rows:,} differences were tested together (sign flips, Holm at {level} %). One is claimed where its "
        "bootstrap interval over queries excludes 0; where the test does not agree, the interval is made to reach 0."
    )
