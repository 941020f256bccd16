"""What all charts have in common.

A figure is written as one plain dict and checked by Plotly once: building it step by step costs more than the solver.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

ACCENT = "#2678b8"
WARNING = "#c8434b"
NEUTRAL = "#7d8896"
BAND = "rgba(38, 120, 184, 0.15)"
FAINT = "rgba(125, 136, 150, 0.3)"
CONFIG: dict[str, Any] = {"displayModeBar": False, "scrollZoom": False, "doubleClick": False}
MOST_POINTS = 600
"""Longest line that is sent to a browser, about a point per pixel; curves with more steps are thinned, and say so."""
MOST_GROUPS = 12
"""Most groups that a chart shows; the table under it has them all."""

Trace = dict[str, Any]
_AXIS = {"fixedrange": True, "zeroline": False, "automargin": True, "showgrid": False}


def figure(
    traces: Sequence[Trace],
    *,
    height: int,
    x: dict[str, Any] | None = None,
    y: dict[str, Any] | None = None,
    shapes: Sequence[dict[str, Any]] = (),
    notes: Sequence[dict[str, Any]] = (),
    top: int = 10,
    legend: bool = False,
    legend_below: bool = False,
    **layout: Any,
) -> go.Figure:
    """A quiet figure: no grid where it does not help, no zoom that traps a scrolling finger."""
    place = {"y": -0.02, "yanchor": "top"} if legend_below else {"y": 1.02, "yanchor": "bottom"}
    return go.Figure(
        {
            "data": list(traces),
            "layout": {
                "height": height,
                "margin": {"l": 8, "r": 8, "t": top, "b": 8},
                "showlegend": legend,
                "dragmode": False,
                "hoverlabel": {"align": "left"},
                "legend": {"orientation": "h", "x": 0, "traceorder": "normal", **place},
                "xaxis": axis(**(x or {})),
                "yaxis": axis(**(y or {})),
                "shapes": list(shapes),
                "annotations": list(notes),
                **layout,
            },
        }
    )


def axis(title: str = "", **settings: Any) -> dict[str, Any]:
    """An axis that stays where it is."""
    return {**_AXIS, "title": {"text": title}, **settings}


def group_axis(**settings: Any) -> dict[str, Any]:
    """A vertical axis of groups, the first at the top."""
    return {"autorange": "reversed", "ticklabelstandoff": 6, **settings}


def rule(at: float, *, colour: str = NEUTRAL, width: float = 1.5, dash: str = "dash") -> dict[str, Any]:
    """A vertical line through the whole plot."""
    line = {"color": colour, "width": width, "dash": dash}
    return {"type": "line", "xref": "x", "yref": "paper", "x0": at, "x1": at, "y0": 0, "y1": 1, "line": line}


def band(low: float, high: float) -> dict[str, Any]:
    """A shaded strip through the whole plot."""
    edges = {"x0": low, "x1": high, "y0": 0, "y1": 1}
    return {
        "type": "rect",
        "xref": "x",
        "yref": "paper",
        "fillcolor": BAND,
        "line": {"width": 0},
        "layer": "below",
        **edges,
    }


def note(at: float, text: str, **settings: Any) -> dict[str, Any]:
    """Words above the plot, at a place on the x axis."""
    place = {"x": at, "xref": "x", "y": 1, "yref": "paper", "yanchor": "bottom"}
    return {**place, "text": text, "showarrow": False, **settings}


def bars(values: Any, labels: Sequence[str], colours: Any, text: Sequence[str], **settings: Any) -> Trace:
    """Horizontal bars with their values written inside, from the left, where no reference line crosses them."""
    return {
        "type": "bar",
        "orientation": "h",
        "x": values,
        "y": list(labels),
        "width": 0.62,
        "marker": {"color": colours, "line": {"width": 0}},
        "text": list(text),
        "textposition": "auto",
        "insidetextanchor": "start",
        "insidetextfont": {"color": "white"},
        "textangle": 0,
        "cliponaxis": False,
        "hoverinfo": "skip",
        **settings,
    }
