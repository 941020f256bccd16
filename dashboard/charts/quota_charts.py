"""What every list that is drawn has to hold: counts in prefixes within their limits, and how often lists break them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from dashboard.charts.drawing import (
    TICKS,
    TITLE,
    Drawing,
    Trace,
    axis,
    bars,
    figure,
    group_axis,
    room,
    whole_ticks,
    with_glyphs,
)
from dashboard.escaping import plot
from spofr_core.policy import most_probable
from spofr_core.reporting import GroupRow, group_rows, outside_limits, palette, percent

MOST_PLACES = 60
MOST_PANELS = 6
MOST_LINES = 4
"""Positions, groups and rankings that the chart of counts shows; its table has them all."""
_PANEL = 150
_NAME = 22
"""Pixels in height of a panel, and of the name above it."""
_DASHES = ("solid", "dash", "dot", "dashdot")


def counts_in_prefixes(
    frame: pd.DataFrame, probabilities: Sequence[float], deepest: int, all_groups: Sequence[str]
) -> Drawing:
    """A panel for each group: how many of it stand among the first k positions, against what the quota allows.

    Parameters
    ----------
    frame : DataFrame
        Of `prefix_frame`.
    probabilities : sequence of float
        Of its rankings, in their order.
    deepest : int
        The longest prefix that the quota limits.
    all_groups : sequence of str
        Of the data, which give each group its colour and shape.
    """
    shown = frame[frame["first"] <= min(deepest, MOST_PLACES)]
    drawn_groups = panel_groups(frame)
    rows = group_rows([name for name in all_groups if name in drawn_groups], all_groups)
    titles = [(f"ranking {k + 1}", probabilities[k]) for k in most_probable(probabilities, MOST_LINES).tolist()]
    traces: list[Trace] = []
    scales: list[dict[str, Any]] = []
    for place, row in enumerate(rows):
        part = shown[shown["group"] == row.group]
        drawn = _panel(part, row, titles)
        told = {trace["name"] for trace in traces}
        scale = {"yaxis": "y" if place == 0 else f"y{place + 1}"}
        traces += [{"showlegend": trace["name"] not in told} | trace | scale for trace in drawn]
        top = int(part[["at most", "plain sort", *(title for title, _ in titles)]].to_numpy().max(initial=1))
        scales.append({"domain": _domain(place, len(rows)), **whole_ticks(top), "range": [-0.4, top + 0.6]})
    lowest = f"y{len(scales)}" if len(scales) > 1 else "y"
    last = int(shown["first"].max())
    more: dict[str, Any] = {f"yaxis{k}": axis(**scale) for k, scale in enumerate(scales[1:], start=2)}
    plotted = _PANEL * len(rows)
    # Two entries of the legend stand side by side on a telephone; it lies above the name of the first panel.
    above = 20 * math.ceil((len(titles) + 3) / 2)
    return figure(
        traces,
        height=plotted + above + _NAME + TICKS + TITLE,
        top=above + _NAME,
        legend=True,
        legend_at=1 + _NAME / plotted,
        x={"title": "among the first k positions", "range": [0.5, last + 0.5], "anchor": lowest}
        | ({"dtick": 1} if last <= 15 else whole_ticks(last)),
        y=scales[0],
        notes=[_named(label, scale["domain"][1]) for label, scale in zip(with_glyphs(rows), scales, strict=True)],
        **more,
    )


def panel_groups(frame: pd.DataFrame) -> list[str]:
    """Groups of a `prefix_frame` that are drawn: if there are too many, those that a sort by score puts outside their
    limits in most prefixes."""
    names = list(dict.fromkeys(frame["group"]))
    outside = outside_limits(frame, "plain sort")["group"].value_counts()
    first = sorted(names, key=lambda name: -int(outside.get(name, 0)))[:MOST_PANELS]
    return [name for name in names if name in first]


def _panel(part: pd.DataFrame, row: GroupRow, titles: Sequence[tuple[str, float]]) -> list[Trace]:
    """One group: its band, the sort by score and where it leaves the band, and the rankings of the lottery."""
    at = part["first"].to_numpy()
    named = plot(row.group)
    line: Trace = {"type": "scatter", "mode": "lines", "x": at}
    edge: Trace = {**line, "line": {"width": 0, "shape": "hvh"}, "hoverinfo": "skip"}
    limits = part[["at least", "at most"]].to_numpy()

    def said(what: str) -> str:
        allowed = "%{customdata[0]} to %{customdata[1]} allowed"
        return f"{what}: %{{y:.0f}} of {named} among the first %{{x}}, {allowed}<extra></extra>"

    traces: list[Trace] = [
        {**edge, "y": limits[:, 0] - 0.3, "name": "", "showlegend": False},
        {**edge, "y": limits[:, 1] + 0.3, "name": "allowed", "fill": "tonexty", "fillcolor": palette.FAINT},
        {
            **line,
            "y": part["plain sort"].to_numpy(),
            "name": "plain sort",
            "line": {"width": 1.5, "color": palette.NEUTRAL, "shape": "hvh", "dash": "dot"},
            "customdata": limits,
            "hovertemplate": said("plain sort"),
        },
    ]
    for place, (title, probability) in enumerate(titles):
        # Rankings of a lottery agree in most places: a little apart, each can be seen.
        aside = 0.09 * (place - (len(titles) - 1) / 2)
        look = {"width": 2.5, "color": row.style.colour, "shape": "hvh", "dash": _DASHES[place % len(_DASHES)]}
        traces.append(
            {
                **line,
                "y": part[title].to_numpy() + aside,
                "name": f"{title} ({percent(probability)})",
                "line": look,
                "customdata": limits,
                "hovertemplate": said(title),
            }
        )
    outside = outside_limits(part, "plain sort")
    marks: Trace = {
        "type": "scatter",
        "mode": "markers",
        "x": outside["first"].to_numpy(),
        "y": outside["plain sort"].to_numpy(),
        "name": "not allowed",
        "marker": {"symbol": "x", "size": 8, "color": palette.WARNING},
        "hoverinfo": "skip",
    }
    return [*traces, marks] if len(outside) else traces


def _named(label: str, top: float) -> dict[str, Any]:
    """The name of a panel above its upper left corner."""
    corner = {"x": 0, "xref": "paper", "xanchor": "left", "y": top, "yref": "paper", "yanchor": "bottom"}
    return {**corner, "text": f"{label}: how many", "showarrow": False}


def _domain(place: int, panels: int) -> list[float]:
    """Part of the height that a panel takes, from the top down, with room for the name of the next one."""
    top = 1 - place / panels
    return [max(top - (1 - (_NAME + 6) / _PANEL) / panels, 0.0) if place < panels - 1 else 0.0, top]


def shares_that_break(rows: Sequence[tuple[str, float, Sequence[float] | None]]) -> Drawing:
    """How many of the lists that are drawn break the quota, a bar for each way to rank, with its 95 % interval.

    Parameters
    ----------
    rows : sequence of (title, share, interval or None)
    """
    titles = [plot(title) for title, _, _ in rows]
    shares = np.array([100 * share for _, share, _ in rows])
    ends = np.array([max(100 * share, 100 * ci[1] if ci else 0.0) for _, share, ci in rows])
    drawn = bars(shares, titles, palette.WARNING, [""] * len(rows))
    # Beyond the interval, where no line crosses them.
    words: Trace = {
        "type": "scatter",
        "mode": "text",
        "x": ends,
        "y": titles,
        "text": [f" {percent(share)}" if share > 0 else " none" for _, share, _ in rows],
        "textposition": "middle right",
        "cliponaxis": False,
        "hoverinfo": "skip",
    }
    intervals: list[Trace] = [
        {
            "type": "scatter",
            "mode": "lines",
            "x": [100 * ci[0], 100 * ci[1]],
            "y": [title, title],
            "line": {"width": 2, "color": palette.NEUTRAL},
            "hoverinfo": "skip",
        }
        for title, (_, _, ci) in zip(titles, rows, strict=True)
        if ci
    ]
    return figure(
        [drawn, *intervals, words],
        height=70 + 42 * len(rows),
        left=room(titles),
        x={
            "title": "lists drawn that break it, %",
            "range": [0, max(1.25 * float(ends.max(initial=0.0)), 1.0)],
            "nticks": 5,
        },
        y=group_axis(type="category"),
    )
