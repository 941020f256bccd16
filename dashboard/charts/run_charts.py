"""Many trained models: the figures of the experiments, in the layout of this dashboard."""

from __future__ import annotations

from typing import Any

import pandas as pd

from dashboard.charts.drawing import Drawing, Trace, axis, figure, note, rule
from dashboard.escaping import plot
from spofr_core.reporting import (
    Look,
    achieved_traces,
    bar_traces,
    exact_traces,
    grid_traces,
    number,
    palette,
    price_traces,
    tradeoff_traces,
)

MOST_MARKS = 10_000
"""Models that a chart shows; beyond that the dominated ones are thinned, and the page says so."""
ON_SCREEN = Look(ink=palette.NEUTRAL, mark=11)


def grid(points: pd.DataFrame, selected: str = "") -> Drawing:
    """Every model by violation and DCG; the chosen one has a ring around it."""
    shown = thinned(points)
    traces = grid_traces(shown, look=ON_SCREEN)
    chosen = shown[shown["run"] == selected]
    if len(chosen):
        traces.append(_ring(chosen.iloc[0]))
    top = max([float(shown["violation_mean"].max()), 1e-9]) * 1.06
    return figure(
        traces,
        height=430,
        top=34,
        legend=True,
        entry=112,
        toggles=True,
        x={"title": "mean violation on test", "range": [-0.03 * top, top]},
        y={"title": "mean DCG on test", "showgrid": True},
        hovermode="closest",
    )


def thinned(points: pd.DataFrame, most: int = MOST_MARKS) -> pd.DataFrame:
    """All models of the front, and as many of the dominated ones, evenly taken, as there is room for."""
    if len(points) <= most:
        return points
    front = points[~points["dominated"]].head(most)
    others = points[points["dominated"]]
    room = max(most - len(front), 1)
    return pd.concat([front, others.iloc[:: -(-len(others) // room)]]).sort_index()


def _ring(model: pd.Series) -> Trace:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "the chosen model",
        "x": [model["violation_mean"]],
        "y": [model["dcg"]],
        "marker": {
            "symbol": "circle-open",
            "size": 22,
            "color": palette.NEUTRAL,
            "line": {"width": 3, "color": palette.NEUTRAL},
        },
        "hoverinfo": "skip",
    }


def tradeoff(frame: pd.DataFrame, by: str = "method") -> Drawing:
    """DCG against the delta asked for, a curve per value of `by`. The ideal lies far above and is told in words."""
    traces = tradeoff_traces(frame, by, ideal=False, look=ON_SCREEN)
    return _curves(traces, x="delta asked for", y="mean DCG on test")


def price(frame: pd.DataFrame) -> Drawing:
    """Share of DCG that a delta costs."""
    traces = price_traces(frame, look=ON_SCREEN)
    return _curves(traces, x="delta asked for", y="share of DCG lost", tickformat=".1%")


def achieved(frame: pd.DataFrame) -> Drawing:
    """What was asked for against what was achieved."""
    return _curves(achieved_traces(frame, look=ON_SCREEN), x="delta asked for", y="violation on test")


def exact(frame: pd.DataFrame, delta: float, name: str) -> Drawing:
    """One model at every delta, with the delta of the page marked."""
    top = float(frame["delta"].max())
    marks: dict[str, Any] = (
        {"shapes": [rule(delta)], "notes": [note(delta, f"delta {number(delta)}")]} if delta <= top else {}
    )
    traces = exact_traces(frame, plot(name, 60))
    return _curves(traces, x="delta", y="mean DCG on test", legend=False, **marks)


def guarantee(frame: pd.DataFrame) -> Drawing:
    """Bars of DCG: for each delta the levels side by side, in each a bar per method; see `bar_traces`."""
    return figure(
        bar_traces(frame, look=ON_SCREEN),
        height=430,
        top=34,
        legend=True,
        entry=112,
        barmode="group",
        bargap=0.2,
        x={
            "title": "share of the queries that must hold delta",
            "type": "multicategory",
            "dividercolor": palette.FAINT,
            "automargin": True,
        },
        y={"title": "mean DCG on test", "showgrid": True, "rangemode": "tozero"},
    )


def _curves(
    traces: list[Trace], *, x: str, y: str, legend: bool = True, tickformat: str | None = None, **more: Any
) -> Drawing:
    settings = {"tickformat": tickformat} if tickformat else {}
    return figure(
        traces,
        height=360,
        top=34,
        legend=legend,
        toggles=True,
        x={"title": x},
        y={"title": y, "showgrid": True, **settings},
        **more,
    )


def training_curves(histories: list[tuple[str, str, str, list[dict[str, Any]]]]) -> Drawing:
    """Validation DCG above, mean validation violation below, step by step, a line per run.

    Each history is the name of a run, its colour, its shape, and its validations.
    """
    traces: list[Trace] = []
    for place_of_run, (name, colour, shape, rows) in enumerate(histories):
        steps = [row["step"] for row in rows]
        # Runs of one method share a colour; the first ones stand out.
        fade = 1.0 - 0.6 * place_of_run / max(len(histories), 1)
        for what, place in (("validation_dcg", "y"), ("violation", "y2")):
            traces.append(
                {
                    "type": "scatter",
                    "mode": "lines+markers",
                    "name": plot(name, 60),
                    "legendgroup": name,
                    "showlegend": place == "y",
                    "x": steps,
                    # What floating point leaves of a violation of 0 is not worth an axis.
                    "y": [None if row.get(what) is None else round(row[what], 9) for row in rows],
                    "yaxis": place,
                    "opacity": fade,
                    "line": {"color": colour, "width": 2},
                    "marker": {"symbol": shape, "size": 5, "color": colour},
                    "hovertemplate": f"{plot(name, 60)}<br>step %{{x}}: %{{y:.4f}}<extra></extra>",
                }
            )
    return figure(
        traces,
        height=430,
        top=34,
        legend=True,
        x={"title": "step", "anchor": "y2"},
        y={"title": "DCG", "domain": [0.52, 1], "showgrid": True},
        yaxis2=axis("violation", domain=[0, 0.46], showgrid=True, rangemode="tozero"),
    )
