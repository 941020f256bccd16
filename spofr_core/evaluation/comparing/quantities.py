"""What two rankings are compared in: one value per query on either side, and why something is not compared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from spofr_core.evaluation.comparing.group_sums import GroupSums, alike, over
from spofr_core.evaluation.comparing.pairing import Pair
from spofr_core.evaluation.comparing.sides import SETTINGS, Side, same_setting, setting_text
from spofr_core.evaluation.query_table import BoolArray, FloatArray, JudgedTable
from spofr_core.measures import Better, Measure

Kind = Literal["group", "ratio", "violation", "share", "measure"]
EXPOSURE, RATIO, VIOLATION, FAIR, QUOTA = "exposure", "exposure_ratio", "violation", "fair", "quota"
SAME_AS_VIOLATION = "max_violation"
PER_QUERY_RATIO = "exposure_ratio_per_query"
"""The measure "exposure_ratio", a mean over queries, beside the ratio of the audit, which is one over all queries."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Quantity:
    """Something that two rankings are compared in.

    Attributes
    ----------
    name : str
        As `compare(..., measures=[...])` and the shell take it.
    label : str
        As sentences and tables have it.
    kind : {"group", "ratio", "violation", "share", "measure"}
        A group's exposure, the exposure ratio, the largest violation, the share that holds delta, or a measure.
    before, after : (Q,) float
        Values of each query that both rankings have; NaN where it has none.
    better : {"higher", "lower", ""}
        Which way is better, if one is.
    unit : {"share", ""}
        Whether the values are said as percentages.
    group : str, optional
        Whose exposure it is.
    small : bool
        Whether that group is too small to speak of.
    also : tuple of str
        Other names of the same, such as "ndcg@10" where the depth is 10 anyway.
    """

    name: str
    label: str
    kind: Kind
    before: FloatArray
    after: FloatArray
    better: Better = ""
    unit: str = ""
    group: str | None = None
    small: bool = False
    also: tuple[str, ...] = ()

    @cached_property
    def defined(self) -> BoolArray:
        """Queries that have a value on both sides."""
        return np.isfinite(self.before) & np.isfinite(self.after)

    @cached_property
    def difference(self) -> FloatArray:
        """After less before; 0 where only rounding differs, NaN where one is missing."""
        with np.errstate(invalid="ignore"):
            found = np.where(self.defined, self.after - self.before, np.nan)
            return np.where(alike(self.before, self.after), 0.0, found)


@dataclass(frozen=True)
class NotCompared:
    """A name that is no row of the table, and why."""

    name: str
    why: str


def quantities(pair: Pair, sums: GroupSums | None) -> tuple[list[Quantity], list[NotCompared]]:
    """Everything that two rankings can be compared in, and what they cannot, with the reason."""
    before, after = pair.before, pair.after
    found: list[Quantity] = []
    refused: list[NotCompared] = []
    if before.table is not None and after.table is not None:
        differing = _audits_differ(pair)
        found += [*_of_groups(sums), *_ratio(sums), *_audited(pair, before.table, after.table, differing)]
        refused += [NotCompared(name, why) for name, why in differing.items()]
    elif before.table is not None or after.table is not None:
        refused.append(NotCompared(EXPOSURE, "only one of the two is an audit"))
    both_audits = before.table is not None and after.table is not None
    once: dict[Any, list[str]] = {}
    for name in dict.fromkeys((*before.values, *after.values)):
        if both_audits and name == SAME_AS_VIOLATION:
            continue
        why = _why_not(name, pair)
        if why is None:
            once.setdefault(_told_apart(name, pair), []).append(name)
        else:
            refused.append(NotCompared(name, why))
    found += [replace(_of_measure(names[0], pair, both_audits), also=tuple(names[1:])) for names in once.values()]
    return found, refused


def _told_apart(name: str, pair: Pair) -> tuple[Any, ...]:
    """What makes a measure what it is: what it is called, and its settings, those included that it does not say."""
    measure = pair.before.measures[name]
    said = {"k": measure.depth, **measure.parameters, **measure.settings}
    for setting, of_all, usual in (("target", "target", "list"), ("group", "protected", None)):
        if setting in said:
            said[setting] = [said[setting] or side.settings.get(of_all, usual) for side in (pair.before, pair.after)]
    if "@k" in measure.label and said["k"] is None:
        said["k"] = pair.before.settings.get("cutoff", 10)
    return measure.name, repr(sorted(said.items()))


def _audits_differ(pair: Pair) -> dict[str, str]:
    """What cannot be compared between these two audits, and why."""
    before, after = pair.before, pair.after
    differing: dict[str, str] = {}
    if not same_setting(before.settings["position_bias"], after.settings["position_bias"]):
        models = " and ".join(setting_text(side.settings["position_bias"]) for side in (before, after))
        why = f"the exposure models differ ({models})"
        return {EXPOSURE: why, RATIO: why, VIOLATION: why}
    if not pair.same_groups:
        differing[EXPOSURE] = f"the groups differ ({_listed(before)} and {_listed(after)})"
    mine, theirs = before.fairness, after.fairness
    if mine is not None and theirs is not None:
        if mine.every_ranking != theirs.every_ranking:
            differing[QUOTA] = "the quotas differ, or only one of the two has one"
        for what in ("notion", "unit", "merits"):
            if getattr(mine, what) != getattr(theirs, what):
                if what == "merits" and not pair.same_groups:
                    continue  # other groups have other merits, by whatever name
                words = {"notion": "notions", "unit": "units of delta", "merits": "merits"}[what]
                values = f" ({getattr(mine, what)} and {getattr(theirs, what)})" if what != "merits" else ""
                differing[VIOLATION] = f"the {words} differ{values}"
                break
    return differing


def _listed(side: Side) -> str:
    names = sorted(side.groups)
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return ", ".join(names[:4]) + more


def _of_groups(sums: GroupSums | None) -> Iterator[Quantity]:
    """Each group's exposure over what the mean of its lists would give it."""
    if sums is None or not sums.same_names:
        return
    for g, name in enumerate(sums.before.names):
        yield Quantity(
            name=f"{EXPOSURE}:{name}",
            label=f"exposure of {name}",
            kind="group",
            before=over(sums.before.got[:, g], sums.before.due[:, g]),
            after=over(sums.after.got[:, g], sums.after.due[:, g]),
            unit="share",
            group=name,
            small=bool(sums.before.small[g]),
        )


def _ratio(sums: GroupSums | None) -> Iterator[Quantity]:
    """Lowest over highest exposure of the groups that are not small."""
    if sums is None or min(len(sums.before.large), len(sums.after.large)) < 2:
        return
    before, after = (
        _lowest_over_highest(over(side.got[:, side.large], side.due[:, side.large]))
        for side in (sums.before, sums.after)
    )
    better: Better = "higher" if sums.same_names else ""
    yield Quantity(name=RATIO, label="exposure ratio", kind="ratio", before=before, after=after, better=better)


def _audited(pair: Pair, before: JudgedTable, after: JudgedTable, differing: dict[str, str]) -> Iterator[Quantity]:
    """The largest violation of each list, and whether it holds delta."""
    mine, theirs = pair.before.fairness, pair.after.fairness
    if VIOLATION not in differing and mine is not None:
        yield Quantity(
            name=VIOLATION,
            label="largest violation in a query",
            kind="violation",
            before=np.where(before.applicable, np.abs(before.worst_violation), np.nan),
            after=np.where(after.applicable, np.abs(after.worst_violation), np.nan),
            better="lower" if pair.same_groups else "",
            unit="share" if mine.unit == "share" else "",
        )
    if QUOTA not in differing and before.quota and after.quota:
        yield Quantity(
            name=QUOTA,
            label="chance that what is shown breaks the quota",
            kind="measure",
            before=before.quota["chance"],
            after=after.quota["chance"],
            better="lower" if pair.same_groups else "",
            unit="share",
        )
    both = before.judged & after.judged
    yield Quantity(
        name=FAIR,
        label=f"share of queries that {'surely ' if before.unknown or after.unknown else ''}hold delta",
        kind="share",
        before=np.where(both, before.fair, np.nan),
        after=np.where(both, after.fair, np.nan),
        better="higher" if mine == theirs and pair.same_groups else "",
        unit="share",
    )


def _of_measure(name: str, pair: Pair, both_audits: bool) -> Quantity:
    """A named measure; one that is best at a value in between is compared by its distance from it."""
    measure, before, after = pair.before.measures[name], pair.before.values[name], pair.after.values[name]
    settings = pair.before.settings
    shift, target = settings["label_shift"], settings.get("target")
    label = measure.title(settings.get("cutoff", 10), label_shift=shift, target=target)
    better: Better = measure.better if pair.same_groups or "relevance" in measure.needs else ""
    if measure.better == "closer":
        ideal = measure.ideal or 0.0
        before, after, label = np.abs(before - ideal), np.abs(after - ideal), f"distance of {label} from {ideal:g}"
        better = "lower" if pair.same_groups else ""
    if name == RATIO and both_audits:
        name, label = PER_QUERY_RATIO, f"{label}, query by query"
    return Quantity(name=name, label=label, kind="measure", before=before, after=after, better=better)


def _why_not(name: str, pair: Pair) -> str | None:
    """Why a measure's values cannot be compared; None where they can."""
    before, after = pair.before, pair.after
    for side, other in ((before, after), (after, before)):
        if name not in side.values:
            return f"only {other.name!r} has it"
    measure = before.measures[name]
    for setting in SETTINGS:
        mine, theirs = before.settings.get(setting), after.settings.get(setting)
        known = setting in before.settings and setting in after.settings
        if known and not same_setting(mine, theirs) and _depends(measure, setting, before.settings.get("target")):
            return f"its {_SETTING_WORDS[setting]} differs ({setting_text(mine)} and {setting_text(theirs)})"
    if not np.any(np.isfinite(before.values[name]) & np.isfinite(after.values[name])):
        needs = f" (it needs {' and '.join(measure.needs)})" if measure.needs else ""
        return f"it is undefined in every query, on one side at least{needs}"
    return None


_SETTING_WORDS = {
    "position_bias": "exposure model",
    "discount": "discount",
    "cutoff": "depth",
    "target": "target",
    "protected": "protected group",
    "label_shift": "shift of labels below 0",
}


def _depends(measure: Measure, setting: str, target: Any) -> bool:
    """Whether values of the measure may change with a setting that it does not fix itself."""
    if setting == "position_bias":
        return measure.name not in ("dcg", "ndcg")
    if setting == "discount":
        return "relevance" in measure.needs
    if setting == "cutoff":
        return "@k" in measure.label and measure.depth is None and "k" not in measure.settings
    if setting == "label_shift":
        return measure.hangs_on_shift(target)
    parameter = "group" if setting == "protected" else setting
    return parameter in measure.parameters and parameter not in measure.settings


def _lowest_over_highest(relative: FloatArray) -> FloatArray:
    """Per list; NaN with fewer than two groups, or without any exposure."""
    there = ~np.isnan(relative)
    low = np.where(there, relative, np.inf).min(axis=1)
    high = np.where(there, relative, -np.inf).max(axis=1)
    counted = (there.sum(axis=1) >= 2) & (high > 0)
    return np.asarray(np.divide(low, high, out=np.full(len(low), np.nan), where=counted))
