"""Per-query results of an audit, as arrays: the primitive from which everything else is computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spofr_core.fairness import TOLERANCE

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class QueryTable:
    """Results of each list q and group g; entries of absent groups are NaN.

    `dcg` and `ndcg` are None without relevance labels; `ndcg` is NaN where a list has no relevant item.
    """

    query_ids: NDArray[Any]
    group_names: tuple[str, ...]
    sizes: NDArray[np.int64]
    exposure: FloatArray
    lower: FloatArray
    upper: FloatArray
    violation: FloatArray
    delta: FloatArray
    smallest_delta: FloatArray
    largest_delta: FloatArray
    feasible: BoolArray
    disparity: FloatArray
    dcg: FloatArray | None
    ndcg: FloatArray | None

    def __len__(self) -> int:
        return len(self.query_ids)

    @cached_property
    def present(self) -> BoolArray:
        """Whether the group has an item in the list."""
        return self.sizes > 0

    @cached_property
    def applicable(self) -> BoolArray:
        """Lists with two groups or more."""
        return np.asarray(self.present.sum(axis=1) >= 2)

    @cached_property
    def holds(self) -> BoolArray:
        """Whether each group of each list holds its delta; True where nothing is asked."""
        with np.errstate(invalid="ignore"):
            broken = np.abs(self.violation) > self.delta + TOLERANCE
        return ~(broken & self.applicable[:, None])

    @cached_property
    def fair(self) -> BoolArray:
        """Applicable lists in which every group holds its delta."""
        return self.applicable & self.holds.all(axis=1)

    @cached_property
    def worst_group(self) -> NDArray[np.int64]:
        """Group with the largest absolute violation in each list."""
        return np.asarray(np.nan_to_num(np.abs(self.violation), nan=-1.0).argmax(axis=1), dtype=np.int64)

    @cached_property
    def worst_violation(self) -> FloatArray:
        """Signed violation of `worst_group`; 0 where the notion does not apply."""
        signed = self.violation[np.arange(len(self)), self.worst_group]
        return np.where(self.applicable, signed, 0.0)

    def frame(self) -> pd.DataFrame:
        """A row per list and group present in it."""
        rows, groups = np.nonzero(self.present)
        columns: dict[str, Any] = {
            "query": self.query_ids[rows],
            "group": np.array(self.group_names, dtype=object)[groups],
            "n": self.sizes[rows, groups],
            "exposure": self.exposure[rows, groups],
            "lower": self.lower[rows, groups],
            "upper": self.upper[rows, groups],
            "violation": self.violation[rows, groups],
            "delta_fair": self.holds[rows, groups],
            "applicable": self.applicable[rows],
            "feasible": self.feasible[rows],
        }
        if self.dcg is not None and self.ndcg is not None:
            columns |= {"dcg": self.dcg[rows], "ndcg": self.ndcg[rows]}
        return pd.DataFrame(columns)

    def __getitem__(self, queries: NDArray[Any] | slice) -> QueryTable:
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        chosen: dict[str, Any] = {n: v[queries] if isinstance(v, np.ndarray) else v for n, v in values.items()}
        return QueryTable(**chosen)

    @classmethod
    def concatenate(cls, parts: Sequence[QueryTable]) -> QueryTable:
        """Parts of one dataset (same groups, same settings) as one table."""
        first = parts[0]
        joined: dict[str, Any] = {}
        for f in fields(cls):
            values = [getattr(part, f.name) for part in parts]
            joined[f.name] = np.concatenate(values) if isinstance(values[0], np.ndarray) else getattr(first, f.name)
        return cls(**joined)
