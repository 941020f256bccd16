"""Charts as inline SVG: plain functions from numbers to markup, no script, readable in light, dark and print."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

from spofr_core.reporting.group_styles import group_styles
from spofr_core.reporting.words import name_text, number, percent

FloatArray = NDArray[np.float64]

WIDTH = 720
MARGIN = 14
_SIZE = 6.0
_MOST_STEPS = 400


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


def exposure_chart(names: Sequence[str], exposures: Sequence[float | None], mean: float) -> str:
    """Mean exposure per item of each group as a bar, against the mean over all items."""
    left, row, top = 170, 34, 26
    known = [value for value in exposures if value is not None]
    x = Scale(0.0, max([*known, mean, 1e-12]) * 1.02, left, WIDTH - 150)
    height = top + row * len(names) + 12
    parts = []
    for place, (name, value) in enumerate(zip(names, exposures, strict=True)):
        style = group_styles(names)[name]
        y = top + row * place + row / 2
        parts.append(marker(style.marker, MARGIN, y, style.colour))
        parts.append(_text(MARGIN + 14, y + 4, name_text(name, 20), title=str(name)))
        if value is None:
            parts.append(_text(left + 6, y + 4, "no items", css="quiet"))
            continue
        parts.append(_rect(left, y - 9, max(x(value) - left, 1), 18, f'fill="{style.colour}"'))
        label = f"{number(value)} · {_against(value, mean)}"
        parts.append(_text(max(x(value), x(mean)) + 8, y + 4, label))
    line = x(mean)
    parts.append(f'<line class="rule" x1="{line:.1f}" x2="{line:.1f}" y1="{top - 4}" y2="{height - 8}"/>')
    parts.append(_text(line, 14, f"all items {number(mean)}", anchor="middle", css="quiet"))
    described = "; ".join(f"{name_text(n)} {number(v)}" for n, v in zip(names, exposures, strict=True))
    return _svg(height, f"Mean exposure per item. All items {number(mean)}; {described}", parts)


def share_chart(deltas: FloatArray, shares: FloatArray, chosen: float | None, largest: float) -> str:
    """Share of queries that hold delta as a step function of delta, with the chosen delta marked."""
    height, left, bottom = 280, 52, 44
    x = Scale(0.0, max(largest, float(deltas.max(initial=0.0)), chosen or 0.0, 1e-12), left, WIDTH - 20)
    y = Scale(0.0, 1.0, height - bottom, 18)
    reached = int(np.searchsorted(deltas, (chosen or 0.0) + 1e-9, side="right"))
    within = float(shares[reached - 1]) if reached else 0.0
    deltas, shares = thinned(deltas, shares)
    parts = _grid(x, y, height - bottom)
    path = f"M{x(0):.1f},{y(0):.1f}"
    for delta, share in zip(deltas, shares, strict=True):
        path += f"H{x(float(delta)):.1f}V{y(float(share)):.1f}"
    path += f"H{x.end:.1f}"
    parts.append(f'<path class="curve" d="{path}"/>')
    held = ""
    if chosen is not None:
        held = f"At delta {number(chosen)}: {percent(within)}. "
        at = x(chosen)
        parts.append(f'<line class="rule" x1="{at:.1f}" x2="{at:.1f}" y1="18" y2="{height - bottom}"/>')
        parts.append(f'<circle class="mark" cx="{at:.1f}" cy="{y(within):.1f}" r="5"/>')
        # Above the plot, where no curve passes.
        middle = min(max(at, left + 60.0), WIDTH - 80.0)
        said = f"delta {number(chosen)}: {percent(within)}"
        parts.append(_text(middle, 12, said, anchor="middle", css="strong"))
    parts.append(_text((left + WIDTH) / 2, height - 6, "delta", anchor="middle", css="quiet"))
    return _svg(height, f"Share of queries that hold delta, against delta. {held}", parts)


def violation_chart(names: Sequence[str], violations: FloatArray, delta: float | None) -> str:
    """Signed violations of each group over queries (Q, G) as a row of density bars, with -delta..delta shaded."""
    left, row, top, bottom, bins = 170, 58, 8, 40, 49
    finite = violations[np.isfinite(violations)]
    reach = max(float(np.abs(finite).max(initial=0.0)), delta or 0.0, 1e-9) * 1.05
    x = Scale(-reach, reach, left, WIDTH - 20)
    height = top + row * len(names) + bottom
    floor = height - bottom
    parts = []
    if delta is not None:
        parts.append(_rect(x(-delta), top, max(x(delta) - x(-delta), 1), floor - top, 'class="band"'))
    for tick in ticks(-reach, reach, 6):
        parts.append(_text(x(tick), floor + 16, number(tick), anchor="middle", css="quiet"))
    edges = np.linspace(-reach, reach, bins + 1)
    for place, name in enumerate(names):
        style = group_styles(names)[name]
        base = top + row * (place + 1)
        counts, _ = np.histogram(violations[:, place][np.isfinite(violations[:, place])], bins=edges)
        tallest = max(int(counts.max(initial=0)), 1)
        for k in np.flatnonzero(counts):
            tall = (row - 12) * counts[k] / tallest
            wide = x(float(edges[k + 1])) - x(float(edges[k]))
            parts.append(_rect(x(float(edges[k])), base - tall, wide - 0.6, tall, f'fill="{style.colour}"'))
        parts.append(marker(style.marker, MARGIN, base - 16, style.colour))
        parts.append(_text(MARGIN + 14, base - 12, name_text(name, 20), title=str(name)))
        parts.append(f'<line class="axis" x1="{left}" x2="{WIDTH - 20}" y1="{base}" y2="{base}"/>')
    parts.append(f'<line class="rule" x1="{x(0):.1f}" x2="{x(0):.1f}" y1="{top}" y2="{floor}"/>')
    caption = "signed violation: below 0 the group gets less than its due, above 0 more"
    parts.append(_text((left + WIDTH) / 2, height - 4, caption, anchor="middle", css="quiet"))
    return _svg(height, "Distribution over queries of each group's signed violation", parts)


def thinned(xs: FloatArray, ys: FloatArray, most: int = _MOST_STEPS) -> tuple[FloatArray, FloatArray]:
    """At most `most` steps of a curve, its first and last among them; more would be finer than print."""
    if len(xs) <= most:
        return xs, ys
    kept = np.unique(np.linspace(0, len(xs) - 1, most).round().astype(np.int64))
    return xs[kept], ys[kept]


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
        "hourglass": [(-1, -1), (1, -1), (-1, 1), (1, 1)],
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


def _against(value: float, mean: float) -> str:
    if mean <= 0:
        return ""
    change = round(100 * (value / mean - 1))
    return "at the mean" if change == 0 else f"{abs(change)} % {'above' if change > 0 else 'below'}"


def _grid(x: Scale, y: Scale, floor: float) -> list[str]:
    parts = []
    for tick in ticks(0, 1, 4):
        parts.append(f'<line class="axis" x1="{x.start}" x2="{x.end}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>')
        parts.append(_text(x.start - 8, y(tick) + 4, f"{100 * tick:.0f} %", anchor="end", css="quiet"))
    for tick in ticks(0, x.high, 6):
        parts.append(_text(x(tick), floor + 18, number(tick), anchor="middle", css="quiet"))
    return parts


def _rect(x: float, y: float, width: float, height: float, look: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" {look}/>'


def _text(x: float, y: float, text: str, *, anchor: str = "start", css: str = "", title: str = "") -> str:
    hover = f"<title>{escape(title)}</title>" if title else ""
    kind = f' class="{css}"' if css else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{kind}>{hover}{escape(text)}</text>'


def _svg(height: float, described: str, parts: list[str]) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{escape(described, quote=True)}">'
        + "".join(parts)
        + "</svg>"
    )
