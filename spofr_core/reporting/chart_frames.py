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
"""Share of the queries that must be able to exceed a delta for the curve of shares to be drawn there."""


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
        """Every step of the share of judged queries that hold delta: delta, share, lower, upper."""


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
    `size` says of how many items and lists the mean is, `small` that these are few.
    """

    row: GroupRow
    relative: float | None
    text: str
    difference: str
    ci: tuple[float, float] | None
    size: str
    small: bool


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
        size = f"{counted(group['items'], 'item', 'items')} in {counted(group['queries'], 'list', 'lists')}"
        bars.append(ExposureBar(row, value, *words, ci if ci is None else (ci[0], ci[1]), size, group["small"]))
    return bars


@dataclass(frozen=True)
class Mark:
    """The chosen delta on the curve of shares, with its words; `share` is None where delta forbids nothing."""

    delta: float
    share: float | None
    unit: Unit = "absolute"

    @property
    def label(self) -> str:
        """ "delta = 0.05: 65.2 %"."""
        held = " forbids nothing" if self.share is None else f": {percent(self.share)}"
        return f"{delta_text(self.delta, self.unit)}{held}"


def mark_at(steps: pd.DataFrame, delta: float, unit: Unit = "absolute") -> Mark:
    """The share at a delta, exactly, from every step of the curve (`AuditResult.fair_share`)."""
    reached = int(np.searchsorted(steps["delta"].to_numpy(), delta + TOLERANCE, side="right"))
    share = float(steps["share"].iloc[reached - 1]) if reached else 0.0
    return Mark(delta, None if np.isnan(share) else share, unit)


@dataclass(frozen=True, eq=False)
class ShareSteps:
    """Share of queries that hold delta, with its band: columns of equal length."""

    delta: FloatArray
    share: FloatArray
    lower: FloatArray
    upper: FloatArray


def share_steps(steps: pd.DataFrame, largest: float, delta: float = 0.0) -> ShareSteps:
    """The curve from (0, 0) as far as it says something, thinned to what can be seen.

    Where fewer than a tenth of the queries could still exceed delta, the share of these few would jump about.

    Parameters
    ----------
    steps : DataFrame
        Of `AuditResult.fair_share`.
    largest : float
        The delta above which nothing is forbidden.
    delta : float
        The chosen one, up to which it is drawn in any case.
    """
    ended = (steps["judged"] < FEWEST_JUDGED * steps["judged"].max()) & (steps["delta"] > delta + TOLERANCE)
    if ended.any():
        largest = float(steps["delta"][ended].iloc[0])
    steps = steps[~ended & steps["share"].notna()]
    kept = thinned(len(steps))
    deltas = steps["delta"].to_numpy()[kept]
    last = max(largest, float(deltas.max(initial=0.0)), TOLERANCE)

    def column(name: str) -> FloatArray:
        values = steps[name].to_numpy()[kept]
        return np.concatenate([[0.0], values, values[-1:]])

    ends = [last] if len(deltas) else []
    return ShareSteps(np.concatenate([[0.0], deltas, ends]), column("share"), column("lower"), column("upper"))


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
    """In how many judged queries each group's exposure is below, within and above its bounds."""

    rows: list[GroupRow]
    below: NDArray[np.int64]
    within: NDArray[np.int64]
    above: NDArray[np.int64]

    def frame(self) -> pd.DataFrame:
        """The counts as a table."""
        counts = {"below": self.below, "within": self.within, "above": self.above}
        return pd.DataFrame({"group": [row.group for row in self.rows], **counts})


def bounds_counts(result: Audited, *, every_group: bool = False) -> BoundsCounts:
    """The counts of an audit, of the groups that a chart shows or of all."""
    summary, table = result.summary, result.table
    names = list(summary["groups"]) if every_group else shown_groups(summary)
    places = [table.group_names.index(name) for name in names]
    counted = table.present & table.applicable[:, None]
    outside = counted & ~table.holds
    with np.errstate(invalid="ignore"):
        below, above = outside & (table.violation < 0), outside & (table.violation > 0)
    under, over = below.sum(axis=0), above.sum(axis=0)
    within = counted.sum(axis=0) - under - over
    return BoundsCounts(group_rows(names, list(summary["groups"])), under[places], within[places], over[places])
