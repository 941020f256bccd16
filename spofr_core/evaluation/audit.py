"""`audit`: what a ranking, or a policy, does to the exposure of groups, list by list."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spofr_core.config import checked_seed
from spofr_core.data import RankingDataset, write_csv
from spofr_core.data.ids import plain
from spofr_core.errors import ConfigError, DataError
from spofr_core.evaluation.intervals import wilson_many
from spofr_core.evaluation.query_table import FloatArray, QueryTable
from spofr_core.evaluation.summary import summarise
from spofr_core.fairness import TOLERANCE, Composition, Discount, Fairness, feasible, largest_delta, smallest_delta
from spofr_core.files import write_whole
from spofr_core.measures.basic import dcg, group_exposure, ndcg, pairwise_disparity
from spofr_core.policy import tied_expectation


class HasExpectations(Protocol):
    """What an audit needs of policies: the expectation over their rankings of any vector over positions."""

    def expectation(self, vector: FloatArray) -> FloatArray:
        """Per item, the expected value of `vector` at the item's position; flat, in the order of the data."""


@dataclass(frozen=True, eq=False)
class AuditResult:
    """What an audit found.

    Attributes
    ----------
    table : QueryTable
        Arrays per query and group.
    fairness : Fairness
        What was asked.
    """

    table: QueryTable
    fairness: Fairness
    discount: Discount
    cutoff: int
    seed: int
    excluded: dict[str, int]
    notes: tuple[str, ...]

    @cached_property
    def queries(self) -> pd.DataFrame:
        """A row per query and group present in it."""
        return self.table.frame()

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Plain, JSON-able dict; its schema is written in `spofr_core.evaluation.summary`."""
        return summarise(
            self.table,
            self.fairness,
            discount=self.discount,
            cutoff=self.cutoff,
            seed=self.seed,
            excluded=self.excluded,
            notes=self.notes,
        )

    @property
    def ok(self) -> bool:
        """Whether every applicable query holds delta."""
        return bool(self.table.fair.sum() == self.table.applicable.sum())

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

    def share_at(self, deltas: NDArray[np.float64]) -> FloatArray:
        """Share of applicable queries whose largest violation is within each delta (the same for all groups)."""
        violations = np.sort(np.abs(self.table.worst_violation[self.table.applicable]))
        within = np.searchsorted(violations, np.asarray(deltas, dtype=np.float64) + TOLERANCE, side="right")
        return np.asarray(within / max(len(violations), 1))

    def to_json(self, path: str | Path | None = None) -> str:
        """The summary as JSON text, also written to `path` if one is given."""
        text = json.dumps(self.summary, indent=2, ensure_ascii=False, allow_nan=False)
        if path is not None:
            write_whole(path, (text + "\n").encode("utf-8"))
        return text

    def to_csv(self, path: str | Path) -> None:
        """The table `queries` as CSV; cells that a spreadsheet would run as a formula are neutralised."""
        write_csv(self.queries, path)

    def to_html(self, path: str | Path | None = None) -> str:
        """A self-contained report, also written to `path` if one is given."""
        # Reporting is built on audits; the convenience of asking the result itself is worth this one upward call.
        from spofr_core.reporting import audit_html

        text = audit_html(self)
        if path is not None:
            write_whole(path, text.encode("utf-8"))
        return text


def audit(
    data: RankingDataset,
    fairness: Fairness,
    *,
    policies: HasExpectations | None = None,
    discount: Discount | None = None,
    cutoff: int = 10,
    seed: int = 0,
) -> AuditResult:
    """Audit the ranking that the scores imply, or given policies.

    Items with equal scores share their positions evenly: their exposure is the expectation over random tie-breaks.

    Parameters
    ----------
    data : RankingDataset
        With a score (or rank) column, unless `policies` are given.
    fairness : Fairness
        Notion, delta and exposure model.
    policies : Policies, optional
        Lotteries over rankings for the same lists, as `fair_policies` or a model returns them.
    discount : Discount, optional
        Worth of positions for DCG; the default is 1/log2(1 + j).
    cutoff : int, default 10
        nDCG is computed at this depth.
    seed : int, default 0
        Of the bootstrap intervals.

    Raises
    ------
    DataError
        When there is neither a score nor policies, or the policies are of other lists.

    Examples
    --------
    >>> from spofr_core import Fairness, load_sample
    >>> result = audit(load_sample("hiring").test, Fairness(delta=0.05))
    >>> {name: result.summary["queries"][name] for name in ("total", "fair")}
    {'total': 100, 'fair': 68}
    """
    if not isinstance(data, RankingDataset):
        raise DataError(
            f"'data' must be a RankingDataset, got {type(data).__name__}; read_dataset(...) makes one from a file or "
            "a DataFrame."
        )
    Fairness.require(fairness)
    if cutoff < 1:
        raise ConfigError(f"cutoff is {cutoff}; give a depth of 1 or more for nDCG.")
    return AuditResult(
        table=audit_table(data, fairness, policies=policies, discount=discount, cutoff=cutoff),
        fairness=fairness,
        discount=discount or Discount(),
        cutoff=cutoff,
        seed=checked_seed(seed),
        excluded=dict(data.excluded),
        notes=tuple(data.notes),
    )


def audit_table(
    data: RankingDataset,
    fairness: Fairness,
    *,
    policies: HasExpectations | None = None,
    discount: Discount | None = None,
    cutoff: int = 10,
) -> QueryTable:
    """The per-query arrays of `audit`, which can be computed part by part and concatenated."""
    discount = discount or Discount()
    composition = Composition.of(data.groups, data.offsets, data.group_names)
    longest = int(composition.lengths.max(initial=0))
    at_cutoff = Discount(cutoff=cutoff, values=discount.values)
    vectors = np.stack([model.vector(longest) for model in (fairness.position_bias, discount, at_cutoff)])
    item_exposure, item_worth, item_worth_at_cutoff = _expectations(data, policies, vectors)
    exposure = group_exposure(item_exposure, data.groups, data.offsets, composition)
    terms = fairness.terms(composition)
    lower, upper = terms.bounds()
    utility: tuple[FloatArray | None, FloatArray | None] = (None, None)
    if data.relevance is not None:
        utility = (
            dcg(data.relevance, item_worth, data.offsets),
            ndcg(data.relevance, item_worth_at_cutoff, data.offsets, at_cutoff),
        )
    return QueryTable(
        query_ids=data.query_ids,
        group_names=data.group_names,
        sizes=composition.sizes,
        exposure=exposure,
        lower=lower,
        upper=upper,
        violation=terms.violations(exposure),
        delta=np.asarray(terms.delta),
        smallest_delta=smallest_delta(fairness, terms),
        largest_delta=largest_delta(fairness, terms),
        feasible=feasible(fairness, terms),
        disparity=pairwise_disparity(exposure),
        dcg=utility[0],
        ndcg=utility[1],
    )


def _expectations(data: RankingDataset, policies: HasExpectations | None, vectors: FloatArray) -> FloatArray:
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
