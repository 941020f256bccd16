"""From tidy frames to Plotly: pure functions, the same for the reproduction and for any page.

`*_traces` are plain dicts that a page puts into a layout of its own, drawn with the `Look` that it asks for;
`*_figure` are the same traces as figures that stand alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from spofr_core.fairness import format_delta
from spofr_core.reporting.palette import ACCENT, DOMINATED, GRID, GROUP_SHAPES, HATCH, INK, WHITE, see_through
from spofr_core.reporting.run_frames import achieved_frame, grid_frame, guarantee_bars, ideal_line
from spofr_core.reporting.series import series_of

Trace = dict[str, Any]
GLYPHS = {**dict(GROUP_SHAPES), "circle-open": "○", "star-open": "☆"}
MOST_BANDS = 4
"""More bands than these would hide each other: then there are none."""


@dataclass(frozen=True)
class Look:
    """What differs between paper and screen.

    Parameters
    ----------
    ink : str
        Colour of reference lines: one that can be seen on the ground that they are drawn on.
    mark : int
        Size of a mark in pixels.
    muted : str
        Colour of models that others dominate: it must stand back on the ground that it is drawn on.
    """

    ink: str = INK
    mark: int = 9
    muted: str = DOMINATED


ON_PAPER = Look()


def tradeoff_traces(
    frame: pd.DataFrame, by: str = "method", *, ideal: bool = True, look: Look = ON_PAPER
) -> list[Trace]:
    """Mean test DCG against the delta asked for, a curve per value of `by`, with its band over seeds.

    Parameters
    ----------
    frame : DataFrame
        Of `tradeoff`, `multi_group` or `training_sizes`, for one dataset.
    by : str
        "method", "notion", "groups" or "clicks".
    ideal : bool
        Whether to draw the ideal DCG too; it lies far above.
    """
    series = series_of(frame, by)
    traces: list[Trace] = []
    for one in series:
        traces += curve(
            one.rows, "delta", "dcg", one.label, one.colour, shape=one.shape, band=len(series) <= MOST_BANDS
        )
    return traces + (_ideal(frame, "delta", look) if ideal else [])


def price_traces(frame: pd.DataFrame, *, look: Look = ON_PAPER) -> list[Trace]:
    """Share of DCG lost against delta, a curve per method."""
    traces: list[Trace] = []
    for one in series_of(frame, "method"):
        traces += curve(one.rows, "delta", "price", one.label, one.colour, shape=one.shape)
    return traces


def exact_traces(frame: pd.DataFrame, label: str = "one model, every delta") -> list[Trace]:
    """The exact tradeoff of one trained model: DCG against delta, with its interval over queries."""
    return curve(frame, "delta", "dcg", label, ACCENT)


def achieved_traces(frame: pd.DataFrame, *, look: Look = ON_PAPER) -> list[Trace]:
    """Violation achieved against the delta asked for: the largest and the mean over queries, and the line they must
    not cross."""
    points = achieved_frame(frame)
    traces: list[Trace] = []
    for one in series_of(points, "method"):
        for label, part in one.rows.groupby("label", sort=False):
            dash = "solid" if part["kind"].iloc[0] == "largest" else "dot"
            line = {"color": one.colour, "dash": dash}
            traces.append(_line(part["value"], part["violation"], str(label), line, one.shape))
    top = float(points["value"].max()) if len(points) else 1.0
    return [*traces, _line([0, top], [0, top], "delta", _reference(look))]


def grid_traces(points: pd.DataFrame, curves: pd.DataFrame | None = None, *, look: Look = ON_PAPER) -> list[Trace]:
    """Every trained model: mean violation achieved and mean DCG; dominated models muted.

    Parameters
    ----------
    points : DataFrame
        Of `grid_search`.
    curves : DataFrame, optional
        Of `achieved_tradeoff`: a line per method through the means of its settings, with its band over seeds. Without
        them a step line joins the models that nobody dominates.
    """
    traces: list[Trace] = []
    front = points[~points["dominated"]].sort_values("violation_mean")
    if curves is None and len(front) > 1:
        line = {"color": look.muted, "width": 1, "shape": "hv"}
        traces.append(_line(front["violation_mean"], front["dcg"], "Pareto front", line, hover=""))
    if curves is not None:
        traces += _method_lines(curves, look)
    drawn = grid_frame(points, look.muted)
    for one in series_of(drawn, "method"):
        for _, part in one.rows.groupby("dominated", sort=False):
            traces.append(_points(part, look))
        traces.append(_key(one.label, one.colour, one.shape, look))
    if points["dominated"].any():
        traces.append(_key("muted: dominated", look.muted, "circle", look))
    return traces


def _method_lines(curves: pd.DataFrame, look: Look) -> list[Trace]:
    """The means of each method over its seeds, joined; a method with one setting is a mark, and has no line."""
    series = [one for one in series_of(curves, "method") if len(one.rows) > 1]
    traces: list[Trace] = []
    for one in series:
        banded = len(series) <= MOST_BANDS
        traces += curve(one.rows, "violation_mean", "dcg", one.label, one.colour, band=banded, hover="")
    return [{**trace, "showlegend": False} for trace in traces]


def _points(part: pd.DataFrame, look: Look) -> Trace:
    style = part.iloc[0]
    edge = {"width": 1, "color": see_through(style["colour"], 0.5 if style["dominated"] else 1)}
    digits = ".2%" if style["unit"] == "share" else ".4f"
    return {
        "type": "scatter",
        "mode": "markers",
        "name": style["label"],
        "legendgroup": style["label"],
        "showlegend": False,
        "x": _plain(part["violation_mean"]),
        "y": _plain(part["dcg"]),
        "marker": {"symbol": style["shape"], "size": look.mark, "color": style["fill"], "line": edge},
        "customdata": part["run"].tolist(),
        "text": part["text"].tolist(),
        "hovertemplate": f"%{{text}}<br>violation %{{x:{digits}}}, DCG %{{y:.4f}}<extra></extra>",
    }


def _key(name: str, colour: str, shape: str, look: Look) -> Trace:
    """An entry of the legend that draws nothing: a method whose models are all grey has one too."""
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "legendgroup": name,
        "x": [None],
        "y": [None],
        "marker": {"symbol": shape, "size": look.mark, "color": colour},
    }


def run_time_traces(frame: pd.DataFrame, *, look: Look = ON_PAPER) -> list[Trace]:
    """Seconds per epoch against the training size, a line per method."""
    traces: list[Trace] = []
    hover = "%{x:,} clicks: %{y:.3g} s"
    for one in series_of(frame, "method"):
        traces += curve(one.rows, "clicks", "seconds_per_epoch", one.label, one.colour, shape=one.shape, hover=hover)
    return traces


def bar_traces(frame: pd.DataFrame, *, look: Look = ON_PAPER) -> list[Trace]:
    """Bars of DCG: for each delta the levels side by side, in each a bar per method; the axis is "multicategory".

    A cross stands where no model qualifies, and pointing at it says how far the method got; hatched bars were chosen on
    validation and miss the level on test. Methods that cannot promise anything say so in the legend. The shape of the
    method stands at the foot of its bars and in the legend.
    """
    traces: list[Trace] = []
    for one in series_of(guarantee_bars(frame), "method"):
        bars, glyph = one.rows, GLYPHS.get(one.shape, "")
        name = f"{glyph} {one.label}".strip() + ("" if one.guaranteed else ", no guarantee")
        deltas = [f"delta {format_delta(delta, unit)}" for delta, unit in zip(bars["delta"], bars["unit"], strict=True)]
        across = [deltas, [f"{level:.0%}" for level in bars["level"]]]
        trace = _bars(bars, across, name, one.colour, none="×", hover=one.label, look=look)
        signs = {
            "text": ["×" if empty else glyph for empty in bars["empty"]],
            "textposition": ["outside" if empty else "inside" for empty in bars["empty"]],
            "insidetextanchor": "start",
            "insidetextfont": {"color": WHITE, "size": 12},
            "outsidetextfont": {"color": one.colour, "size": 14},
        }
        traces.append({**trace, **signs, "textangle": 0, "cliponaxis": False})
    return traces


def shaded_bar_traces(frame: pd.DataFrame, *, look: Look = ON_PAPER) -> list[Trace]:
    """Bars by delta, method and level, which is the depth of the colour; "none" stands where no model qualifies."""
    bars = guarantee_bars(frame)
    levels = sorted(bars["level"].unique())
    traces: list[Trace] = []
    for one in series_of(bars, "method"):
        for place, level in enumerate(levels):
            part = one.rows[one.rows["level"] == level]
            name = f"{one.label}, {level:.0%}"
            across = [f"{delta:g}" for delta in part["delta"]]
            trace = _bars(part, across, name, one.colour, none="none", hover=f"{name}, delta %{{x}}", look=look)
            trace["marker"]["opacity"] = 0.35 + 0.65 * (place + 1) / len(levels)
            hidden = {"legendgroup": one.label, "showlegend": False}
            traces.append({**trace, "textangle": -90, "textfont": {"color": one.colour, "size": 10}, **hidden})
        traces.append(_key(one.label, one.colour, "square", look))
    return traces


def _bars(bars: pd.DataFrame, across: list[Any], name: str, colour: str, *, none: str, hover: str, look: Look) -> Trace:
    hatched = {"shape": ["/" if missed else "" for missed in bars["missed"]], "fgcolor": HATCH, "size": 5}
    return {
        "type": "bar",
        "name": name,
        "x": across,
        "y": bars["height"].tolist(),
        "marker": {"color": colour, "pattern": {**hatched, "fillmode": "overlay"}, "line": {"width": 0}},
        "error_y": {"array": _plain(bars["half"]), "color": look.ink, "thickness": 1.2, "width": 3},
        "text": [none if empty else "" for empty in bars["empty"]],
        "textposition": "outside",
        "hovertext": bars["words"].tolist(),
        "hovertemplate": f"{hover}<br>%{{hovertext}}<extra></extra>",
    }


def curve(
    part: pd.DataFrame,
    x: str,
    y: str,
    label: str,
    colour: str,
    *,
    shape: str | None = None,
    band: bool = True,
    hover: str = "delta %{x}: %{y:.4f}",
) -> list[Trace]:
    """A line with its band `<y>_lower` .. `<y>_upper`, where there is one; with marks where it has a shape."""
    ordered = part.sort_values(x)
    traces: list[Trace] = []
    banded = ordered.dropna(subset=[f"{y}_lower", f"{y}_upper"])
    if band and len(banded) > 1:
        across = _plain(banded[x])
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": [*across, *across[::-1]],
                "y": [*_plain(banded[f"{y}_upper"]), *_plain(banded[f"{y}_lower"])[::-1]],
                "fill": "toself",
                "fillcolor": see_through(colour, 0.15),
                "line": {"width": 0},
                "hoverinfo": "skip",
                "showlegend": False,
                "legendgroup": label,
            }
        )
    trace = _line(ordered[x], ordered[y], label, {"color": colour}, shape, hover=hover)
    traces.append({**trace, "legendgroup": label} | ({} if hover else {"hoverinfo": "skip"}))
    return traces


def _line(
    x: Iterable[Any],
    y: Iterable[Any],
    label: str,
    line: Trace,
    shape: str | None = None,
    *,
    hover: str = "delta %{x}: %{y:.4f}",
) -> Trace:
    trace: Trace = {"type": "scatter", "mode": "lines", "name": label, "x": _plain(x), "y": _plain(y), "line": line}
    if hover:
        trace["hovertemplate"] = f"{label}<br>{hover}<extra></extra>"
    if shape is not None:
        trace |= {"mode": "lines+markers", "marker": {"symbol": shape, "size": 7, "color": line["color"]}}
    return trace


def _ideal(frame: pd.DataFrame, x: str, look: Look, **settings: str) -> list[Trace]:
    ideal = ideal_line(frame, x)
    if ideal is None:
        return []
    value, start, end = ideal
    return [_line([start, end], [value, value], "ideal DCG", _reference(look), **settings)]


def _reference(look: Look) -> Trace:
    return {"color": look.ink, "dash": "dash", "width": 1}


def _plain(values: Iterable[Any]) -> list[Any]:
    """Missing numbers become null, which Plotly leaves out."""
    return [None if pd.isna(value) else value for value in pd.Series(values, dtype=object).tolist()]


def tradeoff_figure(frame: pd.DataFrame, by: str = "method", *, title: str = "") -> go.Figure:
    """`tradeoff_traces` as a figure."""
    traces = tradeoff_traces(frame, by)
    return _figure(traces, title=title, x="delta asked for", y="mean test DCG")


def grid_figure(points: pd.DataFrame, *, title: str = "") -> go.Figure:
    """`grid_traces` as a figure, with the ideal DCG dashed."""
    traces = grid_traces(points) + _ideal(points, "violation_mean", ON_PAPER, hover="")
    return _figure(traces, title=title, x="mean violation achieved", y="mean test DCG")


def guarantee_figure(frame: pd.DataFrame, *, title: str = "") -> go.Figure:
    """`shaded_bar_traces` as a figure."""
    shades = ", ".join(f"{level:.0%}" for level in sorted(frame["level"].unique()))
    return _figure(
        shaded_bar_traces(frame),
        title=title,
        x=f"delta (light to dark: {shades} of the queries; hatched: missed on test)",
        y="test DCG of the model taken",
        x_axis={"type": "category", "categoryarray": [f"{delta:g}" for delta in sorted(frame["delta"].unique())]},
        barmode="group",
    )


def run_time_figure(frame: pd.DataFrame, *, title: str = "") -> go.Figure:
    """`run_time_traces` as a figure."""
    log = {"type": "log"}
    traces = run_time_traces(frame)
    return _figure(traces, title=title, x="training size (clicks)", y="seconds per epoch", x_axis=log, y_axis=log)


def achieved_figure(frame: pd.DataFrame, *, title: str = "") -> go.Figure:
    """`achieved_traces` as a figure."""
    traces = achieved_traces(frame)
    return _figure(traces, title=title, x="delta asked for", y="violation of the test queries")


def price_figure(frame: pd.DataFrame, *, title: str = "") -> go.Figure:
    """`price_traces` as a figure."""
    traces = price_traces(frame)
    return _figure(traces, title=title, x="delta asked for", y="share of DCG lost", y_axis={"tickformat": ".1%"})


def exact_figure(frame: pd.DataFrame, *, title: str = "") -> go.Figure:
    """`exact_traces` as a figure."""
    return _figure(exact_traces(frame), title=title, x="delta", y="mean test DCG")


def _figure(
    traces: list[Trace],
    *,
    title: str,
    x: str,
    y: str,
    x_axis: Trace | None = None,
    y_axis: Trace | None = None,
    **settings: Any,
) -> go.Figure:
    axis = {"showgrid": True, "gridcolor": GRID, "zeroline": False, "automargin": True}
    layout = {
        "title": {"text": title, "font": {"size": 15}},
        "template": "none",
        "font": {"family": "system-ui, sans-serif", "size": 13},
        "xaxis": {**axis, "title": {"text": x}, **(x_axis or {})},
        "yaxis": {**axis, "title": {"text": y}, **(y_axis or {})},
        "legend": {"orientation": "h", "y": -0.22},
        "margin": {"l": 70, "r": 20, "t": 50, "b": 60},
        "height": 440,
        **settings,
    }
    return go.Figure({"data": traces, "layout": layout})
