"""What readers were shown of each query: its largest realised violation against how often it was shown."""

from __future__ import annotations

import numpy as np
import pandas as pd

from dashboard.charts.drawing import Drawing, Trace, figure, shown_unit
from dashboard.escaping import plot
from spofr_core.fairness import Unit
from spofr_core.reporting import off_text, palette, violation_text

MOST_MARKS = 2_000
"""Queries that are drawn, those furthest off; the table has all."""
_KINDS = (
    ("holds delta", palette.ACCENT, "circle"),
    ("within delta and the bound", palette.CAUTION, "diamond"),
    ("exceeds it", palette.WARNING, "x"),
)


def shown_queries(queries: pd.DataFrame, unit: Unit = "absolute") -> Drawing:
    """A mark a query (`ShownAudit.judged`): impressions across, the violation of the group furthest off up."""
    drawn = drawn_queries(queries)
    factor, sign = shown_unit(unit)
    kinds = np.where(drawn["holds"], 0, np.where(drawn["within"], 1, 2))
    off = factor * drawn["violation"].abs().to_numpy()
    delta = factor * float(drawn["delta"].max())
    most = max(int(drawn["impressions"].max()), 3)
    traces = [
        _marks(drawn[kinds == k], off[kinds == k], kind, unit) for k, kind in enumerate(_KINDS) if (kinds == k).any()
    ]
    traces.append(
        {
            "type": "scatter",
            "mode": "lines",
            "name": "delta",
            "x": [1.7, 1.15 * most],
            "y": [delta, delta],
            "line": {"width": 1.5, "color": palette.NEUTRAL, "dash": "dash"},
            "hoverinfo": "skip",
        }
    )
    ticks = [tick for tick in (2, 5, 10, 30, 100, 300, 1000, 10_000, 100_000, 1_000_000) if tick <= 1.15 * most]
    return figure(
        traces,
        height=330,
        top=34,
        left=46,
        right=16,
        legend=True,
        x={
            "title": "impressions of the query",
            "type": "log",
            "range": [np.log10(1.7), np.log10(1.15 * most)],
            "tickvals": ticks,
            "ticktext": [f"{tick:,}" for tick in ticks],
        },
        y={
            "title": f"largest violation{sign and ', %'}",
            "range": [0, 1.08 * max(float(off.max(initial=0.0)), delta, 1e-9)],
            "nticks": 5,
            "showgrid": True,
        },
    )


def drawn_queries(queries: pd.DataFrame) -> pd.DataFrame:
    """The queries that the chart shows."""
    order = queries["violation"].abs().sort_values(ascending=False, kind="stable").index[:MOST_MARKS]
    return queries.loc[order]


def _marks(drawn: pd.DataFrame, off: np.ndarray, kind: tuple[str, str, str], unit: Unit) -> Trace:
    name, colour, symbol = kind
    columns = (drawn[column].tolist() for column in ("query", "group", "violation", "impressions", "bound"))
    said = [
        f"{plot(query, 60)}: {plot(group, 40)} {off_text(violation, unit)} over {impressions:,} impressions"
        f"{_bound(bound, unit)}"
        for query, group, violation, impressions, bound in zip(*columns, strict=True)
    ]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": drawn["impressions"].to_numpy(),
        "y": off,
        "marker": {"color": colour, "symbol": symbol, "size": 8, "opacity": 0.75},
        "customdata": said,
        "hovertemplate": "%{customdata}<extra></extra>",
    }


def _bound(bound: float, unit: Unit) -> str:
    return "" if np.isnan(bound) else f"; bound {violation_text(bound, unit)}"
