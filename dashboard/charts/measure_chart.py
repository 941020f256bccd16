"""How a measure is spread over the queries."""

from __future__ import annotations

import numpy as np
import pandas as pd

from dashboard.charts.drawing import Drawing, figure, note, rule, side, whole_ticks
from dashboard.escaping import plot
from spofr_core.reporting import number, palette

BINS = 40


def measure_histogram(frame: pd.DataFrame, label: str) -> Drawing:
    """Histogram of the column `value`, a row per query, with a line at its mean; NaN is left out."""
    values = frame["value"].to_numpy(dtype=np.float64)
    values = values[np.isfinite(values)]
    counts, edges = np.histogram(values, bins=BINS)
    width = edges[1] - edges[0]
    means = [float(values.mean())] if len(values) else []
    # One outline through the middles of all bins and of an empty one at either end: many bars are slow to draw.
    middles = np.linspace(edges[0] - width / 2, edges[-1] + width / 2, BINS + 2)
    return figure(
        [
            {
                "type": "scatter",
                "mode": "lines",
                "x": middles,
                "y": np.pad(counts, 1),
                "fill": "tozeroy",
                "fillcolor": palette.ACCENT,
                "line": {"width": 0, "shape": "hvh"},
                "hovertemplate": "about %{x:.3f}: %{y} queries<extra></extra>",
            }
        ],
        height=260,
        top=30,
        x={"title": plot(label, 60)},
        y={"title": "queries", "rangemode": "tozero", **whole_ticks(int(counts.max(initial=0)))},
        shapes=[rule(mean) for mean in means],
        notes=[
            note(mean, f"mean {number(mean)}", xanchor=side((mean - edges[0]) / (edges[-1] - edges[0])))
            for mean in means
        ],
    )
