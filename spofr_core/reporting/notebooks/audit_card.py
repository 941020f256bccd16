"""An audit in a notebook: the headline, what stands beneath it, exposure by group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spofr_core.reporting.chart_frames import Audited, shown_groups
from spofr_core.reporting.items.item_frames import item_rows
from spofr_core.reporting.items.item_words import each_item
from spofr_core.reporting.law.selection_appendix import selection_sentences
from spofr_core.reporting.notebooks.card import MOST_ROWS, Card, CardTable, bars_of, cut_table
from spofr_core.reporting.palette import group_styles
from spofr_core.reporting.report_sections import GroupCell
from spofr_core.reporting.wording.phrases import delta_text, interval, number, off_text, shortened
from spofr_core.reporting.words import caveats, verdict, verdict_details


def audit_card(result: Audited) -> str:
    """The card of an `AuditResult`."""
    summary = result.summary
    alone = each_item(summary)
    compared = bool(summary["queries"]["applicable"]) and not alone
    bars, mark = bars_of(summary) if compared else ([], 0.0)
    return Card(
        kind=f"Exposure audit: {summary['notion']}, {delta_text(summary['delta'], summary['unit'])}",
        headline=verdict(summary),
        details=[*verdict_details(summary), *_selection(summary)],
        bars=bars,
        mark=mark,
        bars_title="Exposure per item, against the mean of its lists (the line)",
        tables=[_items(summary)] if alone else [_groups(summary)] if compared else [],
        notes=caveats(summary),
    ).html()


def _selection(summary: Mapping[str, Any]) -> list[str]:
    selection = summary.get("selection")
    if selection is None:
        return []
    rule = selection["rules"][0]
    return [f"{rule['title']}: {said}" for said in selection_sentences(rule, selection["kind"])]


def _items(summary: Mapping[str, Any]) -> CardTable:
    rows = item_rows(summary)
    return cut_table(("Items", "Times the list's mean exposure"), rows, many="rows", total=len(rows))


def _groups(summary: Mapping[str, Any]) -> CardTable:
    groups, unit = summary["groups"], summary["unit"]
    styles = group_styles(list(groups))
    rows = [
        (
            GroupCell(shortened(name), styles[name].glyph, styles[name].colour),
            f"{groups[name]['compared']:,}",
            f"{groups[name]['compared_queries']:,}",
            number(groups[name]["exposure_mean"]),
            interval(groups[name]["exposure_ci"]),
            off_text(groups[name]["violation_mean"], unit),
            "small" if groups[name]["small"] else "",
        )
        for name in shown_groups(summary, MOST_ROWS)
    ]
    head = ("Group", "Items", "Lists", "Mean exposure", "95 % CI", "Mean violation", "")
    return cut_table(head, rows, many="groups, less far off", total=len(groups))
