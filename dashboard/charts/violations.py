"""How far the queries are from fair, and in whose favour."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from dashboard.charts.base import BAND, NEUTRAL, figure
from dashboard.charts.exposure import group_labels, shown_groups
from spofr_core.evaluation import AuditResult
from spofr_core.reporting import group_styles

BINS = 61


def violation_histograms(result: AuditResult, delta: float) -> go.Figure:
    """One histogram per group of its signed violation over the judged queries; -delta..delta is shaded."""
    summary, table = result.summary, result.table
    names = shown_groups(summary)
    labels = group_labels(names, list(summary["groups"]))
    styles = group_styles(list(summary["groups"]))
    signed = np.where(table.applicable[:, None], table.violation, np.nan)
    reach = max(float(np.nanmax(np.abs(signed), initial=0.0)), delta, 1e-6) * 1.04
    edges = np.linspace(-reach, reach, BINS + 1)
    fig = make_subplots(rows=max(len(names), 1), cols=1, shared_xaxes=True, vertical_spacing=0.04)
    for row, (name, label) in enumerate(zip(names, labels, strict=True), start=1):
        values = signed[:, table.group_names.index(name)]
        counts, _ = np.histogram(values[np.isfinite(values)], bins=edges)
        fig.add_trace(
            go.Bar(
                x=(edges[:-1] + edges[1:]) / 2,
                y=counts,
                width=edges[1] - edges[0],
                marker={"color": styles[name].colour, "line": {"width": 0}},
                name=label,
                hovertemplate=f"{label}<br>violation about %{{x:.3f}}: %{{y}} queries<extra></extra>",
            ),
            row=row,
            col=1,
        )
        fig.update_yaxes(title={"text": label}, row=row, col=1)
    fig.add_vrect(x0=-delta, x1=delta, fillcolor=BAND, line_width=0, layer="below", row="all", col=1)
    fig.add_vline(x=0, line={"color": NEUTRAL, "width": 1, "dash": "dash"}, row="all", col=1)
    base = figure(110 + 90 * len(names))
    fig.update_layout(base.layout.to_plotly_json() | {"template": None})
    fig.update_layout(bargap=0)
    fig.update_xaxes(fixedrange=True, zeroline=False, showgrid=False, range=[-reach, reach], automargin=True)
    fig.update_yaxes(fixedrange=True, zeroline=False, showgrid=False, automargin=True, nticks=3)
    fig.update_xaxes(title="signed violation (below 0: less exposure than its due)", row=max(len(names), 1), col=1)
    return fig
