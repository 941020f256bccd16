"""What readers have been shown so far: a schedule beside independent draws."""

from __future__ import annotations

import pandas as pd

from dashboard.charts.drawing import Drawing, Trace, figure, in_unit
from spofr_core.fairness import Unit
from spofr_core.reporting import palette


def served_violations(frame: pd.DataFrame, delta: float, unit: Unit = "absolute") -> Drawing:
    """Largest violation of what was shown against impressions (`served_frame`), with delta and the bound as lines.

    Draws are a band: nine of ten series of them lie in it.
    """
    at = frame["impressions"].to_numpy()
    top = 1.06 * float(max(frame["to"].max(), frame["schedule"].max(), delta, 1e-9))
    line: Trace = {"type": "scatter", "mode": "lines", "x": at}
    edge: Trace = {**line, "line": {"width": 0}, "hoverinfo": "skip"}
    digits = ".1%" if unit == "share" else ".3~g"

    def curve(name: str, column: str, **look: object) -> Trace:
        said = f"{name}: %{{y:{digits}}} after %{{x:,d}}<extra></extra>"
        return {**line, "name": name, "y": frame[column].to_numpy(), "line": look, "hovertemplate": said}

    traces: list[Trace] = [
        {**edge, "y": frame["to"].to_numpy(), "showlegend": False},
        {
            **edge,
            "name": "dice, 9 of 10",
            "y": frame["draws from"].to_numpy(),
            "fill": "tonexty",
            "fillcolor": palette.see_through(palette.WARNING, 0.2),
        },
        curve("schedule", "schedule", width=2.5, color=palette.ACCENT),
        curve("its bound", "bound", width=2, color=palette.EXPECTED, dash="dot"),
        {
            **line,
            "name": "delta",
            "x": at[[0, -1]],
            "y": [delta, delta],
            "line": {"width": 1.5, "color": palette.NEUTRAL, "dash": "dash"},
            "hoverinfo": "skip",
        },
    ]
    return figure(
        traces,
        height=310,
        top=34,
        left=46,
        right=24,
        legend=True,
        x={
            "title": "impressions",
            "type": "log",
            "tickvals": [1, 10, 100, 1000],
            "ticktext": ["1", "10", "100", "1,000"],
        },
        y={**in_unit("", unit, top), "title": "largest violation", "range": [0, top], "nticks": 5, "showgrid": True},
    )
