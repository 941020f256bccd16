"""A comparison in a notebook: the headline, and every number that is compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spofr_core.reporting.comparisons.comparison_words import (
    TABLE_HEAD,
    comparison_cells,
    comparison_headline,
    comparison_notes,
)
from spofr_core.reporting.notebooks.card import Card, CardTable, cut_table
from spofr_core.reporting.notebooks.measured_card import HasSummary
from spofr_core.reporting.wording.phrases import name_text

MOST_RIVALS = 3


def comparison_card(result: HasSummary) -> str:
    """The card of a `Comparison`."""
    summary = result.summary
    rivals = list(summary["rivals"])
    shown = rivals[:MOST_RIVALS]
    cut = [f"And {len(rivals) - len(shown):,} more rankings."] if len(rivals) > len(shown) else []
    return Card(
        kind=f"Compared with {name_text(summary['first']['name'])}",
        headline=comparison_headline(summary, shown[0]),
        details=[comparison_headline(summary, rival) for rival in shown[1:]] + cut,
        tables=[_table(summary, rival) for rival in shown],
        notes=[note for rival in shown for note in comparison_notes(summary, rival)],
    ).html()


def _table(summary: Mapping[str, Any], rival: str) -> CardTable:
    rows = [tuple(map(name_text, cells)) for cells in comparison_cells(summary, rival)]
    return cut_table(TABLE_HEAD, rows, many="rows", title=name_text(rival))
