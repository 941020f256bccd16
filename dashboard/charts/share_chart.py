"""How many queries hold delta, whatever delta is."""

from __future__ import annotations

from dashboard.charts.drawing import Drawing, Trace, figure, note, numbered, rule, shown_unit, side
from spofr_core.reporting import MOST_STEPS, Audited, mark_at, palette, share_steps


def share_curve(result: Audited, delta: float) -> Drawing:
    """Share of judged queries that hold delta, against delta, with its 95 % band and the chosen delta marked."""
    steps = result.fair_share()
    largest = result.summary["range"]["largest"]
    drawn, mark = share_steps(steps, largest, delta), mark_at(steps, delta, result.summary["unit"])
    factor, unit = shown_unit(result.summary["unit"])
    right = factor * max(float(drawn.delta[-1]), 1e-9) * 1.02
    at = min(factor * delta, right)  # a delta beyond the end forbids nothing, and would squeeze the curve
    line: Trace = {"type": "scatter", "mode": "lines", "x": factor * drawn.delta}
    edge: Trace = {**line, "line": {"width": 0, "shape": "hv"}, "hoverinfo": "skip"}
    curve: Trace = {
        **line,
        "y": 100 * drawn.share,
        "line": {"width": 2, "shape": "hv", "color": palette.ACCENT},
        "hovertemplate": f"delta %{{x:.3~g}}{unit}: %{{y:.1f}} % hold it<extra></extra>",
    }
    chosen: Trace = {
        "type": "scatter",
        "mode": "markers",
        "x": [] if mark.share is None else [factor * mark.delta],
        "y": [] if mark.share is None else [100 * mark.share],
        "marker": {"size": 12, "color": palette.ACCENT, "line": {"width": 2, "color": palette.WHITE}},
        "hoverinfo": "skip",
    }
    band: list[Trace] = [
        {**edge, "y": 100 * drawn.upper},
        {**edge, "y": 100 * drawn.lower, "fill": "tonexty", "fillcolor": palette.BAND},
    ]
    return figure(
        [*band, curve, chosen],
        height=320,
        top=30,
        x={"title": f"delta{unit and ', %'}", "range": [0, right], "nticks": 5, "tickangle": 0},
        y=numbered(
            title="queries that hold it, %",
            range=[0, 104],
            tickvals=[0, 25, 50, 75, 100],
            showgrid=True,
        ),
        shapes=[rule(at)],
        notes=[note(at, f"<b>{mark.label}</b>", xanchor=side(at / right))],
    )


def is_thinned(result: Audited) -> bool:
    """Whether the curve on the screen has fewer steps than the data."""
    return len(result.fair_share()) > MOST_STEPS
