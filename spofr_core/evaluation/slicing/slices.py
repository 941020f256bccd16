"""`slices`: a measure in each slice of the queries, and which slices differ from the rest, ordered by evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spofr_core.errors import ConfigError
from spofr_core.evaluation.intervals import CONFIDENCE
from spofr_core.evaluation.query_table import FloatArray
from spofr_core.evaluation.slicing.crossing import Crossing, cross
from spofr_core.evaluation.slicing.query_values import VIOLATION, QueryValues, Source, values_of
from spofr_core.evaluation.slicing.spreads import Spreads

FEWEST = 10
"""A slice with fewer queries, or with fewer in the rest, is listed and claims nothing."""


@dataclass(frozen=True, eq=False)
class Slices:
    """A measure by slices.

    Attributes
    ----------
    values : QueryValues
        What is sliced.
    crossing : Crossing
        The slices.
    fewest : int
        Queries that a slice must have, with as many in the rest, for anything to be said about it.
    confidence : float
        With which all intervals of the means hold together, and all of the differences.
    """

    values: QueryValues
    crossing: Crossing
    fewest: int = FEWEST
    confidence: float = CONFIDENCE

    @cached_property
    def _spreads(self) -> Spreads:
        defined = ~np.isnan(self.values.values)
        values, codes = self.values.values[defined], self.crossing.codes[defined]
        return Spreads(values, codes, len(self.crossing), shares=self.values.is_share)

    @cached_property
    def claims(self) -> NDArray[np.bool_]:
        """Slices with enough queries, in the order of the crossing."""
        return np.asarray(self._spreads.n >= max(self.fewest, 2))

    @cached_property
    def _arrays(self) -> dict[str, NDArray[Any]]:
        found, claims = self._spreads, self.claims
        lower, upper = np.clip(found.of_means(claims, self.confidence), *self.values.limits)
        compared = claims & (found.n.sum() - found.n >= max(self.fewest, 2))
        difference, (low, high), error = found.against_rest(compared, self.confidence)
        return {
            "queries": np.bincount(self.crossing.codes, minlength=len(self.crossing)),
            "n": found.n,
            "mean": found.mean,
            "lower": lower,
            "upper": upper,
            "rest": np.where(compared, found.of_rest(), np.nan),
            "difference": difference,
            "difference_lower": low,
            "difference_upper": high,
            "evidence": _evidence(difference, error, found.rounding),
            "differs": (low > found.rounding) | (high < -found.rounding),
        }

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """Places of the slices: the most evidence of a difference first, those that claim nothing last, large first."""
        evidence = np.nan_to_num(self._arrays["evidence"], nan=-1.0)
        return np.lexsort((-self._arrays["n"], -evidence))

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row per slice, the most evidence of a difference first.

        Returns
        -------
        DataFrame
            The attributes (one of the name of another column is called "slice:" and its name); slice: them in one;
            queries, n: those in which the measure is defined; mean, lower, upper: simultaneous interval; rest: the mean
            of all other queries; difference from it, difference_lower, difference_upper: simultaneous interval;
            evidence: the difference over its standard error, without its sign; differs: whether that interval
            excludes 0. What a slice with too few queries does not claim is NaN.
        """
        arrays = {name: values[self.order] for name, values in self._arrays.items()}
        fixed = {"slice": np.array(self.crossing.labels, dtype=object)[self.order], **arrays}
        about = {
            f"slice:{name}" if name in fixed else name: [self.crossing.values[place][k] for place in self.order]
            for k, name in enumerate(self.crossing.by)
        }
        return pd.DataFrame({**about, **fixed})

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Plain, JSON-able dict.

        measure, label, unit, better; n, mean: over all queries; compared: slices that are compared with the rest;
        slices: [{slice, values {attribute: value}, queries, n, mean, ci, rest, difference, difference_ci, evidence,
        differs}] in the order of `table`, null for what is not claimed.
        """
        known = self.values.values[~np.isnan(self.values.values)]
        return {
            **self.values.described(),
            "n": len(known),
            "mean": float(known.mean()) if len(known) else None,
            "compared": int(np.count_nonzero(~np.isnan(self._arrays["difference"]))),
            "slices": [self._entry(int(place)) for place in self.order],
        }

    def _entry(self, place: int) -> dict[str, Any]:
        found = {name: values[place] for name, values in self._arrays.items()}
        return {
            "slice": self.crossing.labels[place],
            "values": self.crossing.chosen(place),
            "queries": int(found["queries"]),
            "n": int(found["n"]),
            "mean": known(found["mean"]),
            "ci": pair(found["lower"], found["upper"]),
            "rest": known(found["rest"]),
            "difference": known(found["difference"]),
            "difference_ci": pair(found["difference_lower"], found["difference_upper"]),
            "evidence": known(found["evidence"]),
            "differs": bool(found["differs"]),
        }


def slices(
    source: Source,
    by: str | Sequence[str],
    *,
    measure: str = VIOLATION,
    fewest: int = FEWEST,
    confidence: float = CONFIDENCE,
) -> Slices:
    """A measure in each slice of the queries, and which slices differ from the rest.

    The intervals are simultaneous: with probability `confidence` those of all means hold at once, and so do those of
    all differences (Bonferroni over the slices; `spreads` says how each is made). Looking at many slices therefore
    does not make one of them stand out by chance, and the order is that of the evidence, not of the extremes.

    Parameters
    ----------
    source : AuditResult, Measured, QueryTable, QueryValues or anything with a method `query_values`
        Whose queries have attributes.
    by : str or sequence of str
        An attribute of the queries, or several to cross.
    measure : str
        "violation", "fair" or the name of a measure; see `values_of`.
    fewest : int
        Slices with fewer queries are listed with their n and claim nothing.
    confidence : float

    Raises
    ------
    DataError
        When the queries have no such attribute.
    ConfigError
        For a measure that there is not, and for a confidence that is none.
    """
    values = values_of(source, measure)
    return Slices(values, cross(values.attributes, by), fewest, checked_confidence(confidence))


def checked_confidence(confidence: float) -> float:
    """Refuse what is no confidence."""
    if not 0 < confidence < 1:
        raise ConfigError(f"'confidence' must lie between 0 and 1, such as 0.95, got {confidence}.")
    return confidence


def _evidence(difference: FloatArray, error: FloatArray, rounding: float) -> FloatArray:
    with np.errstate(divide="ignore"):  # no spread at all is infinite evidence
        return np.where(np.abs(difference) <= rounding, 0.0, np.abs(difference) / np.where(difference == 0, 1.0, error))


def known(value: float) -> float | None:
    """A number for JSON: None where there is none, or it is no finite one."""
    return float(value) if np.isfinite(value) else None


def pair(lower: float, upper: float) -> list[float] | None:
    """An interval for JSON."""
    return None if np.isnan(lower) or np.isnan(upper) else [float(lower), float(upper)]
