"""Many trained models: the figures of the experiments, in the layout of this dashboard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from dashboard.charts.drawing import Drawing, Trace, axis, figure, in_unit, note, percent_ticks, plain_text, rule
from dashboard.escaping import plot
from spofr_core.fairness import Unit, format_delta
from spofr_core.reporting import (
    Look,
    achieved_traces,
    bar_traces,
    exact_traces,
    grid_traces,
    ideal_line,
    is_baseline,
    method_title,
    number,
    palette,
    price_traces,
    tradeoff_traces,
)

MOST_MARKS = 10_000
"""Models that a chart shows; beyond that the dominated ones are thinned, and the page says so."""
LEGEND, LEGEND_LINE = 40, 15
"""Letters of a line of the legend beside a form, and pixels of one more line."""
ON_SCREEN = Look(ink=palette.NEUTRAL, mark=9, muted=palette.see_through(palette.NEUTRAL, 0.35))
NEAR = 0.25
"""The ideal is drawn where it lies at most this part of the axis above the models, else told: it would squeeze them."""
FAR = 1.0
"""So would an end of the chart that lies further below all rivals than this part of what there is from them up."""


def grid(points: pd.DataFrame, curves: pd.DataFrame, selected: str = "") -> Drawing:
    """Every model by violation and DCG, a line with its band for each method; the chosen model has a ring around it."""
    shown = thinned(points)
    traces = grid_traces(shown, curves, look=ON_SCREEN)
    chosen = shown[shown["run"] == selected]
    if len(chosen):
        traces.append(_ring(chosen.iloc[0]))
    unit = str(shown["unit"].iloc[0])
    top = max([float(shown["violation_mean"].max()), 1e-9]) * 1.06
    below = _far_below(shown)
    low, high = _spread(shown.drop(below.index), curves.drop(_far_below(curves).index))
    ideal = ideal_line(shown, "violation_mean")
    words, shapes = [], []
    if ideal is not None and ideal[0] <= high + NEAR * (high - low):
        high = max(high, ideal[0])
        shapes.append(_level(ideal[0]))
        words.append(f"ideal DCG {number(ideal[0])}, dashed")
    elif ideal is not None:
        words.append(f"ideal DCG {number(ideal[0])}, above this chart")
    for method, rows in below.groupby("method", sort=False):
        words.append(f"{method_title(method)} {number(float(rows['dcg'].mean()))}, below this chart")
    pad = 0.05 * (high - low)
    return figure(
        traces,
        height=430,
        top=34,
        legend=True,
        entry=_entry(traces),
        toggles=True,
        x={**in_unit("mean violation on test", unit, top), "range": [-0.03 * top, top]},
        y={"title": "mean DCG on test", "showgrid": True, "range": [low - pad, high + pad]},
        hovermode="closest",
        shapes=shapes,
        notes=[_corner("<br>".join(words))] if words else [],
    )


def _far_below(points: pd.DataFrame) -> pd.DataFrame:
    """The models of baselines that an axis on the rivals cannot show without squeezing these."""
    ends = points["method"].map(is_baseline).astype(bool)
    if ends.all():
        return points.head(0)
    low = points.loc[~ends, "dcg"].min()
    span = points["dcg"].max() - low
    return points[ends & (points["dcg"] < low - FAR * span)] if span > 0 else points.head(0)


def _spread(points: pd.DataFrame, curves: pd.DataFrame) -> tuple[float, float]:
    """Lowest and highest DCG of an axis on the models: bands, which two seeds make endless, widen it a little only."""
    low, high = float(points["dcg"].min()), float(points["dcg"].max())
    more = NEAR * max(high - low, 1e-3 * abs(high), 1e-9)
    lower, upper = curves["dcg_lower"].min(), curves["dcg_upper"].max()
    low = low if pd.isna(lower) else max(min(low, lower), low - more)
    high = high if pd.isna(upper) else min(max(high, upper), high + more)
    return (low, high) if high > low else (low - more, high + more)


def _level(at: float) -> Trace:
    line = {"color": palette.NEUTRAL, "width": 1, "dash": "dash"}
    return {"type": "line", "xref": "paper", "yref": "y", "x0": 0, "x1": 1, "y0": at, "y1": at, "line": line}


def _corner(text: str) -> Trace:
    """Words in the lower right corner of the plot: few models have much violation and little DCG."""
    place = {"xref": "paper", "x": 1, "xanchor": "right", "yref": "paper", "y": 0, "yanchor": "bottom"}
    return {**place, "text": text, "showarrow": False, "align": "right", "font": {"size": 11}}


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
    return _curves(traces, x=_asked(frame, "delta"), y={"title": "mean DCG on test"})


def price(frame: pd.DataFrame) -> Drawing:
    """Share of DCG that a delta costs."""
    traces = price_traces(frame, look=ON_SCREEN)
    values = pd.concat([frame["price"], frame["price_lower"], frame["price_upper"]])
    y = {"title": "share of DCG lost", "tickformat": percent_ticks(float(values.max() - values.min()))}
    return _curves(traces, x=_asked(frame, "delta"), y=y)


def achieved(frame: pd.DataFrame) -> Drawing:
    """What was asked for against what was achieved."""
    asked = frame[frame["asked"] == "delta"]
    unit = str(frame["unit"].iloc[0])
    y = in_unit("violation on test", unit, float(asked["violation_max"].max()))
    return _curves(achieved_traces(frame, look=ON_SCREEN), x=_asked(asked, "value"), y=y)


def exact(frame: pd.DataFrame, delta: float, name: str, unit: Unit = "absolute") -> Drawing:
    """One model at every delta, with the delta of the page marked."""
    top = float(frame["delta"].max())
    marks: dict[str, Any] = (
        {"shapes": [rule(delta)], "notes": [note(delta, f"delta {format_delta(delta, unit, 3)}")]}
        if delta <= top
        else {}
    )
    traces = exact_traces(frame, plot(name, 60))
    return _curves(traces, x=in_unit("delta", unit, top), y={"title": "mean DCG on test"}, legend=False, **marks)


def _entry(traces: Sequence[Trace]) -> int:
    """Pixels of a column of the legend: enough for the longest name that is in it."""
    longest = max((len(str(trace.get("name") or "")) for trace in traces if trace.get("showlegend", True)), default=0)
    return max(112, round(5.4 * longest))


def _asked(frame: pd.DataFrame, column: str) -> dict[str, Any]:
    return in_unit("delta asked for", str(frame["unit"].iloc[0]), float(frame[column].max()))


def guarantee(frame: pd.DataFrame) -> Drawing:
    """Bars of DCG: for each delta the levels side by side, in each a bar per method; see `bar_traces`."""
    traces = bar_traces(frame, look=ON_SCREEN)
    return figure(
        traces,
        height=430,
        top=34,
        legend=True,
        entry=_entry(traces),
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


def _curves(traces: list[Trace], *, x: dict[str, Any], y: dict[str, Any], legend: bool = True, **more: Any) -> Drawing:
    return figure(traces, height=360, top=34, legend=legend, toggles=True, x=x, y={"showgrid": True, **y}, **more)


def training_curves(histories: list[tuple[str, str, str, list[dict[str, Any]]]], unit: Unit = "absolute") -> Drawing:
    """Validation DCG above, mean validation violation below, step by step, a line per run.

    Each history is the name of a run, its colour, its shape, and its validations. Violations that are shares of the
    mean exposure are per cent.
    """
    shares = unit == "share"
    names = [_in_legend(plot(name, 90)) for name, *_ in histories]
    largest = max((_measured(row, "violation") or 0.0 for *_, rows in histories for row in rows), default=0.0)
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
                    "name": names[place_of_run],
                    "legendgroup": name,
                    "showlegend": place == "y",
                    "x": steps,
                    "y": [_measured(row, what) for row in rows],
                    "yaxis": place,
                    "opacity": fade,
                    "line": {"color": colour, "width": 2},
                    "marker": {"symbol": shape, "size": 5, "color": colour},
                    "hovertemplate": f"{plot(name, 90)}<br>step %{{x}}: "
                    f"%{{y:{'.2%' if shares and place == 'y2' else '.4f'}}}<extra></extra>",
                }
            )
    return figure(
        traces,
        height=430 + LEGEND_LINE * sum("<br>" in name for name in names),
        top=34,
        legend=True,
        x={"title": "step", "anchor": "y2"},
        y={"title": "DCG", "domain": [0.52, 1], "showgrid": True},
        yaxis2=axis(
            "violation",
            domain=[0, 0.46],
            showgrid=True,
            rangemode="tozero",
            **({"tickformat": percent_ticks(largest or 1.0)} if shares else {}),
        ),
    )


def _in_legend(name: str) -> str:
    """The name of a run in two lines where one would be cut off: the method, then what sets the run apart."""
    return name if len(plain_text(name)) <= LEGEND else name.replace(", ", ",<br>", 1)


def _measured(row: dict[str, Any], what: str) -> float | None:
    """A value of a validation; what floating point leaves of a violation of 0 is not worth an axis."""
    value = row.get(what)
    return None if value is None else round(float(value), 9)
