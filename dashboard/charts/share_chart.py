"""How many queries hold delta, whatever delta is."""

from __future__ import annotations

import numpy as np

from dashboard.charts.drawing import ACCENT, BAND, MOST_POINTS, Drawing, Trace, figure, note, rule
from spofr_core.evaluation import AuditResult
from spofr_core.reporting import number, percent


def share_curve(result: AuditResult, delta: float) -> Drawing:
    """Share of judged queries that hold delta, against delta, with its 95 % band and the chosen delta marked."""
    x, share, lower, upper = _steps(result)
    right = max(result.summary["range"]["largest"], delta, 1e-9) * 1.02
    reached = 100 * float(result.share_at(np.array([delta]))[0])
    edge = {"type": "scatter", "mode": "lines", "x": x, "line": {"width": 0, "shape": "hv"}, "hoverinfo": "skip"}
    curve: Trace = {
        "type": "scatter",
        "mode": "lines",
        "x": x,
        "y": share,
        "line": {"width": 2, "shape": "hv", "color": ACCENT},
        "hovertemplate": "delta %{x:.3f}: %{y:.1f} % hold it<extra></extra>",
    }
    chosen: Trace = {
        "type": "scatter",
        "mode": "markers",
        "x": [delta],
        "y": [reached],
        "marker": {"size": 12, "color": ACCENT, "line": {"width": 2, "color": "white"}},
        "hoverinfo": "skip",
    }
    return figure(
        [{**edge, "y": upper}, {**edge, "y": lower, "fill": "tonexty", "fillcolor": BAND}, curve, chosen],
        height=320,
        top=30,
        x={"title": "delta", "range": [0, right]},
        y={
            "title": "queries that hold it, %",
            "range": [0, 104],
            "tickvals": [0, 25, 50, 75, 100],
            "showgrid": True,
        },
        shapes=[rule(delta)],
        notes=[note(delta, f"<b>delta {number(delta)}: {percent(reached / 100)}</b>", xanchor=_side(delta / right))],
    )


def is_thinned(result: AuditResult) -> bool:
    """Whether the curve on the screen has fewer steps than the data."""
    return len(result.fair_share()) > MOST_POINTS


def _side(place: float) -> str:
    """The side of its line on which a label has room; `place` runs from 0, the left end, to 1."""
    return "left" if place < 0.15 else "right" if place > 0.85 else "center"


def _steps(result: AuditResult) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The curve in per cent from (0, 0) to the largest delta that matters, thinned to what a screen can show."""
    steps = result.fair_share()
    if len(steps) > MOST_POINTS:
        kept = np.unique(np.linspace(0, len(steps) - 1, MOST_POINTS).round().astype(int))
        steps = steps.iloc[kept]
    deltas = steps["delta"].to_numpy()
    last = max(result.summary["range"]["largest"], float(deltas.max(initial=0.0))) * 1.02

    def percents(name: str) -> np.ndarray:
        values = 100 * steps[name].to_numpy()
        return np.concatenate([[0.0], values, values[-1:]])

    x = np.concatenate([[0.0], deltas, [last] if len(deltas) else []])
    return x, percents("share"), percents("lower"), percents("upper")
