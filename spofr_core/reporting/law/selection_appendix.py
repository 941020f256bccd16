"""Selection rates and impact ratios under the names of the rules that ask for them: sentences, tables, an appendix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from spofr_core.reporting.report_sections import SECTIONS, Content, Report, Section, Table, Term
from spofr_core.reporting.wording.phrases import counted, interval, name_text, named, number, percent, shortened

HEAD = ("Below four fifths?", "Items", "Lists", "Selected", "Rate", "95 % CI", "Impact ratio", "95 % CI")
RANGE = ("Rate, whatever the unknown are",)
LONGEST = 60
"""Letters of a name in a table; the middle of a longer one is left out."""
_FOUR_FIFTHS = "four fifths"


def selected_sentence(selection: Mapping[str, Any]) -> str:
    """How items are selected, and how many are."""
    of_all = f"{_amount(selection['selected'])} of {counted(selection['items'], 'item', 'items')}"
    lists = f"in {counted(selection['lists'], 'list', 'lists')}"
    if selection["kind"] == "top":
        first = "the first" if selection["k"] == 1 else f"the first {selection['k']:,}"
        ties = "in expectation over the lottery" if selection["expected"] else "those who tie share their chance"
        return f"Selected are {first} of each list, {ties}: {of_all} {lists}."
    if selection["kind"] == "threshold":
        return f"Selected is who has a score of {number(selection['threshold'])} or more: {of_all} {lists}."
    return (
        f"Counted is who scores above the median of all items, {number(selection['median'])} (the scoring rate): "
        f"{of_all} {lists}."
    )


def _title(table: Mapping[str, Any]) -> str:
    return f"By {shortened(table['title'], LONGEST)}{', crossed' if table['crossing'] else ''}"


def selection_tables(rule: Mapping[str, Any]) -> list[tuple[str, Table]]:
    """The tables of one rule of the summary, each with its title; what is compared heads the first column."""
    return [
        (
            _title(table),
            Table(
                (shortened(table["title"], LONGEST), *HEAD, *(RANGE if "rate_range" in table["categories"][0] else ())),
                [_cells(row) for row in table["categories"]],
                left=2,
            ),
        )
        for table in rule["tables"]
    ]


def selection_sentences(rule: Mapping[str, Any], kind: str) -> list[str]:
    """What one rule finds in each of its tables: the lowest ratio, in words; `kind` is that of the selection."""
    return [
        _finding(table, "score above the median" if kind == "scoring" else "are selected") for table in rule["tables"]
    ]


def _finding(table: Mapping[str, Any], happens: str) -> str:
    by = f"By {shortened(table['title'], LONGEST)}"
    rows = [row for row in table["categories"] if row["below"] is not None]
    highest = next((row for row in table["categories"] if row["category"] == table["highest"]), None)
    if highest is None or not rows:
        return f"{by}, there are no two categories to compare."
    below = [row for row in rows if row["below"]]
    sure = [row for row in below if row["sure"]]
    lowest = min(sure or below or rows, key=lambda row: row["impact_ratio"])
    rates = (
        f"{percent(lowest['rate'])} of {named(lowest['category'])} {happens}, against {percent(highest['rate'])} of "
        f"{named(highest['category'])}"
    )
    ratio = f"impact ratio {number(lowest['impact_ratio'])}{_in_brackets(lowest['ratio_ci'])}"
    if not below:
        return f"{by}, no rate is below {_FOUR_FIFTHS} of the highest. The lowest: {rates}, {ratio}."
    how = ", and more than chance shows" if sure else " in this sample, which chance may have brought about"
    return f"{by}, {rates}: {ratio}. This is below {_FOUR_FIFTHS}{how}.{_others(len(below), len(sure), len(rows))}"


def _others(below: int, sure: int, compared: int) -> str:
    """How many more there are, where one is not all."""
    if below < 2:
        return ""
    surely = (
        ""
        if not sure
        else ", all by more than chance shows"
        if sure == below
        else f", {sure:,} by more than chance shows"
    )
    return f" Of {compared:,} rates that are compared with the highest, {below:,} are below{surely}."


def _cells(row: Mapping[str, Any]) -> Sequence[str]:
    return (
        shortened(row["category"], LONGEST),
        row["verdict"],
        f"{row['items']:,}",
        f"{row['lists']:,}",
        _amount(row["selected"]),
        percent(row["rate"]),
        "-" if row["rate_ci"] is None else " to ".join(map(percent, row["rate_ci"])),
        number(row["impact_ratio"]),
        interval(row["ratio_ci"]),
        *((" to ".join(map(percent, row["rate_range"])),) if "rate_range" in row else ()),
    )


def _amount(selected: float) -> str:
    """A number of items that may be an expectation."""
    return f"{selected:,.0f}" if abs(selected - round(selected)) < 1e-6 else f"{selected:,.1f}"


def _in_brackets(pair: list[float] | None) -> str:
    return "" if pair is None else f" (95 % CI {interval(pair)})"


def _appendix(report: Report) -> Content | None:
    selection = report.summary.get("selection")
    if selection is None:
        return None
    kind = selection["kind"]
    parts = [(f"{rule['title']} ({rule['source']})", _of_rule(rule, kind)) for rule in selection["rules"]]
    return Content(
        caption=selected_sentence(selection),
        sentences=[name_text(note, 400) for note in selection["notes"]],
        parts=[*parts, ("What these numbers do not say", Content(sentences=selection["not_said"]))],
    )


def _of_rule(rule: Mapping[str, Any], kind: str) -> Content:
    tables = [(title, Content(table=table)) for title, table in selection_tables(rule)]
    terms = [
        Term("Small categories", rule["small"]),
        Term(
            "Intervals",
            "of whole lists drawn anew (bootstrap), because the items of a list are no independent draws; that of a "
            "ratio allows for the highest category having been picked among the others",
        ),
    ]
    said = [*selection_sentences(rule, kind), *(f"Not said: {sentence}" for sentence in rule["not_said"])]
    return Content(caption=rule["text"], sentences=said, terms=terms, parts=tables)


SECTIONS.register(Section("selection", "Appendix: selection rates under named rules", _appendix))
