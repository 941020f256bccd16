"""Who gets the exposure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dashboard.charts.drawing import (
    BAR,
    EDGE,
    GAP,
    LINE,
    TICKS,
    TITLE,
    Drawing,
    Trace,
    band,
    bars,
    figure,
    group_axis,
    line_note,
    note,
    plain_text,
    room,
    row_note,
    rule,
    rule_in_row,
    side,
    whole_ticks,
    with_glyphs,
)
from dashboard.escaping import plot
from spofr_core.reporting import (
    Audited,
    ExposureBar,
    ItemBins,
    bounds_counts,
    exposure_bars,
    interval,
    number,
    palette,
)

MEAN = 100
"""Per cent of the mean of its lists that an item gets in the mean."""
WIDEST = 36
"""Letters that have room in one line on a small telephone."""
UNDER, LEGEND = 9, 26
"""Pixels from a bar to the range under it, and those of the legend that says what it is."""
SOFT, MUTED = 0.55, 0.2
"""How much of a bar's colour is left behind its interval, and of that of a small group."""


def exposure_by_group(summary: Mapping[str, Any]) -> Drawing:
    """Exposure of each group relative to the mean of its lists, as bars with their intervals.

    Words stand above the bars and not beside them, so that long names have room on a telephone. Small groups come last,
    and end with the plot, in an arrow, where they reach beyond it.
    """
    shown = sorted(exposure_bars(summary), key=lambda bar: bar.small)
    # A small group may be far off: it is not to squeeze those that the headline speaks of.
    scaled = [bar for bar in shown if not bar.small] or shown
    ends = [max(bar.relative or 0.0, *(bar.ci or (0.0,)), *(bar.range or (0.0,))) for bar in scaled]
    right = 1.02 * max([MEAN, *(100 * end for end in ends)])
    values = [min(100 * (bar.relative or 0.0), right) for bar in shown]
    labels = with_glyphs([bar.row for bar in shown])
    words = [_words(bar) for bar in shown]
    letters = [len(bar.row.label) + len(plain_text(said)) + 4 for bar, said in zip(shown, words, strict=True)]
    lines = 1 if max(letters, default=0) <= WIDEST else 2
    ranged = [bar for bar in shown if bar.range is not None]
    row = LINE * lines + BAR + GAP + (UNDER if ranged else 0)
    middles = [place + (LINE * lines + BAR / 2) / row for place in range(len(shown))]
    half = (BAR / 2 + 3) / row
    drawn = bars(
        values,
        [],
        [bar.row.style.colour for bar in shown],
        [],
        y=middles,
        width=BAR / row,
        showlegend=False,
        marker={
            "color": [bar.row.style.colour for bar in shown],
            "opacity": [MUTED if bar.small else SOFT for bar in shown],
            "line": {"width": 0},
        },
        customdata=[f"{plot(bar.row.group)}: {plain_text(said)}" for bar, said in zip(shown, words, strict=True)],
        hoverinfo=None,
        hovertemplate="%{customdata}<extra></extra>",
    )
    apart = "<br>" if lines == 2 else "  "
    under = {bar.row.group: place + (LINE * lines + BAR + UNDER) / row for place, bar in enumerate(shown)}
    spans = [_range(bar, under[bar.row.group], right, named=bar is ranged[0]) for bar in ranged]
    over = LEGEND if ranged else 0
    return figure(
        [
            drawn,
            *spans,
            *(_interval(bar, bar.ci, middle, right) for bar, middle in zip(shown, middles, strict=True) if bar.ci),
        ],
        height=30 + over + TICKS + TITLE + row * len(shown),
        top=30 + over,
        legend=bool(ranged),
        legend_at=1 + 22 / (row * len(shown)),
        left=EDGE,
        x={"title": "exposure per item, % of the mean of its lists", "range": [0, right], "nticks": 6},
        y={"range": [len(shown), 0], "visible": False},
        shapes=[rule_in_row(MEAN, middle, half, layer="above") for middle in middles],
        notes=[
            line_note(MEAN, "mean of its lists", MEAN / right),
            *(row_note(place, apart.join(both)) for place, both in enumerate(zip(labels, words, strict=True))),
            *(_goes_on(right, y) for bar, y in zip(shown, middles, strict=True) if 100 * (bar.relative or 0.0) > right),
        ],
    )


def _words(bar: ExposureBar) -> str:
    """What stands above a bar."""
    if bar.relative is None:
        return bar.difference
    return f"<b>{bar.text}</b>, {bar.difference}{f', only {bar.size}' if bar.small else ''}"


def _interval(bar: ExposureBar, ci: tuple[float, float], at: float, right: float) -> Trace:
    """The interval of a group's mean: the bar's own colour, which is softer under it."""
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "x": [min(100 * end, right) for end in ci],
        "y": [at, at],
        "line": {"color": bar.row.style.colour, "width": 3},
        "marker": {"symbol": "line-ns", "size": 11, "line": {"width": 3, "color": bar.row.style.colour}},
        "opacity": SOFT if bar.small else 1,
        "showlegend": False,
        "hovertemplate": f"{plot(bar.row.group)}: 95 % CI {interval(list(ci), 'share')} of the mean<extra></extra>",
    }


def _range(bar: ExposureBar, at: float, right: float, *, named: bool) -> Trace:
    """Between what the mean lies, whatever the unknown groups are: under the bar, in the grey of no group."""
    low, high = bar.range or (0.0, 0.0)
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": "whatever the unknown groups are",
        "showlegend": named,
        "x": [min(100 * end, right) for end in (low, high)],
        "y": [at, at],
        "line": {"color": palette.OUTSIDE, "width": 3},
        "marker": {"symbol": "line-ns", "size": 9, "line": {"width": 3, "color": palette.OUTSIDE}},
        "hovertemplate": f"{plot(bar.row.group)}: {interval([low, high], 'share')} of the mean, "
        "whatever the unknown groups are<extra></extra>",
    }


def _goes_on(right: float, at: float) -> dict[str, Any]:
    """An arrow at the end of a bar that is longer than the plot."""
    return {"x": right, "xanchor": "right", "y": at, "yref": "y", "yanchor": "middle", "text": "→", "showarrow": False}


def bounds_shares(result: Audited) -> Drawing:
    """For each group, the share of judged queries in which its exposure is below, within and above its bounds."""
    counts = bounds_counts(result)
    labels = with_glyphs(counts.rows)
    total = np.maximum(counts.below + counts.within + counts.above + counts.unknown, 1)
    parts = (
        ("below its bounds", counts.below, palette.OUTSIDE, "/"),
        ("within", counts.within, palette.FAINT, ""),
        *((("depends", counts.unknown, palette.DOMINATED, "."),) if counts.unknown.any() else ()),
        ("above its bounds", counts.above, palette.OUTSIDE, ""),
    )
    names = [plot(row.group) for row in counts.rows]
    traces = [_part(part, 100 * queries / total, labels, names, *look) for part, queries, *look in parts]
    return figure(
        traces,
        height=120 + 46 * len(labels),
        top=34,
        left=room(labels),
        legend=True,
        barmode="stack",
        uniformtext={"mode": "hide", "minsize": 10},  # a number that has no room would be drawn too small to read
        x={"title": "share of judged queries, %", "range": [0, 100]},
        y=group_axis(),
    )


def _part(
    name: str, shares: np.ndarray, labels: list[str], names: list[str], colour: str, pattern: str
) -> dict[str, Any]:
    look = {"shape": pattern, "solidity": 0.2, "fillmode": "overlay", "fgcolor": palette.LIGHT_HATCH}
    return bars(
        shares,
        labels,
        colour,
        # What is grey is the rest, and no one colour can be read on it by day and by night.
        [f"{share:.0f} %" if share >= 8 and name not in ("within", "depends") else "" for share in shares],
        name=name,
        marker={"color": colour, "pattern": look, "line": {"width": 0}},
        textposition="inside",
        insidetextanchor="middle",
        hoverinfo=None,
        customdata=names,
        hovertemplate=f"%{{customdata}}: {name} in %{{x:.1f}} % of the queries<extra></extra>",
    )


def item_histogram(bins: ItemBins) -> Drawing:
    """Items by how many times their list's mean exposure they get, with quantiles marked; what delta allows is shaded.

    Marks that are close to each other stand on lines of their own above the plot, so that their words have room.
    """
    right = float(bins.edges[-1])
    drawn: Trace = {
        "type": "bar",
        "x": (bins.edges[:-1] + bins.edges[1:]) / 2,
        "y": bins.items,
        "width": bins.edges[1] - bins.edges[0],
        "marker": {"color": palette.ACCENT, "line": {"width": 0}},
        "hovertemplate": "about %{x:.2~f} times the mean: %{y:,} items<extra></extra>",
    }
    apart = bins.high - bins.median > right / 2
    marks = ((bins.low, "5 %", 0), (bins.median, "half", 16), (bins.high, "95 %", 0 if apart else 32))
    shapes = [rule(value, width=1, dash="dot") for value, _, _ in marks]
    shapes.append(rule(1.0))
    if bins.within is not None:
        shapes.append(band(*(min(end, right) for end in bins.within)))
    return figure(
        [drawn],
        height=330,
        top=48 if apart else 64,
        bargap=0,
        x={"title": "times the list's mean exposure", "range": [0, right * 1.02], "nticks": 6},
        y={"title": "items", "showgrid": True, **whole_ticks(int(bins.items.max()))},
        shapes=shapes,
        notes=[
            note(value, f"{name}: at most {number(value)}", yshift=up, xanchor=side(value / right))
            for value, name, up in marks
        ],
    )
