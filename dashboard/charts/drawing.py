"""What all charts have in common."""

from __future__ import annotations

import functools
import math
import re
from base64 import b64encode
from collections.abc import Sequence
from html import escape
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go
import plotly.io
from numpy.typing import NDArray
from plotly.basedatatypes import BaseFigure

from spofr_core.reporting import GroupRow, palette

CONFIG: dict[str, Any] = {"displayModeBar": False, "scrollZoom": False, "doubleClick": False}
Trace = dict[str, Any]
By = Literal["score", "rank"]
"""What a ranking is given by. Ranks are kept as scores with their sign changed, and are shown as ranks."""
_MARKUP = re.compile(r"<[^>]*>|&[a-z]+;")
TICKS, TITLE, EDGE = 26, 22, 8
"""Pixels that the numbers of an axis take, its title, and what is left free where there is neither."""
LINE, BAR, GAP = 19, 18, 14
"""Pixels of a line of words, of the bar below it, and between two groups."""
# A margin that Plotly measures costs as much as the chart: it is drawn once to measure and once to be seen.
_AXIS = {"fixedrange": True, "zeroline": False, "automargin": False, "showgrid": False}


class Drawing(BaseFigure):  # type: ignore[misc]  # Plotly has no types
    """A figure that is its own description, which Plotly neither checks nor copies: doing so takes longer than solving
    every list. The tests have every kind checked.

    Attributes
    ----------
    spec
        `data` and `layout` as plotly.js knows them; numbers may be NumPy arrays.
    """

    spec: dict[str, Any]

    def __init__(self, spec: dict[str, Any]) -> None:
        object.__setattr__(self, "spec", spec)

    def checked(self) -> go.Figure:
        """The same as Plotly understands it.

        Raises
        ------
        ValueError
            When it does not.
        """
        return go.Figure(self.spec)

    def to_dict(self) -> dict[str, Any]:
        """The description as it is sent: in the theme of the page, arrays as bytes."""
        packed = _packed(self.spec)
        return {"data": packed["data"], "layout": {"template": _theme(plotly.io.templates.default), **packed["layout"]}}


@functools.cache
def _theme(name: str) -> dict[str, Any]:
    theme: dict[str, Any] = plotly.io.templates[name].to_plotly_json()
    return theme


def _packed(part: Any) -> Any:
    if isinstance(part, dict):
        return {name: _packed(value) for name, value in part.items()}
    if isinstance(part, list):
        return [_packed(value) for value in part]
    return _bytes(part) if isinstance(part, np.ndarray) else part


def _bytes(values: NDArray[Any]) -> Any:
    """An array as plotly.js reads it: seven digits are more than a screen shows. Text stays a list."""
    if values.dtype.kind not in "iuf" or not values.size:
        return values.tolist()
    kind = "f4" if values.dtype.kind == "f" else "i4"
    packed = {"dtype": kind, "bdata": b64encode(np.ascontiguousarray(values, dtype=f"<{kind}").tobytes()).decode()}
    return packed if values.ndim == 1 else {**packed, "shape": ", ".join(map(str, values.shape))}


def figure(
    traces: Sequence[Trace],
    *,
    height: int,
    x: dict[str, Any] | None = None,
    y: dict[str, Any] | None = None,
    shapes: Sequence[dict[str, Any]] = (),
    notes: Sequence[dict[str, Any]] = (),
    top: int = 10,
    left: int = 40,
    right: int = EDGE,
    legend: bool = False,
    legend_below: bool = False,
    legend_at: float = 1.02,
    entry: int = 0,
    toggles: bool = False,
    **layout: Any,
) -> Drawing:
    """A quiet figure: no grid where it does not help, no zoom that traps a scrolling finger.

    `left` is the room for what stands along the vertical axis; its title comes on top of that. A long legend is set in
    columns of `entry` pixels: as wide as its longest words, it would be one tall column on a telephone. `legend_at` is
    where it ends from above, 1 is the top of the plot. `toggles` lets a click in the legend hide what it names.
    """
    x, y = x or {}, y or {}
    below = EDGE if x.get("visible") is False else TICKS + (TITLE if x.get("title") else 0)
    margin = {"l": left + (TITLE if y.get("title") else 0), "r": right, "t": top, "b": below}
    clicks = {} if toggles else {"itemclick": False, "itemdoubleclick": False}
    columns = {"entrywidth": entry, "font": {"size": 10.5}} if entry else {}
    place = {"y": -0.02, "yanchor": "top"} if legend_below else {"y": legend_at, "yanchor": "bottom"}
    return Drawing(
        {
            "data": list(traces),
            "layout": {
                "height": height,
                "margin": margin,
                "showlegend": legend,
                "dragmode": False,
                "hoverlabel": {"align": "left"},
                "legend": {"orientation": "h", "x": 0, "traceorder": "normal", **columns, **clicks, **place},
                "xaxis": axis(**x),
                "yaxis": axis(**y),
                "shapes": list(shapes),
                "annotations": list(notes),
                **layout,
            },
        }
    )


def axis(title: str = "", **settings: Any) -> dict[str, Any]:
    """An axis that stays where it is."""
    return {**_AXIS, "title": {"text": title}, **settings}


def numbered(**settings: Any) -> dict[str, Any]:
    """A vertical axis whose numbers have room beside it: Plotly need not measure each of them to hide those that do
    not, which takes a fifth of the time of a chart with many."""
    return {"ticklabeloverflow": "allow", **settings}


def whole_ticks(most: int) -> dict[str, Any]:
    """Ticks of an axis of counts: few, and never a count twice, which fractions rounded to whole numbers would be."""
    return {"nticks": 4, "tickformat": ",d", **({"dtick": 1} if most <= 4 else {})}


def shown_unit(unit: str) -> tuple[float, str]:
    """What violations and deltas are multiplied by to be drawn, and what stands behind them: shares are per cent."""
    return (100.0, " %") if unit == "share" else (1.0, "")


def side(place: float) -> str:
    """The side of its line on which a label has room; `place` runs from 0, the left end, to 1."""
    return "left" if place < 0.25 else "right" if place > 0.75 else "center"


def in_unit(title: str, unit: str, span: float) -> dict[str, Any]:
    """Title and ticks of an axis of deltas or violations; shares are per cent of the mean exposure."""
    if unit != "share":
        return {"title": title}
    return {"title": f"{title}, share of mean exposure", "tickformat": percent_ticks(span)}


def percent_ticks(span: float) -> str:
    """A format of shares with as many decimals as keep about eight ticks over this span apart."""
    step = 100 * max(abs(span), 1e-9) / 8
    return f".{max(0, -math.floor(math.log10(step)))}%"


def group_axis(**settings: Any) -> dict[str, Any]:
    """A vertical axis of groups, the first at the top."""
    return {"autorange": "reversed", "ticklabelstandoff": 6, **settings}


def plain_text(label: str) -> str:
    """A label without its markup."""
    return _MARKUP.sub("", label)


def room(labels: Sequence[str]) -> int:
    """Pixels that labels of an axis take, going by the letters of the longest; markup takes none."""
    return 22 + 7 * max((len(plain_text(label)) for label in labels), default=0)


def with_glyphs(rows: Sequence[GroupRow]) -> list[str]:
    """Groups (`group_rows`) as an axis names them: the glyph in its colour, then the label as text."""
    return [
        f'<span style="color:{row.style.colour}">{row.style.glyph}</span> {escape(row.label, quote=False)}'
        for row in rows
    ]


def rule(at: float, *, colour: str = palette.NEUTRAL, width: float = 1.5, dash: str = "dash") -> dict[str, Any]:
    """A vertical line through the whole plot."""
    line = {"color": colour, "width": width, "dash": dash}
    return {"type": "line", "xref": "x", "yref": "paper", "x0": at, "x1": at, "y0": 0, "y1": 1, "line": line}


def rule_in_row(at: float, middle: float, half: float, *, layer: str = "below") -> dict[str, Any]:
    """A vertical line across one row of marks: one through the whole plot would cross the words between the rows."""
    return {**rule(at, width=2), "yref": "y", "y0": middle - half, "y1": middle + half, "layer": layer}


def band(low: float, high: float) -> dict[str, Any]:
    """A shaded strip through the whole plot."""
    edges = {"x0": low, "x1": high, "y0": 0, "y1": 1}
    return {
        "type": "rect",
        "xref": "x",
        "yref": "paper",
        "fillcolor": palette.BAND,
        "line": {"width": 0},
        "layer": "below",
        **edges,
    }


def note(at: float, text: str, **settings: Any) -> dict[str, Any]:
    """Words above the plot, at a place on the x axis."""
    place = {"x": at, "xref": "x", "y": 1, "yref": "paper", "yanchor": "bottom"}
    return {**place, "text": text, "showarrow": False, **settings}


def line_note(at: float, text: str, place: float) -> dict[str, Any]:
    """Words above the plot that name a dashed line: its sign stands on the line, the words on the side that has room.

    `place` runs from 0, the left end of the plot, to 1.
    """
    if place < 0.6:
        return note(at, f"┆ {text}", xanchor="left", xshift=-4)
    return note(at, f"{text} ┆", xanchor="right", xshift=4)


def bars(values: Any, labels: Sequence[str], colours: Any, text: Sequence[str], **settings: Any) -> Trace:
    """Horizontal bars with their values written inside, from the left, where no reference line crosses them."""
    return {
        "type": "bar",
        "orientation": "h",
        "x": values,
        "y": list(labels),
        "width": 0.62,
        "marker": {"color": colours, "line": {"width": 0}},
        "text": list(text),
        "textposition": "auto",
        "insidetextanchor": "start",
        "insidetextfont": {"color": palette.WHITE},
        "textangle": 0,
        "cliponaxis": False,
        "hoverinfo": "skip",
        **settings,
    }


def row_note(place: int, text: str) -> dict[str, Any]:
    """What stands above the bar at this place, from the left end of the plot."""
    where = {"x": 0, "xref": "paper", "xanchor": "left", "y": place, "yref": "y", "yanchor": "top"}
    return {**where, "text": text, "showarrow": False, "align": "left"}
