"""One colour and one shape per group, the same in every chart, table and report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spofr_core.reporting.palette import GROUP_COLOURS, GROUP_SHAPES


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
        marker, glyph = GROUP_SHAPES[(place + place // len(GROUP_COLOURS)) % len(GROUP_SHAPES)]
        styles[name] = GroupStyle(GROUP_COLOURS[place % len(GROUP_COLOURS)], marker, glyph)
    return styles
