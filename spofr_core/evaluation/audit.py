"""`audit`: what a ranking, or a policy, does to the exposure of groups, list by list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from numpy.typing import ArrayLike

from spofr_core.data import RankingDataset, write_csv
from spofr_core.evaluation.measurement import Measurement, measure_exposure
from spofr_core.evaluation.query_table import FloatArray, JudgedTable
from spofr_core.evaluation.slicing.over_time import OverTime, over_time
from spofr_core.evaluation.slicing.query_values import VIOLATION, QueryValues, table_values
from spofr_core.evaluation.slicing.slice_exposure import sliced_exposure
from spofr_core.evaluation.slicing.sliced_result import USUAL, SlicedResult, sliced_result, slicings_of
from spofr_core.evaluation.slicing.slices import Slices, slices
from spofr_core.evaluation.slicing.windows import AUTO, Window
from spofr_core.evaluation.summary import SmallGroups, summarise
from spofr_core.fairness import Discount, Fairness
from spofr_core.files import json_text, write_whole
from spofr_core.measures import Measure
from spofr_core.policy import RankingPolicies

if TYPE_CHECKING:
    from spofr_core.evaluation.selection.rates import SelectionRates


@dataclass(frozen=True, eq=False)
class AuditedModel:
    """Whose policies were audited, where a trained model made them.

    Attributes
    ----------
    title : str
        Of the method.
    guaranteed : bool
        Whether the method holds delta in every query that can.
    contrast : AuditResult, optional
        The audit of the plain sort by the same scores.
    """

    title: str
    guaranteed: bool
    contrast: AuditResult | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain, with the numbers of the contrast that a reader compares."""
        plain = None if self.contrast is None else self.contrast.summary
        return {
            "title": self.title,
            "guaranteed": self.guaranteed,
            "plain_sort": plain
            and {
                "queries": plain["queries"],
                "violation": {name: plain["violation"][name] for name in ("mean", "max")},
                "dcg": plain["utility"] and plain["utility"]["dcg"],
            },
        }


@dataclass(frozen=True, eq=False)
class AuditResult:
    """What an audit found: a measurement, and what the delta of `fairness` makes of it.

    Attributes
    ----------
    measurement : Measurement
        Exposures, violations and measures; `measurement.judge(delta)` is the audit at another delta.
    fairness : Fairness
        What was asked.
    model : AuditedModel, optional
        Whose policies these are, where they are not the ranking that the data came with.
    selection : SelectionRates, optional
        Who is selected, where that was asked for.
    sliced : SlicedResult, optional
        Slices and courses over time, where they were asked for.
    """

    measurement: Measurement
    fairness: Fairness
    model: AuditedModel | None = None
    selection: SelectionRates | None = None
    sliced: SlicedResult | None = None

    @cached_property
    def table(self) -> JudgedTable:
        """Arrays per query and group, with the bounds."""
        return self.measurement.table.judge(self.fairness)

    @cached_property
    def queries(self) -> pd.DataFrame:
        """A row per query and group present in it."""
        return self.table.frame()

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Plain, JSON-able dict; its schema is written in `spofr_core.evaluation.summary`."""
        measured = self.measurement
        found = summarise(measured.summary, self.table, self.fairness, measured.small, seed=measured.seed)
        sliced = {} if self.sliced is None else self.sliced.summary
        selected = {} if self.selection is None else {"selection": self.selection.summary}
        return found | {"model": None if self.model is None else self.model.to_dict()} | selected | sliced

    def of_model(self, title: str, *, guaranteed: bool, contrast: AuditResult | None = None) -> AuditResult:
        """The same audit, said to be of a trained model."""
        return replace(self, model=AuditedModel(title, guaranteed, contrast))

    def with_selection(self, selection: SelectionRates) -> AuditResult:
        """The same audit with who is selected, for summary and report; see `selection_rates`."""
        return replace(self, selection=selection)

    def with_slices(
        self, by: Sequence[str] = (), *, window: Window | None = None, measures: Sequence[str] = USUAL
    ) -> AuditResult:
        """The same audit with slices by these attributes and courses over time, for summary and report."""
        told, _ = slicings_of(by, self.table.attributes)
        of_groups = [] if self.table.each_item else told  # an item on its own is in one list, and so in one slice
        exposure = [sliced_exposure(self.table, names, small=self.measurement.small) for names in of_groups]
        how: dict[str, Any] = {"window": window, "measures": measures, "seed": self.measurement.seed}
        return replace(self, sliced=sliced_result(self, by, exposure=exposure, **how))

    def query_values(self, measure: str) -> QueryValues:
        """What a measure ("violation", "fair", or one that was computed) is in each query."""
        entries = self.measurement.summary["measures"]
        return table_values(self.table, measure, unit=self.fairness.unit, entries=entries)

    def slices(self, by: str | Sequence[str], *, measure: str = VIOLATION, **how: Any) -> Slices:
        """A measure by slices of the queries; see `spofr_core.evaluation.slices`."""
        return slices(self, by, measure=measure, **how)

    def over_time(self, window: Window = AUTO, *, measure: str = VIOLATION, **how: Any) -> OverTime:
        """A measure over time; see `spofr_core.evaluation.over_time`."""
        return over_time(self, window, measure=measure, **{"seed": self.measurement.seed, **how})

    @property
    def ok(self) -> bool:
        """Whether every judged query holds delta, and the quota where there is one."""
        return self.holds_delta and self.holds_quota

    @property
    def holds_delta(self) -> bool:
        """Whether every judged query holds delta, whatever the groups are that are not known."""
        return bool(self.table.fair.sum() == self.table.judged.sum())

    @property
    def breaks_delta(self) -> bool:
        """Whether a judged query breaks delta, whatever the groups are that are not known."""
        return bool(self.table.broken.any())

    @property
    def holds_quota(self) -> bool:
        """Whether no ranking that may be shown breaks the quota, in the queries in which it can be kept."""
        return self.fairness.every_ranking is None or bool(self.table.within_quota.all())

    def fair_share(self) -> pd.DataFrame:
        """How many queries hold delta, and how many cannot fail it, over delta; see `Measurement.fair_share`."""
        return self.measurement.fair_share()

    def share_at(self, deltas: ArrayLike) -> FloatArray:
        """The same share at any deltas, each the same for all groups; NaN where no query can fail any delta."""
        return self.measurement.share_at(deltas)

    def _repr_html_(self) -> str:
        from spofr_core.reporting import audit_card

        return audit_card(self)

    def to_json(self, path: str | Path | None = None) -> str:
        """The summary as JSON text, also written to `path` if one is given."""
        return json_text(self.summary, path)

    def to_csv(self, path: str | Path) -> None:
        """The table `queries` as CSV; cells that a spreadsheet would run as a formula are neutralised."""
        write_csv(self.queries, path)

    def to_html(self, path: str | Path | None = None, *, auditor: str | None = None, notes: str | None = None) -> str:
        """A self-contained report, also written to `path`; in a folder, under a name that says what it is.

        Parameters
        ----------
        path : path, optional
        auditor, notes : str, optional
            Who answers for the audit, and what that person wants to say.
        """
        from spofr_core.reporting import Provenance, audit_html, report_name

        origin = Provenance(auditor=auditor, notes=notes)
        text = audit_html(self, provenance=origin)
        if path is not None:
            inside = Path(path) / report_name(self.summary, origin) if Path(path).is_dir() else path
            write_whole(inside, text.encode("utf-8"))
        return text


def audit(
    data: RankingDataset,
    fairness: Fairness,
    *,
    policies: RankingPolicies | None = None,
    discount: Discount | None = None,
    cutoff: int = 10,
    seed: int = 0,
    small: SmallGroups | None = None,
    measures: Sequence[str | Measure] = (),
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
    small : SmallGroups, optional
        Which groups are too small for the headline; fewer than 30 items or 10 lists where nothing is said.
    measures : sequence of str or Measure
        Measures by their names, such as "NDKL" or "Skew@10", besides those that every audit has; see `measure`.

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
    how: dict[str, Any] = {"discount": discount, "cutoff": cutoff, "seed": seed, "small": small, "measures": measures}
    measurement = measure_exposure(data, fairness, policies=policies, **how)
    return measurement.judge(fairness)
