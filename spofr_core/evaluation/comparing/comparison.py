"""`compare`: one ranking with others, paired by query, with intervals and tests in place of bare differences."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from spofr_core.config import checked_seed
from spofr_core.data import write_csv
from spofr_core.data.ids import plain
from spofr_core.errors import ConfigError
from spofr_core.evaluation.comparing.compared_names import chosen_names
from spofr_core.evaluation.comparing.group_sums import GroupSums
from spofr_core.evaluation.comparing.lines import Line, judged_lines, line_beyond, measured_lines
from spofr_core.evaluation.comparing.margins import checked_margins
from spofr_core.evaluation.comparing.pairing import Pair, pair
from spofr_core.evaluation.comparing.quantities import VIOLATION, NotCompared, Quantity, quantities
from spofr_core.evaluation.comparing.sides import Comparable, Side, side_of
from spofr_core.evaluation.comparing.sliced_differences import Differences
from spofr_core.evaluation.intervals import CONFIDENCE
from spofr_core.evaluation.slicing.over_time import OverTime, over_time
from spofr_core.evaluation.slicing.sliced_result import SlicedResult
from spofr_core.evaluation.slicing.slices import Slices, slices
from spofr_core.evaluation.slicing.windows import AUTO, Window
from spofr_core.files import json_text, write_whole

SCHEMA = 1
LISTED = 10
"""Queries that changed most, in the summary."""
_FEWEST = 2
COLUMNS = tuple(field.name for field in dataclasses.fields(Line))


@dataclass(frozen=True, eq=False)
class Compared:
    """One rival beside the first ranking: the queries that both have, what they are compared in, and what not."""

    pair: Pair
    quantities: Mapping[str, Quantity]
    not_compared: tuple[NotCompared, ...]

    @property
    def differences(self) -> Differences:
        """What can be sliced."""
        return Differences(self.pair, self.quantities)


@dataclass(frozen=True, eq=False, kw_only=True)
class Comparison:
    """One ranking beside others, paired by query.

    Attributes
    ----------
    first : Side
        What the others are compared with.
    compared : mapping of str to Compared
        Each other by its name.
    lines : tuple of Line
        The rows of `table`.
    confidence : float
        Of the intervals; 1 - confidence is the level of the tests, all together.
    seed : int
        Of resampled queries and drawn signs.
    sliced : mapping of str to SlicedResult
        Slices of the differences and their courses over time, of each rival, where they were asked for.
    """

    first: Side
    compared: Mapping[str, Compared]
    lines: tuple[Line, ...]
    confidence: float
    seed: int
    sliced: Mapping[str, SlicedResult] = field(default_factory=dict)

    @property
    def baseline(self) -> str:
        """The name of the first."""
        return self.first.name

    @property
    def rivals(self) -> tuple[str, ...]:
        """The names of the others."""
        return tuple(self.compared)

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row per rival and number that is compared.

        Returns
        -------
        DataFrame
            rival, name, label, kind ("group", "ratio", "violation", "share", "measure"), group, small (such a group is
            listed and not tested), better ("higher", "lower" or ""), unit ("share": said as a percentage), relative;
            before, after: means over the paired queries (of groups their exposure over what the mean of their lists
            would give them, of the ratio its lowest over its highest);
            difference: after - before, or after / before - 1 where `relative`; lower, upper: its interval, which
            excludes 0 only where the test rejects;
            n: queries compared, left_out: paired ones in which one side has no value;
            p: two-sided sign-flip test (missing where no query differs, and for small groups), p_holm: adjusted over
            all rows tested, test ("exact", "drawn" or "normal");
            verdict: "better", "worse", "different" (no way is better) or "no difference that n queries can show".
        """
        return pd.DataFrame([dataclasses.asdict(line) for line in self.lines], columns=list(COLUMNS))

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Plain, JSON-able dict.

        Schema 1: ``first`` {name, queries, asked, notes}; ``confidence``; ``seed``; ``tested``: rows tested together;
        ``rivals``: {name: queries {both, only_first, only_rival, only_first_ids, only_rival_ids}, asked {notion, delta,
        unit} or null, same_groups, rows: [the columns of `Comparison.table` by name], not_compared: [{name, why}],
        changed: {name, label, unit, queries: [{query, before, after, difference}]} or null, notes; slices and time as
        in the summary of an audit, of the differences, where they were asked for}}.
        """
        return {
            "schema": SCHEMA,
            "first": {
                "name": self.baseline,
                "queries": len(self.first),
                "asked": self.first.asked,
                "notes": list(self.first.notes),
            },
            "confidence": self.confidence,
            "seed": self.seed,
            "tested": sum(line.p is not None for line in self.lines),
            "rivals": {rival: self._rival_summary(rival) for rival in self.rivals},
        }

    def _rival_summary(self, rival: str) -> dict[str, Any]:
        found = self.compared[rival]
        rows = [dataclasses.asdict(line) for line in self.lines if line.rival == rival]
        return {
            "queries": found.pair.counts(),
            "asked": found.pair.after.asked,
            "same_groups": found.pair.same_groups,
            "rows": [{name: row[name] for name in COLUMNS if name != "rival"} for row in rows],
            "not_compared": [dataclasses.asdict(reason) for reason in found.not_compared],
            "changed": self._changed_summary(rival),
            "notes": [*found.pair.notes, *(note for note in found.pair.after.notes if note not in self.first.notes)],
            **(self.sliced[rival].summary if rival in self.sliced else {}),
        }

    def _changed_summary(self, rival: str) -> dict[str, Any] | None:
        if not self.compared[rival].quantities:
            return None
        quantity = self._quantity(None, rival)
        rows = self.changed(LISTED, measure=quantity.name, rival=rival).to_dict("records")
        listed = [{key: plain(value) for key, value in row.items()} for row in rows]
        return {"name": quantity.name, "label": quantity.label, "unit": quantity.unit, "queries": listed}

    def differences(self, measure: str | None = None, *, rival: str | None = None) -> pd.DataFrame:
        """Values of every query that both rankings have, for charts of both distributions.

        Parameters
        ----------
        measure : str, optional
            A name of `table`; the largest violation where it is left out.
        rival : str, optional
            Which rival; the first where it is left out.

        Returns
        -------
        DataFrame
            query, before, after, difference; of a group its exposure over the mean of the list. Missing where one side
            has no value.
        """
        quantity = self._quantity(measure, self._rival(rival))
        ids = self.compared[self._rival(rival)].pair.before.query_ids
        columns = {"before": quantity.before, "after": quantity.after, "difference": quantity.difference}
        return pd.DataFrame({"query": ids, **columns})

    def changed(self, n: int = 10, *, measure: str | None = None, rival: str | None = None) -> pd.DataFrame:
        """The queries that changed most, those of equal change in the order of the first ranking.

        Parameters
        ----------
        n : int
            At most so many; queries that did not change are never among them.
        measure, rival
            As for `differences`.
        """
        found = self.differences(measure, rival=rival).dropna()
        size = found["difference"].abs()
        return found.loc[size[size > 0].sort_values(ascending=False, kind="stable").index[:n]].reset_index(drop=True)

    def with_slices(
        self, by: Sequence[str] = (), *, window: Window | None = None, measures: Sequence[str] | None = None
    ) -> Comparison:
        """The same comparison with slices of its differences and their courses over time, for summary and report.

        Parameters
        ----------
        by : sequence of str
            Attributes of the queries of the first ranking.
        window : {"auto", "day", "week", "month"} or int, optional
            Without it nothing is said about time.
        measures : sequence of str, optional
            Names of `table`; the largest violation and the share that holds delta where it is left out.
        """
        how: dict[str, Any] = {"window": window, "measures": measures, "seed": self.seed}
        return replace(self, sliced={name: each.differences.sliced(by, **how) for name, each in self.compared.items()})

    def slices(self, by: str | Sequence[str], *, measure: str = VIOLATION, rival: str | None = None) -> Slices:
        """Where two rankings differ more than elsewhere: a difference by slices of the queries."""
        return slices(self.compared[self._rival(rival)].differences, by, measure=measure)

    def over_time(self, window: Window = AUTO, *, measure: str = VIOLATION, rival: str | None = None) -> OverTime:
        """A difference over time."""
        return over_time(self.compared[self._rival(rival)].differences, window, measure=measure, seed=self.seed)

    def worse(self, names: Sequence[str], *, tolerate: Mapping[str, float] | None = None) -> list[Line]:
        """The rows of these names whose interval lies on the wrong side; for a group, on the side of less exposure.

        Parameters
        ----------
        names : sequence of str
        tolerate : mapping of str to float, optional
            By how much a row may be worse, in the unit of its difference: ``{"ndcg": 0.005}``, and for a group a share
            of what it had. With a margin m a row is here only where it is here without one, and is shown to be worse by
            more than m: m is taken off every difference, and the interval of what is left lies on the wrong side
            though its test is adjusted by Holm, over all rows with their margins.

        Raises
        ------
        ConfigError
            For a name that is no row, for one of which no direction is better, and for a margin that is none.
        """
        wanted = self.names(names)
        margins = checked_margins(tolerate or {}, wanted, self.names)
        chosen = [line for line in self.lines if line.name in wanted]
        for line in chosen:
            if line.better == "" and line.kind != "group":
                raise ConfigError(
                    f"{line.name!r} cannot be worse between {self.baseline!r} and {line.rival!r}: no direction of it "
                    "is better there; name another row."
                )
        beyond = self._beyond(margins)
        return [line for line in chosen if line.is_worse and beyond.get((line.rival, line.name), True)]

    def names(self, texts: Sequence[str]) -> list[str]:
        """The names of `table` that these texts stand for, however they are written.

        Raises
        ------
        ConfigError
            For a text that stands for none.
        """
        return _chosen(texts, self.compared.values())

    def _beyond(self, margins: Mapping[str, float]) -> dict[tuple[str, str], bool]:
        """Which rows with a margin are worse by more than that."""
        moved = [
            line if line.p is None or not margins.get(line.name) else self._moved(line, margins[line.name])
            for line in self.lines
        ]
        judged = judged_lines(moved, confidence=self.confidence)
        return {(line.rival, line.name): line.is_worse for line in judged if margins.get(line.name)}

    def _moved(self, line: Line, margin: float) -> Line:
        found = self.compared[line.rival]
        how: dict[str, Any] = {"seed": self.seed, "confidence": self.confidence}
        return line_beyond(line.rival, found.quantities[line.name], GroupSums.of(found.pair), margin, **how)

    def _repr_html_(self) -> str:
        from spofr_core.reporting import comparison_card

        return comparison_card(self)

    def to_json(self, path: str | Path | None = None) -> str:
        """The summary as JSON text, also written to `path` if one is given."""
        return json_text(self.summary, path)

    def to_csv(self, path: str | Path) -> None:
        """The `table` as CSV; cells that a spreadsheet would run as a formula are neutralised."""
        write_csv(self.table, path)

    def to_html(self, path: str | Path | None = None, *, auditor: str | None = None, notes: str | None = None) -> str:
        """A self-contained report, also written to `path`.

        Parameters
        ----------
        path : path, optional
        auditor, notes : str, optional
            Who answers for the comparison, and what that person wants to say.
        """
        from spofr_core.reporting import Provenance, comparison_html

        text = comparison_html(self, provenance=Provenance(auditor=auditor, notes=notes))
        if path is not None:
            write_whole(path, text.encode("utf-8"))
        return text

    def _rival(self, name: str | None) -> str:
        if name is None:
            return self.rivals[0]
        if name not in self.compared:
            raise ConfigError(f"'rival' must be one of {list(self.rivals)}, got {name!r}.")
        return name

    def _quantity(self, measure: str | None, rival: str) -> Quantity:
        found = self.compared[rival].quantities
        if measure is None:
            if not found:
                raise ConfigError(f"{self.baseline!r} and {rival!r} have nothing that can be compared.")
            return found.get(VIOLATION) or next(iter(found.values()))
        return found[_chosen([measure], [self.compared[rival]])[0]]


def compare(
    results: Mapping[str, Comparable],
    *,
    measures: Sequence[str] | None = None,
    seed: int = 0,
    confidence: float = CONFIDENCE,
) -> Comparison:
    """Compare the first of several rankings with each of the others, query by query.

    Compared are, as far as both have them: each group's exposure, the exposure ratio, the largest violation of a query,
    the share of queries that hold delta, and every measure. Of each: the paired difference with a percentile bootstrap
    interval over queries, a two-sided sign-flip permutation test (exact where fewer than 20 queries differ, 9,999
    seeded draws above), and its p-value adjusted by Holm over all rows of the table. A difference is claimed where the
    interval excludes 0; where the adjusted test does not reject, the interval is extended to reach 0 (see
    `spofr_core.evaluation.comparing.lines.judged_lines`).

    Parameters
    ----------
    results : mapping of str to AuditResult or Measured
        By the names that sentences call them by; the first is what the others are compared with. Queries are paired by
        their ids, and counted where only one of the two has them.
    measures : sequence of str, optional
        Names of what is compared: "exposure" (all groups), "exposure:women", "exposure_ratio", "violation", "fair", or
        a measure such as "ndcg". All that both have where it is left out. Fewer rows leave more to each of them.
    seed : int
        Of resampled queries and drawn signs.
    confidence : float
        Of the intervals; 1 - confidence is the level of the tests.

    Raises
    ------
    ConfigError
        For fewer than two results, and for a measure that they do not have.
    DataError
        When two of them have no query in common.

    Examples
    --------
    >>> from spofr_core import Fairness, load_sample, repair
    >>> fixed = repair(load_sample("hiring").test, Fairness(delta="10%"))
    >>> found = compare({"now": fixed.before, "repair": fixed.after}, measures=["fair", "ndcg"])
    >>> found.table["verdict"].tolist()
    ['better', 'no difference that 100 queries can show']
    """
    if not isinstance(results, Mapping) or len(results) < _FEWEST:
        raise ConfigError(
            "compare(...) takes two results or more by their names, such as compare({'now': audit_a, 'new': audit_b})."
        )
    if not 0 < confidence < 1:
        raise ConfigError(f"'confidence' is {confidence!r}; give a number between 0 and 1, such as 0.95.")
    checked_seed(seed)
    sides = [side_of(str(name), result) for name, result in results.items()]
    first, found = sides[0], {side.name: _compared(sides[0], side) for side in sides[1:]}
    if measures is not None:
        wanted = _chosen(measures, found.values())
        found = {rival: _restricted(compared, wanted) for rival, compared in found.items()}
    lines = [
        line
        for rival, compared in found.items()
        for line in measured_lines(
            rival, list(compared.quantities.values()), GroupSums.of(compared.pair), seed=seed, confidence=confidence
        )
    ]
    judged = tuple(judged_lines(lines, confidence=confidence))
    return Comparison(first=first, compared=found, lines=judged, confidence=confidence, seed=seed)


def _compared(first: Side, rival: Side) -> Compared:
    paired = pair(first, rival)
    chosen, refused = quantities(paired, GroupSums.of(paired))
    usable = [quantity for quantity in chosen if np.any(quantity.defined)]
    empty = [
        NotCompared(quantity.name, "no query has a value on both sides")
        for quantity in chosen
        if not np.any(quantity.defined)
    ]
    return Compared(paired, {quantity.name: quantity for quantity in usable}, (*refused, *empty))


def _chosen(texts: Sequence[str], found: Iterable[Compared]) -> list[str]:
    """The names that these texts stand for, of what is compared with any of these rivals."""
    rivals = list(found)
    known = [quantity for compared in rivals for quantity in compared.quantities.values()]
    return chosen_names(texts, known, {each.name: each.why for c in rivals for each in c.not_compared})


def _restricted(compared: Compared, wanted: Sequence[str]) -> Compared:
    kept = {name: compared.quantities[name] for name in wanted if name in compared.quantities}
    return Compared(compared.pair, kept, tuple(reason for reason in compared.not_compared if reason.name in wanted))
