"""One value per query with what is known of the query: what slices and windows of time are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from spofr_core.errors import ConfigError, DataError
from spofr_core.evaluation.query_table import FloatArray, JudgedTable, QueryTable

VIOLATION = "violation"
FAIR = "fair"
EXPOSURE_OF = "exposure:"


@dataclass(frozen=True, eq=False, kw_only=True)
class QueryValues:
    """A measure of each query, or its difference between two rankings, ready to be sliced.

    Attributes
    ----------
    name, label : str
        How it is asked for, and how it is called within a sentence.
    values : (Q,) float
        NaN where it is undefined: such a query is in no mean.
    attributes : mapping of str to (Q,) text
        What the queries can be sliced by.
    times : (Q,) datetime64, optional
        When they were asked; NaT where unknown.
    unit : str
        "share" for what is said as a percentage.
    better : {"higher", "lower", "closer", ""}
        Which way is better, if one is.
    limits : (float, float)
        Between which its values lie by definition: no interval of a mean reaches beyond them.
    """

    name: str
    label: str
    values: FloatArray
    attributes: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    times: NDArray[np.datetime64] | None = None
    unit: str = ""
    better: str = ""
    limits: tuple[float, float] = (-np.inf, np.inf)

    def __post_init__(self) -> None:
        known = {**self.attributes, **({} if self.times is None else {"times": self.times})}
        for name, about in known.items():
            if len(about) != len(self.values):
                raise DataError(
                    f"There are {len(self.values)} values of {self.name!r} and {len(about)} of {name!r}: give one of "
                    "each per query."
                )

    @property
    def is_share(self) -> bool:
        """Whether its mean is a share of queries: each value is 0 or 1, and both occur or could."""
        defined = self.values[~np.isnan(self.values)]
        if not len(defined) or not np.isin(defined, (0.0, 1.0)).all():
            return False
        return bool(defined.min() < defined.max()) or (self.name == FAIR and self.limits == (0.0, 1.0))

    def described(self) -> dict[str, str]:
        """What it is, plain."""
        return {"measure": self.name, "label": self.label, "unit": self.unit, "better": self.better}


@runtime_checkable
class HasQueryValues(Protocol):
    """Anything that can be sliced: it says what a measure is in each of its queries."""

    def query_values(self, measure: str) -> QueryValues:
        """The values of a measure by its name."""


Source = QueryValues | QueryTable | HasQueryValues
"""What can be sliced: an audit, what was measured, a comparison, a table, or values of one's own."""


def values_of(source: Source, measure: str) -> QueryValues:
    """The values of a measure in each query.

    Parameters
    ----------
    source : AuditResult, Measured, QueryTable, QueryValues or anything with a method `query_values`
    measure : str
        "violation": of the group furthest off, over lists with two groups or more; "fair": 1 where the list holds
        delta and 0 where not, over judged lists; "exposure:women": that of a group over the mean of the list, over
        lists with two groups or more; or the name of a measure that was computed. Values of one's own are taken as
        they are.

    Raises
    ------
    ConfigError
        For a measure that is not there.
    """
    if isinstance(source, QueryValues):
        return source
    if isinstance(source, QueryTable):
        return table_values(source, measure, unit="", entries={})
    return source.query_values(measure)


def table_values(
    table: QueryTable, measure: str, *, unit: str, entries: Mapping[str, Mapping[str, Any]]
) -> QueryValues:
    """The values of a measure from per-query arrays.

    Parameters
    ----------
    unit : str
        Of violations: "share" or "absolute".
    entries : mapping
        What is known of the measures by their names: label, unit and better, as in a summary.
    """
    about: dict[str, Any] = {"attributes": table.attributes, "times": table.times}
    if measure == VIOLATION:
        sizes = np.where(table.applicable, np.abs(table.worst_violation), np.nan)
        return QueryValues(
            name=measure,
            label=f"violation{_of_known(table)}",
            values=sizes,
            unit=unit,
            better="lower",
            limits=(0.0, np.inf),
            **about,
        )
    if measure == FAIR and isinstance(table, JudgedTable):
        held = np.where(table.judged, table.fair, np.nan)
        label = f"share of queries that {'surely ' if table.unknown else ''}hold delta"
        return QueryValues(
            name=measure, label=label, values=held, unit="share", better="higher", limits=(0.0, 1.0), **about
        )
    if measure.startswith(EXPOSURE_OF):
        group = measure.removeprefix(EXPOSURE_OF)
        label, values = f"exposure of {group} over the mean of the list", _relative_exposure(table, group)
        return QueryValues(name=measure, label=label, values=values, unit="share", limits=(0.0, np.inf), **about)
    usual = (VIOLATION, *((FAIR,) if isinstance(table, JudgedTable) else ()))
    name = measure_named(measure, table.measures, entries, usual)
    entry = entries.get(name, {})
    return QueryValues(
        name=name,
        label=str(entry.get("label", name)),
        values=table.measures[name],
        unit=str(entry.get("unit", "")),
        better=str(entry.get("better", "")),
        limits=table.kinds[name].limits_of(table.measures[name]),
        **about,
    )


def _of_known(table: QueryTable) -> str:
    """What violations are of, where some groups are not known."""
    return " of the items whose group is known" if table.unknown else ""


def _relative_exposure(table: QueryTable, group: str) -> FloatArray:
    """e_g / e of each list with two groups or more; NaN where the group is absent, or nothing is exposed."""
    if table.each_item:
        raise ConfigError(f"Each item is on its own: there is no group {group!r} whose exposure could be told.")
    if group not in table.group_names:
        there = ", ".join(map(repr, table.group_names))
        raise ConfigError(f"There is no group {group!r} whose exposure could be told; there is {there}.")
    place = table.group_names.index(group)
    mean = table.list_exposure
    told = table.applicable & table.present[:, place] & (mean > 0)
    return np.asarray(np.divide(table.exposure[:, place], mean, out=np.full(len(mean), np.nan), where=told))


def measure_named(
    text: str, known: Mapping[str, Any], entries: Mapping[str, Mapping[str, Any]], usual: tuple[str, ...] = ()
) -> str:
    """The measure that a text names, by its name or its label; capitals make no difference.

    Raises
    ------
    ConfigError
        When there is none.
    """
    if text in known:
        return text
    folded = text.strip().lower()
    for name in known:
        if folded in (name.lower(), str(entries.get(name, {}).get("label", "")).lower()):
            return name
    there = ", ".join(repr(name) for name in (*usual, *known))
    raise ConfigError(f"There is no measure {text!r} here; there is {there}.")
