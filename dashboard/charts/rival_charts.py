"""One ranking beside another: what each group gets, and how a number is spread over the queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from dashboard.charts.drawing import (
    EDGE,
    TICKS,
    TITLE,
    Drawing,
    Trace,
    figure,
    line_note,
    note,
    rule_in_row,
    whole_ticks,
    with_glyphs,
)
from dashboard.escaping import plot
from spofr_core.reporting import MOST_GROUPS, distributions, group_rows, palette, percent

MEAN = 100
LINE, MARK, GAP = 19, 20, 12
"""Pixels of a line of words, of the marks below it, and between two groups."""
_LETTERS = 28


def exposure_change(rows: Sequence[Mapping[str, Any]], all_groups: Sequence[str], first: str, rival: str) -> Drawing:
    """Each group's exposure relative to the mean of its lists, from the first ranking (hollow) to the rival (filled).

    `rows` are those of a comparison that are about groups; words stand above the marks, so that long names have room.
    """
    shown = [row for row in rows if row["before"] is not None and row["after"] is not None][:MOST_GROUPS]
    looks = group_rows([row["group"] for row in shown], all_groups)
    ends = [100 * value for row in shown for value in (row["before"], row["after"])]
    low, high = min([MEAN - 5, *ends]), max([MEAN + 5, *ends])
    margin = 0.06 * (high - low)
    row_height = LINE + MARK + GAP
    middles = [place + (LINE + MARK / 2) / row_height for place in range(len(shown))]
    traces: list[Trace] = []
    for row, look, middle in zip(shown, looks, middles, strict=True):
        before, after = 100 * row["before"], 100 * row["after"]
        line = {"color": look.style.colour, "width": 2}
        said = f"{plot(row['group'])}: {percent(row['before'], 0)} → {percent(row['after'], 0)}<extra></extra>"
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "x": [before, after],
                "y": [middle, middle],
                "line": line,
                "marker": {
                    "symbol": [f"{look.style.marker}-open", look.style.marker],
                    "size": 13,
                    "color": look.style.colour,
                    "line": {"width": 2, "color": look.style.colour},
                },
                "hovertemplate": said,
            }
        )
    words = [
        f"{label}  <b>{percent(row['before'], 0)} → {percent(row['after'], 0)}</b>"
        for label, row in zip(with_glyphs(looks), shown, strict=True)
    ]
    return figure(
        traces,
        height=46 + TICKS + TITLE + row_height * len(shown),
        top=46,
        left=EDGE,
        x={
            "title": "exposure per item, % of the mean of its lists",
            "range": [low - margin, high + margin],
            "nticks": 6,
        },
        y={"range": [len(shown), 0], "visible": False},
        shapes=[rule_in_row(MEAN, middle, (MARK / 2 + 2) / row_height) for middle in middles],
        notes=[
            line_note(MEAN, "mean of its lists", (MEAN - low + margin) / (high - low + 2 * margin)),
            {
                **note(0, f"hollow: {plot(first, _LETTERS)} · filled: {plot(rival, _LETTERS)}", xanchor="left"),
                "xref": "paper",
                "yshift": 18,
            },
            *(
                {
                    "x": 0,
                    "xref": "paper",
                    "y": place,
                    "yref": "y",
                    "xanchor": "left",
                    "yanchor": "top",
                    "text": said,
                    "showarrow": False,
                }
                for place, said in enumerate(words)
            ),
        ],
    )


def both_spreads(frame: pd.DataFrame, first: str, rival: str, label: str, *, share: bool) -> Drawing:
    """How many queries have which value, in the first ranking (grey, dashed) and in the rival (filled).

    `frame` is `Comparison.differences`.
    """
    scale = 100.0 if share else 1.0
    found = distributions(scale * frame["before"].to_numpy(), scale * frame["after"].to_numpy())
    middles = (found.edges[:-1] + found.edges[1:]) / 2
    width = float(found.edges[1] - found.edges[0])
    x = np.concatenate([[middles[0] - width], middles, [middles[-1] + width]])
    common = {"type": "scatter", "mode": "lines", "x": x}
    unit = " %" if share else ""

    def outline(counts: Any, name: str, line: dict[str, Any], **more: Any) -> Trace:
        hover = f"{plot(name, _LETTERS)}, about %{{x:.3g}}{unit}: %{{y}} queries<extra></extra>"
        style = {"shape": "hvh", **line}
        return {
            **common,
            "y": np.pad(counts, 1),
            "name": plot(name, _LETTERS),
            "line": style,
            "hovertemplate": hover,
            **more,
        }

    most = int(max(found.before.max(initial=0), found.after.max(initial=0)))
    return figure(
        [
            outline(
                found.after, rival, {"width": 1.5, "color": palette.ACCENT}, fill="tozeroy", fillcolor=palette.BAND
            ),
            outline(found.before, first, {"width": 2, "color": palette.NEUTRAL, "dash": "dash"}),
        ],
        height=300,
        top=40,
        legend=True,
        x={"title": plot(f"{label}{', %' if share else ''}", 60)},
        y={"title": "queries", "rangemode": "tozero", **whole_ticks(most)},
    )
