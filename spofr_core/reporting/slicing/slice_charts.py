"""Slices and courses over time as inline SVG, each mean with its interval."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spofr_core.reporting.chart_frames import LONGEST_LABEL
from spofr_core.reporting.slicing.slice_words import slice_name, value_text
from spofr_core.reporting.slicing.time_words import window_text
from spofr_core.reporting.svg_charts import LEFT, MARGIN, WIDTH, Scale, svg_drawing, svg_text, ticks
from spofr_core.reporting.wording.phrases import shortened

Plain = Mapping[str, Any]

MOST_DRAWN = 12
"""Slices of a chart, those with the most evidence; the table under it has more."""
_ROW, _TOP, _BOTTOM = 26, 26, 30


def slice_chart(entry: Plain) -> str:
    """The mean of each slice with its interval, the most evidence first; the line is the mean of all queries."""
    rows = [row for row in entry["slices"] if row["ci"] is not None][:MOST_DRAWN]
    if not rows:
        return ""
    unit = entry["unit"]
    ends = [end for row in rows for end in row["ci"]]
    x = _scale(min(*ends, entry["mean"]), max(*ends, entry["mean"]), LEFT, WIDTH - 84)
    height = _TOP + _ROW * len(rows) + _BOTTOM
    parts = _ticks(x, height, unit)
    for place, row in enumerate(rows):
        y = _TOP + _ROW * place + _ROW / 2
        parts.append(svg_text(MARGIN, y + 4, shortened(row["slice"], LONGEST_LABEL), title=slice_name(row["values"])))
        low, high = (x(end) for end in row["ci"])
        parts.append(f'<line class="whisker" x1="{low:.1f}" x2="{high:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>')
        look = "mark" if row["differs"] else "hollow"
        parts.append(f'<circle class="{look}" cx="{x(row["mean"]):.1f}" cy="{y:.1f}" r="4.5"/>')
        parts.append(svg_text(WIDTH - 8, y + 4, f"n = {row['n']:,}", anchor="end", css="quiet"))
    line = x(entry["mean"])
    parts.append(f'<line class="rule" x1="{line:.1f}" x2="{line:.1f}" y1="{_TOP - 4}" y2="{height - _BOTTOM}"/>')
    said = f"all queries: {value_text(entry['mean'], unit)}"
    parts.append(svg_text(min(max(line, LEFT + 50.0), WIDTH - 90.0), 14, said, anchor="middle", css="quiet"))
    described = "; ".join(f"{slice_name(row['values'])} {value_text(row['mean'], unit)}" for row in rows)
    return svg_drawing(
        height, f"{entry['label']} by slice, the most evidence of a difference first. {described}", parts
    )


def time_chart(time: Plain, entry: Plain) -> str:
    """The mean of each window with its interval, in the order of time; windows without queries leave a gap."""
    windows, unit = entry["windows"], entry["unit"]
    drawn = [(place, row) for place, row in enumerate(windows) if row["mean"] is not None]
    if not drawn:
        return ""
    height, left, bottom, top = 220, 64, 40, 14
    ends = [end for _, row in drawn for end in (*(row["ci"] or ()), row["mean"])]
    y = _scale(min(ends), max(ends), height - bottom, top)
    step = (WIDTH - 20 - left) / len(windows)
    parts = []
    for tick in ticks(y.low, y.high, 4):
        parts.append(f'<line class="axis" x1="{left}" x2="{WIDTH - 20}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>')
        parts.append(svg_text(left - 8, y(tick) + 4, value_text(tick, unit), anchor="end", css="quiet"))
    path, before = "", -2
    for place, row in drawn:
        at, middle = left + step * (place + 0.5), y(row["mean"])
        if row["ci"] is not None:
            low, high = (y(end) for end in row["ci"])
            parts.append(f'<line class="whisker" x1="{at:.1f}" x2="{at:.1f}" y1="{low:.1f}" y2="{high:.1f}"/>')
        path += f"{'L' if place == before + 1 else 'M'}{at:.1f},{middle:.1f}"
        before = place
        if len(windows) <= 2 * MOST_DRAWN:
            parts.append(f'<circle class="mark" cx="{at:.1f}" cy="{middle:.1f}" r="3.5"/>')
    parts.append(f'<path class="curve" d="{path}"/>')
    for place in _labelled(len(windows)):
        label = window_text(time["window"], windows[place]["start"]).removeprefix("week of ").removeprefix("from ")
        anchor = "start" if place == 0 else "end" if place == len(windows) - 1 else "middle"
        at = left + step * place if place == 0 else left + step * (place + (1 if anchor == "end" else 0.5))
        parts.append(svg_text(at, height - bottom + 20, label[:16], anchor=anchor, css="quiet"))
    first, last = (value_text(row["mean"], unit) for row in (drawn[0][1], drawn[-1][1]))
    return svg_drawing(height, f"{entry['label']} over time, from {first} to {last}.", parts)


def _labelled(count: int) -> list[int]:
    """Windows with a label: the first, the last, and one between them where there is room."""
    return sorted({0, count - 1, *((count // 2,) if count > 4 else ())})


def _scale(low: float, high: float, start: float, end: float) -> Scale:
    """A scale with a little room at both sides, also around a single value."""
    room = 0.04 * (high - low) or 0.05 * abs(high) or 0.5
    return Scale(low - room, high + room, start, end)


def _ticks(x: Scale, height: float, unit: str) -> list[str]:
    parts = []
    for tick in ticks(x.low, x.high, 4):
        at = x(tick)
        parts.append(f'<line class="axis" x1="{at:.1f}" x2="{at:.1f}" y1="{_TOP}" y2="{height - _BOTTOM}"/>')
        parts.append(svg_text(at, height - _BOTTOM + 18, value_text(tick, unit), anchor="middle", css="quiet"))
    return parts
