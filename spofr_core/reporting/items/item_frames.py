"""The numbers behind the chart of items, where each item is on its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spofr_core.reporting.chart_frames import Audited, FloatArray
from spofr_core.reporting.items.item_words import HIGH, LOW, MEDIAN
from spofr_core.reporting.wording.phrases import number

BARS = 60


@dataclass(frozen=True, eq=False)
class ItemBins:
    """How many items get how many times their list's mean exposure.

    Attributes
    ----------
    edges : (B + 1,) float
        From 0 to the largest.
    items : (B,) int
        Items between two edges; the last bar has its right edge too.
    low, median, high : float
        What 5 %, half and 95 % of the items get at most.
    within : tuple of float, optional
        What delta allows, where it is the same in every list: as a share.
    """

    edges: FloatArray
    items: NDArray[np.int64]
    low: float
    median: float
    high: float
    within: tuple[float, float] | None

    def frame(self) -> pd.DataFrame:
        """The bars as a table."""
        return pd.DataFrame({"from, times the mean": self.edges[:-1], "to": self.edges[1:], "items": self.items})


def item_bins(result: Audited) -> ItemBins | None:
    """The histogram of an audit; None where no list has two items."""
    summary, relative = result.summary, result.table.relative_exposure
    known = relative[np.isfinite(relative)]
    if not len(known):
        return None
    edges = np.linspace(0.0, float(known.max()), BARS + 1)
    spread = summary["items"]["relative"]
    return ItemBins(
        edges=edges,
        items=np.histogram(known, bins=edges)[0],
        low=spread[LOW],
        median=spread[MEDIAN],
        high=spread[HIGH],
        within=_within(summary),
    )


def _within(summary: Mapping[str, Any]) -> tuple[float, float] | None:
    if summary["unit"] != "share" or summary["notion"] != "exposure":
        return None
    return max(1.0 - summary["delta"], 0.0), 1.0 + summary["delta"]


def item_rows(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What items get of their list's mean exposure, a row per number: what it is, how many times the mean."""
    items = summary["items"]
    levels = [(f"{100 * float(level):.0f} % of the items get at most", value) for level, value in _levels(items)]
    ends = [
        ("The most exposed item of a list, on average", items["most"]["mean"]),
        ("The least exposed item of a list, on average", items["least"]["mean"]),
    ]
    return [(said, number(value)) for said, value in [*levels, *ends]]


def _levels(items: Mapping[str, Any]) -> list[tuple[str, float | None]]:
    return sorted(items["relative"].items(), key=lambda pair: float(pair[0]))
