"""Per-query results, as arrays: what was measured, and what a delta makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spofr_core.evaluation.measuring.unknown_groups import decided, nothing_unknown
from spofr_core.fairness import Composition, Fairness, cannot_fail, feasible
from spofr_core.measures import Measure

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class QueryTable:
    """What was measured of each list q and group g: no delta in it. Entries of absent groups are NaN.

    Attributes
    ----------
    exposure : (Q, G) float
        Mean exposure e_g.
    violation : (Q, G) float
        Signed violation of the notion.
    smallest_delta, largest_delta : (Q,) float
        The smallest delta that the list can hold, and the one above which nothing is forbidden.
    rounding : (Q,) float
        A violation above delta by no more than this counts as holding delta.
    measures : dict of str to (Q,) float
        Values of each measure that the data allows; NaN where it is undefined.
    kinds : dict of str to Measure
        What each of `measures` is.
    quota : dict of str to (Q,) array
        How often what is shown breaks the quota, as `quota_breaks` says; empty where there is none.
    items : (Q, G) object, optional
        Where each item is on its own, the id of the item that each code stands for in each list.
    attributes : dict of str to (Q,) text
        What the queries can be sliced by.
    times : (Q,) datetime64, optional
        When they were asked, in UTC; NaT where unknown.
    label_shift : float
        What was added to labels where they must be 0 or more.
    ungrouped : (Q,) int64
        Items of no named group in each list.
    mean_exposure : (Q,) float
        Mean exposure e over all items of the list, as the exposure model has it.
    unknown : dict of str to array
        What the groups of unknown items could change, as `unknown_columns` says; empty where every group is known.
    """

    query_ids: NDArray[Any]
    group_names: tuple[str, ...]
    sizes: NDArray[np.int64]
    exposure: FloatArray
    violation: FloatArray
    smallest_delta: FloatArray
    largest_delta: FloatArray
    rounding: FloatArray
    measures: dict[str, FloatArray]
    kinds: dict[str, Measure] = field(default_factory=dict, kw_only=True)
    quota: dict[str, NDArray[Any]] = field(default_factory=dict, kw_only=True)
    items: NDArray[np.object_] | None = field(default=None, kw_only=True)
    attributes: dict[str, NDArray[Any]] = field(default_factory=dict, kw_only=True)
    times: NDArray[np.datetime64] | None = field(default=None, kw_only=True)
    label_shift: float = field(default=0.0, kw_only=True)
    ungrouped: NDArray[np.int64] = field(kw_only=True)
    mean_exposure: FloatArray = field(kw_only=True)
    unknown: dict[str, NDArray[Any]] = field(default_factory=dict, kw_only=True)

    def __len__(self) -> int:
        return len(self.query_ids)

    @property
    def each_item(self) -> bool:
        """Whether each item is on its own: a group is one item of one list."""
        return self.items is not None

    @property
    def dcg(self) -> FloatArray | None:
        """DCG of each list; None without relevance."""
        return self.measures.get("dcg")

    @property
    def ndcg(self) -> FloatArray | None:
        """nDCG of each list, NaN without a relevant item; None without relevance."""
        return self.measures.get("ndcg")

    @cached_property
    def present(self) -> BoolArray:
        """Whether the group has an item in the list."""
        return self.sizes > 0

    @cached_property
    def applicable(self) -> BoolArray:
        """Lists with two known groups or more."""
        return np.asarray(self.present.sum(axis=1) >= 2)

    @cached_property
    def possible(self) -> BoolArray:
        """Lists with two groups or more, where those that are not known may be any."""
        return np.asarray(self.unknown["possible"]) if self.unknown else self.applicable

    @cached_property
    def unknown_items(self) -> NDArray[np.int64]:
        """(Q,): items whose group is not known."""
        return self.unknown.get("items", np.zeros(len(self), dtype=np.int64))

    @cached_property
    def worst_range(self) -> tuple[FloatArray, FloatArray]:
        """(Q,) twice: least and most that the group furthest off can be off, whatever the unknown groups are.

        One number where every group is known; 0 where the notion does not apply. It may be inf where nothing is known.
        """
        known = np.abs(self.worst_violation)
        if not self.unknown:
            return known, known
        asked = self.possible & (self.unknown_items > 0)
        least, most = (np.where(asked, self.unknown[name] + self.rounding, known) for name in ("least", "most"))
        return np.maximum(least, 0.0), most

    @cached_property
    def reach(self) -> FloatArray:
        """(Q,): the delta that no ranking of the list could exceed, whatever the unknown groups are."""
        if not self.unknown:
            return self.largest_delta
        return np.where(self.unknown_items > 0, self.unknown["reach"], self.largest_delta)

    @cached_property
    def worst_group(self) -> NDArray[np.int64]:
        """Group with the largest absolute violation in each list."""
        return np.asarray(np.nan_to_num(np.abs(self.violation), nan=-1.0).argmax(axis=1), dtype=np.int64)

    @cached_property
    def worst_violation(self) -> FloatArray:
        """Signed violation of `worst_group`; 0 where the notion does not apply."""
        signed = self.violation[np.arange(len(self)), self.worst_group]
        return np.where(self.applicable, signed, 0.0)

    @cached_property
    def composition(self) -> Composition:
        """Items of each group in each list, and of none."""
        return Composition(sizes=self.sizes, group_names=self.group_names, ungrouped=self.ungrouped)

    @cached_property
    def list_exposure(self) -> FloatArray:
        """(Q,): mean exposure of each list: what its groups got, or `mean_exposure` where some items have no group."""
        got = np.where(self.present, self.sizes * np.nan_to_num(self.exposure), 0.0).sum(axis=1)
        return np.where(self.ungrouped > 0, self.mean_exposure, got / np.maximum(self.sizes.sum(axis=1), 1))

    @cached_property
    def relative_exposure(self) -> FloatArray:
        """(Q, G): e_g over the mean exposure of the list; NaN for absent groups, and where there is but one."""
        exposure = np.where(self.present, self.exposure, 0.0)
        means = self.list_exposure
        compared = self.present & (self.applicable & (means > 0))[:, None]
        return np.asarray(np.divide(exposure, means[:, None], out=np.full(exposure.shape, np.nan), where=compared))

    def judge(self, fairness: Fairness) -> JudgedTable:
        """The same table with the bounds that `fairness` sets."""
        terms = fairness.terms(self.composition)
        lower, upper = terms.bounds()
        of_unknown, unable = decided(self, fairness), cannot_fail(fairness, terms)
        if of_unknown:
            unable = np.where(self.unknown_items > 0, of_unknown["cannot_fail"], unable)
        return JudgedTable(
            **{f.name: getattr(self, f.name) for f in fields(QueryTable)},
            lower=lower,
            upper=upper,
            delta=np.asarray(terms.delta),
            feasible=feasible(fairness, terms),
            cannot_fail=unable,
            of_unknown=of_unknown,
        )

    def __getitem__(self, queries: NDArray[Any] | slice) -> Self:
        def chosen(value: Any) -> Any:
            if isinstance(value, dict):
                return {name: chosen(values) for name, values in value.items()}
            return value[queries] if isinstance(value, np.ndarray) else value

        return type(self)(**{f.name: chosen(getattr(self, f.name)) for f in fields(self)})

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """Parts of one dataset (same groups, same settings) as one table.

        Where each item is on its own, parts have as many codes as their own longest list: they are made equally wide.
        """
        if parts[0].each_item:
            widest = max((part.group_names for part in parts), key=len)
            parts = [part._widened(widest) for part in parts]
        if any(part.unknown for part in parts):
            parts = [part if part.unknown else replace(part, unknown=nothing_unknown(part)) for part in parts]

        def joined(values: Sequence[Any]) -> Any:
            if isinstance(values[0], dict):
                return {name: joined([value[name] for value in values]) for name in values[0]}
            return np.concatenate(values) if isinstance(values[0], np.ndarray) else values[0]

        return cls(**{f.name: joined([getattr(part, f.name) for part in parts]) for f in fields(cls)})

    def _widened(self, names: tuple[str, ...]) -> Self:
        """The same table with codes behind its own that stand for nothing."""
        more = len(names) - len(self.group_names)

        def wide(array: NDArray[Any], nothing: Any) -> NDArray[Any]:
            return np.hstack([array, np.full((len(self), more), nothing, dtype=array.dtype)])

        return replace(
            self,
            group_names=names,
            sizes=wide(self.sizes, 0),
            exposure=wide(self.exposure, np.nan),
            violation=wide(self.violation, np.nan),
            items=None if self.items is None else wide(self.items, None),
        )


@dataclass(frozen=True, eq=False)
class JudgedTable(QueryTable):
    """What was measured, with the bounds that a delta sets for each list and group.

    Attributes
    ----------
    lower, upper : (Q, G) float
        Bounds on the mean exposure e_g.
    delta : (Q, G) float
        delta of each group.
    feasible : (Q,) bool
        Whether some policy of the list satisfies the bounds.
    cannot_fail : (Q,) bool
        Lists that could be judged, of which no ranking could exceed delta: holding it says nothing about the ranking.
    of_unknown : dict of str to array
        What delta makes of lists with unknown groups, as `decided` says; empty where every group is known.
    """

    lower: FloatArray
    upper: FloatArray
    delta: FloatArray
    feasible: BoolArray
    cannot_fail: BoolArray
    of_unknown: dict[str, NDArray[Any]] = field(default_factory=dict, kw_only=True)

    @cached_property
    def judged(self) -> BoolArray:
        """Lists about which delta says something: two groups or more, and some ranking that would exceed it."""
        return self.possible & ~self.cannot_fail

    @cached_property
    def holds(self) -> BoolArray:
        """Whether each group of each list holds its delta, whatever unknown groups are; True where nothing is asked."""
        with np.errstate(invalid="ignore"):
            broken = np.abs(self.violation) > self.delta + self.rounding[:, None]
        known = ~(broken & self.applicable[:, None])
        if not self.of_unknown:
            return known
        return np.where(self.unknown_items[:, None] > 0, self.of_unknown["groups"], known)

    @cached_property
    def beyond(self) -> FloatArray:
        """(Q, G): -1 and 1 where a group of a list is below and above its bounds, whatever unknown groups are, or 0."""
        known = np.where(self.holds, 0.0, np.sign(np.nan_to_num(self.violation)))
        if not self.of_unknown:
            return known
        return np.where(self.unknown_items[:, None] > 0, self.of_unknown["beyond"], known)

    @cached_property
    def fair(self) -> BoolArray:
        """Judged lists in which every group holds its delta, whatever the unknown groups are."""
        held = self.holds.all(axis=1)
        if self.of_unknown:
            held = np.where(self.unknown_items > 0, self.of_unknown["holds"], held)
        return self.judged & held

    @cached_property
    def broken(self) -> BoolArray:
        """Judged lists in which some group exceeds its delta, whatever the unknown groups are."""
        if not self.of_unknown:
            return self.judged & ~self.fair
        return self.judged & np.where(self.unknown_items > 0, self.of_unknown["breaks"], ~self.fair)

    @cached_property
    def undecided(self) -> BoolArray:
        """Judged lists that cannot be told: whether they hold delta depends on groups that are not known."""
        return self.judged & ~self.fair & ~self.broken

    @cached_property
    def verdicts(self) -> NDArray[np.object_]:
        """(Q,): "holds", "breaks", "cannot be told", "cannot fail" or "not applicable"."""
        said = np.full(len(self), "not applicable", dtype=object)
        kinds = (("cannot fail", self.cannot_fail), ("holds", self.fair), ("breaks", self.broken))
        for name, lists in (*kinds, ("cannot be told", self.undecided)):
            said[lists] = name
        return said

    @cached_property
    def within_quota(self) -> BoolArray:
        """Whether no ranking of the list that may be shown breaks the quota; True where there is nothing to keep."""
        return ~self.quota["broken"] if self.quota else np.ones(len(self), dtype=np.bool_)

    def frame(self) -> pd.DataFrame:
        """A row per list and group present in it; measures, attributes and time, last, are those of the list.

        A list of which no group is known has a row, without an exposure, for each group that there could be.

        Where each item is on its own, a row per item, with its id in "item" in place of "group" and "n".

        Where groups are not known: "unknown" (such items in the list), "exposure_least", "exposure_most" (of the group,
        whatever those are) and "verdict" (on the list, as in `verdicts`); "delta_fair" is what holds in any case.

        With a quota, "breaks_quota" is the probability that a ranking of the list that is shown breaks it.

        An attribute with the name of another column is called "slice:" and its name.
        """
        named = self.present
        if self.unknown:
            named = named | ~named.any(axis=1, keepdims=True) & ~np.isnan(self.unknown["lower"])
        rows, groups = np.nonzero(named)
        who = np.array(self.group_names, dtype=object)[groups] if self.items is None else self.items[rows, groups]
        columns: dict[str, Any] = {
            "query": self.query_ids[rows],
            "group" if self.items is None else "item": who,
            **({"n": self.sizes[rows, groups]} if self.items is None else {}),
            "exposure": self.exposure[rows, groups],
            "lower": self.lower[rows, groups],
            "upper": self.upper[rows, groups],
            "violation": self.violation[rows, groups],
            "delta_fair": self.holds[rows, groups],
            "applicable": self.possible[rows],
            "cannot_fail": self.cannot_fail[rows],
            "feasible": self.feasible[rows],
        }
        if self.unknown:
            columns["unknown"] = self.unknown_items[rows]
            columns["exposure_least"] = self.unknown["lower"][rows, groups]
            columns["exposure_most"] = self.unknown["upper"][rows, groups]
            columns["verdict"] = self.verdicts[rows]
        if self.quota:
            columns["breaks_quota"] = self.quota["chance"][rows]
        columns |= {name: values[rows] for name, values in self.measures.items()}
        if self.times is not None:
            columns["time"] = self.times[rows]
        about = {f"slice:{name}" if name in columns else name: values for name, values in self.attributes.items()}
        return pd.DataFrame(columns | {name: values[rows] for name, values in about.items()})
