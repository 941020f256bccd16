"""What a card is made of, and how long it may be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spofr_core.reporting.chart_frames import exposure_bars
from spofr_core.reporting.report_sections import GroupCell, page_from
from spofr_core.reporting.wording.phrases import name_text

MOST_ROWS = 20
MOST_NOTES = 6
LONGEST_NOTE = 240
"""Rows of a table, notes, and letters of a note: a notebook keeps what it shows, so a card stays below 50 kB."""
_WIDTH = 150


@dataclass(frozen=True)
class Bar:
    """A bar of the small chart, `length` in pixels; `said` stands behind it."""

    name: str
    colour: str
    length: float
    said: str
    pale: bool


@dataclass(frozen=True)
class Items:
    """Several items in one cell of a table, and how many more there are."""

    shown: Sequence[GroupCell]
    more: str = ""


Cell = str | GroupCell | Items


@dataclass(frozen=True, kw_only=True)
class CardTable:
    """Rows of cells, the first `left` columns being words; `more` says what was cut."""

    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    title: str = ""
    left: int = 1
    more: str = ""


@dataclass(frozen=True, kw_only=True)
class Card:
    """A card; everything in it is text, which the template escapes.

    Parameters
    ----------
    kind : str
        What it is of, in small letters above the headline.
    headline : str
    details : sequence of str
        Paragraphs.
    bars : sequence of Bar
        A chart; `mark` is the place of the line in it, and `bars_title` says what it shows.
    tables : sequence of CardTable
    notes : sequence of str
        Small, last; cut where there are many.
    """

    kind: str
    headline: str
    details: Sequence[str] = ()
    bars: Sequence[Bar] = ()
    mark: float = 0.0
    bars_title: str = ""
    tables: Sequence[CardTable] = ()
    notes: Sequence[str] = ()

    def html(self) -> str:
        """The piece of HTML."""
        kept = [name_text(note, LONGEST_NOTE) for note in self.notes[:MOST_NOTES]]
        more = len(self.notes) - len(kept)
        notes = [*kept, *([f"And {more:,} more."] if more > 0 else [])]
        return page_from("notebook_card.html.j2", card=self, notes=notes)


def cut_table(
    head: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    *,
    many: str,
    title: str = "",
    left: int = 1,
    total: int | None = None,
    most: int = MOST_ROWS,
) -> CardTable:
    """A table of the first rows; what is left out of `total` rows is counted, as so many of what `many` names."""
    count = len(rows) if total is None else total
    shown = rows[:most]
    more = f"and {count - len(shown):,} more {many}" if count > len(shown) else ""
    return CardTable(head=head, rows=shown, title=title, left=left, more=more)


def bars_of(summary: Mapping[str, Any]) -> tuple[list[Bar], float]:
    """Exposure of the groups relative to their lists (`exposure_bars`), and where the line of the mean stands."""
    found = exposure_bars(summary)
    largest = max([*(bar.relative or 0.0 for bar in found), 1.0])
    scale = _WIDTH / largest
    bars = [
        Bar(bar.row.label, bar.row.style.colour, scale * (bar.relative or 0.0), bar.difference, bar.small)
        for bar in found
    ]
    return bars, scale
