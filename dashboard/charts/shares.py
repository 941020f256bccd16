"""How many queries hold delta, whatever delta is."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from dashboard.charts.base import ACCENT, BAND, MOST_POINTS, NEUTRAL, figure
from spofr_core.evaluation import AuditResult
from spofr_core.reporting import number, percent


def share_curve(result: AuditResult, delta: float, *, repaired: AuditResult | None = None) -> go.Figure:
    """Share of judged queries that hold delta, against delta, with its 95 % band and the chosen delta marked."""
    x, share, lower, upper = _steps(result)
    right = max(result.summary["range"]["largest"], delta) * 1.02
    fig = figure(
        320,
        go.Scatter(x=x, y=upper, mode="lines", line={"width": 0, "shape": "hv"}, hoverinfo="skip"),
        go.Scatter(
            x=x,
            y=lower,
            mode="lines",
            line={"width": 0, "shape": "hv"},
            fill="tonexty",
            fillcolor=BAND,
            hoverinfo="skip",
        ),
        go.Scatter(
            x=x,
            y=share,
            mode="lines",
            line={"width": 2, "shape": "hv", "color": ACCENT},
            name="as ranked now",
            hovertemplate="delta %{x:.3f}: %{y:.1f} % hold it<extra></extra>",
        ),
    )
    reached = 100 * float(result.share_at(np.array([delta]))[0])
    fig.add_vline(x=delta, line={"color": NEUTRAL, "width": 1.5, "dash": "dash"})
    fig.add_trace(
        go.Scatter(
            x=[delta],
            y=[reached],
            mode="markers+text",
            marker={"size": 12, "color": ACCENT, "symbol": "circle", "line": {"width": 2, "color": "white"}},
            text=[f"delta {number(delta)}: {percent(reached / 100)}"],
            textposition="bottom right" if delta < right * 0.6 else "bottom left",
            name="chosen",
            hoverinfo="skip",
        )
    )
    fig.update_xaxes(range=[0, right], title="delta", showgrid=False)
    fig.update_yaxes(range=[0, 104], title="queries that hold it, %", tickvals=[0, 25, 50, 75, 100])
    return fig


def _steps(result: AuditResult) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The curve in per cent from (0, 0) to the largest delta that matters, thinned to what a screen can show."""
    steps = result.fair_share()
    if len(steps) > MOST_POINTS:
        kept = np.unique(np.linspace(0, len(steps) - 1, MOST_POINTS).round().astype(int))
        steps = steps.iloc[kept]
    columns = [steps[name].to_numpy() for name in ("delta", "share", "lower", "upper")]
    last = max(result.summary["range"]["largest"], float(columns[0].max(initial=0.0))) * 1.02
    x = np.concatenate([[0.0], columns[0], [last]])
    scaled = (np.concatenate([[0.0], 100 * c, [100 * c[-1] if len(c) else 0.0]]) for c in columns[1:])
    share, lower, upper = scaled
    return x, share, lower, upper


def is_thinned(result: AuditResult) -> bool:
    """Whether the curve on the screen has fewer steps than the data."""
    return len(result.fair_share()) > MOST_POINTS
