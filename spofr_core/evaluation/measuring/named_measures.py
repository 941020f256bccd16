"""`measure`: measures by their names, of rankings and of policies, per query first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spofr_core.config import checked_seed
from spofr_core.data import RankingDataset, write_csv
from spofr_core.errors import ConfigError
from spofr_core.evaluation.intervals import bootstrap_mean
from spofr_core.evaluation.measurement import ranking_view
from spofr_core.evaluation.slicing.over_time import OverTime, over_time
from spofr_core.evaluation.slicing.query_values import QueryValues, measure_named
from spofr_core.evaluation.slicing.sliced_result import SlicedResult, sliced_result
from spofr_core.evaluation.slicing.slices import Slices, slices
from spofr_core.evaluation.slicing.windows import AUTO, Window
from spofr_core.fairness import Discount, Fairness
from spofr_core.files import json_text
from spofr_core.measures import Measure, RankingView, Target, Values, parse_measures
from spofr_core.policy import RankingPolicies

SCHEMA = 1
FEW_ITEMS = 30
FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Measured:
    """What was measured, one value per query and measure.

    Attributes
    ----------
    measures : tuple of Measure
        In the order in which they were named.
    found : dict of str to Values
        What each found, by its text.
    query_ids : (Q,) array
    items : (G,) int
        How many of each group there are; empty where each item is on its own.
    drawn_lists : int
        In how many lists a measure of whole rankings is a mean over drawn ones.
    settings : dict
        Exposure model, discount, notion, target, protected group, and what was added to labels below 0: plain.
    notes : tuple of str
    attributes, times
        What the queries can be sliced by, and when they were asked.
    sliced : SlicedResult, optional
        Slices and courses over time, where they were asked for.
    """

    measures: tuple[Measure, ...]
    found: dict[str, Values]
    query_ids: NDArray[Any]
    group_names: tuple[str, ...]
    items: NDArray[np.int64]
    drawn_lists: int
    settings: dict[str, Any]
    seed: int
    notes: tuple[str, ...] = ()
    attributes: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    times: NDArray[np.datetime64] | None = None
    sliced: SlicedResult | None = None

    def __len__(self) -> int:
        """Number of queries."""
        return len(self.query_ids)

    @cached_property
    def values(self) -> dict[str, FloatArray]:
        """(Q,) values of each measure by its text; NaN where it is undefined."""
        return {name: found.values for name, found in self.found.items()}

    @cached_property
    def queries(self) -> pd.DataFrame:
        """A row per query: its id, and a column per measure."""
        return pd.DataFrame({"query": self.query_ids, **self.values})

    @cached_property
    def undefined(self) -> pd.DataFrame:
        """A row per query and measure that has no value there: query, measure, why."""
        rows = [
            pd.DataFrame({"query": self.query_ids[where], "measure": name, "why": reason})
            for name, found in self.found.items()
            for reason, where in found.why.items()
        ]
        return pd.concat(rows, ignore_index=True) if rows else pd.DataFrame(columns=["query", "measure", "why"])

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Plain, JSON-able dict.

        Schema 1: ``queries``; ``settings``; ``measures``: {text: label, unit, better, ideal, limits (null where there
        is none), description, formula, source, mean, ci (bootstrap over queries, 95 %), n: queries where it is
        defined, undefined: {reason: queries}, sampling_error: standard error of the mean from drawn ties, overall: of
        the data as a whole where that is not the mean, flagged: null, or {below, queries: how many are below it,
        overall: whether the data as a whole is}}; ``notes``; ``slices`` and ``time`` as in the summary of an audit,
        where they were asked for.
        """
        sliced = {} if self.sliced is None else self.sliced.summary
        return {
            "schema": SCHEMA,
            "queries": len(self),
            "settings": self.settings,
            "measures": {str(m): self._entry(m) for m in self.measures},
            "notes": list(self.notes),
            **sliced,
        }

    def with_notes_on_sizes(self) -> Measured:
        """The same, which says of what there is too little: items of a group, or time for all orders of ties."""
        notes = []
        few = [self.group_names[g] for g in np.flatnonzero((self.items > 0) & (self.items < FEW_ITEMS)).tolist()]
        if few and len(few) < len(self.group_names):
            who = ", ".join(repr(name) for name in few[:5]) + (f" and {len(few) - 5} more" if len(few) > 5 else "")
            notes.append(
                f"Groups with fewer than {FEW_ITEMS} items count in measures of all groups as the others do, and may "
                f"decide their extremes: {who}. leave_out_groups leaves them out."
            )
        if any(found.error is not None for found in self.found.values()):
            notes.append(
                f"In {self.drawn_lists:,} of {len(self):,} lists measures of whole rankings are means over drawn "
                "rankings; the error of each mean that comes from drawing is told beside it."
            )
        return replace(self, notes=(*self.notes, *notes))

    def with_slices(
        self, by: Sequence[str] = (), *, window: Window | None = None, measures: Sequence[str] | None = None
    ) -> Measured:
        """The same with slices by these attributes and courses over time, of these measures or of all."""
        named = list(self.found) if measures is None else measures
        return replace(self, sliced=sliced_result(self, by, window=window, measures=named, seed=self.seed))

    def query_values(self, measure: str) -> QueryValues:
        """What a measure is in each query."""
        titles = {str(m): {"label": self._title(m)} for m in self.measures}
        name = measure_named(measure, self.values, titles)
        found = next(m for m in self.measures if str(m) == name)
        return QueryValues(
            name=name,
            label=titles[name]["label"],
            values=self.values[name],
            attributes=self.attributes,
            times=self.times,
            unit=found.unit,
            better=found.better,
            limits=found.limits_of(self.values[name]),
        )

    def slices(self, by: str | Sequence[str], *, measure: str, **how: Any) -> Slices:
        """A measure by slices of the queries; see `spofr_core.evaluation.slices`."""
        return slices(self, by, measure=measure, **how)

    def over_time(self, window: Window = AUTO, *, measure: str, **how: Any) -> OverTime:
        """A measure over time; see `spofr_core.evaluation.over_time`."""
        return over_time(self, window, measure=measure, **{"seed": self.seed, **how})

    def _title(self, measure: Measure) -> str:
        shift = self.settings.get("label_shift", 0.0)
        return measure.title(self.settings["cutoff"], label_shift=shift, target=self.settings["target"])

    def _entry(self, measure: Measure) -> dict[str, Any]:
        found = self.found[str(measure)]
        known = ~np.isnan(found.values)
        values = found.values[known]
        interval = bootstrap_mean(values, seed=self.seed)
        return {
            "label": self._title(measure),
            "unit": measure.unit,
            "better": measure.better,
            "ideal": measure.ideal,
            "limits": [limit if np.isfinite(limit) else None for limit in measure.limits_of(values)],
            "description": measure.description,
            "formula": measure.formula,
            "source": measure.source,
            "mean": float(values.mean()) if len(values) else None,
            "ci": list(interval) if interval else None,
            "n": len(values),
            "undefined": {reason: int(np.count_nonzero(where)) for reason, where in found.why.items()},
            "sampling_error": _sampling_error(found, known),
            "overall": found.overall,
            "flagged": _flagged(measure, values, found.overall),
        }

    def _repr_html_(self) -> str:
        from spofr_core.reporting import measured_card

        return measured_card(self)

    def to_json(self, path: str | Path | None = None) -> str:
        """The summary as JSON text, also written to `path` if one is given."""
        return json_text(self.summary, path)

    def to_csv(self, path: str | Path) -> None:
        """The table `queries` as CSV; cells that a spreadsheet would run as a formula are neutralised."""
        write_csv(self.queries, path)


def measure(
    data: RankingDataset,
    measures: Iterable[str | Measure] | str | Measure,
    *,
    policies: RankingPolicies | None = None,
    fairness: Fairness | None = None,
    target: Target = "list",
    protected: str | None = None,
    discount: Discount | None = None,
    cutoff: int = 10,
    seed: int = 0,
) -> Measured:
    """Measures by their names, of the ranking that the scores imply or of given policies.

    Where scores tie, a measure of whole rankings is its expectation over the orders of the ties: exact where there are
    few of them, over drawn ones otherwise, with the error told. For policies it is the expectation over their
    rankings, exactly. Measures of exposure take the exposure that items expect.

    Parameters
    ----------
    data : RankingDataset
        With a score (or rank) column, unless `policies` are given.
    measures : sequence of str or Measure, or "all"
        Such as "NDKL", "Skew@10", "AWRF(target=uniform)"; `spofr_core.measures.MEASURES` has them all.
    policies : Policies, optional
        Lotteries over rankings for the same lists.
    fairness : Fairness, optional
        Its exposure model, and the notion whose violations "max_violation" measures; its delta plays no part.
    target : {"list", "data", "uniform", "relevant"} or mapping of group to share
        What shares of groups are compared with, where a measure does not say: those among the list's items, among all
        items, equal ones, those of the list's relevance, or given ones.
    protected : str, optional
        The group that measures of one group (Skew, rND, FA*IR, DTR, DIR) are about, where they do not say. Otherwise
        the group with the fewest items, which `notes` name.
    discount, cutoff, seed
        As for `audit`.

    Raises
    ------
    ConfigError
        For a measure, setting, target or group that there is not.
    DataError
        When there is neither a score nor policies, or the policies are of other lists.

    Examples
    --------
    >>> from spofr_core import load_sample
    >>> found = measure(load_sample("hiring").test, ["NDKL", "Skew@10"])
    >>> list(found.queries.columns)
    ['query', 'NDKL', 'Skew@10']
    """
    RankingDataset.require(data)
    chosen = parse_measures(measures)
    if not chosen:
        raise ConfigError("Name a measure, such as 'NDKL' or 'Skew@10', or 'all'.")
    asked = Fairness(delta=0.0) if fairness is None else fairness
    Fairness.require(asked)
    how: dict[str, Any] = {"discount": discount or Discount(), "cutoff": cutoff, "seed": checked_seed(seed)}
    view = ranking_view(data, asked, policies=policies, target=target, protected=protected, **how)
    found = {str(m): m.values(view) for m in chosen}
    settings = {
        "position_bias": asked.position_bias.label,
        "discount": how["discount"].label,
        "cutoff": cutoff,
        "notion": asked.notion,
        "unit": asked.unit,
        "each_item": data.each_item,
        "target": dict(target) if isinstance(target, Mapping) else target,
        "protected": data.group_names[view.group_code()] if _about_a_group(data, chosen) else None,
        **({"label_shift": data.label_shift} if data.label_shift else {}),
    }
    return Measured(
        tuple(chosen),
        found,
        data.query_ids,
        data.group_names,
        items=np.zeros(0, dtype=np.int64) if data.each_item else view.composition.sizes.sum(axis=0),
        drawn_lists=_drawn_lists(view),
        settings=settings,
        seed=seed,
        notes=(*data.notes, *_guessed_group(view, chosen, protected)),
        attributes=data.attributes,
        times=data.times,
    ).with_notes_on_sizes()


def _about_a_group(data: RankingDataset, chosen: Sequence[Measure]) -> bool:
    return not data.each_item and any("group" in m.parameters for m in chosen)


def _guessed_group(view: RankingView, chosen: Sequence[Measure], protected: str | None) -> list[str]:
    """Which group is taken where none is named."""
    unnamed = [m.name for m in chosen if "group" in m.parameters and "group" not in m.settings]
    if not unnamed or protected is not None or view.data.each_item:
        return []
    return [
        f"{', '.join(dict.fromkeys(unnamed))}: of group {view.data.group_names[view.group_code()]!r}, the one with "
        "the fewest items; protected='...' names another."
    ]


def _drawn_lists(view: RankingView) -> int:
    """Lists whose orders of ties were drawn, of those that a measure has asked for."""
    asked = [view.__dict__[name].sampled for name in ("lotteries", "relevant_lotteries") if name in view.__dict__]
    return int(np.any(asked, axis=0).sum()) if asked else 0


def _sampling_error(found: Values, known: NDArray[np.bool_]) -> float | None:
    """Standard error of the mean over queries that comes from drawing orders of ties: queries draw independently."""
    if found.error is None or not known.any():
        return None
    return float(np.sqrt(np.sum(found.error[known] ** 2)) / np.count_nonzero(known))


def _flagged(measure: Measure, values: FloatArray, overall: float | None) -> dict[str, Any] | None:
    """What a rule of thumb flags, such as the four-fifths rule."""
    limit = measure.flag_below
    if limit is None:
        return None
    return {
        "below": limit,
        "queries": int(np.count_nonzero(values < limit)),
        "overall": None if overall is None else overall < limit,
    }
