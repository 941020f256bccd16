"""Many trained models: the figures of the experiments, dressed as this dashboard's."""

from __future__ import annotations

from typing import Any

import pandas as pd
import plotly.graph_objects as go

from dashboard.charts.drawing import FAINT, NEUTRAL, Drawing, Trace, axis, figure, note, rule
from dashboard.escaping import plot
from spofr_core.reporting import (
    METHOD_COLORS,
    METHOD_NAMES,
    achieved_figure,
    exact_figure,
    grid_figure,
    number,
    price_figure,
    tradeoff_figure,
)

MOST_MARKS = 10_000
"""Models that a chart shows; beyond that the dominated ones are thinned, and the page says so."""
_IDEAL = "ideal DCG"
_INK = "#444"
"""What the figures draw reference lines with; it cannot be seen on a dark page."""


def grid(points: pd.DataFrame, selected: str = "") -> Drawing:
    """Every model by violation and DCG; the chosen one has a ring around it."""
    shown = thinned(points)
    traces = _traces(grid_figure(shown))
    marks = [trace for trace in traces if "markers" in trace.get("mode", "")]
    named = {trace["name"] for trace in marks if trace.get("showlegend", True) and len(trace["x"])}
    for trace in marks:
        # A method whose models are all dominated is in the legend all the same.
        trace |= {
            "marker": {**trace["marker"], "size": 11},
            "showlegend": trace.get("showlegend", True) or trace["name"] not in named,
        }
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
        "marker": {"symbol": "circle-open", "size": 22, "color": NEUTRAL, "line": {"width": 3, "color": NEUTRAL}},
        "hoverinfo": "skip",
    }


def tradeoff(frame: pd.DataFrame, by: str = "method") -> Drawing:
    """DCG against the delta asked for, a curve per value of `by`. The ideal lies far above and is told in words."""
    traces = [trace for trace in _traces(tradeoff_figure(frame, by)) if trace.get("name") != _IDEAL]
    return _curves(traces, x="delta asked for", y="mean DCG on test")


def price(frame: pd.DataFrame) -> Drawing:
    """Share of DCG that a delta costs."""
    return _curves(_traces(price_figure(frame)), x="delta asked for", y="share of DCG lost", tickformat=".1%")


def achieved(frame: pd.DataFrame) -> Drawing:
    """What was asked for against what was achieved."""
    traces = _traces(achieved_figure(frame))
    for trace in traces:
        trace["name"] = trace["name"].removesuffix(" of the queries")
    return _curves(traces, x="delta asked for", y="violation on test")


def exact(frame: pd.DataFrame, delta: float, name: str) -> Drawing:
    """One model at every delta, with the delta of the page marked."""
    traces = _traces(exact_figure(frame))
    for trace in traces:
        if trace.get("name"):
            trace |= {"name": plot(name, 60), "hovertemplate": "delta %{x:.3f}: DCG %{y:.4f}<extra></extra>"}
    top = float(frame["delta"].max())
    marks = {"shapes": [rule(delta)], "notes": [note(delta, f"delta {number(delta)}")]} if delta <= top else {}
    return _curves(traces, x="delta", y="mean DCG on test", legend=False, **marks)


def guarantee(frame: pd.DataFrame, guaranteed: set[str]) -> Drawing:
    """Bars of DCG: for each delta the levels side by side, in each a bar per method.

    A cross stands where no model qualifies, and pointing at it says how far the method got; hatched bars were chosen on
    validation and miss the level on test. Methods that cannot promise anything say so in the legend.
    """
    ordered = frame.sort_values(["delta", "level"])
    traces = [
        _bars(ordered[ordered["method"] == method], method, promises=method in guaranteed)
        for method in METHOD_NAMES
        if method in set(ordered["method"])
    ]
    return figure(
        traces,
        height=430,
        top=34,
        legend=True,
        entry=112,
        barmode="group",
        bargap=0.2,
        x={
            "title": "share of the queries that must hold delta",
            "type": "multicategory",
            "dividercolor": FAINT,
            "automargin": True,
        },
        y={"title": "mean DCG on test", "showgrid": True, "rangemode": "tozero"},
    )


def _bars(part: pd.DataFrame, method: str, *, promises: bool) -> Trace:
    name = METHOD_NAMES[method]
    none = part["dcg"].isna().to_numpy()
    missed = (~part["holds"].fillna(value=True).astype(bool)).to_numpy()
    told = [
        why if empty else f"DCG {dcg:.4f}; {share:.1%} of the test queries hold delta"
        for empty, why, dcg, share in zip(none, part["explanation"], part["dcg"], part["share"], strict=True)
    ]
    colour = METHOD_COLORS[method]
    hatched = {"shape": ["/" if miss else "" for miss in missed], "fgcolor": "rgba(255,255,255,0.7)", "size": 5}
    return {
        "type": "bar",
        "name": name if promises else f"{name}, no guarantee",
        "x": [[f"delta {delta:g}" for delta in part["delta"]], [f"{level:.0%}" for level in part["level"]]],
        "y": part["dcg"].fillna(0.0).tolist(),
        "marker": {"color": colour, "pattern": {**hatched, "fillmode": "overlay"}, "line": {"width": 0}},
        "text": ["×" if empty else "" for empty in none],
        "textposition": "outside",
        "textangle": 0,
        "textfont": {"color": colour, "size": 14},
        "cliponaxis": False,
        "hovertext": told,
        "hovertemplate": f"{name}<br>%{{hovertext}}<extra></extra>",
    }


def _curves(traces: list[Trace], *, x: str, y: str, legend: bool = True, **more: Any) -> Drawing:
    settings = {"tickformat": more.pop("tickformat")} if "tickformat" in more else {}
    for trace in traces:
        if trace.get("name") and "hovertemplate" not in trace:
            trace["hovertemplate"] = f"{trace['name']}<br>delta %{{x:.3f}}: %{{y:.4f}}<extra></extra>"
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


def _traces(drawn: go.Figure) -> list[Trace]:
    """The traces of a figure, with reference lines that can be seen on light and dark."""
    traces = drawn.to_plotly_json()["data"]
    for trace in traces:
        line = trace.get("line") or {}
        if line.get("color") == _INK:
            trace["line"] = {**line, "color": NEUTRAL}
    return list(traces)


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
