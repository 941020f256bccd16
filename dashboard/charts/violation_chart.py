"""How far the queries are from fair, and in whose favour."""

from __future__ import annotations

from typing import Any

import numpy as np

from dashboard.charts.drawing import Drawing, Trace, axis, band, figure, rule, shown_unit, whole_ticks, with_glyphs
from dashboard.escaping import plot
from spofr_core.reporting import Audited, violations_by_group


def violation_histograms(result: Audited, delta: float) -> Drawing:
    """One histogram per group of its signed violation over the judged queries; -delta..delta is shaded."""
    factor, unit = shown_unit(result.summary["unit"])
    bins = violations_by_group(result, min(delta, result.summary["range"]["largest"]))
    labels = with_glyphs(bins.rows)
    edges = factor * bins.edges
    reach, width = float(edges[-1]), edges[1] - edges[0]
    # One outline through the middles of all bins and of an empty one at either end: many bars are slow to draw.
    middles = np.linspace(-reach - width / 2, reach + width / 2, len(edges) + 1)
    within = min(factor * delta, reach)
    traces: list[Trace] = []
    rows: list[dict[str, Any]] = []
    for row, (group, queries) in enumerate(zip(bins.rows, bins.queries, strict=True)):
        suffix = "" if row == 0 else str(row + 1)
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": middles,
                "y": np.pad(queries, 1),
                "yaxis": f"y{suffix}",
                "fill": "tozeroy",
                "fillcolor": group.style.colour,
                "line": {"width": 0, "shape": "hvh"},
                "hovertemplate": f"{plot(group.group)}<br>about %{{x:.3~g}}{unit}: %{{y}} queries<extra></extra>",
            }
        )
        rows.append(
            {
                "domain": _row(row, len(labels)),
                **whole_ticks(int(queries.max(initial=0))),
                "nticks": 3,
                "rangemode": "tozero",
            }
        )
    lowest = f"y{len(rows)}" if len(rows) > 1 else "y"
    more: dict[str, Any] = {f"yaxis{k}": axis(**settings) for k, settings in enumerate(rows[1:], start=2)}
    return figure(
        traces,
        height=110 + 90 * max(len(rows), 1),
        hovermode="x",
        x={
            "title": f"← too little · violation{unit and ', %'} · too much →",
            "range": [-reach, reach],
            "anchor": lowest,
        },
        y=rows[0] if rows else None,
        shapes=[band(-within, within), rule(0.0, width=1)],
        notes=[_named(label, row["domain"][1]) for label, row in zip(labels, rows, strict=True)],
        **more,
    )


def _named(label: str, top: float) -> dict[str, Any]:
    """The name of a row in its upper left corner, where it has room however many rows there are."""
    corner = {"x": 0, "xref": "paper", "xanchor": "left", "y": top, "yref": "paper", "yanchor": "top"}
    return {**corner, "text": label, "showarrow": False}


def _row(row: int, rows: int) -> list[float]:
    """Part of the height that a row takes, from the top down, with a little air between rows."""
    top = 1 - row / rows
    return [top - 0.94 / rows, top]
