"""What a dataset holds."""

from __future__ import annotations

import numpy as np

from dashboard.charts.drawing import Drawing, bars, figure, group_axis, room, whole_ticks, with_glyphs
from spofr_core.data import RankingDataset
from spofr_core.reporting import MOST_GROUPS, group_rows, number, palette

MOST_BARS = 60


def group_counts(data: RankingDataset) -> Drawing:
    """Items of each group, with the mean relevance where labels are known; the largest groups if there are many."""
    sizes = data.group_sizes
    largest = sorted(sizes, key=lambda name: -sizes[name])[:MOST_GROUPS]
    names = [name for name in data.group_names if name in largest]
    rows = group_rows(names, data.group_names)
    labels = with_glyphs(rows)
    drawn = bars(
        [sizes[name] for name in names],
        labels,
        [row.style.colour for row in rows],
        [f" {_counted(data, name)}" for name in names],
    )
    return figure(
        [drawn],
        height=70 + 44 * len(names),
        left=room(labels),
        x={"title": "items", "range": [0, max(sizes.values(), default=1) * 1.04]},
        y=group_axis(),
    )


def _counted(data: RankingDataset, name: str) -> str:
    mine = data.groups == data.group_names.index(name)
    size = int(mine.sum())
    if data.relevance is None or not size:
        return f"{size:,}"
    return f"<b>{size:,}</b>  mean relevance {number(float(data.relevance[mine].mean()))}"


def list_lengths(data: RankingDataset) -> Drawing:
    """Queries by list length, in at most 60 bars."""
    lengths = data.list_lengths
    low, high = int(lengths.min(initial=1 << 60)), int(lengths.max(initial=1))
    step = max(1, -(-(high - low + 1) // MOST_BARS))
    edges = np.arange(low, high + step + 1, step)
    counts, _ = np.histogram(lengths, bins=edges)
    drawn = {
        "type": "bar",
        "x": edges[:-1] + (step - 1) / 2,
        "y": counts,
        "width": 0.9 * step,
        "marker": {"color": palette.ACCENT, "line": {"width": 0}},
        "customdata": [str(a) if step == 1 else f"{a} to {a + step - 1}" for a in edges[:-1]],
        "hovertemplate": "%{customdata} items: %{y} queries<extra></extra>",
    }
    return figure(
        [drawn],
        height=260,
        x={"title": "items in the list", "range": [low - step, high + step], **whole_ticks(high - low + 2 * step)},
        y={"title": "queries", "showgrid": True, **whole_ticks(int(counts.max(initial=0)))},
    )
