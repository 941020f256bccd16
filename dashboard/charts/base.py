"""What all charts have in common."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

ACCENT = "#2678b8"
NEUTRAL = "#7d8896"
BAND = "rgba(38, 120, 184, 0.15)"
CONFIG: dict[str, Any] = {"displayModeBar": False, "scrollZoom": False, "doubleClick": False}
MOST_POINTS = 2000
"""Longest line that is sent to a browser; curves with more steps are thinned, and say so."""
MOST_GROUPS = 12
"""Most groups that a chart shows; the table under it has them all."""


def figure(height: int, *traces: Any, left: int = 8, top: int = 10, legend: bool = False, **layout: Any) -> go.Figure:
    """An empty, quiet figure: no grid where it does not help, no zoom that traps a scrolling finger."""
    fig = go.Figure(data=list(traces))
    fig.update_layout(
        height=height,
        margin={"l": left, "r": 8, "t": top, "b": 8},
        showlegend=legend,
        dragmode=False,
        hoverlabel={"align": "left"},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "title": None},
        **layout,
    )
    fig.update_xaxes(fixedrange=True, zeroline=False, automargin=True)
    fig.update_yaxes(fixedrange=True, zeroline=False, automargin=True)
    return fig
