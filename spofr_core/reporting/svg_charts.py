"""Charts as inline SVG: plain functions from frames to markup, no script, readable in light, dark and print."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from spofr_core.fairness import Unit
from spofr_core.reporting.chart_frames import ExposureBar, GroupRow, Mark, ShareSteps, ViolationBins
from spofr_core.reporting.wording.phrases import name_text, percent, violation_text

WIDTH = 560
LEFT = 186
"""Where bars begin: to the left of it are the names of groups."""
MARGIN = 14
_SIZE = 6.0


@dataclass(frozen=True)
class Scale:
    """A linear map from data to pixels."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        if self.high == self.low:
            return self.start
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def ticks(low: float, high: float, wanted: int = 5) -> list[float]:
    """Round numbers that cover low..high, about `wanted` of them."""
    if not high > low:
        return [low]
    raw = (high - low) / max(wanted, 1)
    magnitude = 10.0 ** math.floor(math.log10(raw))
    step = next(m * magnitude for m in (1, 2, 2.5, 5, 10) if m * magnitude >= raw * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(k * step, 12) for k in range(first, last + 1)]


def exposure_chart(bars: Sequence[ExposureBar]) -> str:
    """Exposure of each group (`exposure_bars`) against the mean of its lists."""
    left, row, top = LEFT, 34, 26
    furthest = [max(bar.relative or 0.0, *(bar.range or (0.0,))) for bar in bars]
    x = Scale(0.0, max([*furthest, 1.0]) * 1.02, left, WIDTH - 192)
    height = top + row * len(bars) + 12
    parts = []
    for place, bar in enumerate(bars):
        y = top + row * place + row / 2
        parts += _named(bar.row, y)
        if bar.relative is None:
            parts.append(svg_text(left + 6, y + 4, bar.difference, css="quiet"))
            continue
        end = x(bar.relative)
        parts.append(svg_rect(left, y - 9, max(end - left, 1), 18, f'fill="{bar.row.style.colour}"{_pale(bar)}'))
        if bar.range is not None:
            parts += _range(x(bar.range[0]), x(bar.range[1]), y)
        said = f"only {bar.size}" if bar.small else bar.difference
        reached = max(end, x(1.0), x(bar.range[1]) if bar.range else 0.0)
        parts.append(svg_text(reached + 8, y + 4, f"{bar.text} · {said}"))
    line = x(1.0)
    parts.append(f'<line class="rule" x1="{line:.1f}" x2="{line:.1f}" y1="{top - 4}" y2="{height - 8}"/>')
    parts.append(svg_text(line, 14, "mean of its lists", anchor="middle", css="quiet"))
    described = "; ".join(
        f"{name_text(bar.row.group)} {bar.text or '-'}, {bar.difference}"
        + (f", {percent(bar.range[0], 0)} to {percent(bar.range[1], 0)} whatever the unknown are" if bar.range else "")
        for bar in bars
    )
    return svg_drawing(height, f"Mean exposure per item, against the mean of its lists. {described}", parts)


def _range(low: float, high: float, y: float) -> list[str]:
    """Between what a bar could end: a line with two ends, in the colour of text on a seam of that of the page."""
    path = f'd="M{low:.1f} {y - 6:.1f}V{y + 6:.1f}M{low:.1f} {y:.1f}H{high:.1f}M{high:.1f} {y - 6:.1f}V{y + 6:.1f}"'
    return [f'<path class="seam" {path}/>', f'<path class="range" {path}/>']


def _pale(bar: ExposureBar) -> str:
    return ' fill-opacity=".35"' if bar.small else ""


def share_chart(steps: ShareSteps, mark: Mark | None, unit: Unit = "absolute") -> str:
    """Share of queries that hold delta (`share_steps`) as a step function of delta, with the chosen delta marked.

    Shaded below it: those that cannot fail.
    """
    height, left, bottom = 280, 52, 44
    deltas = steps.delta.tolist()
    x = Scale(0.0, max(deltas[-1], mark.delta if mark else 0.0), left, WIDTH - 20)
    y = Scale(0.0, 1.0, height - bottom, 18)
    parts = _grid(x, y, height - bottom, unit)
    line, upper, lower, idle, could = (
        [(x(delta), y(share)) for delta, share in zip(deltas, shares.tolist(), strict=True)]
        for shares in (steps.share, steps.upper, steps.lower, steps.cannot_fail, steps.could_hold)
    )
    parts.append(f'<path class="idle" d="{_steps(idle)}V{y(0):.1f}H{x(0):.1f}Z"/>')
    parts.append(f'<path class="band" d="{_steps(upper)}L{_back(lower)}Z"/>')
    if (steps.could_hold > steps.share).any():
        parts.append(f'<path class="could" d="{_steps(could)}L{_back(line)}Z"/>')
        parts.append(f'<path class="could-line" d="{_steps(could)}H{x.end:.1f}"/>')
    parts.append(f'<path class="curve" d="{_steps(line)}H{x.end:.1f}"/>')
    if mark is not None:
        at = x(mark.delta)
        parts.append(f'<line class="rule" x1="{at:.1f}" x2="{at:.1f}" y1="18" y2="{height - bottom}"/>')
        if mark.share is not None:
            parts.append(f'<circle class="mark" cx="{at:.1f}" cy="{y(mark.share):.1f}" r="5"/>')
        # Above the plot, where no curve passes.
        middle = min(max(at, left + 60.0), WIDTH - 80.0)
        parts.append(svg_text(middle, 12, mark.label, anchor="middle", css="strong"))
    parts.append(svg_text((left + WIDTH) / 2, height - 6, "delta", anchor="middle", css="quiet"))
    held = f"At {mark.label}. " if mark else ""
    return svg_drawing(height, f"Share of queries that hold delta, against delta. {held}", parts)


def _steps(points: list[tuple[float, float]]) -> str:
    """A path that goes across before it goes up."""
    (x, y), *rest = points
    return f"M{x:.1f},{y:.1f}" + "".join(f"H{x:.1f}V{y:.1f}" for x, y in rest)


def _back(points: list[tuple[float, float]]) -> str:
    """The same steps from their end to their beginning."""
    x, y = points[-1]
    return f"{x:.1f},{y:.1f}" + "".join(f"V{y:.1f}H{x:.1f}" for x, y in reversed(points[:-1]))


def violation_chart(bins: ViolationBins, delta: float | None, unit: Unit = "absolute") -> str:
    """Signed violations of each group over queries (`violations_by_group`) as bars, with -delta..delta shaded."""
    left, row, top, bottom = LEFT, 58, 8, 40
    reach = float(bins.edges[-1])
    x = Scale(-reach, reach, left, WIDTH - 20)
    height = top + row * len(bins.rows) + bottom
    floor = height - bottom
    parts = []
    if delta is not None:
        parts.append(svg_rect(x(-delta), top, max(x(delta) - x(-delta), 1), floor - top, 'class="band"'))
    for tick in ticks(-reach, reach, 6):
        parts.append(svg_text(x(tick), floor + 16, violation_text(tick, unit), anchor="middle", css="quiet"))
    edges = [x(float(edge)) for edge in bins.edges]
    for place, (group, queries) in enumerate(zip(bins.rows, bins.queries.tolist(), strict=True)):
        base = top + row * (place + 1)
        tallest = max(max(queries), 1)
        for low, high, count in zip(edges, edges[1:], queries, strict=False):
            if count:
                tall = (row - 12) * count / tallest
                parts.append(svg_rect(low, base - tall, high - low - 0.6, tall, f'fill="{group.style.colour}"'))
        parts += _named(group, base - 16)
        parts.append(f'<line class="axis" x1="{left}" x2="{WIDTH - 20}" y1="{base}" y2="{base}"/>')
    parts.append(f'<line class="rule" x1="{x(0):.1f}" x2="{x(0):.1f}" y1="{top}" y2="{floor}"/>')
    caption = "below 0: too little exposure; above 0: too much"
    parts.append(svg_text((left + WIDTH) / 2, height - 4, caption, anchor="middle", css="quiet"))
    return svg_drawing(height, "Distribution over queries of each group's signed violation", parts)


def marker(shape: str, x: float, y: float, colour: str, size: float = _SIZE) -> str:
    """The marker of a group."""
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}" fill="{colour}"/>'
    points = " ".join(f"{x + size * px:.1f},{y + size * py:.1f}" for px, py in _outline(shape))
    return f'<polygon points="{points}" fill="{colour}"/>'


def _outline(shape: str) -> list[tuple[float, float]]:
    """Corners of a shape inside the unit circle, y down."""
    third = 1 / 3
    drawn: dict[str, list[tuple[float, float]]] = {
        "square": [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
        "diamond": [(0, -1.15), (1.15, 0), (0, 1.15), (-1.15, 0)],
        "triangle-up": [(0, -1.1), (1.1, 0.9), (-1.1, 0.9)],
        "triangle-down": [(0, 1.1), (1.1, -0.9), (-1.1, -0.9)],
        "triangle-right": [(1.1, 0), (-0.9, 1.1), (-0.9, -1.1)],
        "triangle-left": [(-1.1, 0), (0.9, 1.1), (0.9, -1.1)],
        "bowtie": [(-1, -1), (1, 1), (1, -1), (-1, 1)],
        "cross": [
            (-third, -1), (third, -1), (third, -third), (1, -third), (1, third), (third, third),
            (third, 1), (-third, 1), (-third, third), (-1, third), (-1, -third), (-third, -third),
        ],
    }  # fmt: skip
    if shape in drawn:
        return drawn[shape]
    if shape == "x":
        turn = math.sqrt(0.5)
        return [(turn * (px - py), turn * (px + py)) for px, py in drawn["cross"]]
    corners = {"pentagon": 5, "hexagon": 6, "star": 10}[shape]
    radii = [1.1 if shape != "star" or k % 2 == 0 else 0.45 for k in range(corners)]
    angles = [2 * math.pi * k / corners - math.pi / 2 for k in range(corners)]
    return [(r * math.cos(a), r * math.sin(a)) for r, a in zip(radii, angles, strict=True)]


def _named(row: GroupRow, y: float) -> list[str]:
    """Marker and label of a group at the left of its row; pointing at it shows the whole name."""
    name = svg_text(MARGIN + 14, y + 4, row.label, title=str(row.group))
    return [marker(row.style.marker, MARGIN, y, row.style.colour), name]


def _grid(x: Scale, y: Scale, floor: float, unit: Unit) -> list[str]:
    parts = []
    for tick in ticks(0, 1, 4):
        parts.append(f'<line class="axis" x1="{x.start}" x2="{x.end}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>')
        parts.append(svg_text(x.start - 8, y(tick) + 4, f"{100 * tick:.0f} %", anchor="end", css="quiet"))
    for tick in ticks(0, x.high, 6):
        parts.append(svg_text(x(tick), floor + 18, violation_text(tick, unit), anchor="middle", css="quiet"))
    return parts


def svg_rect(x: float, y: float, width: float, height: float, look: str) -> str:
    """A bar; `look` is its attributes."""
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" {look}/>'


def svg_text(x: float, y: float, text: str, *, anchor: str = "start", css: str = "", title: str = "") -> str:
    """A text, escaped; pointing at it shows `title`."""
    hover = f"<title>{escape(title)}</title>" if title else ""
    kind = f' class="{css}"' if css else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{kind}>{hover}{escape(text)}</text>'


def svg_drawing(height: float, described: str, parts: list[str]) -> str:
    """The whole chart, with the words for those who do not see it."""
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{escape(described, quote=True)}">'
        + "".join(parts)
        + "</svg>"
    )
