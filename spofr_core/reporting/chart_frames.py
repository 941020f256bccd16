"""The numbers behind the charts of an audit, computed once: page and report draw these frames, and tables show them.

Every frame by group has the columns of `group_rows` first: the group, its label along an axis, and its style.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spofr_core.reporting.group_styles import group_styles
from spofr_core.reporting.words import name_text, number, percent

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

LONGEST_LABEL = 20
"""Letters of a group's name along an axis: a telephone is to have room for the chart as well."""
MOST_GROUPS = 12
"""Most groups that a chart shows; the table under it has them all."""
MOST_STEPS = 300
"""Steps of a curve, a point for two pixels or less; longer ones are thinned, and say so."""
BINS = 61
_ROUNDING = 1e-9


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


class Audited(Protocol):
    """What charts and the report need of the result of an audit."""

    @property
    def summary(self) -> dict[str, Any]:
        """Plain dict with its schema."""

    @property
    def table(self) -> AuditTable:
        """Results per query and group."""

    def fair_share(self) -> pd.DataFrame:
        """Every step of the share of queries that hold delta: delta, share, lower, upper."""


def shown_groups(summary: Mapping[str, Any], most: int = MOST_GROUPS) -> list[str]:
    """The groups of a chart, in their order; where there are too many, those with the largest mean violation."""
    names = list(summary["groups"])
    if len(names) <= most:
        return names
    size = {name: abs(summary["groups"][name]["violation_mean"] or 0.0) for name in names}
    kept = set(sorted(names, key=lambda name: -size[name])[:most])
    return [name for name in names if name in kept]


def groups_left_out(summary: Mapping[str, Any]) -> str:
    """A sentence for charts that do not show every group; empty where they do."""
    total = len(summary["groups"])
    if total <= MOST_GROUPS:
        return ""
    return f"Drawn: the {MOST_GROUPS} of {total:,} groups with the largest mean violation; the table has them all."


def group_labels(names: Sequence[str]) -> list[str]:
    """Each group as an axis names it, plain text; equal short forms are told apart by their place."""
    labels = [name_text(name, LONGEST_LABEL) for name in names]
    repeated = {label for label in labels if labels.count(label) > 1}
    return [f"{label} ({place})" if label in repeated else label for place, label in enumerate(labels, start=1)]


def group_rows(names: Sequence[str], all_names: Sequence[str]) -> pd.DataFrame:
    """A row per group: group, label, colour, marker, glyph; the style goes by the place among all groups."""
    styles = group_styles(all_names)
    return pd.DataFrame(
        {
            "group": list(names),
            "label": group_labels(names),
            "colour": [styles[name].colour for name in names],
            "marker": [styles[name].marker for name in names],
            "glyph": [styles[name].glyph for name in names],
        },
        dtype=object,
    )


def overall_exposure(summary: Mapping[str, Any]) -> float:
    """Mean exposure over all items of all lists."""
    groups = summary["groups"].values()
    items = sum(group["items"] for group in groups)
    return float(sum(group["items"] * (group["exposure_mean"] or 0.0) for group in groups) / max(items, 1))


def against(value: float, mean: float) -> str:
    """How far a value is from the mean, in words short enough for a bar on a telephone."""
    change = round(100 * (value / mean - 1)) if mean > 0 else 0
    return "at the mean" if change == 0 else f"{abs(change)} % {'above' if change > 0 else 'below'}"


def exposure_frame(summary: Mapping[str, Any]) -> pd.DataFrame:
    """Mean exposure per item of each group; `text` is its value, `difference` how far it is from the mean in words.

    A group without items has an exposure of NaN.
    """
    names = shown_groups(summary)
    mean = overall_exposure(summary)
    values = [summary["groups"][name]["exposure_mean"] for name in names]
    rows = group_rows(names, list(summary["groups"]))
    return rows.assign(
        exposure=np.array([np.nan if value is None else value for value in values], dtype=np.float64),
        text=["" if value is None else number(value) for value in values],
        difference=["no items" if value is None else against(value, mean) for value in values],
    )


@dataclass(frozen=True)
class Mark:
    """The chosen delta on the curve of shares, with its words."""

    delta: float
    share: float

    @property
    def label(self) -> str:
        """ "delta 0.05: 65.2 %"."""
        return f"delta {number(self.delta)}: {percent(self.share)}"


def mark_at(steps: pd.DataFrame, delta: float) -> Mark:
    """The share at a delta, exactly, from every step of the curve (`AuditResult.fair_share`)."""
    reached = int(np.searchsorted(steps["delta"].to_numpy(), delta + _ROUNDING, side="right"))
    return Mark(delta, float(steps["share"].iloc[reached - 1]) if reached else 0.0)


def share_frame(steps: pd.DataFrame, largest: float) -> pd.DataFrame:
    """Share of queries that hold delta with its band, from (0, 0) to beyond the largest delta that matters.

    Parameters
    ----------
    steps : DataFrame
        Of `AuditResult.fair_share`.
    largest : float
        The delta above which nothing is forbidden.
    """
    kept = thinned(steps)
    deltas = kept["delta"].to_numpy()
    last = max(largest, float(deltas.max(initial=0.0)), _ROUNDING) * 1.02
    ends = [last] if len(deltas) else []

    def column(name: str) -> FloatArray:
        values = kept[name].to_numpy()
        return np.concatenate([[0.0], values, values[-1:]])

    drawn = {name: column(name) for name in ("share", "lower", "upper")}
    return pd.DataFrame({"delta": np.concatenate([[0.0], deltas, ends]), **drawn})


def thinned(steps: pd.DataFrame, most: int = MOST_STEPS) -> pd.DataFrame:
    """At most `most` rows of a curve, its first and last among them; more would be finer than a screen or print."""
    if len(steps) <= most:
        return steps
    return steps.iloc[np.unique(np.linspace(0, len(steps) - 1, most).round().astype(np.int64))]


def violation_frame(result: Audited, delta: float | None) -> pd.DataFrame:
    """Histogram over the judged queries of each group's signed violation; see `violation_bins`."""
    summary, table = result.summary, result.table
    names = shown_groups(summary)
    signed = np.where(table.applicable[:, None], table.violation, np.nan)
    places = [table.group_names.index(name) for name in names]
    return violation_bins(group_rows(names, list(summary["groups"])), signed[:, places], delta)


def violation_bins(groups: pd.DataFrame, signed: FloatArray, delta: float | None) -> pd.DataFrame:
    """A row per group and bin: `low`, `high`, `queries`; the bins are the same for all groups and cover delta.

    Parameters
    ----------
    groups : DataFrame
        Of `group_rows`.
    signed : array (Q, G)
        NaN where a query does not count.
    """
    reach = max(float(np.nanmax(np.abs(signed), initial=0.0)), delta or 0.0, 1e-6) * 1.04
    edges = np.linspace(-reach, reach, BINS + 1)
    counts = [np.histogram(column[np.isfinite(column)], bins=edges)[0] for column in signed.T]
    rows = groups.loc[groups.index.repeat(BINS)].reset_index(drop=True)
    return rows.assign(
        low=np.tile(edges[:-1], len(groups)),
        high=np.tile(edges[1:], len(groups)),
        queries=np.concatenate(counts) if counts else np.zeros(0, dtype=np.int64),
    )


def bounds_frame(result: Audited, *, every_group: bool = False) -> pd.DataFrame:
    """In how many judged queries each group's exposure is `below`, `within` and `above` its bounds."""
    summary, table = result.summary, result.table
    names = list(summary["groups"]) if every_group else shown_groups(summary)
    places = [table.group_names.index(name) for name in names]
    counted = table.present & table.applicable[:, None]
    outside = counted & ~table.holds
    with np.errstate(invalid="ignore"):
        below, above = outside & (table.violation < 0), outside & (table.violation > 0)
    sums = {"below": below.sum(axis=0), "within": (counted & ~below & ~above).sum(axis=0), "above": above.sum(axis=0)}
    return group_rows(names, list(summary["groups"])).assign(**{name: sum_[places] for name, sum_ in sums.items()})
