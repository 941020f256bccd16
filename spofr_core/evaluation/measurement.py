"""`measure_exposure`: what a ranking, or a policy, does to the exposure of groups, before any delta is named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from spofr_core.config import checked_seed
from spofr_core.data import RankingDataset
from spofr_core.data.ids import plain
from spofr_core.errors import ConfigError, DataError
from spofr_core.evaluation.intervals import wilson_many
from spofr_core.evaluation.query_table import FloatArray, QueryTable
from spofr_core.evaluation.summary import delta_range, measured_summary
from spofr_core.fairness import (
    TOLERANCE,
    Composition,
    Discount,
    Fairness,
    PositionBias,
    Unit,
    largest_delta,
    smallest_delta,
)
from spofr_core.measures import MEASURES, Measured
from spofr_core.policy import RankingPolicies, tied_expectation

if TYPE_CHECKING:
    from spofr_core.evaluation.audit import AuditResult


@dataclass(frozen=True, eq=False)
class Measurement:
    """Exposures, signed violations and measures of every list. It knows no delta: `judge` takes one.

    Attributes
    ----------
    table : QueryTable
        Arrays per query and group.
    notion, unit, merits, position_bias
        What the violations are violations of, and whether they are shares.
    excluded : dict
        Rows that the data left out, by reason.
    """

    table: QueryTable
    notion: str
    unit: Unit
    merits: dict[str, float] | None
    position_bias: PositionBias
    discount: Discount
    cutoff: int
    seed: int
    excluded: dict[str, int]
    notes: tuple[str, ...]

    def judge(self, delta: float | Mapping[str, float] | Fairness) -> AuditResult:
        """Which lists hold a delta. Nothing is measured again, and no interval is drawn again.

        Raises
        ------
        ConfigError
            When a `Fairness` asks about another notion, another unit, other merits or another exposure model.
        """
        from spofr_core.evaluation.audit import AuditResult

        if not isinstance(delta, Fairness):
            settings: dict[str, Any] = {"notion": self.notion, "unit": self.unit, "merits": self.merits}
            return AuditResult(self, Fairness(delta=delta, position_bias=self.position_bias, **settings))
        for name in ("notion", "unit", "merits", "position_bias"):
            if getattr(delta, name) != getattr(self, name):
                raise ConfigError(
                    f"'{name}' is {getattr(delta, name)!r} but {getattr(self, name)!r} was measured; measure again."
                )
        return AuditResult(self, delta)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The entries of `AuditResult.summary` that no delta changes."""
        return measured_summary(self.table, cutoff=self.cutoff, seed=self.seed) | {
            "notion": self.notion,
            "unit": self.unit,
            "merits": self.merits,
            "position_bias": self.position_bias.label,
            "discount": self.discount.label,
            "excluded": dict(self.excluded),
            "notes": list(self.notes),
        }

    @property
    def delta_range(self) -> tuple[float, float]:
        """The smallest delta that every list can hold, and the largest that still forbids something."""
        found = delta_range(self.table)
        return found["smallest"], found["largest"]

    def fair_share(self) -> pd.DataFrame:
        """Share of applicable queries that hold delta, as a function of delta: every step of it, exactly.

        Returns
        -------
        DataFrame
            Columns delta (each distinct violation, ascending), fair, share, lower, upper (Wilson, 95 %). Between two
            rows the share is that of the row before; below the first delta it is 0.
        """
        violations = np.abs(self.table.worst_violation[self.table.applicable])
        deltas, counts = np.unique(violations, return_counts=True)
        fair = np.cumsum(counts)
        total = max(len(violations), 1)
        lower, upper = wilson_many(fair, total)
        return pd.DataFrame({"delta": deltas, "fair": fair, "share": fair / total, "lower": lower, "upper": upper})

    def share_at(self, deltas: ArrayLike) -> FloatArray:
        """Share of applicable queries whose largest violation is within each delta (the same for all groups)."""
        violations = np.sort(np.abs(self.table.worst_violation[self.table.applicable]))
        within = np.searchsorted(violations, np.asarray(deltas, dtype=np.float64) + TOLERANCE, side="right")
        return np.asarray(within / max(len(violations), 1))


def measure_exposure(
    data: RankingDataset,
    fairness: Fairness,
    *,
    policies: RankingPolicies | None = None,
    discount: Discount | None = None,
    cutoff: int = 10,
    seed: int = 0,
) -> Measurement:
    """Measure the ranking that the scores imply, or given policies.

    Parameters
    ----------
    data : RankingDataset
        With a score (or rank) column, unless `policies` are given.
    fairness : Fairness
        Its notion, merits and exposure model. Its delta plays no part, and is not kept.
    policies, discount, cutoff, seed
        As for `audit`.
    """
    if not isinstance(data, RankingDataset):
        raise DataError(
            f"'data' must be a RankingDataset, got {type(data).__name__}; read_dataset(...) makes one from a file or "
            "a DataFrame."
        )
    Fairness.require(fairness)
    if cutoff < 1:
        raise ConfigError(f"cutoff is {cutoff}; give a depth of 1 or more for nDCG.")
    checked_seed(seed)
    discount = discount or Discount()
    table = measured_table(data, fairness, policies=policies, discount=discount, cutoff=cutoff)
    return measurement_of(
        table, fairness, discount=discount, cutoff=cutoff, seed=seed, excluded=data.excluded, notes=data.notes
    )


def measurement_of(
    table: QueryTable,
    fairness: Fairness,
    *,
    discount: Discount,
    cutoff: int,
    seed: int,
    excluded: Mapping[str, int],
    notes: tuple[str, ...],
) -> Measurement:
    """A measurement whose table is there already."""
    return Measurement(
        table=table,
        notion=fairness.notion,
        unit=fairness.unit,
        merits=fairness.merits,
        position_bias=fairness.position_bias,
        discount=discount,
        cutoff=cutoff,
        seed=seed,
        excluded=dict(excluded),
        notes=tuple(notes),
    )


def measured_table(
    data: RankingDataset,
    fairness: Fairness,
    *,
    policies: RankingPolicies | None = None,
    discount: Discount,
    cutoff: int,
) -> QueryTable:
    """The per-query arrays of `measure_exposure`, which can be computed part by part and concatenated."""
    composition = Composition.of(data.groups, data.offsets, data.group_names)
    measured = Measured(
        data=data,
        composition=composition,
        position_bias=fairness.position_bias,
        discount=discount,
        cutoff=cutoff,
        expectations=lambda vectors: _expectations(data, policies, vectors),
    )
    terms = fairness.terms(composition)
    return QueryTable(
        query_ids=data.query_ids,
        group_names=data.group_names,
        sizes=composition.sizes,
        exposure=measured.group_exposure,
        violation=terms.violations(measured.group_exposure),
        smallest_delta=smallest_delta(fairness, terms),
        largest_delta=largest_delta(fairness, terms),
        measures={m.name: m.values(measured) for m in MEASURES.values() if m.applies(data)},
    )


def _expectations(data: RankingDataset, policies: RankingPolicies | None, vectors: FloatArray) -> FloatArray:
    """Per vector and item, the expected value at the item's position, (K, N)."""
    if policies is not None:
        values = np.stack([policies.expectation(vector) for vector in vectors])
        if values.shape[1] != data.n_items:
            raise DataError(
                f"The policies rank {values.shape[1]} items but the data has {data.n_items}; "
                "give the policies of these lists."
            )
        unknown = ~np.isfinite(values).all(axis=0)
        if unknown.any():
            query = int(np.searchsorted(data.offsets, np.argmax(unknown), side="right")) - 1
            raise DataError(
                f"The policy of query {plain(data.query_ids[query])!r} is no lottery: rankings or probabilities are "
                "missing, so its exposure is unknown. Check the policies with verify first."
            )
        return values
    if data.score is None:
        raise DataError(
            "There is nothing to audit: the data has no score or rank column. "
            "Map one (score=..., rank=...), or give policies=fair_policies(...)."
        )
    return tied_expectation(data.score, data.offsets, vectors)
