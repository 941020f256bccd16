"""`over_time`: a measure in each window of time, and whether it changed between the first and the last."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spofr_core.config import checked_seed
from spofr_core.evaluation.intervals import CONFIDENCE
from spofr_core.evaluation.query_table import FloatArray
from spofr_core.evaluation.slicing.change_test import How, permutation_test
from spofr_core.evaluation.slicing.query_values import VIOLATION, QueryValues, Source, values_of
from spofr_core.evaluation.slicing.slices import FEWEST, checked_confidence, known, pair
from spofr_core.evaluation.slicing.spreads import Spreads
from spofr_core.evaluation.slicing.windows import AUTO, Window, Windows, windows_of


@dataclass(frozen=True)
class Change:
    """What happened between the first and the last window that have queries.

    Attributes
    ----------
    first, last : int
        Places of the windows.
    difference : float
        Mean of the last less that of the first.
    lower, upper : float, optional
        Its interval; None where a window has a single query.
    p : float
        Of the permutation test, two-sided.
    test : {"exact", "drawn", "normal"}
    changed : bool
        Whether p is at most 1 - confidence and the interval excludes 0. Without both there is no change that these
        queries can show.
    """

    first: int
    last: int
    difference: float
    lower: float | None
    upper: float | None
    p: float
    test: How
    changed: bool


@dataclass(frozen=True, eq=False)
class OverTime:
    """A measure over time.

    Attributes
    ----------
    values : QueryValues
        What is shown.
    windows : Windows
    seed : int
        Of the permutation test.
    fewest : int
        A window with fewer queries has a mean and no interval.
    confidence : float
        With which the intervals of all windows hold together, and alone that of the change.
    """

    values: QueryValues
    windows: Windows
    seed: int = 0
    fewest: int = FEWEST
    confidence: float = CONFIDENCE

    @cached_property
    def _used(self) -> NDArray[np.bool_]:
        return np.asarray(~np.isnan(self.values.values) & (self.windows.codes >= 0))

    @cached_property
    def _spreads(self) -> Spreads:
        values, codes = self.values.values[self._used], self.windows.codes[self._used]
        return Spreads(values, codes, len(self.windows), shares=self.values.is_share)

    @property
    def without_time(self) -> int:
        """Queries in no window."""
        return int(np.count_nonzero(self.windows.codes < 0))

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row per window: start, end, n, mean, lower, upper; a window without queries has n = 0 and no mean.

        The intervals are simultaneous over the windows that have enough queries, made as those of slices.
        """
        found = self._spreads
        intervals = found.of_means(found.n >= max(self.fewest, 2), self.confidence)
        lower, upper = np.clip(intervals, *self.values.limits)
        windows = {"start": self.windows.starts, "end": self.windows.ends}
        return pd.DataFrame({**windows, "n": found.n, "mean": found.mean, "lower": lower, "upper": upper})

    @cached_property
    def change(self) -> Change | None:
        """Between the first and the last window that have queries; None where only one has."""
        filled = np.flatnonzero(self._spreads.n)
        if len(filled) < 2:
            return None
        first, last = int(filled[0]), int(filled[-1])
        difference, lower, upper = self._spreads.between(first, last, self.confidence)
        p, test = permutation_test(self._of(first), self._of(last), seed=self.seed)
        rounding = self._spreads.rounding
        sure = bool(lower > rounding or upper < -rounding) and p <= 1 - self.confidence + 1e-12
        return Change(first, last, difference, known(lower), known(upper), p, test, sure)

    def _of(self, window: int) -> FloatArray:
        return np.asarray(self.values.values[self._used & (self.windows.codes == window)])

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Plain, JSON-able dict.

        measure, label, unit, better; windows: [{start, end (ISO, UTC), n, mean, ci}]; change: null, or {first, last:
        places in windows, difference, ci, p, test, changed}.
        """
        rows = self.table
        starts, ends = (_iso(rows[name].to_numpy()) for name in ("start", "end"))
        numbers = zip(rows["n"], rows["mean"], rows["lower"], rows["upper"], strict=True)
        windows = [
            {"start": start, "end": end, "n": int(n), "mean": known(mean), "ci": pair(lower, upper)}
            for start, end, (n, mean, lower, upper) in zip(starts, ends, numbers, strict=True)
        ]
        return {**self.values.described(), "windows": windows, "change": self._change_summary()}

    def _change_summary(self) -> dict[str, Any] | None:
        change = self.change
        if change is None:
            return None
        interval = None if change.lower is None or change.upper is None else [change.lower, change.upper]
        return {
            "first": change.first,
            "last": change.last,
            "difference": change.difference,
            "ci": interval,
            "p": change.p,
            "test": change.test,
            "changed": change.changed,
        }


def over_time(
    source: Source,
    window: Window = AUTO,
    *,
    measure: str = VIOLATION,
    seed: int = 0,
    fewest: int = FEWEST,
    confidence: float = CONFIDENCE,
) -> OverTime:
    """A measure over time, and whether it changed between the first and the last window.

    Parameters
    ----------
    source : AuditResult, Measured, QueryTable, QueryValues or anything with a method `query_values`
        Whose queries have times.
    window : {"auto", "day", "week", "month", "year"} or int
        Days, weeks from Monday, months and years are those of UTC; a number makes so many parts of equal length; "auto"
        takes what suits the span and the number of queries.
    measure : str
        "violation", "fair" or the name of a measure; see `values_of`.
    seed : int
        Of the permutation test, where not all arrangements are looked at.
    fewest : int
        Windows with fewer queries have a mean and no interval.
    confidence : float

    Raises
    ------
    DataError
        When no query has a time.
    ConfigError
        For a window or a measure that there is not.
    """
    values = values_of(source, measure)
    windows = windows_of(values.times, window)
    return OverTime(values, windows, checked_seed(seed), fewest, checked_confidence(confidence))


def _iso(moments: NDArray[np.datetime64]) -> list[str]:
    """Days as 2024-01-31, anything finer with its time."""
    whole = bool((moments == moments.astype("datetime64[D]")).all())
    return [str(text) for text in np.datetime_as_string(moments, unit="D" if whole else "s")]
