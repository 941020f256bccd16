"""Who gets the exposure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dashboard.charts.drawing import Drawing, bars, figure, group_axis, note, room, rule, with_glyphs
from dashboard.escaping import plot
from spofr_core.reporting import Audited, bounds_counts, exposure_bars, number, overall_exposure, palette


def exposure_by_group(summary: Mapping[str, Any]) -> Drawing:
    """Mean exposure per item of each group as bars, against the mean over all items."""
    shown, mean = exposure_bars(summary), overall_exposure(summary)
    values = [bar.exposure or 0.0 for bar in shown]
    labels = with_glyphs([bar.row for bar in shown])
    words = [f" <b>{bar.text}</b>  {bar.difference}" for bar in shown]
    drawn = bars(values, labels, [bar.row.style.colour for bar in shown], words)
    return figure(
        [drawn],
        height=90 + 52 * len(shown),
        top=30,
        left=room(labels),
        x={"title": "mean exposure per item", "range": [0, max([*values, mean, 1e-9]) * 1.04]},
        y=group_axis(),
        shapes=[rule(mean)],
        notes=[note(mean, f"all items {number(mean)}")],
    )


def bounds_shares(result: Audited) -> Drawing:
    """For each group, the share of judged queries in which its exposure is below, within and above its bounds."""
    counts = bounds_counts(result)
    labels = with_glyphs(counts.rows)
    total = np.maximum(counts.below + counts.within + counts.above, 1)
    parts = (
        ("below its bounds", counts.below, palette.OUTSIDE, "/"),
        ("within", counts.within, palette.FAINT, ""),
        ("above its bounds", counts.above, palette.OUTSIDE, ""),
    )
    names = [plot(row.group) for row in counts.rows]
    traces = [_part(part, 100 * queries / total, labels, names, *look) for part, queries, *look in parts]
    return figure(
        traces,
        height=120 + 46 * len(labels),
        top=34,
        left=room(labels),
        legend=True,
        barmode="stack",
        x={"title": "share of judged queries, %", "range": [0, 100]},
        y=group_axis(),
    )


def _part(
    name: str, shares: np.ndarray, labels: list[str], names: list[str], colour: str, pattern: str
) -> dict[str, Any]:
    look = {"shape": pattern, "solidity": 0.2, "fillmode": "overlay", "fgcolor": palette.LIGHT_HATCH}
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
        customdata=names,
        hovertemplate=f"%{{customdata}}: {name} in %{{x:.1f}} % of the queries<extra></extra>",
    )
