"""Who gets the exposure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from dashboard.charts.base import MOST_GROUPS, NEUTRAL, figure
from dashboard.text import plot
from spofr_core.evaluation import TOLERANCE, AuditResult
from spofr_core.reporting import group_styles, number


def shown_groups(summary: Mapping[str, Any], most: int = MOST_GROUPS) -> list[str]:
    """The groups of a chart, in their order; where there are too many, those with the largest mean violation."""
    names = list(summary["groups"])
    if len(names) <= most:
        return names
    size = {name: abs(summary["groups"][name]["violation_mean"] or 0.0) for name in names}
    kept = set(sorted(names, key=lambda name: -size[name])[:most])
    return [name for name in names if name in kept]


def group_labels(names: Sequence[str], all_names: Sequence[str]) -> list[str]:
    """Glyph and name of each group; equal short forms are told apart by their place."""
    styles = group_styles(all_names)
    labels = [f'<span style="color:{styles[name].colour}">{styles[name].glyph}</span> {plot(name)}' for name in names]
    repeated = {label for label in labels if labels.count(label) > 1}
    return [f"{label} ({place + 1})" if label in repeated else label for place, label in enumerate(labels)]


def overall_exposure(summary: Mapping[str, Any]) -> float:
    """Mean exposure over all items of all lists."""
    groups = summary["groups"].values()
    items = sum(group["items"] for group in groups)
    return sum(group["items"] * (group["exposure_mean"] or 0.0) for group in groups) / max(items, 1)


def exposure_by_group(summary: Mapping[str, Any]) -> go.Figure:
    """Mean exposure per item of each group as bars, against the mean over all items."""
    names = [name for name in shown_groups(summary) if summary["groups"][name]["exposure_mean"] is not None]
    styles = group_styles(list(summary["groups"]))
    labels = group_labels(names, list(summary["groups"]))
    values = [summary["groups"][name]["exposure_mean"] for name in names]
    mean = overall_exposure(summary)
    fig = figure(
        90 + 52 * len(names),
        go.Bar(
            x=values,
            y=labels,
            orientation="h",
            width=0.62,
            marker={"color": [styles[name].colour for name in names], "line": {"width": 0}},
            text=[f"<b>{number(value)}</b>  {against(value, mean)} " for value in values],
            textposition="auto",
            insidetextanchor="end",
            insidetextfont={"color": "white"},
            cliponaxis=False,
            hoverinfo="skip",
        ),
        top=30,
    )
    fig.add_vline(x=mean, line={"color": NEUTRAL, "width": 1.5, "dash": "dash"})
    fig.add_annotation(x=mean, y=1, yref="paper", yanchor="bottom", text=f"all items {number(mean)}", showarrow=False)
    fig.update_xaxes(
        range=[0, max([*values, mean]) * 1.04 if values else 1], showgrid=False, title="mean exposure per item"
    )
    fig.update_yaxes(autorange="reversed", showgrid=False, ticklabelstandoff=6)
    return fig


def against(value: float, mean: float) -> str:
    """How far a value is from the mean, in words."""
    change = round(100 * (value / mean - 1)) if mean > 0 else 0
    return "at the mean" if change == 0 else f"{abs(change)} % {'above' if change > 0 else 'below'} the mean"


def bounds_shares(result: AuditResult) -> go.Figure:
    """For each group, the share of judged queries in which its exposure is below, within and above its bounds."""
    summary, table = result.summary, result.table
    names = shown_groups(summary)
    places = [table.group_names.index(name) for name in names]
    labels = group_labels(names, list(summary["groups"]))
    counted = table.present & table.applicable[:, None]
    total = np.maximum(counted.sum(axis=0), 1)
    with np.errstate(invalid="ignore"):
        below = (counted & (table.violation < -table.delta - TOLERANCE)).sum(axis=0) / total
        above = (counted & (table.violation > table.delta + TOLERANCE)).sum(axis=0) / total
    parts = (
        ("below its bounds", below, "#c8434b", "/"),
        ("within", 1 - below - above, "rgba(125, 136, 150, 0.35)", ""),
        ("above its bounds", above, "#2678b8", "\\"),
    )
    traces = [
        go.Bar(
            x=100 * share[places],
            y=labels,
            orientation="h",
            name=name,
            width=0.62,
            marker={
                "color": colour,
                "pattern": {
                    "shape": pattern,
                    "solidity": 0.2,
                    "fillmode": "overlay",
                    "fgcolor": "rgba(255,255,255,0.55)",
                },
                "line": {"width": 0},
            },
            text=[f"{100 * value:.0f} %" if value >= 0.08 else "" for value in share[places]],
            textposition="inside",
            insidetextanchor="middle",
            hovertemplate=f"%{{y}}: {name} in %{{x:.1f}} % of the queries<extra></extra>",
        )
        for name, share, colour, pattern in parts
    ]
    fig = figure(110 + 46 * len(names), *traces, legend=True, top=34, barmode="stack")
    fig.update_layout(legend_traceorder="normal")
    fig.update_xaxes(range=[0, 100], showgrid=False, title="share of judged queries, %")
    fig.update_yaxes(autorange="reversed", showgrid=False, ticklabelstandoff=6)
    return fig
