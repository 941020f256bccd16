"""The numbers behind the charts of trained models, computed once for the reproduction and for every page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from spofr_core.fairness import format_delta
from spofr_core.reporting.palette import DOMINATED
from spofr_core.reporting.series import label_of, method_title, series_of


def grid_frame(points: pd.DataFrame, muted: str = DOMINATED) -> pd.DataFrame:
    """Every trained model in the order in which it is drawn: by method, dominated ones first.

    Adds `label`, `colour`, `shape`, `fill` (`muted` where dominated) and `text`, what pointing at it says.
    """
    parts = []
    for series in series_of(points, "method"):
        rows = series.rows.sort_values("dominated", ascending=False, kind="stable")
        texts = [_steered(row) for row in rows.to_dict("records")]
        fills = [muted if grey else series.colour for grey in rows["dominated"]]
        style = {"label": series.label, "colour": series.colour, "shape": series.shape}
        parts.append(rows.assign(**style, fill=fills, text=texts))
    return pd.concat(parts) if parts else points.assign(label="", colour="", shape="", fill="", text="")


def _steered(row: Mapping[Any, Any]) -> str:
    steer = f", delta {format_delta(row['delta'], row['unit'])}" if not pd.isna(row["delta"]) else ""
    steer = f", penalty {row['penalty']:g}" if not pd.isna(row["penalty"]) else steer
    return f"{method_title(row['method'])}{steer}, seed {row['seed']}<br>run {row['run']}"


def guarantee_bars(frame: pd.DataFrame) -> pd.DataFrame:
    """The model that each method, delta and level gets, as bars: sorted by delta and level.

    Adds `height` (0 where no model qualifies), `half` (of its interval over the test queries), `empty`, `missed`
    (qualified on validation, not on test) and `words`, what pointing at the bar says: how far the method got, or what
    the model does.
    """
    bars = frame.sort_values(["delta", "level"], kind="stable")
    empty = bars["dcg"].isna().to_numpy(dtype=bool)
    missed = (~bars["holds"].fillna(value=True).astype(bool)).to_numpy(dtype=bool)
    half = bars["dcg_upper"] - bars["dcg"]
    words = [
        why if none else f"DCG {dcg:.4f} ± {half:.4f}; {share:.1%} of the test queries hold delta<br>run {run}"
        for none, why, dcg, half, share, run in zip(
            empty, bars["explanation"], bars["dcg"], half, bars["share"], bars["run"], strict=True
        )
    ]
    return bars.assign(height=bars["dcg"].fillna(0.0), half=half, empty=empty, missed=missed, words=words)


def achieved_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """What was asked for (`value`) and achieved (`violation`): a row per method, delta and kind, with its label."""
    asked = frame[frame["asked"] == "delta"].sort_values("value", kind="stable")
    kinds = {"largest": "violation_max", "mean": "violation_mean"}
    parts = [
        asked.assign(
            kind=kind,
            violation=asked[column],
            label=[f"{label_of('method', method)}, {kind}" for method in asked["method"]],
        )
        for kind, column in kinds.items()
    ]
    return pd.concat(parts, ignore_index=True)[["method", "kind", "label", "value", "violation"]]


def run_table(frame: pd.DataFrame) -> pd.DataFrame:
    """The table behind a chart of trained models, to be read: methods by the names that the chart has for them, no
    column that is empty throughout, and nothing of what floating point leaves of a violation of 0."""
    titled = frame.assign(method=[method_title(method) for method in frame["method"]]).round(9)
    return titled.dropna(axis="columns", how="all")


def ideal_line(frame: pd.DataFrame, x: str) -> tuple[float, float, float] | None:
    """The mean ideal DCG, and from where to where it is drawn; None where it is not known."""
    known = frame.dropna(subset=["ideal_dcg", x])
    if not len(known):
        return None
    return float(known["ideal_dcg"].mean()), float(known[x].min()), float(known[x].max())
