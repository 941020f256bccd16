"""Per-query results, as arrays: what was measured, and what a delta makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spofr_core.fairness import Composition, Fairness, cannot_fail, feasible

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
    quota : dict of str to (Q,) array
        How often what is shown breaks the quota, as `quota_breaks` says; empty where there is none.
    items : (Q, G) object, optional
        Where each item is on its own, the id of the item that each code stands for in each list.
    attributes : dict of str to (Q,) text
        What the queries can be sliced by.
    times : (Q,) datetime64, optional
        When they were asked, in UTC; NaT where unknown.
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
    quota: dict[str, NDArray[Any]] = field(default_factory=dict, kw_only=True)
    items: NDArray[np.object_] | None = field(default=None, kw_only=True)
    attributes: dict[str, NDArray[Any]] = field(default_factory=dict, kw_only=True)
    times: NDArray[np.datetime64] | None = field(default=None, kw_only=True)

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
        """Lists with two groups or more."""
        return np.asarray(self.present.sum(axis=1) >= 2)

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
    def relative_exposure(self) -> FloatArray:
        """(Q, G): e_g over the mean exposure of the list; NaN for absent groups, and where there is but one."""
        exposure = np.where(self.present, self.exposure, 0.0)
        means = (self.sizes * exposure).sum(axis=1) / np.maximum(self.sizes.sum(axis=1), 1)
        compared = self.present & (self.applicable & (means > 0))[:, None]
        return np.asarray(np.divide(exposure, means[:, None], out=np.full(exposure.shape, np.nan), where=compared))

    def judge(self, fairness: Fairness) -> JudgedTable:
        """The same table with the bounds that `fairness` sets."""
        terms = fairness.terms(Composition(sizes=self.sizes, group_names=self.group_names))
        lower, upper = terms.bounds()
        return JudgedTable(
            **{f.name: getattr(self, f.name) for f in fields(QueryTable)},
            lower=lower,
            upper=upper,
            delta=np.asarray(terms.delta),
            feasible=feasible(fairness, terms),
            cannot_fail=cannot_fail(fairness, terms),
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
        Applicable lists of which no ranking could exceed delta: holding it says nothing about the ranking.
    """

    lower: FloatArray
    upper: FloatArray
    delta: FloatArray
    feasible: BoolArray
    cannot_fail: BoolArray

    @cached_property
    def judged(self) -> BoolArray:
        """Lists about which delta says something: two groups or more, and some ranking that would exceed it."""
        return self.applicable & ~self.cannot_fail

    @cached_property
    def holds(self) -> BoolArray:
        """Whether each group of each list holds its delta; True where nothing is asked."""
        with np.errstate(invalid="ignore"):
            broken = np.abs(self.violation) > self.delta + self.rounding[:, None]
        return ~(broken & self.applicable[:, None])

    @cached_property
    def fair(self) -> BoolArray:
        """Judged lists in which every group holds its delta."""
        return self.judged & self.holds.all(axis=1)

    @cached_property
    def within_quota(self) -> BoolArray:
        """Whether no ranking of the list that may be shown breaks the quota; True where there is nothing to keep."""
        return ~self.quota["broken"] if self.quota else np.ones(len(self), dtype=np.bool_)

    def frame(self) -> pd.DataFrame:
        """A row per list and group present in it; measures, attributes and time, last, are those of the list.

        Where each item is on its own, a row per item, with its id in "item" in place of "group" and "n".

        With a quota, "breaks_quota" is the probability that a ranking of the list that is shown breaks it.

        An attribute with the name of another column is called "slice:" and its name.
        """
        rows, groups = np.nonzero(self.present)
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
            "applicable": self.applicable[rows],
            "cannot_fail": self.cannot_fail[rows],
            "feasible": self.feasible[rows],
        }
        if self.quota:
            columns["breaks_quota"] = self.quota["chance"][rows]
        columns |= {name: values[rows] for name, values in self.measures.items()}
        if self.times is not None:
            columns["time"] = self.times[rows]
        about = {f"slice:{name}" if name in columns else name: values for name, values in self.attributes.items()}
        return pd.DataFrame(columns | {name: values[rows] for name, values in about.items()})
