"""One colour and one shape per group, the same in every chart, table and report.

The colours keep a contrast of at least 3:1 against white and against the dark background, so one colour serves both
themes; the shape tells groups apart where colour does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

COLOURS = ("#2678b8", "#d4600a", "#12936c", "#b05fae", "#97801a", "#c8434b", "#6f7a88", "#3f8fa6")

SHAPES = (
    ("circle", "●"),
    ("square", "■"),
    ("diamond", "◆"),
    ("triangle-up", "▲"),
    ("cross", "✚"),
    ("star", "★"),
    ("triangle-down", "▼"),
    ("x", "✖"),
    ("pentagon", "⬟"),
    ("hexagon", "⬢"),
    ("hourglass", "⧗"),
    ("bowtie", "⧓"),
    ("triangle-right", "▶"),
)
"""Marker names (as Plotly calls them) with the character that shows the same shape in text."""


@dataclass(frozen=True)
class GroupStyle:
    """How a group looks: `marker` is Plotly's name of the shape, `glyph` the same shape as a character."""

    colour: str
    marker: str
    glyph: str


def group_styles(names: Sequence[str]) -> dict[str, GroupStyle]:
    """A style for each group, by its place in `names`; no two of the first 104 are alike."""
    styles = {}
    for place, name in enumerate(names):
        # The shape steps once more after each round of colours, so that a colour comes back with another shape.
        marker, glyph = SHAPES[(place + place // len(COLOURS)) % len(SHAPES)]
        styles[name] = GroupStyle(COLOURS[place % len(COLOURS)], marker, glyph)
    return styles
