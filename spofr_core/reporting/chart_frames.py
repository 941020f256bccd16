"""The numbers behind the charts of an audit, computed once: page and report draw them, and tables show them.

They are plain columns: a DataFrame of them would take longer to build than the chart, and delta moves the charts again
and again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spofr_core.fairness import TOLERANCE, Unit
from spofr_core.reporting.palette import GroupStyle, group_styles
from spofr_core.reporting.wording.phrases import counted, delta_text, number, percent, shortened

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

LONGEST_LABEL = 20
"""Letters of a group's name along an axis: a telephone is to have room for the chart as well."""
MOST_GROUPS = 12
"""Most groups that a chart shows; the table under it has them all."""
MOST_STEPS = 300
"""Steps of a curve, a point for two pixels or less; longer ones are thinned, and say so."""
BINS = 61
FEWEST_JUDGED = 0.1
"""The curve of shares is drawn as far as this share of its queries could exceed delta; then little is left to see."""


class AuditTable(Protocol):
    """What charts read of the results per query and group."""

    @property
    def group_names(self) -> tuple[str, ...]:
        """All groups."""

    @property
    def present(self) -> BoolArray:
        """Whether the group has an item in the list."""

    @property
    def applicable(self) -> BoolArray:
        """Lists that are judged."""

    @property
    def holds(self) -> BoolArray:
        """Whether each group of each list holds its delta."""

    @property
    def beyond(self) -> FloatArray:
        """-1 and 1 where a group of a list is below and above its bounds."""

    @property
    def violation(self) -> FloatArray:
        """Signed violation; NaN where the group is absent."""

    @property
    def relative_exposure(self) -> FloatArray:
        """Exposure over the mean of the list; NaN where the group is absent or alone."""


class Audited(Protocol):
    """What charts and the report need of the result of an audit."""

    @property
    def summary(self) -> dict[str, Any]:
        """Plain dict with its schema."""

    @property
    def table(self) -> AuditTable:
        """Results per query and group."""

    def fair_share(self) -> pd.DataFrame:
        """How many queries hold delta, step by step: delta, hold, cannot_fail, queries, share, lower, upper."""


def shown_groups(summary: Mapping[str, Any], most: int = MOST_GROUPS) -> list[str]:
    """The groups of a chart, in their order; where there are too many, those with the largest mean violation.

    Small ones come last: what they are off by says little.
    """
    names = list(summary["groups"])
    if len(names) <= most:
        return names
    groups = summary["groups"]
    loudest = sorted(names, key=lambda name: (groups[name]["small"], -abs(groups[name]["violation_mean"] or 0.0)))
    kept = set(loudest[:most])
    return [name for name in names if name in kept]


def groups_left_out(summary: Mapping[str, Any]) -> str:
    """A sentence for charts that do not show every group; empty where they do."""
    total = len(summary["groups"])
    if total <= MOST_GROUPS:
        return ""
    return f"Drawn: the {MOST_GROUPS} of {total:,} groups with the largest mean violation; the table has them all."


def group_labels(names: Sequence[str]) -> list[str]:
    """Each group as an axis names it, plain text; equal short forms are told apart by their place."""
    labels = [shortened(name, LONGEST_LABEL) for name in names]
    repeated = {label for label in labels if labels.count(label) > 1}
    return [f"{label} ({place})" if label in repeated else label for place, label in enumerate(labels, start=1)]


@dataclass(frozen=True)
class GroupRow:
    """A group in a chart: its label along an axis, and its style."""

    group: str
    label: str
    style: GroupStyle


def group_rows(names: Sequence[str], all_names: Sequence[str]) -> list[GroupRow]:
    """A row per group; its style goes by its place among all groups."""
    styles = group_styles(all_names)
    return [GroupRow(name, label, styles[name]) for name, label in zip(names, group_labels(names), strict=True)]


def against_mean(relative: float) -> str:
    """How far an exposure is from the mean of its lists, in words short enough for a bar on a telephone."""
    change = round(100 * (relative - 1))
    return "at the mean" if change == 0 else f"{abs(change)} % {'above' if change > 0 else 'below'}"


@dataclass(frozen=True)
class ExposureBar:
    """Exposure of a group relative to the mean of its lists, its mean per item as text, and in words how far it is off.

    A group that is never beside another has a relative exposure of None. `ci` is None where there is no interval,
    `size` says of how many items and lists the mean is, `small` that these are few. `range` is between what the
    relative exposure lies, whatever the groups are that are not known; None where all are.
    """

    row: GroupRow
    relative: float | None
    text: str
    difference: str
    ci: tuple[float, float] | None
    size: str
    small: bool
    range: tuple[float, float] | None = None


def exposure_bars(summary: Mapping[str, Any]) -> list[ExposureBar]:
    """A bar for each group that a chart shows."""
    names = shown_groups(summary)
    bars = []
    for row in group_rows(names, list(summary["groups"])):
        group = summary["groups"][row.group]
        value, ci = group["relative_mean"], group["relative_ci"]
        words = ("", "never beside another group")
        if value is not None:
            words = (number(group["exposure_mean"]), against_mean(value))
        size = f"{counted(group['compared'], 'item', 'items')} in {counted(group['compared_queries'], 'list', 'lists')}"
        ends = summary["unknown"]["groups"][row.group]["relative"] if "unknown" in summary else None
        sure, spread = (None if pair is None else (pair[0], pair[1]) for pair in (ci, ends))
        bars.append(ExposureBar(row, value, *words, sure, size, group["small"], spread))
    return bars


@dataclass(frozen=True)
class Mark:
    """The chosen delta on the curve of shares, with its words; `share` is None where delta forbids nothing.

    `could` is the share with those that depend on groups that are not known.
    """

    delta: float
    share: float | None
    unit: Unit = "absolute"
    could: float = 0.0

    @property
    def label(self) -> str:
        """ "delta = 0.05: 65.2 %", or "delta = 0.05: 65.2 % to 70.1 %"."""
        held = " forbids nothing" if self.share is None else f": {percent(self.share)}"
        if self.share is not None and self.could > self.share:
            held = f"{held} to {percent(self.could)}"
        return f"{delta_text(self.delta, self.unit)}{held}"


def mark_at(steps: pd.DataFrame, delta: float, unit: Unit = "absolute") -> Mark:
    """The share at a delta, exactly, from every step of the curve (`AuditResult.fair_share`)."""
    reached = int(np.searchsorted(steps["delta"].to_numpy(), delta + TOLERANCE, side="right"))
    share, could_hold, could_fail = 0.0, 0.0, len(steps) > 0
    if reached:
        row = steps.iloc[reached - 1]
        share, could_fail = float(row["share"]), row["cannot_fail"] < row["queries"]
        could_hold = float(row.get("could_hold", 0.0) / row["queries"])
    return Mark(delta, share if could_fail else None, unit, could_hold)


@dataclass(frozen=True, eq=False)
class ShareSteps:
    """Shares of queries by delta: that hold it, with a band, that cannot fail it, and that could hold it."""

    delta: FloatArray
    share: FloatArray
    lower: FloatArray
    upper: FloatArray
    cannot_fail: FloatArray
    could_hold: FloatArray


def share_steps(steps: pd.DataFrame, delta: float = 0.0) -> ShareSteps:
    """The curve from (0, 0) as far as it says something, thinned to what can be seen.

    Parameters
    ----------
    steps : DataFrame
        Of `AuditResult.fair_share`.
    delta : float
        The chosen one, up to which it is drawn in any case.
    """
    could_hold = steps["could_hold"] if "could_hold" in steps else steps["hold"]
    parts = {"cannot_fail": steps["cannot_fail"], "could_hold": could_hold}
    steps = steps.assign(**{name: count / steps["queries"] for name, count in parts.items()})
    ended = (steps["cannot_fail"] > 1 - FEWEST_JUDGED) & (steps["delta"] > delta + TOLERANCE)
    steps = steps[~ended.shift(fill_value=False)]
    steps = steps.iloc[thinned(len(steps))]

    def column(name: str) -> FloatArray:
        return np.concatenate([[0.0], steps[name].to_numpy()])

    return ShareSteps(*(column(name) for name in ("delta", "share", "lower", "upper", *parts)))


def share_note(steps: pd.DataFrame) -> str:
    """What the curve is of, for under it."""
    whole = counted(int(steps["queries"].max()) if len(steps) else 0, "query", "queries")
    unknown = (
        "The line is of those that hold delta whatever the unknown groups are; dashed above it: with those "
        "that depend on these groups. "
    )
    return (unknown if "could_hold" in steps else "") + (
        f"Of the {whole} that some ranking could bring above a delta of 0. Shaded: those that no ranking could bring "
        "above this delta; they count as holding it here, and the verdict leaves them out. Band: 95 % Wilson interval."
    )


def thinned(length: int, most: int = MOST_STEPS) -> NDArray[np.int64]:
    """Which of this many steps to draw, the first and the last among them; more would be finer than a screen."""
    if length <= most:
        return np.arange(length)
    return np.unique(np.linspace(0, length - 1, most).round().astype(np.int64))


@dataclass(frozen=True, eq=False)
class ViolationBins:
    """Histograms over the judged queries of each group's signed violation, `queries` (G, bins) between `edges`."""

    rows: list[GroupRow]
    edges: FloatArray
    queries: NDArray[np.int64]


def violations_by_group(result: Audited, delta: float | None) -> ViolationBins:
    """The histograms of an audit; their bins cover delta."""
    summary, table = result.summary, result.table
    names = shown_groups(summary)
    signed = np.where(table.applicable[:, None], table.violation, np.nan)
    places = [table.group_names.index(name) for name in names]
    return violation_bins(group_rows(names, list(summary["groups"])), signed[:, places], delta)


def violation_bins(rows: list[GroupRow], signed: FloatArray, delta: float | None) -> ViolationBins:
    """Histograms of the columns of `signed` (Q, G), in the same bins; NaN where a query does not count."""
    reach = max(float(np.nanmax(np.abs(signed), initial=0.0)), delta or 0.0, 1e-6) * 1.04
    edges = np.linspace(-reach, reach, BINS + 1)
    counts = [np.histogram(column[np.isfinite(column)], bins=edges)[0] for column in signed.T]
    return ViolationBins(rows, edges, np.array(counts, dtype=np.int64).reshape(len(rows), BINS))


@dataclass(frozen=True, eq=False)
class BoundsCounts:
    """In how many judged queries each group's exposure is below, within and above its bounds, or that is not known."""

    rows: list[GroupRow]
    below: NDArray[np.int64]
    within: NDArray[np.int64]
    above: NDArray[np.int64]
    unknown: NDArray[np.int64]

    def frame(self) -> pd.DataFrame:
        """The counts as a table."""
        counts = {"below": self.below, "within": self.within, "above": self.above}
        counts |= {"depends on unknown groups": self.unknown} if self.unknown.any() else {}
        return pd.DataFrame({"group": [row.group for row in self.rows], **counts})


def bounds_counts(result: Audited, *, every_group: bool = False) -> BoundsCounts:
    """The counts of an audit, of the groups that a chart shows or of all."""
    summary, table = result.summary, result.table
    names = list(summary["groups"]) if every_group else shown_groups(summary)
    places = [table.group_names.index(name) for name in names]
    counted = table.present & table.applicable[:, None]
    sides = (table.beyond < 0, table.beyond > 0, ~table.holds & (table.beyond == 0))
    under, over, unknown = ((counted & side).sum(axis=0)[places] for side in sides)
    within = counted.sum(axis=0)[places] - under - over - unknown
    return BoundsCounts(group_rows(names, list(summary["groups"])), under, within, over, unknown)
