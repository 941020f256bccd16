"""Every colour there is: of groups, of methods without one of their own, of lines, bands, pages and print.

One colour and one shape per group, the same in every chart, table and report; no colour of a group means anything else
in a chart of groups. The colours of groups and series keep a contrast of at least 3:1 against white and against the
dark background, so one colour serves both themes; a shape tells things apart where colour does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


def see_through(colour: str, opacity: float) -> str:
    """A colour of which the ground shines through; `colour` is written "#rrggbb"."""
    red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {opacity:g})"


GROUP_COLOURS = (
    "#2678b8",
    "#d4600a",
    "#12936c",
    "#b05fae",
    "#97801a",
    "#c8434b",
    "#3f8fa6",
    "#7a5af0",
    "#9a5a3c",
    "#5f9420",
    "#d8468f",
    "#5c79d6",
)
GROUP_SHAPES = (
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
    ("triangle-right", "▶"),
    ("triangle-left", "◀"),
    ("bowtie", "⧓"),
)
"""Marker names (as Plotly calls them) with the character that shows the same shape in text, commonest first: not every
font has every shape."""


@dataclass(frozen=True)
class GroupStyle:
    """How a group looks: `marker` is Plotly's name of the shape, `glyph` the same shape as a character."""

    colour: str
    marker: str
    glyph: str


def group_styles(names: Sequence[str]) -> dict[str, GroupStyle]:
    """A style for each group, by its place in `names`; no two of the first 156 are alike."""
    styles = {}
    for place, name in enumerate(names):
        # There is a shape more than there are colours, so that a colour comes back with another shape.
        marker, glyph = GROUP_SHAPES[place % len(GROUP_SHAPES)]
        styles[name] = GroupStyle(GROUP_COLOURS[place % len(GROUP_COLOURS)], marker, glyph)
    return styles


NO_GROUP_STYLE = GroupStyle("#7d8896", "circle-open", "○")
"""Of items without a group: grey, which no group is."""
NO_GROUP_TEXT = "without a group"


def style_of(styles: Mapping[str, GroupStyle], group: str | None) -> GroupStyle:
    """The style of an item, by its group."""
    return NO_GROUP_STYLE if group is None else styles[group]


SERIES_COLOURS = ("#2678b8", "#d07c1f", "#2f8f5b", "#8a5bb5", "#c8434b", "#4aa3a3", "#b08d2f", "#7d8896")
SERIES_SHAPES = ("circle", "square", "triangle-up", "diamond", "x", "star", "pentagon", "cross")
"""Of curves and marks that have no colour or shape of their own, by their place."""
KINDRED_COLOURS: Mapping[str, str] = {
    "#2678b8": "#4aa3a3", "#d07c1f": "#9a5a3c", "#c8434b": "#d8468f", "#2f8f5b": "#5f9420", "#8a5bb5": "#5c79d6",
}  # fmt: skip
KINDRED_SHAPES: Mapping[str, str] = {
    "circle": "star", "circle-open": "star-open", "square": "triangle-down", "x": "bowtie",
    "triangle-up": "triangle-right", "diamond": "hexagon",
}  # fmt: skip
"""Of the same thing in another make, such as a method with another scorer. Marks are small, and muted ones have no
colour: beside a circle, neither pentagon nor hexagon could be told from it."""

ACCENT = "#2678b8"
DEEP_ACCENT = "#1f5f99"
FOCUS = "#2a7fd0"
"""Around what the keyboard is at; like `DEEP_ACCENT` it is written once more in the stylesheet of the dashboard."""
WARNING = "#c8434b"
CAUTION = "#d07c1f"
GOOD = "#2f8f5b"
EXPECTED = "#12936c"
NEUTRAL = "#7d8896"
"""Reference lines that can be seen on light and dark."""
OUTSIDE = "#6b7683"
"""Above or below bounds, on both pages: a grey, as no group is; a pattern says which."""
INK = "#444444"
"""Reference lines on paper."""
DOMINATED = "#b3bac3"
GRID = "#e6e9ed"
EDGE = "#9aa3ad"
WHITE, BLACK = "#ffffff", "#000000"
BAND = see_through(ACCENT, 0.15)
FAINT = see_through(NEUTRAL, 0.3)
HATCH = see_through(WHITE, 0.7)
LIGHT_HATCH = see_through(WHITE, 0.5)
HEAT = (BAND, see_through(DEEP_ACCENT, 1))
"""From improbable to certain."""

LIGHT: Mapping[str, str] = {
    "ink": "#1d2430",
    "quiet": "#5b6573",
    "line": "#d9dee5",
    "paper": WHITE,
    "tint": "#f3f5f8",
    "accent": DEEP_ACCENT,
}
DARK: Mapping[str, str] = {
    "ink": "#e6e9ee",
    "quiet": "#a3adba",
    "line": "#333b47",
    "paper": "#14181f",
    "tint": "#1c222b",
    "accent": "#7fb6e6",
}
PRINT: Mapping[str, str] = {**LIGHT, "ink": BLACK, "quiet": INK, "line": "#bbbbbb"}
"""Variables of the stylesheets, by day, by night and on paper."""
