"""One query: its lottery over rankings, and what that does to exposure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dashboard.charts.drawing import (
    EDGE,
    TITLE,
    By,
    Drawing,
    Trace,
    figure,
    group_axis,
    in_unit,
    note,
    numbered,
    room,
    rule,
    side,
    with_glyphs,
)
from dashboard.escaping import plot
from spofr_core.fairness import Unit
from spofr_core.policy import Policy, most_probable
from spofr_core.reporting import (
    NO_GROUP_STYLE,
    NO_GROUP_TEXT,
    GroupStyle,
    by_score,
    group_rows,
    group_styles,
    number,
    palette,
    percent,
    policy_bounds_rows,
    position_frame,
    sampled_frame,
    shortened,
    style_of,
    violation_text,
)

MOST_POSITIONS = 25
MOST_RANKINGS = 8
"""Positions and rankings that the lottery shows; the table and the downloads have them all."""
APART = 1.3
"""Where the first drawn ranking stands: the sort by score before it has its scores written beside the items."""
_BEFORE, _AFTER = 0.15, 0.95
"""What is left free before the first column of the lottery and after the place of the last, in columns."""
_NUMBERS = 40
"""Pixels for the numbers of its positions."""
MOST_CELLS = 60
"""Rows and columns of the heat map."""
_LETTERS = 14
"""Of the name of an item; a mark that is pointed at says more."""

Compared = Sequence[tuple[str, Policy]]
Look = tuple[str | None, str, GroupStyle]
"""A group (None: of the items without one), what the legend calls it, and its style."""


ITEM = "item"
"""What all items are to charts that know no groups."""


def lottery(policy: Policy, all_groups: Sequence[str], *, each_item: bool = False, by: By = "score") -> Drawing:
    """The rankings of the lottery as columns of items, in their order, after the plain sort by score."""
    shown = min(len(policy.scores), MOST_POSITIONS)
    order = most_probable(policy.probabilities, MOST_RANKINGS)
    columns = {0.0: by_score(policy)} | {APART + r: policy.rankings[k] for r, k in enumerate(order)}
    heads = [f"<b>now</b><br>by {by}"]
    heads += [f"<b>{percent(float(policy.probabilities[k]))}</b><br>ranking {k + 1}" for k in order]
    rows: list[Look] = [(row.group, row.label, row.style) for row in group_rows(all_groups, all_groups)]
    rows = [row for row in [*rows, (None, NO_GROUP_TEXT, NO_GROUP_STYLE)] if row[0] in policy.groups]
    if each_item:
        rows = [(ITEM, ITEM, group_styles([ITEM])[ITEM])]
    traces = [_items_of(row, policy, columns, shown, every=each_item, by=by) for row in rows]
    return figure(
        traces,
        height=120 + 24 * shown,
        top=46,
        left=_NUMBERS,
        legend=not each_item,
        x={"range": [-_BEFORE, max(columns) + _AFTER], "visible": False},
        y=numbered(title="position", range=[shown + 0.7, 0.3], dtick=1, tick0=1),
        shapes=[rule(APART - 0.15, width=1, dash="dot")],
        notes=[note(x, head, xanchor="left", xshift=-8, align="left") for x, head in zip(columns, heads, strict=True)],
        legend_below=True,
    )


def lottery_room(policy: Policy) -> int:
    """Pixels in width that the lottery takes before the names of its items lie on each other."""
    order = most_probable(policy.probabilities, MOST_RANKINGS)
    items = np.unique([by_score(policy)[:MOST_POSITIONS], *policy.rankings[order, :MOST_POSITIONS]])
    names = {k: _item_name(policy, k) for k in items}
    now = room([f"{names[k]}, {number(float(policy.scores[k]))}" for k in items])
    drawn = room([f"ranking {order.max() + 1}", *names.values()])
    column = max(now / APART, drawn)
    return round(column * (_BEFORE + APART + len(order) - 1 + _AFTER)) + _NUMBERS + TITLE + EDGE


def _item_name(policy: Policy, item: int) -> str:
    """What a chart calls an item: without its middle where it is long, for names of items differ at their end."""
    return plot(shortened(policy.item_ids[item], _LETTERS))


def _items_of(
    row: Look, policy: Policy, columns: Mapping[float, NDArray[Any]], shown: int, *, every: bool, by: By
) -> Trace:
    """The items of one group, or every item, wherever they stand in the columns."""
    groups, (group, label, style) = policy.groups, row
    where = [
        (column, position, int(ranking[position]))
        for column, ranking in columns.items()
        for position in range(shown)
        if every or groups[ranking[position]] == group
    ]
    names = {k: _item_name(policy, k) for _, _, k in where}
    # A rank is where the item stands, and need not be written beside it.
    sign = 1 if by == "score" else -1
    scores = {k: number(sign * float(policy.scores[k])) for _, _, k in where}
    return {
        "type": "scatter",
        "mode": "markers+text",
        "name": plot(label),
        "x": [column for column, _, _ in where],
        "y": [position + 1 for _, position, _ in where],
        "marker": {"symbol": style.marker, "size": 13, "color": style.colour},
        "text": [
            f" {names[k]}" + (f", {scores[k]}" if column == 0 and by == "score" else "") for column, _, k in where
        ],
        "textposition": "middle right",
        "customdata": [
            [plot(policy.item_ids[k], 60), scores[k], number(float(policy.exposure[k]))] for _, _, k in where
        ],
        "hovertemplate": f"%{{customdata[0]}}: {by} %{{customdata[1]}}, "
        "expected exposure %{customdata[2]}<extra></extra>",
        "cliponaxis": False,
    }


def heat_map(policy: Policy, all_groups: Sequence[str], *, each_item: bool = False) -> Drawing:
    """Probability of each item at each position; items from the highest score down."""
    frame = position_frame(policy, MOST_CELLS)
    shown = len(frame)
    order = by_score(policy)[:shown]
    styles, groups = group_styles(all_groups), policy.groups
    names = [_item_name(policy, k) for k in order]
    looks = [style_of(styles, groups[k]) for k in order]
    matrix = frame.drop(columns="item").to_numpy()
    cells: Trace = {
        "type": "heatmap",
        "z": np.where(matrix > 1e-12, matrix, np.nan),
        "x": np.arange(1, shown + 1),
        "y": np.arange(shown),
        "zmin": 0,
        "zmax": 1,
        "xgap": 1,
        "ygap": 1,
        "colorscale": list(map(list, enumerate(palette.HEAT))),
        "colorbar": {"title": {"text": "probability"}, "tickformat": ".0%", "thickness": 12, "outlinewidth": 0},
        "customdata": [[name] * shown for name in names],
        "hovertemplate": "%{customdata} at position %{x}: %{z:.1%}<extra></extra>",
        "hoverongaps": False,
    }
    labels = [
        name if each_item else f'{name} <span style="color:{look.colour}">{look.glyph}</span>'
        for name, look in zip(names, looks, strict=True)
    ]
    return figure(
        [cells],
        height=110 + 22 * shown,
        left=room(labels) + 10,  # the glyph is wider than a letter
        right=90,
        x={"title": "position", "constrain": "domain"},
        y={
            "title": "items, highest score first",
            "autorange": "reversed",
            "tickvals": np.arange(shown),
            "ticktext": labels,
        },
    )


def exposure_in_bounds(
    compared: Compared,
    sorted_exposure: dict[str, float],
    all_groups: Sequence[str],
    *,
    each_item: bool = False,
    by: By = "score",
) -> Drawing:
    """Mean exposure of each group against its bounds: sorted by score, and under each of the given policies.

    With each item on its own: the exposure of the items with the highest scores.
    """
    bounds = {(row["delta"], row["group"]): row for row in policy_bounds_rows(compared, sorted_exposure)}
    first = compared[0][1]
    names = [name for name in all_groups if name in first.group_exposure]
    labels = dict(zip(names, with_glyphs(group_rows(names, all_groups)), strict=True))
    styles = group_styles(all_groups)
    if each_item:
        top = by_score(first)[:MOST_POSITIONS]
        names, written = [first.groups[k] for k in top], [_item_name(first, k) for k in top]
        labels = {
            name: text if written.count(text) == 1 else f"{text} ({place})"
            for place, (name, text) in enumerate(zip(names, written, strict=True), start=1)
        }
        styles = dict.fromkeys(names, group_styles([ITEM])[ITEM])
    traces: list[Trace] = []
    rows = []
    for title, _ in compared:
        for name in names:
            row = labels[name] if len(compared) == 1 else f"{labels[name]}, {title}"
            rows.append(row)
            traces += _row(row, bounds[title, name], styles[name], in_legend=not traces, by=by)
    return figure(
        traces,
        height=110 + (26 if each_item else 46) * len(rows),
        left=room(rows),
        top=34,
        legend=True,
        x={"title": "exposure" if each_item else "exposure per item of the group"},
        y=group_axis(type="category"),
    )


def _row(row: str, numbers: dict[str, Any], look: GroupStyle, *, in_legend: bool, by: By) -> list[Trace]:
    """The interval that a group is allowed, and two marks: where it is, and where the policy puts it."""
    low, high = numbers["lower bound"], numbers["upper bound"]
    traces: list[Trace] = []
    if math.isfinite(low) and math.isfinite(high):
        allowed = {
            "x": [max(low, 0.0), high],
            "y": [row, row],
            "mode": "lines",
            "line": {"width": 16, "color": palette.FAINT},
        }
        said = f"{row}: {number(low)} to {number(high)} is allowed<extra></extra>"
        traces.append({"type": "scatter", "name": "allowed", "hovertemplate": said, **allowed})
    marks = (
        (f"sorted by {by} (open)", numbers["plain sort"], f"{look.marker}-open"),
        ("policy (filled)", numbers["policy"], look.marker),
    )
    outline = {"width": 2, "color": look.colour}
    for what, value, symbol in marks:
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": [value],
                "y": [row],
                "name": what,
                "marker": {"symbol": symbol, "size": 13, "color": look.colour, "line": outline},
                "hovertemplate": f"{row}, {what}: {number(value)}<extra></extra>",
            }
        )
    return [{**trace, "legendgroup": trace["name"], "showlegend": in_legend} for trace in traces]


def sampled_histogram(
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
    expected: float,
    delta: float,
    unit: Unit = "absolute",
) -> Drawing:
    """Largest violation of what readers really see, against that of the policy in expectation, and delta."""
    frame = sampled_frame(values, weights, expected, delta)
    low, high = frame["violation from"].to_numpy(), frame["to"].to_numpy()
    middle = (low + high) / 2
    drawn: Trace = {
        "type": "bar",
        "x": middle,
        "y": 100 * frame["share"].to_numpy(),
        "width": high[0] - low[0],
        "marker": {"color": [palette.ACCENT if m <= delta else palette.WARNING for m in middle], "line": {"width": 0}},
        "hovertemplate": "violation about %{x}: %{y:.1f} %<extra></extra>",
    }
    return figure(
        [drawn],
        height=290,
        top=40,
        bargap=0,
        x={**in_unit("largest violation", unit, float(high[-1])), "range": [0, float(high[-1])]},
        y={"title": "share of periods, %", "nticks": 4, "showgrid": True},
        shapes=[rule(delta), rule(expected, colour=palette.EXPECTED, dash="solid")],
        notes=[
            note(delta, f"delta {violation_text(delta, unit)}", xanchor=side(delta / high[-1])),
            note(
                expected,
                f"in expectation {violation_text(expected, unit)}",
                yshift=16,
                font={"color": palette.EXPECTED},
                xanchor="left" if expected < high[-1] / 3 else side(expected / high[-1]),
            ),
        ],
    )
