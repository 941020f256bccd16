"""What a dataset holds."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from dashboard.charts.base import ACCENT, MOST_GROUPS, figure
from dashboard.charts.exposure import group_labels
from spofr_core.data import RankingDataset
from spofr_core.reporting import group_styles, number


def group_counts(data: RankingDataset) -> go.Figure:
    """Items of each group, with the mean relevance where labels are known; the largest groups if there are many."""
    sizes = data.group_sizes
    names = sorted(sizes, key=lambda name: -sizes[name])[:MOST_GROUPS]
    names = [name for name in data.group_names if name in names]
    styles = group_styles(data.group_names)
    totals = (
        None if data.relevance is None else np.bincount(data.groups, weights=data.relevance, minlength=data.n_groups)
    )

    def label(name: str) -> str:
        text = f" {sizes[name]:,}"
        if totals is None or not sizes[name]:
            return text
        return f"{text}, mean relevance {number(totals[data.group_names.index(name)] / sizes[name])}"

    fig = figure(
        70 + 44 * len(names),
        go.Bar(
            x=[sizes[name] for name in names],
            y=group_labels(names, data.group_names),
            orientation="h",
            width=0.62,
            marker={"color": [styles[name].colour for name in names], "line": {"width": 0}},
            text=[label(name) for name in names],
            textposition="outside",
            cliponaxis=False,
            hoverinfo="skip",
        ),
    )
    fig.update_xaxes(range=[0, max(sizes.values(), default=1) * 1.45], showgrid=False, title="items")
    fig.update_yaxes(autorange="reversed", showgrid=False, ticklabelstandoff=6)
    return fig


def list_lengths(data: RankingDataset) -> go.Figure:
    """Queries by list length, in at most 60 bars."""
    lengths = data.list_lengths
    low, high = int(lengths.min(initial=1)), int(lengths.max(initial=1))
    step = max(1, -(-(high - low + 1) // 60))
    edges = np.arange(low, high + step + 1, step)
    counts, _ = np.histogram(lengths, bins=edges)
    labels = [str(a) if step == 1 else f"{a} to {a + step - 1}" for a in edges[:-1]]
    fig = figure(
        260,
        go.Bar(
            x=edges[:-1] + (step - 1) / 2,
            y=counts,
            width=0.9 * step,
            marker={"color": ACCENT, "line": {"width": 0}},
            customdata=labels,
            hovertemplate="%{customdata} items: %{y} queries<extra></extra>",
        ),
    )
    fig.update_xaxes(title="items in the list", showgrid=False)
    fig.update_yaxes(title="queries", nticks=4)
    return fig
