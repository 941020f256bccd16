"""How many queries hold delta, whatever delta is."""

from __future__ import annotations

from dashboard.charts.drawing import Drawing, Trace, figure, note, numbered, rule, shown_unit, side
from spofr_core.reporting import MOST_STEPS, Audited, mark_at, palette, share_steps


def share_curve(result: Audited, delta: float) -> Drawing:
    """Share of queries that hold delta, against delta, with its 95 % band, those that cannot fail, and delta marked."""
    steps = result.fair_share()
    drawn, mark = share_steps(steps, delta), mark_at(steps, delta, result.summary["unit"])
    factor, unit = shown_unit(result.summary["unit"])
    right = factor * max(float(drawn.delta[-1]), 1e-9) * 1.02
    at = min(factor * delta, right)  # a delta beyond the end forbids nothing, and would squeeze the curve
    line: Trace = {"type": "scatter", "mode": "lines", "x": factor * drawn.delta}
    edge: Trace = {**line, "line": {"width": 0, "shape": "hv"}, "hoverinfo": "skip"}
    held = f"delta %{{x:.3~g}}{unit}: %{{y:.1f}} % hold it, %{{customdata:.1f}} % cannot fail"
    curve: Trace = {
        **line,
        "y": 100 * drawn.share,
        "line": {"width": 2, "shape": "hv", "color": palette.ACCENT},
        "customdata": 100 * drawn.cannot_fail,
        "hovertemplate": f"{held}<extra></extra>",
    }
    idle: Trace = {**edge, "y": 100 * drawn.cannot_fail, "fill": "tozeroy", "fillcolor": palette.FAINT}
    chosen: Trace = {
        "type": "scatter",
        "mode": "markers",
        "x": [] if mark.share is None else [factor * mark.delta],
        "y": [] if mark.share is None else [100 * mark.share],
        "marker": {"size": 12, "color": palette.ACCENT, "line": {"width": 2, "color": palette.WHITE}},
        "hoverinfo": "skip",
    }
    could: list[Trace] = []
    if (drawn.could_hold > drawn.share).any():
        dashed = {"width": 1.5, "shape": "hv", "color": palette.OUTSIDE, "dash": "dash"}
        said = "with those that depend on unknown groups: %{y:.1f} %<extra></extra>"
        could = [
            {**edge, "y": 100 * drawn.share},
            {
                **line,
                "y": 100 * drawn.could_hold,
                "line": dashed,
                "hovertemplate": said,
                "fill": "tonexty",
                "fillcolor": palette.FAINT,
            },
        ]
    band: list[Trace] = [
        {**edge, "y": 100 * drawn.upper},
        {**edge, "y": 100 * drawn.lower, "fill": "tonexty", "fillcolor": palette.BAND},
    ]
    return figure(
        [*band, *could, curve, chosen, idle],
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
