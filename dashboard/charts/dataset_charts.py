"""What a dataset holds."""

from __future__ import annotations

import numpy as np

from dashboard.charts.drawing import (
    BAR,
    EDGE,
    GAP,
    LINE,
    TICKS,
    TITLE,
    Drawing,
    bars,
    figure,
    row_note,
    whole_ticks,
    with_glyphs,
)
from spofr_core.data import RankingDataset
from spofr_core.reporting import MOST_GROUPS, group_rows, number, palette

MOST_BARS = 60


def group_counts(data: RankingDataset) -> Drawing:
    """Items of each group, with the mean relevance where labels are known; the largest groups if there are many.

    Words stand above the bars: inside or beside them they would be cut off on a telephone.
    """
    sizes = data.group_sizes
    largest = sorted(sizes, key=lambda name: -sizes[name])[:MOST_GROUPS]
    names = [name for name in data.group_names if name in largest]
    rows = group_rows(names, data.group_names)
    row = LINE + BAR + GAP
    drawn = bars(
        [sizes[name] for name in names],
        [],
        [row.style.colour for row in rows],
        [],
        y=[place + (LINE + BAR / 2) / row for place in range(len(names))],
        width=BAR / row,
    )
    said = zip(with_glyphs(rows), names, strict=True)
    return figure(
        [drawn],
        height=TICKS + TITLE + row * len(names) + EDGE,
        left=EDGE,
        x={"title": "items", "range": [0, max(sizes.values(), default=1) * 1.04], "nticks": 6, "tickformat": ",d"},
        y={"range": [len(names), 0], "visible": False},
        notes=[row_note(place, f"{label}  {_counted(data, name)}") for place, (label, name) in enumerate(said)],
    )


def _counted(data: RankingDataset, name: str) -> str:
    mine = data.groups == data.group_names.index(name)
    size = int(mine.sum())
    if data.relevance is None or not size:
        return f"<b>{size:,}</b>"
    return f"<b>{size:,}</b>, mean relevance {number(float(data.relevance[mine].mean()))}"


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
