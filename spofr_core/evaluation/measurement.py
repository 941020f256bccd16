"""`measure_exposure`: what a ranking, or a policy, does to the exposure of groups, before any delta is named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from spofr_core.config import checked_seed
from spofr_core.data import RankingDataset
from spofr_core.data.ids import plain
from spofr_core.errors import ConfigError, DataError
from spofr_core.evaluation.intervals import wilson_many
from spofr_core.evaluation.measuring.unknown_groups import unknown_columns
from spofr_core.evaluation.query_table import BoolArray, FloatArray, QueryTable
from spofr_core.evaluation.summary import SmallGroups, delta_range, measured_summary
from spofr_core.fairness import (
    Composition,
    Discount,
    Fairness,
    PositionBias,
    Quota,
    Unit,
    largest_delta,
    rounding_of_violations,
    smallest_delta,
)
from spofr_core.measures import MEASURES, Measure, RankingView, Target, parse_measures
from spofr_core.measures.prefixes.quota_breaks import quota_breaks
from spofr_core.policy import Lotteries, RankingPolicies, SortedPolicies, sorted_lotteries, tied_expectation

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
    quota : Quota, optional
        What was counted in every ranking.
    small : SmallGroups
        Which groups are too small for the headline.
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
    small: SmallGroups
    excluded: dict[str, int]
    notes: tuple[str, ...]
    quota: Quota | None = None

    def judge(self, delta: float | Mapping[str, float] | Fairness) -> AuditResult:
        """Which lists hold a delta. Nothing is measured again, and no interval is drawn again.

        Raises
        ------
        ConfigError
            When a `Fairness` asks about another notion, another unit, other merits, another exposure model or a quota
            that was not counted.
        """
        from spofr_core.evaluation.audit import AuditResult

        if not isinstance(delta, Fairness):
            settings: dict[str, Any] = {"notion": self.notion, "unit": self.unit, "merits": self.merits}
            asked = Fairness(delta=delta, position_bias=self.position_bias, every_ranking=self.quota, **settings)
            return AuditResult(self, asked)
        for name in ("notion", "unit", "merits", "position_bias"):
            if getattr(delta, name) != getattr(self, name):
                raise ConfigError(
                    f"'{name}' is {getattr(delta, name)!r} but {getattr(self, name)!r} was measured; measure again."
                )
        if delta.every_ranking not in (None, self.quota):
            counted = "none was counted" if self.quota is None else f"the one counted is {self.quota.text!r}"
            raise ConfigError(f"The quota is {delta.every_ranking.text!r}, but {counted}; measure again.")
        return AuditResult(self, delta)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The entries of `AuditResult.summary` that no delta changes."""
        return measured_summary(self.table, cutoff=self.cutoff, seed=self.seed, small=self.small) | {
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
        """How many queries hold delta, as a function of delta: every step, exactly.

        All steps are of the same queries, those that some ranking would bring above a delta of 0, so the share never
        falls. A query that no ranking could bring above a delta holds that delta, and is counted apart as well: the
        verdict at a delta is of those that could fail it, hold - cannot_fail of queries - cannot_fail.

        Returns
        -------
        DataFrame
            Columns delta (ascending: where a query begins to hold, or can no longer fail), hold, cannot_fail (of those
            that hold), queries, share = hold / queries, lower, upper (Wilson, 95 %). Between two rows everything is as
            in the row before; below the first delta nothing holds. In the last row nothing can fail.
        """
        return self._fair_share.copy()

    @cached_property
    def _fair_share(self) -> pd.DataFrame:
        deltas = np.unique(np.concatenate(self._steps))
        deltas = deltas[np.isfinite(deltas)]
        hold, could_hold, cannot_fail = self._counts(deltas)
        queries = max(len(self._steps[0]), 1)
        lower, upper = wilson_many(hold, queries)[0], wilson_many(could_hold, queries)[1]
        counts = {"delta": deltas, "hold": hold, "cannot_fail": cannot_fail, "queries": queries}
        band = {"could_hold": could_hold} if self.table.unknown else {}
        return pd.DataFrame({**counts, **band, "share": hold / queries, "lower": lower, "upper": upper})

    def share_at(self, deltas: ArrayLike) -> FloatArray:
        """The same share at any deltas, each the same for all groups; NaN where no query can fail any delta."""
        queries = len(self._steps[0]) or np.nan
        return np.asarray(self._counts(np.asarray(deltas, dtype=np.float64))[0] / queries)

    @cached_property
    def _could_fail(self) -> BoolArray:
        """Queries that some ranking would bring above a delta of 0, whatever their unknown groups are."""
        return np.asarray(self.table.possible & (self.table.reach > self.table.rounding))

    @cached_property
    def _steps(self) -> tuple[FloatArray, ...]:
        """Of these queries: largest violation at most, the same at least, and largest possible one."""
        least, most = self.table.worst_range
        return tuple(ends[self._could_fail] for ends in (most, least, self.table.reach))

    def _counts(self, deltas: FloatArray) -> tuple[NDArray[np.int64], ...]:
        """How many of these queries surely hold each delta, how many could, and how many cannot fail it."""
        rounding = self.table.rounding[self._could_fail]
        steps = (np.searchsorted(np.sort(step - rounding), deltas, side="right") for step in self._steps)
        held, could_hold, cannot_fail = steps
        return np.maximum(held, cannot_fail), np.maximum(could_hold, cannot_fail), cannot_fail  # that holds


def measure_exposure(
    data: RankingDataset,
    fairness: Fairness,
    *,
    policies: RankingPolicies | None = None,
    discount: Discount | None = None,
    cutoff: int = 10,
    seed: int = 0,
    small: SmallGroups | None = None,
    measures: Sequence[str | Measure] = (),
) -> Measurement:
    """Measure the ranking that the scores imply, or given policies.

    Parameters
    ----------
    data : RankingDataset
        With a score (or rank) column, unless `policies` are given.
    fairness : Fairness
        Its notion, merits, exposure model and quota. Its delta plays no part, and is not kept.
    policies, discount, cutoff, seed, small, measures
        As for `audit`.
    """
    RankingDataset.require(data)
    Fairness.require(fairness)
    if cutoff < 1:
        raise ConfigError(f"cutoff is {cutoff}; give a depth of 1 or more for nDCG.")
    checked_seed(seed)
    discount = discount or Discount()
    table = measured_table(data, fairness, policies=policies, discount=discount, cutoff=cutoff, measures=measures)
    how: dict[str, Any] = {"discount": discount, "cutoff": cutoff, "seed": seed, "small": small}
    return measurement_of(table, fairness, excluded=data.excluded, notes=data.notes, **how)


def measurement_of(
    table: QueryTable,
    fairness: Fairness,
    *,
    discount: Discount,
    cutoff: int,
    seed: int,
    excluded: Mapping[str, int],
    notes: tuple[str, ...],
    small: SmallGroups | None = None,
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
        small=small or SmallGroups(),
        excluded=dict(excluded),
        notes=tuple(notes),
        quota=fairness.every_ranking,
    )


def measured_table(
    data: RankingDataset,
    fairness: Fairness,
    *,
    policies: RankingPolicies | None = None,
    discount: Discount,
    cutoff: int,
    measures: Sequence[str | Measure] = (),
) -> QueryTable:
    """The per-query arrays of `measure_exposure`, which can be computed part by part and concatenated."""
    view = ranking_view(data, fairness, policies=policies, discount=discount, cutoff=cutoff)
    usual = {m.name: m for m in MEASURES.values() if m.in_audit and m.applies(data)}
    kinds = usual | {str(m): m for m in parse_measures(measures) if m not in usual.values()}
    unknown, rounding = unknown_columns(view, fairness), rounding_of_violations(fairness, view.terms)
    if unknown:
        rounding = np.where(unknown["items"] > 0, unknown["rounding"], rounding)
    return QueryTable(
        query_ids=data.query_ids,
        group_names=data.group_names,
        sizes=view.composition.sizes,
        exposure=view.group_exposure,
        violation=view.terms.violations(view.group_exposure),
        smallest_delta=smallest_delta(fairness, view.terms),
        largest_delta=largest_delta(fairness, view.terms),
        rounding=rounding,
        measures={name: m.values(view).values for name, m in kinds.items()},
        kinds=kinds,
        quota=_quota(view, fairness.every_ranking, policies),
        items=_item_table(data) if data.each_item else None,
        attributes=dict(data.attributes),
        times=data.times,
        label_shift=data.label_shift,
        ungrouped=view.composition.lengths - view.composition.grouped,
        mean_exposure=view.terms.mean_exposure,
        unknown=unknown,
    )


def _item_table(data: RankingDataset) -> NDArray[np.object_]:
    """(Q, G): the id of the item that each code stands for in each list; None where it stands for nothing."""
    items = np.full((len(data), data.n_groups), None, dtype=object)
    items[data.query_of_item, data.groups] = data.item_ids.tolist()
    return items


def _quota(view: RankingView, quota: Quota | None, policies: RankingPolicies | None) -> dict[str, NDArray[Any]]:
    if quota is None:
        return {}
    shown = SortedPolicies(np.asarray(view.data.score), view.data.offsets) if policies is None else policies
    return quota_breaks(view, quota, sorted_by=shown.scores if isinstance(shown, SortedPolicies) else None)


def ranking_view(
    data: RankingDataset,
    fairness: Fairness,
    *,
    policies: RankingPolicies | None = None,
    discount: Discount,
    cutoff: int,
    seed: int = 0,
    target: Target = "list",
    protected: str | None = None,
) -> RankingView:
    """The rankings that the scores imply, or given policies, as measures see them."""
    if data.each_item:
        fairness.check_items()
    composition = Composition.of(data.groups, data.offsets, data.group_names)

    def draw(kinds: NDArray[np.int64]) -> Lotteries:
        if policies is not None:
            return policies.lotteries(kinds)
        return sorted_lotteries(np.asarray(data.score), data.offsets, kinds, seed=seed, ids=data.query_ids)

    return RankingView(
        data=data,
        composition=composition,
        position_bias=fairness.position_bias,
        discount=discount,
        cutoff=cutoff,
        terms=fairness.terms(composition),
        expectations=lambda vectors: _expectations(data, policies, vectors),
        draw=draw,
        target=target,
        protected=protected,
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
