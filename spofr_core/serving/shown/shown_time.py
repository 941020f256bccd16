"""What was shown in each window of time: does exposure drift?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from spofr_core.errors import DataError
from spofr_core.evaluation.slicing.over_time import OverTime
from spofr_core.evaluation.slicing.query_values import FAIR, QueryValues
from spofr_core.evaluation.slicing.sliced_result import SlicedResult
from spofr_core.evaluation.slicing.windows import AUTO, Window, Windows, checked_window, windows_of
from spofr_core.fairness import TOLERANCE, Fairness
from spofr_core.serving.shown.realised import Impressions, Realised
from spofr_core.serving.shown.shown_log import ShownLog

_PARTS = 6
"""Equal parts of a log that covers less than two days."""
_MOST_GROUPS = 12
"""Groups with a course of their own."""


@dataclass(frozen=True, eq=False)
class ShownTime:
    """What was shown, window by window. What a query showed within one window is one value.

    Attributes
    ----------
    windows : Windows
        Of the pairs of query and window.
    impressions : (W,) int
        In each window.
    courses : tuple of OverTime
        The realised violation of each group, signed, as a mean over the queries of a window; then the share of those
        shown twice or more in it that hold delta, or delta and the bound of their schedule.
    without_time : int
        Impressions in no window.
    """

    windows: Windows
    impressions: np.ndarray[Any, np.dtype[np.int64]]
    courses: tuple[OverTime, ...]
    without_time: int

    @property
    def table(self) -> pd.DataFrame:
        """A row per window: start, end, impressions, and the mean of each course."""
        first = self.courses[0].table[["start", "end"]]
        means = {course.values.label: course.table["mean"].to_numpy() for course in self.courses}
        return first.assign(impressions=self.impressions, **means)

    @property
    def summary(self) -> dict[str, Any]:
        """Plain: what an audit of lists says over time, and the impressions of each window."""
        found = SlicedResult(courses=self.courses).summary["time"]
        told: dict[str, Any] = {**found, "without_time": self.without_time, "impressions": self.impressions.tolist()}
        return told


def shown_over_time(
    log: ShownLog, each: Impressions, fairness: Fairness, window: Window = AUTO, *, seed: int = 0
) -> ShownTime:
    """Lay out in time what was shown.

    Raises
    ------
    DataError
        When no impression has a time.
    """
    if log.times is None or np.isnat(log.times).all():
        raise DataError(
            "No impression of the log has a time: there is nothing to show over time.",
            fields=("time",),
            mend="Name the column where the log is read: time='...'.",
            on_page="Choose the column of the time where the log is read.",
        )
    windows = windows_of(log.times, _suiting(log, window))
    rows = np.flatnonzero(windows.codes >= 0)
    # Cells: what one query showed within one window.
    pairs, cells = np.unique(log.queries[rows] * len(windows) + windows.codes[rows], return_inverse=True)
    full = np.full(len(log), -1, dtype=np.int64)
    full[rows] = cells
    found = _together(each, full, len(pairs))
    of_pairs = Windows(windows.kind, windows.starts, windows.ends, pairs % len(windows))
    told = [*_of_groups(log, found, fairness), _held(log, found, fairness)]
    values = [value for value in told if not np.isnan(value.values).all()] or told[:1]
    counts = np.bincount(windows.codes[rows], minlength=len(windows)).astype(np.int64)
    courses = tuple(OverTime(value, of_pairs, seed) for value in values)
    return ShownTime(of_pairs, counts, courses, int((windows.codes < 0).sum()))


def _suiting(log: ShownLog, window: Window) -> Window:
    """Equal parts, where a log is too short for days."""
    asked = checked_window(window)
    times = np.asarray(log.times)[~np.isnat(np.asarray(log.times))]
    span = times.max() - times.min()
    short = span < np.timedelta64(2, "D") and span > np.timedelta64(_PARTS, "us")
    return _PARTS if asked == AUTO and short else asked


def _together(each: Impressions, cells: np.ndarray[Any, np.dtype[np.int64]], n: int) -> Realised:
    """Impressions without a time make a cell of their own, which is left out again."""
    found = each.together(np.where(cells < 0, n, cells), n + 1)
    return Realised(**{name: getattr(found, name)[:n] for name in found.__dataclass_fields__})


def _of_groups(log: ShownLog, found: Realised, fairness: Fairness) -> list[QueryValues]:
    shown = np.argsort(-found.shown.sum(axis=0), kind="stable")[:_MOST_GROUPS]
    return [
        QueryValues(
            name=f"shown:{log.group_names[g]}",
            label=f"violation of {log.group_names[g]} in what was shown",
            values=found.violations[:, g],
            unit=fairness.unit,
        )
        for g in sorted(shown.tolist())
    ]


def _held(log: ShownLog, found: Realised, fairness: Fairness) -> QueryValues:
    """1 where delta holds, with the bound of the schedule where there is one; only what was shown twice or more."""
    limit = fairness.deltas(log.group_names) + np.nan_to_num(found.bounds) + TOLERANCE
    with np.errstate(invalid="ignore"):
        broken = (np.abs(found.violations) > limit).any(axis=1)
    judged = (found.impressions > 1) & found.could_fail
    return QueryValues(
        name=FAIR,
        label="share of queries shown again that hold delta and the bound",
        values=np.where(judged, np.where(broken, 0.0, 1.0), np.nan),
        unit="share",
        better="higher",
        limits=(0.0, 1.0),
    )
