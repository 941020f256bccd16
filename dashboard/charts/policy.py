"""One query: its lottery over rankings, and what that does to exposure."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from dashboard.charts.base import ACCENT, NEUTRAL, figure
from dashboard.charts.exposure import group_labels
from dashboard.text import plot
from spofr_core.policy import Policy
from spofr_core.reporting import group_styles, number, percent

MOST_POSITIONS = 40
"""Positions that the lottery shows; the download has them all."""
MOST_CELLS = 60
"""Rows and columns of the heat map."""


def lottery(policy: Policy, all_groups: Sequence[str]) -> go.Figure:
    """The rankings of the lottery as columns of items, most probable first, after the plain sort by score."""
    styles = group_styles(all_groups)
    shown = min(len(policy.scores), MOST_POSITIONS)
    order = np.argsort(-policy.probabilities, kind="stable")
    columns = [by_score(policy), *policy.rankings[order]]
    heads = ["<b>by score</b><br>as ranked now"]
    heads += [
        f"<b>{percent(float(policy.probabilities[k]))}</b><br>ranking {place + 1}" for place, k in enumerate(order)
    ]
    items = [plot(name, 14) for name in policy.item_ids.tolist()]
    fig = figure(120 + 26 * shown, legend=True, top=84)
    for group in all_groups:
        where = [
            (column, position)
            for column, ranking in enumerate(columns)
            for position in range(shown)
            if policy.groups[ranking[position]] == group
        ]
        if not where:
            continue
        named = [columns[column][position] for column, position in where]
        fig.add_trace(
            go.Scatter(
                x=[column for column, _ in where],
                y=[position + 1 for _, position in where],
                mode="markers+text",
                name=plot(group),
                marker={"symbol": styles[group].marker, "size": 13, "color": styles[group].colour},
                text=[f" {items[k]}" for k in named],
                textposition="middle right",
                customdata=[
                    [items[k], number(float(policy.scores[k])), number(float(policy.exposure[k]))] for k in named
                ],
                hovertemplate="%{customdata[0]}: score %{customdata[1]}, exposure %{customdata[2]}<extra></extra>",
                cliponaxis=False,
            )
        )
    for column, head in enumerate(heads):
        fig.add_annotation(
            x=column,
            y=1,
            yref="paper",
            yanchor="bottom",
            xanchor="left",
            xshift=-8,
            align="left",
            text=head,
            showarrow=False,
        )
    fig.add_vline(x=0.8, line={"color": NEUTRAL, "width": 1, "dash": "dot"})
    fig.update_layout(legend={"y": -0.02, "yanchor": "top"})
    fig.update_xaxes(range=[-0.2, len(columns) - 0.1], visible=False)
    fig.update_yaxes(range=[shown + 0.7, 0.3], title="position", showgrid=False, dtick=1 if shown <= 25 else 5, tick0=1)
    return fig


def by_score(policy: Policy) -> NDArray[np.int64]:
    """Item indices in the order of the scores; equal scores stay in the order of the data."""
    return np.argsort(-policy.scores, kind="stable")


def heat_map(policy: Policy, all_groups: Sequence[str]) -> go.Figure:
    """Probability of each item at each position; items from the highest score down."""
    shown = min(len(policy.scores), MOST_CELLS)
    order = by_score(policy)[:shown]
    styles = group_styles(all_groups)
    labels = [f"{plot(policy.item_ids[k], 14)} {styles[policy.groups[k]].glyph}" for k in order]
    matrix = policy.matrix[order][:, :shown]
    fig = figure(
        110 + max(18, 560 // shown) * shown,
        go.Heatmap(
            z=np.where(matrix > 1e-12, matrix, np.nan),
            x=np.arange(1, shown + 1),
            y=np.arange(shown),
            zmin=0,
            zmax=1,
            xgap=1,
            ygap=1,
            colorscale=[[0, "rgba(38,120,184,0.15)"], [1, "rgba(31,95,153,1)"]],
            colorbar={"title": {"text": "probability"}, "tickformat": ".0%", "thickness": 12, "outlinewidth": 0},
            customdata=np.repeat(np.array(labels, dtype=object)[:, None], shown, axis=1),
            hovertemplate="%{customdata} at position %{x}: %{z:.1%}<extra></extra>",
        ),
    )
    fig.update_xaxes(title="position", showgrid=False, constrain="domain")
    fig.update_yaxes(
        tickvals=np.arange(shown),
        ticktext=labels,
        autorange="reversed",
        showgrid=False,
        title="items, highest score first",
    )
    return fig


def exposure_in_bounds(
    policies: Sequence[tuple[str, Policy]], sorted_exposure: dict[str, float], all_groups: Sequence[str]
) -> go.Figure:
    """Mean exposure of each group against its bounds: sorted by score, and under each of the given policies."""
    first = policies[0][1]
    names = [name for name in all_groups if name in first.group_exposure]
    labels = group_labels(names, all_groups)
    styles = group_styles(all_groups)
    fig = figure(120 + 52 * len(names) * len(policies), legend=True, top=34)
    rows = []
    for title, policy in policies:
        for name, label in zip(names, labels, strict=True):
            low, high = policy.bounds[name]
            rows.append((label if len(policies) == 1 else f"{label}, {title}", name, policy, low, high))
    for text, name, policy, low, high in rows:
        if math.isfinite(low) and math.isfinite(high):
            fig.add_trace(
                go.Scatter(
                    x=[max(low, 0.0), high],
                    y=[text, text],
                    mode="lines",
                    line={"width": 16, "color": "rgba(125, 136, 150, 0.28)"},
                    name="allowed",
                    legendgroup="allowed",
                    showlegend=text == rows[0][0],
                    hovertemplate=f"{text}: {number(low)} to {number(high)} is allowed<extra></extra>",
                )
            )
        marks = (
            ("sorted by score", sorted_exposure[name], f"{styles[name].marker}-open"),
            ("policy", policy.group_exposure[name], styles[name].marker),
        )
        for what, value, symbol in marks:
            fig.add_trace(
                go.Scatter(
                    x=[value],
                    y=[text],
                    mode="markers",
                    marker={"symbol": symbol, "size": 13, "color": styles[name].colour, "line": {"width": 2}},
                    name=f"{what} ({'open' if symbol.endswith('open') else 'filled'})",
                    legendgroup=what,
                    showlegend=text == rows[0][0],
                    hovertemplate=f"{text}, {what}: {number(value)}<extra></extra>",
                )
            )
    fig.update_xaxes(title="mean exposure per item of the group", showgrid=False)
    fig.update_yaxes(autorange="reversed", showgrid=False, ticklabelstandoff=6)
    return fig


def sampled_histogram(
    values: NDArray[np.float64], weights: NDArray[np.float64], expected: float, delta: float
) -> go.Figure:
    """Largest violation of what readers really see, against that of the policy in expectation, and delta."""
    top = max(float(values.max(initial=0.0)), delta, expected, 1e-9) * 1.05
    edges = np.linspace(0, top, 41)
    shares, _ = np.histogram(values, bins=edges, weights=weights)
    middle = (edges[:-1] + edges[1:]) / 2
    fig = figure(
        290,
        go.Bar(
            x=middle,
            y=100 * shares,
            width=edges[1] - edges[0],
            marker={"color": [ACCENT if m <= delta else "#c8434b" for m in middle], "line": {"width": 0}},
            hovertemplate="violation about %{x:.3f}: %{y:.1f} %<extra></extra>",
        ),
        top=40,
        bargap=0,
    )
    fig.add_vline(x=delta, line={"color": NEUTRAL, "width": 1.5, "dash": "dash"})
    fig.add_annotation(x=delta, y=1, yref="paper", yanchor="bottom", text=f"delta {number(delta)}", showarrow=False)
    fig.add_vline(x=expected, line={"color": "#12936c", "width": 1.5})
    fig.add_annotation(
        x=expected,
        y=1,
        yref="paper",
        yanchor="bottom",
        yshift=16,
        text=f"in expectation {number(expected)}",
        showarrow=False,
    )
    fig.update_xaxes(title="largest violation of what was shown", range=[0, top], showgrid=False)
    fig.update_yaxes(title="share of periods, %", nticks=4)
    return fig
