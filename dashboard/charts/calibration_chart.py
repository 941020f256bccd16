"""What the score says, and what happened: the reliability of scores, and the price of a repair if they meant more."""

from __future__ import annotations

import pandas as pd

from dashboard.charts.drawing import By, Drawing, Trace, bars, figure, numbered, room
from spofr_core.reporting import palette, percent


def reliability_chart(table: pd.DataFrame, by: By = "score") -> Drawing:
    """Mean relevance against the mean score of items with about the same score, with 95 % intervals; dashed, what the
    calibration makes of the scores."""
    if by == "rank":
        ends = {"score_from": -table["score_to"], "score_to": -table["score_from"]}
        table = table.assign(score=-table["score"], **ends).iloc[::-1]
    told = [
        f"{by} {low:.3g} to {high:.3g}<br>mean relevance {mean:.3g}<br>{items:,} items"
        for low, high, mean, items in zip(
            table["score_from"], table["score_to"], table["relevance"], table["items"], strict=True
        )
    ]
    marks: Trace = {
        "type": "scatter",
        "mode": "markers",
        "name": "mean relevance",
        "x": table["score"].tolist(),
        "y": table["relevance"].tolist(),
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": (table["upper"] - table["relevance"]).tolist(),
            "arrayminus": (table["relevance"] - table["lower"]).tolist(),
            "thickness": 1.5,
            "width": 0,
        },
        "marker": {"size": 9, "color": palette.ACCENT},
        "cliponaxis": False,  # a mean of 0 lies on the axis, and is a whole mark there
        "hovertext": told,
        "hoverinfo": "text",
    }
    line: Trace = {
        "type": "scatter",
        "mode": "lines",
        "name": f"calibrated {by}",
        "x": table["score"].tolist(),
        "y": table["estimate"].tolist(),
        "line": {"width": 2, "dash": "dash", "color": palette.NEUTRAL},
        "hoverinfo": "skip",
    }
    return figure(
        [line, marks],
        height=300,
        top=30,
        legend=True,
        x={"title": "rank, 1 is the top" if by == "rank" else "score", "nticks": 6, "tickangle": 0},
        y=numbered(title="mean relevance", rangemode="tozero", nticks=5, showgrid=True),
    )


def price_chart(table: pd.DataFrame) -> Drawing:
    """A bar for each transformation of the scores: which share of what sorting is worth the repair gives up."""
    labels = list(table["transformation"])[::-1]
    prices = table["price"].to_numpy()[::-1]
    return figure(
        [bars(100 * prices, labels, palette.ACCENT, [percent(price) for price in prices])],
        height=60 + 34 * len(labels),
        left=room(labels),
        x={"title": "price, % of what sorting is worth", "rangemode": "tozero", "nticks": 5},
        y={"showgrid": False},
    )
