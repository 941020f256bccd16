"""Charts of a comparison as inline SVG: each group's exposure before and after, and both distributions of a measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spofr_core.reporting.chart_frames import LONGEST_LABEL, MOST_GROUPS
from spofr_core.reporting.palette import NEUTRAL, group_styles
from spofr_core.reporting.svg_charts import LEFT, MARGIN, WIDTH, Scale, marker, svg_drawing, svg_text, ticks
from spofr_core.reporting.wording.phrases import name_text, number, percent, shortened

FloatArray = NDArray[np.float64]
BINS = 30


@dataclass(frozen=True, eq=False)
class Distributions:
    """How many queries have a value in each bin, before and after; the bins are those of both together.

    Attributes
    ----------
    edges : (B + 1,) float
    before, after : (B,) int
    """

    edges: FloatArray
    before: NDArray[np.int64]
    after: NDArray[np.int64]


def distributions(before: FloatArray, after: FloatArray, bins: int = BINS) -> Distributions:
    """Both distributions over the queries that have a value on both sides; bins of equal width over all values."""
    both = np.isfinite(before) & np.isfinite(after)
    values = np.concatenate([before[both], after[both]])
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    if not high > low:
        low, high = low - 0.5, high + 0.5
    edges = np.linspace(low, high, bins + 1)
    counts = [np.histogram(side[both], edges)[0].astype(np.int64) for side in (before, after)]
    return Distributions(edges, counts[0], counts[1])


def exposure_change_chart(rows: Sequence[Mapping[str, Any]], first: str, rival: str) -> str:
    """Each group's exposure over the mean of its lists, from the first ranking to its rival.

    Parameters
    ----------
    rows : sequence of mapping
        Rows of a comparison of the kind "group", at most `MOST_GROUPS` of which are drawn.
    first, rival : str
        Names of the two.
    """
    shown = [row for row in rows if row["before"] is not None and row["after"] is not None][:MOST_GROUPS]
    styles = group_styles([row["group"] for row in rows])
    left, row_height, top = LEFT, 34, 42
    values = [value for row in shown for value in (row["before"], row["after"])]
    x = Scale(min([0.95, *values]) * 0.98, max([1.05, *values]) * 1.02, left, WIDTH - 124)
    height = top + row_height * len(shown) + 12
    parts = [svg_text(left, 14, f"hollow: {name_text(first, 24)} · filled: {name_text(rival, 24)}", css="quiet")]
    for place, row in enumerate(shown):
        y, style = top + row_height * place + row_height / 2, styles[row["group"]]
        start, end = x(row["before"]), x(row["after"])
        parts.append(marker(style.marker, MARGIN, y, style.colour))
        label = shortened(row["group"], LONGEST_LABEL)
        parts.append(svg_text(MARGIN + 14, y + 4, label, title=str(row["group"])))
        line = f'x1="{start:.1f}" x2="{end:.1f}" y1="{y:.1f}" y2="{y:.1f}" stroke="{style.colour}" stroke-width="3"'
        parts.append(f'<line {line} stroke-opacity=".45"/>')
        parts.append(
            f'<circle cx="{start:.1f}" cy="{y:.1f}" r="5" fill="none" stroke="{style.colour}" stroke-width="2"/>'
        )
        parts.append(f'<circle cx="{end:.1f}" cy="{y:.1f}" r="5.5" fill="{style.colour}"/>')
        said = f"{percent(row['before'], 0)} → {percent(row['after'], 0)}"
        parts.append(svg_text(WIDTH - 8, y + 4, said, anchor="end"))
    mean = x(1.0)
    parts.append(f'<line class="rule" x1="{mean:.1f}" x2="{mean:.1f}" y1="{top - 4}" y2="{height - 8}"/>')
    parts.append(svg_text(mean, top - 10, "mean of its lists", anchor="middle", css="quiet"))
    described = "; ".join(
        f"{name_text(row['group'])} from {percent(row['before'], 0)} to {percent(row['after'], 0)}" for row in shown
    )
    return svg_drawing(height, f"Exposure of each group over the mean of its lists. {described}", parts)


def distribution_chart(found: Distributions, first: str, rival: str, *, label: str, share: bool) -> str:
    """Both distributions over queries as outlines, the first ranking's dashed and grey, its rival's full."""
    height, left, bottom, top = 210, 46, 40, 30
    floor = height - bottom
    x = Scale(float(found.edges[0]), float(found.edges[-1]), left, WIDTH - 20)
    y = Scale(0.0, float(max(found.before.max(initial=1), found.after.max(initial=1))), floor, top)
    parts = []
    for tick in ticks(0, y.high, 3):
        parts.append(f'<line class="axis" x1="{left}" x2="{WIDTH - 20}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>')
        parts.append(svg_text(left - 6, y(tick) + 4, number(tick), anchor="end", css="quiet"))
    for tick in ticks(float(found.edges[0]), float(found.edges[-1]), 6):
        text = f"{number(100 * tick)} %" if share else number(tick)
        parts.append(svg_text(x(tick), floor + 16, text, anchor="middle", css="quiet"))
    before, after = (_outline(found.edges, counts, x, y) for counts in (found.before, found.after))
    parts.append(f'<path class="band" d="{after}"/><path class="curve" d="{after}"/>')
    parts.append(f'<path d="{before}" fill="none" stroke="{NEUTRAL}" stroke-width="2" stroke-dasharray="5 3"/>')
    parts.append(svg_text(left, 14, f"dashed: {name_text(first, 24)} · full: {name_text(rival, 24)}", css="quiet"))
    parts.append(svg_text((left + WIDTH) / 2, height - 4, name_text(label), anchor="middle", css="quiet"))
    described = f"Number of queries by {label}, for {first} and for {rival}"
    return svg_drawing(height, name_text(described, 200), parts)


def _outline(edges: FloatArray, counts: NDArray[np.int64], x: Scale, y: Scale) -> str:
    corners = [f"M{x(float(edges[0])):.1f},{y(0):.1f}"]
    for right, count in zip(edges[1:].tolist(), counts.tolist(), strict=True):
        corners.append(f"V{y(count):.1f}H{x(right):.1f}")
    return escape("".join(corners) + f"V{y(0):.1f}")
