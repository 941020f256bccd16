"""A measure by slices of the queries and over time, each mean with its interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dashboard.charts.drawing import EDGE, TICKS, TITLE, Drawing, Trace, figure, note, rule_in_row, shown_unit, side
from dashboard.escaping import plot
from spofr_core.reporting import palette, value_text, window_text

Plain = Mapping[str, Any]

MOST_SLICES = 12
"""Slices that are drawn, those with the most evidence of a difference; the table has all."""
MOST_MARKS = 60
"""Windows of time with a mark each; more are a line."""
LINE, MARK, GAP = 19, 16, 8
"""Pixels of a line of words, of the marks below it, and between two slices."""
_LETTERS, _BESIDE = 30, 36


def slice_intervals(entry: Plain) -> Drawing | None:
    """The mean of each slice with its interval, filled where it differs from the rest; the line is that of all queries.

    `entry` is one of the measures of a slicing. None where no slice has enough queries for an interval.
    """
    rows = drawn_slices(entry)
    if not rows:
        return None
    factor, sign = shown_unit(entry["unit"])
    mean = factor * entry["mean"]
    ends = [factor * end for row in rows for end in row["ci"]]
    low, high = _room(min(*ends, mean), max(*ends, mean))
    height = LINE + MARK + GAP
    middles = [place + (LINE + MARK / 2) / height for place in range(len(rows))]
    words = [
        f"<b>{plot(row['slice'], _LETTERS)}</b>  {value_text(row['mean'], entry['unit'])}, n = {row['n']:,}"
        for row in rows
    ]
    return figure(
        [_whisker(row, middle, factor, entry["unit"]) for row, middle in zip(rows, middles, strict=True)],
        height=34 + TICKS + TITLE + height * len(rows),
        top=34,
        left=EDGE,
        x={"title": _axis_title(entry, sign), "range": [low, high], "nticks": 6},
        y={"range": [len(rows), 0], "visible": False},
        shapes=[rule_in_row(mean, middle, (MARK / 2 + 2) / height) for middle in middles],
        notes=[
            note(
                mean,
                f"┆ all queries: {value_text(entry['mean'], entry['unit'])}",
                xanchor=side((mean - low) / (high - low)),
            ),
            *(_row_note(place, said) for place, said in enumerate(words)),
        ],
    )


def drawn_slices(entry: Plain) -> list[Plain]:
    """The slices that the chart shows."""
    return [row for row in entry["slices"] if row["ci"] is not None][:MOST_SLICES]


def _whisker(row: Plain, at: float, factor: float, unit: str) -> Trace:
    low, high = (value_text(end, unit) for end in row["ci"])
    said = f"{plot(row['slice'], 80)}: {value_text(row['mean'], unit)} ({low} to {high}), n = {row['n']:,}"
    colour = palette.ACCENT
    hollow = {"symbol": "circle-open", "line": {"width": 2, "color": colour}}
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "x": [factor * row["ci"][0], factor * row["mean"], factor * row["ci"][1]],
        "y": [at] * 3,
        "line": {"color": colour, "width": 2},
        "marker": {
            "size": [0, 11, 0],
            "color": colour,
            "opacity": 1,
            **({"symbol": "circle"} if row["differs"] else hollow),
        },
        "customdata": [said] * 3,
        "hovertemplate": "%{customdata}<extra></extra>",
    }


def time_course(time: Plain, entry: Plain) -> Drawing | None:
    """The mean of each window of time as a line, its interval as a band; a window without queries leaves a gap.

    `time` is ``summary["time"]`` of an audit and `entry` one of its measures. None where no window has a value.
    """
    windows = entry["windows"]
    if all(row["mean"] is None for row in windows):
        return None
    factor, sign = shown_unit(entry["unit"])
    colour = palette.ACCENT
    line: Trace = {
        "type": "scatter",
        "mode": "lines+markers" if len(windows) <= MOST_MARKS else "lines",
        "x": [row["start"] for row in windows],
        "y": [None if row["mean"] is None else factor * row["mean"] for row in windows],
        "line": {"color": colour, "width": 2},
        "marker": {"color": colour, "size": 7},
        "customdata": [_window_said(time, row, entry["unit"]) for row in windows],
        "hovertemplate": "%{customdata}<extra></extra>",
    }
    title = _axis_title(entry, sign)
    beside = len(title) <= _BESIDE
    above: dict[str, Any] = {} if beside else {"top": 28, "notes": [_above(title)]}
    return figure(
        [*(_band(run, factor) for run in _runs(windows)), line],
        height=300 if beside else 320,
        left=48,
        x={"title": "start of the window", "type": "date", "nticks": 6, "tickangle": 0},
        y={**({"title": title} if beside else {}), "nticks": 5, "showgrid": True},
        **above,
    )


def _window_said(time: Plain, row: Plain, unit: str) -> str:
    if row["mean"] is None:
        return ""
    sure = "" if row["ci"] is None else f" ({value_text(row['ci'][0], unit)} to {value_text(row['ci'][1], unit)})"
    return f"{window_text(time['window'], row['start'])}: {value_text(row['mean'], unit)}{sure}, n = {row['n']:,}"


def _runs(windows: Sequence[Plain]) -> list[list[Plain]]:
    """Windows with an interval that follow each other."""
    runs: list[list[Plain]] = [[]]
    for row in windows:
        if row["ci"] is None:
            runs.append([])
        else:
            runs[-1].append(row)
    return [run for run in runs if run]


def _band(run: Sequence[Plain], factor: float) -> Trace:
    """The intervals of windows that follow each other; of a single one, a line."""
    starts = [row["start"] for row in run]
    lower, upper = ([factor * row["ci"][end] for row in run] for end in (0, 1))
    look: dict[str, Any] = {"fill": "toself", "fillcolor": palette.BAND, "line": {"width": 0}}
    if len(run) == 1:
        look = {"line": {"width": 6, "color": palette.BAND}}
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [*starts, *reversed(starts)],
        "y": [*lower, *reversed(upper)],
        "hoverinfo": "skip",
        **look,
    }


def _above(title: str) -> dict[str, Any]:
    """What the vertical axis counts, above the chart: beside it there is no room for a long one."""
    corner = {"x": 0, "xref": "paper", "xanchor": "left", "y": 1, "yref": "paper", "yanchor": "bottom"}
    return {**corner, "text": title, "showarrow": False}


def _axis_title(entry: Plain, sign: str) -> str:
    return plot(f"{entry['label']}{sign and ','}{sign}", 60)


def _room(low: float, high: float) -> tuple[float, float]:
    spare = 0.04 * (high - low) or 0.05 * abs(high) or 0.5
    return low - spare, high + spare


def _row_note(place: int, text: str) -> dict[str, Any]:
    """What stands above the marks at this place, from the left end of the plot."""
    where = {"x": 0, "xref": "paper", "xanchor": "left", "y": place, "yref": "y", "yanchor": "top"}
    return {**where, "text": text, "showarrow": False, "align": "left"}
