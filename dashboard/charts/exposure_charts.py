"""Who gets the exposure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dashboard.charts.drawing import (
    ACCENT,
    FAINT,
    MOST_GROUPS,
    WARNING,
    Drawing,
    bars,
    figure,
    group_axis,
    note,
    room,
    rule,
)
from dashboard.escaping import plot
from spofr_core.evaluation import TOLERANCE, AuditResult
from spofr_core.reporting import group_styles, number

LONGEST = 20
"""Letters of a group's name along an axis: a telephone is to have room for the chart as well."""


def shown_groups(summary: Mapping[str, Any], most: int = MOST_GROUPS) -> list[str]:
    """The groups of a chart, in their order; where there are too many, those with the largest mean violation."""
    names = list(summary["groups"])
    if len(names) <= most:
        return names
    size = {name: abs(summary["groups"][name]["violation_mean"] or 0.0) for name in names}
    kept = set(sorted(names, key=lambda name: -size[name])[:most])
    return [name for name in names if name in kept]


def group_labels(names: Sequence[str], all_names: Sequence[str]) -> list[str]:
    """Glyph and name of each group; equal short forms are told apart by their place."""
    styles = group_styles(all_names)
    labels = [
        f'<span style="color:{styles[name].colour}">{styles[name].glyph}</span> {plot(name, LONGEST)}' for name in names
    ]
    repeated = {label for label in labels if labels.count(label) > 1}
    return [f"{label} ({place + 1})" if label in repeated else label for place, label in enumerate(labels)]


def overall_exposure(summary: Mapping[str, Any]) -> float:
    """Mean exposure over all items of all lists."""
    groups = summary["groups"].values()
    items = sum(group["items"] for group in groups)
    return sum(group["items"] * (group["exposure_mean"] or 0.0) for group in groups) / max(items, 1)


def exposure_by_group(summary: Mapping[str, Any]) -> Drawing:
    """Mean exposure per item of each group as bars, against the mean over all items."""
    names = [name for name in shown_groups(summary) if summary["groups"][name]["exposure_mean"] is not None]
    styles = group_styles(list(summary["groups"]))
    values = [summary["groups"][name]["exposure_mean"] for name in names]
    mean = overall_exposure(summary)
    labels = group_labels(names, list(summary["groups"]))
    drawn = bars(
        values,
        labels,
        [styles[name].colour for name in names],
        [f" <b>{number(value)}</b>  {against(value, mean)}" for value in values],
    )
    return figure(
        [drawn],
        height=90 + 52 * len(names),
        top=30,
        left=room(labels),
        x={"title": "mean exposure per item", "range": [0, max([*values, mean, 1e-9]) * 1.04]},
        y=group_axis(),
        shapes=[rule(mean)],
        notes=[note(mean, f"all items {number(mean)}")],
    )


def against(value: float, mean: float) -> str:
    """How far a value is from the mean, in words short enough for a bar on a telephone."""
    change = round(100 * (value / mean - 1)) if mean > 0 else 0
    return "at the mean" if change == 0 else f"{abs(change)} % {'above' if change > 0 else 'below'}"


def bounds_shares(result: AuditResult) -> Drawing:
    """For each group, the share of judged queries in which its exposure is below, within and above its bounds."""
    summary, table = result.summary, result.table
    names = shown_groups(summary)
    places = [table.group_names.index(name) for name in names]
    labels = group_labels(names, list(summary["groups"]))
    counted = table.present & table.applicable[:, None]
    total = np.maximum(counted.sum(axis=0), 1)
    with np.errstate(invalid="ignore"):
        below = (counted & (table.violation < -table.delta - TOLERANCE)).sum(axis=0) / total
        above = (counted & (table.violation > table.delta + TOLERANCE)).sum(axis=0) / total
    parts = (
        ("below its bounds", below, WARNING, "/"),
        ("within", 1 - below - above, FAINT, ""),
        ("above its bounds", above, ACCENT, "\\"),
    )
    traces = [_part(name, 100 * share[places], labels, colour, pattern) for name, share, colour, pattern in parts]
    return figure(
        traces,
        height=120 + 46 * len(names),
        top=34,
        left=room(labels),
        legend=True,
        barmode="stack",
        x={"title": "share of judged queries, %", "range": [0, 100]},
        y=group_axis(),
    )


def _part(name: str, shares: np.ndarray, labels: list[str], colour: str, pattern: str) -> dict[str, Any]:
    look = {"shape": pattern, "solidity": 0.2, "fillmode": "overlay", "fgcolor": "rgba(255,255,255,0.5)"}
    return bars(
        shares,
        labels,
        colour,
        # What is grey is the rest, and no one colour can be read on it by day and by night.
        [f"{share:.0f} %" if share >= 8 and name != "within" else "" for share in shares],
        name=name,
        marker={"color": colour, "pattern": look, "line": {"width": 0}},
        textposition="inside",
        insidetextanchor="middle",
        hoverinfo=None,
        hovertemplate=f"%{{y}}: {name} in %{{x:.1f}} % of the queries<extra></extra>",
    )
