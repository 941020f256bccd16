"""From tidy frames to Plotly figures: pure functions, the same for the reproduction and for any page.

Each method has one colour and one shape everywhere; a figure is written as one plain dict.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

Trace = dict[str, Any]

METHOD_NAMES: Mapping[str, str] = {
    "spofr": "SPOFR",
    "spo+": "SPOFR as published (SPO+)",
    "pto": "predict, then optimise",
    "fultr": "FULTR",
    "deltr": "DELTR",
    "unfair": "sorted by score",
    "uniform": "random ranking",
}
METHOD_COLORS: Mapping[str, str] = {
    "spofr": "#2678b8",
    "spo+": "#4aa3a3",
    "pto": "#d07c1f",
    "fultr": "#2f8f5b",
    "deltr": "#8a5bb5",
    "unfair": "#c8434b",
    "uniform": "#7d8896",
}
METHOD_SHAPES: Mapping[str, str] = {
    "spofr": "circle",
    "spo+": "circle-open",
    "pto": "square",
    "fultr": "triangle-up",
    "deltr": "diamond",
    "unfair": "x",
    "uniform": "cross",
}
COLORS = ("#2678b8", "#d07c1f", "#2f8f5b", "#8a5bb5", "#c8434b", "#4aa3a3", "#b08d2f", "#7d8896")
SHAPES = ("circle", "square", "triangle-up", "diamond", "x", "star", "pentagon", "cross")
GREY = "#b3bac3"


def tradeoff_figure(frame: pd.DataFrame, by: str = "method", *, title: str = "") -> go.Figure:
    """Mean test DCG against the delta asked for, a curve per value of `by`, with its band over seeds.

    More than four bands would hide each other: then there are none.

    Parameters
    ----------
    frame : DataFrame
        Of `tradeoff`, `multi_group` or `training_sizes`, for one dataset.
    by : str
        "method", "notion", "groups" or "clicks".
    """
    traces: list[Trace] = []
    curves = list(_parts(frame, by))
    for name, color, shape, part in curves:
        drawn = curve(part, "delta", "dcg", name=name, color=color, shape=shape)
        traces += drawn if len(curves) <= 4 else drawn[-1:]
    traces += _ideal(frame, "delta")
    return _figure(traces, title=title, x="delta asked for", y="mean test DCG")


def grid_figure(points: pd.DataFrame, *, title: str = "") -> go.Figure:
    """Every trained model: mean violation achieved and mean DCG; dominated models grey, the ideal DCG dashed."""
    traces: list[Trace] = []
    front = points[~points["dominated"]].sort_values("violation_mean")
    if len(front) > 1:
        line = {"color": GREY, "width": 1, "shape": "hv"}
        traces.append(_line(front["violation_mean"], front["dcg"], "Pareto front", line))
    for name, color, shape, part in _parts(points, "method"):
        for grey in (True, False):
            shown = part[part["dominated"] == grey]
            traces.append(_points(shown, name, GREY if grey else color, color, shape))
        traces.append(_key(name, color, shape))
    if points["dominated"].any():
        traces.append(_key("grey: dominated", GREY, "circle"))
    traces += _ideal(points, "violation_mean")
    return _figure(traces, title=title, x="mean violation achieved", y="mean test DCG")


def _points(part: pd.DataFrame, name: str, fill: str, edge: str, shape: str) -> Trace:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "legendgroup": name,
        "showlegend": False,
        "x": part["violation_mean"].tolist(),
        "y": part["dcg"].tolist(),
        "marker": {"symbol": shape, "size": 9, "color": fill, "line": {"width": 1, "color": edge}},
        "customdata": part["run"].tolist(),
        "text": [_steered(row) for row in part.to_dict("records")],
        "hovertemplate": "%{text}<br>violation %{x:.4f}, DCG %{y:.4f}<extra></extra>",
    }


def _key(name: str, color: str, shape: str) -> Trace:
    """An entry of the legend that draws nothing: a method whose models are all grey has one too."""
    marker = {"symbol": shape, "size": 9, "color": color}
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "legendgroup": name,
        "x": [None],
        "y": [None],
        "marker": marker,
    }


def guarantee_figure(frame: pd.DataFrame, *, title: str = "") -> go.Figure:
    """Bars by delta, method and confidence level, which is the depth of the colour.

    Where no model qualifies there is no bar but the word "none", and pointing at it says how far the method got. Bars
    of models that qualified on validation and miss the level on test are hatched.
    """
    deltas = sorted(frame["delta"].unique())
    levels = sorted(frame["level"].unique())
    traces: list[Trace] = []
    for method, color, _, part in _parts(frame, "method"):
        for place, level in enumerate(levels):
            bars = part[part["level"] == level].set_index("delta").reindex(deltas)
            opacity = 0.35 + 0.65 * (place + 1) / len(levels)
            bar = _bars(bars, deltas, f"{method}, {level:.0%}", color, opacity)
            traces.append({**bar, "legendgroup": method, "showlegend": False})
        traces.append(_key(method, color, "square"))
    shades = ", ".join(f"{level:.0%}" for level in levels)
    figure = _figure(
        traces,
        title=title,
        x=f"delta (light to dark: {shades} of the queries; hatched: missed on test)",
        y="test DCG of the model taken",
    )
    figure.update_layout(barmode="group", xaxis={"type": "category"})
    return figure


def _bars(bars: pd.DataFrame, deltas: Sequence[float], name: str, color: str, opacity: float) -> Trace:
    none = bars["dcg"].isna().to_numpy(dtype=bool)
    missed = (~bars["holds"].fillna(value=True).astype(bool)).to_numpy(dtype=bool)
    told = [
        why if empty else f"DCG {dcg:.4f}; {share:.1%} of the test queries hold delta"
        for empty, why, dcg, share in zip(none, bars["explanation"], bars["dcg"], bars["share"], strict=True)
    ]
    return {
        "type": "bar",
        "name": name,
        "x": [f"{delta:g}" for delta in deltas],
        "y": [0.0 if empty else dcg for empty, dcg in zip(none, bars["dcg"], strict=True)],
        "marker": {"color": color, "opacity": opacity, "pattern": {"shape": ["/" if m else "" for m in missed]}},
        "text": ["none" if empty else "" for empty in none],
        "textposition": "outside",
        "textangle": -90,
        "textfont": {"color": color, "size": 10},
        "hovertext": told,
        "hovertemplate": f"{name}, delta %{{x}}<br>%{{hovertext}}<extra></extra>",
    }


def run_time_figure(frame: pd.DataFrame, *, title: str = "") -> go.Figure:
    """Seconds per epoch against the training size, a line per method."""
    traces: list[Trace] = []
    for name, color, shape, part in _parts(frame, "method"):
        traces += curve(part, "clicks", "seconds_per_epoch", name=name, color=color, shape=shape)
    figure = _figure(traces, title=title, x="training size (clicks)", y="seconds per epoch")
    figure.update_xaxes(type="log")
    figure.update_yaxes(type="log")
    return figure


def achieved_figure(frame: pd.DataFrame, *, title: str = "") -> go.Figure:
    """Violation achieved against the delta asked for: the mean and the maximum over queries, and the line they must
    not cross."""
    asked = frame[frame["asked"] == "delta"]
    traces: list[Trace] = []
    for name, color, shape, part in _parts(asked, "method"):
        ordered = part.sort_values("value")
        for what, dash in (("violation_max", "solid"), ("violation_mean", "dot")):
            line = {"color": color, "dash": dash}
            label = f"{name}, {'largest' if what == 'violation_max' else 'mean'} of the queries"
            traces.append(_line(ordered["value"], ordered[f"{what}"], label, line, shape))
    top = float(asked["value"].max()) if len(asked) else 1.0
    traces.append(_line([0, top], [0, top], "delta", {"color": "#444", "dash": "dash", "width": 1}))
    return _figure(traces, title=title, x="delta asked for", y="violation achieved on test")


def price_figure(frame: pd.DataFrame, *, title: str = "") -> go.Figure:
    """Share of DCG lost against delta, a curve per method."""
    traces: list[Trace] = []
    for name, color, shape, part in _parts(frame, "method"):
        traces += curve(part, "delta", "price", name=name, color=color, shape=shape)
    figure = _figure(traces, title=title, x="delta asked for", y="share of DCG lost")
    figure.update_yaxes(tickformat=".1%")
    return figure


def exact_figure(frame: pd.DataFrame, *, title: str = "") -> go.Figure:
    """The exact tradeoff of one trained model: DCG against delta, with its interval over queries."""
    traces = curve(frame, "delta", "dcg", name="one model, every delta", color=COLORS[0], shape="circle", marks=False)
    return _figure(traces, title=title, x="delta", y="mean test DCG")


def curve(part: pd.DataFrame, x: str, y: str, *, name: str, color: str, shape: str, marks: bool = True) -> list[Trace]:
    """A line with its band `<y>_lower` .. `<y>_upper`, where there is one."""
    ordered = part.sort_values(x)
    traces: list[Trace] = []
    banded = ordered.dropna(subset=[f"{y}_lower", f"{y}_upper"])
    if len(banded) > 1:
        across = banded[x].tolist()
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": [*across, *across[::-1]],
                "y": [*banded[f"{y}_upper"].tolist(), *banded[f"{y}_lower"].tolist()[::-1]],
                "fill": "toself",
                "fillcolor": _faint(color),
                "line": {"width": 0},
                "hoverinfo": "skip",
                "showlegend": False,
                "legendgroup": name,
            }
        )
    trace = _line(ordered[x], ordered[y], name, {"color": color}, shape if marks else None)
    traces.append({**trace, "legendgroup": name})
    return traces


def label_of(by: str, value: Any) -> str:
    """How a legend names a value of a column."""
    if by == "method":
        return METHOD_NAMES.get(str(value), str(value))
    if by == "groups":
        return f"{int(value)} groups"
    if by == "clicks":
        return "true labels" if pd.isna(value) else f"{int(value):,} clicks"
    return str(value)


def _parts(frame: pd.DataFrame, by: str) -> Iterator[tuple[str, str, str, pd.DataFrame]]:
    """Name, colour, shape and rows of each value; methods in their own order, others sorted."""
    values = list(frame[by].drop_duplicates())
    if by == "method":
        known = list(METHOD_NAMES)
        values.sort(key=lambda value: known.index(value) if value in known else len(known))
    else:
        values.sort(key=lambda value: (pd.isna(value), value if not pd.isna(value) else 0))
    for place, value in enumerate(values):
        rows = frame[frame[by].isna()] if pd.isna(value) else frame[frame[by] == value]
        color = METHOD_COLORS.get(str(value), COLORS[place % len(COLORS)])
        shape = METHOD_SHAPES.get(str(value), SHAPES[place % len(SHAPES)])
        yield label_of(by, value), color, shape, rows


def _line(
    x: Sequence[float] | pd.Series, y: Sequence[float] | pd.Series, name: str, line: Trace, shape: str | None = None
) -> Trace:
    trace: Trace = {"type": "scatter", "mode": "lines", "name": name, "x": list(x), "y": list(y), "line": line}
    if shape is not None:
        trace |= {"mode": "lines+markers", "marker": {"symbol": shape, "size": 7, "color": line["color"]}}
    return trace


def _ideal(frame: pd.DataFrame, x: str) -> list[Trace]:
    known = frame.dropna(subset=["ideal_dcg", x])
    if not len(known):
        return []
    ideal = float(known["ideal_dcg"].mean())
    ends = [float(known[x].min()), float(known[x].max())]
    return [_line(ends, [ideal, ideal], "ideal DCG", {"color": "#444", "dash": "dash", "width": 1})]


def _steered(row: Mapping[Any, Any]) -> str:
    steer = f"delta {row['delta']:g}" if not pd.isna(row["delta"]) else ""
    steer = f"penalty {row['penalty']:g}" if not pd.isna(row["penalty"]) else steer
    return f"{label_of('method', row['method'])} {steer} seed {row['seed']}"


def _faint(color: str) -> str:
    red, green, blue = (int(color[k : k + 2], 16) for k in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, 0.15)"


def _figure(traces: list[Trace], *, title: str, x: str, y: str) -> go.Figure:
    axis = {"showgrid": True, "gridcolor": "#e6e9ed", "zeroline": False, "automargin": True}
    plain = [{key: _plain(value) for key, value in trace.items()} for trace in traces]
    layout = {
        "title": {"text": title, "font": {"size": 15}},
        "template": "none",
        "font": {"family": "system-ui, sans-serif", "size": 13},
        "xaxis": {**axis, "title": {"text": x}},
        "yaxis": {**axis, "title": {"text": y}},
        "legend": {"orientation": "h", "y": -0.22},
        "margin": {"l": 70, "r": 20, "t": 50, "b": 60},
        "height": 440,
    }
    return go.Figure({"data": plain, "layout": layout})


def _plain(value: Any) -> Any:
    """Missing numbers become null, which Plotly leaves out."""
    if not isinstance(value, list):
        return value
    return [None if isinstance(v, float | np.floating) and np.isnan(v) else None if v is pd.NA else v for v in value]
