"""What can be compared: an audit or measured values, as the few things that a comparison reads of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spofr_core.errors import ConfigError
from spofr_core.evaluation.audit import AuditResult
from spofr_core.evaluation.measuring.named_measures import Measured
from spofr_core.evaluation.query_table import FloatArray, JudgedTable
from spofr_core.evaluation.summary import SmallGroups
from spofr_core.fairness import Fairness
from spofr_core.measures import Measure

EACH_ON_ITS_OWN = "each item on its own"
Comparable = AuditResult | Measured
SETTINGS = ("position_bias", "discount", "cutoff", "target", "protected", "label_shift")
"""What the values of measures depend on, besides the ranking."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Side:
    """One ranking of a comparison.

    Attributes
    ----------
    name : str
        What it is called.
    query_ids : (Q,) array
    group_names : tuple of str
    values : mapping of str to (Q,) float
        Of each measure by its text; NaN where it is undefined.
    measures : mapping of str to Measure
        What each is.
    settings : mapping
        Of `SETTINGS`, those that are known: as objects where it is an audit, as their labels otherwise.
    table : JudgedTable, optional
        Exposures, violations and what holds delta, where it is an audit.
    fairness : Fairness, optional
        What was asked, where it is an audit.
    small : SmallGroups
        Which groups are too small to speak of.
    notes : tuple of str
        What its data and its making left to say.
    """

    name: str
    query_ids: NDArray[Any]
    group_names: tuple[str, ...]
    values: Mapping[str, FloatArray]
    measures: Mapping[str, Measure]
    settings: Mapping[str, Any]
    table: JudgedTable | None = None
    fairness: Fairness | None = None
    small: SmallGroups
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.query_ids)

    @property
    def groups(self) -> frozenset[str]:
        """Names of the groups that have an item here; with each item on its own, that alone is what they are."""
        if self.table is None:
            return frozenset(self.group_names)
        if self.table.each_item:
            return frozenset((EACH_ON_ITS_OWN,))
        there = self.table.sizes.sum(axis=0) > 0
        return frozenset(name for name, some in zip(self.group_names, there, strict=True) if some)

    @property
    def asked(self) -> dict[str, Any] | None:
        """What was asked of it: notion, delta and unit, plain."""
        asked = self.fairness
        return None if asked is None else {"notion": asked.notion, "delta": asked.delta, "unit": asked.unit}

    def at(self, positions: NDArray[np.int64]) -> Side:
        """The queries at these positions."""
        return replace(
            self,
            query_ids=self.query_ids[positions],
            values={name: values[positions] for name, values in self.values.items()},
            table=None if self.table is None else self.table[positions],
        )


def setting_text(setting: Any) -> str:
    """A setting in words."""
    return str(getattr(setting, "label", setting))


def same_setting(mine: Any, theirs: Any) -> bool:
    """Whether two settings are the same; where one is known by its label only, whether their labels are."""
    if type(mine) is type(theirs):
        return bool(mine == theirs)
    return setting_text(mine) == setting_text(theirs)


def side_of(name: str, result: Comparable) -> Side:
    """What a comparison reads of a result.

    Raises
    ------
    ConfigError
        For what is neither an audit nor measured values.
    """
    if isinstance(result, AuditResult):
        return _audited(name, result)
    if isinstance(result, Measured):
        return Side(
            name=name,
            query_ids=result.query_ids,
            group_names=(EACH_ON_ITS_OWN,) if result.settings["each_item"] else result.group_names,
            values=result.values,
            measures={str(measure): measure for measure in result.measures},
            settings={"label_shift": 0.0} | {key: result.settings[key] for key in SETTINGS if key in result.settings},
            small=SmallGroups(),
            notes=result.notes,
        )
    raise ConfigError(
        f"{name!r} is of type {type(result).__name__}, which cannot be compared; give what audit(...) or measure(...) "
        "returns."
    )


def unknown_note(table: JudgedTable) -> tuple[str, ...]:
    """What is compared, where some groups are not known."""
    if not table.unknown:
        return ()
    items, lists = int(table.unknown_items.sum()), int(table.undecided.sum())
    sure, judged = int((table.fair & table.judged).sum()), int(table.judged.sum())
    who, whatever = ("1 item", "its group is") if items == 1 else (f"{items:,} items", "their groups are")
    return (
        f"The group of {who} is not known: exposures and violations are of the others, measures of groups are of the "
        f"lists in which all groups are known, and a query surely holds delta where it does whatever {whatever}: "
        f"{sure:,} of {judged:,} do, and {lists:,} more may.",
    )


def _audited(name: str, result: AuditResult) -> Side:
    measurement, table = result.measurement, result.table
    return Side(
        name=name,
        query_ids=table.query_ids,
        group_names=table.group_names,
        values=table.measures,
        measures=table.kinds,
        settings={
            "position_bias": measurement.position_bias,
            "discount": measurement.discount,
            "cutoff": measurement.cutoff,
            "label_shift": table.label_shift,
        },
        table=table,
        fairness=result.fairness,
        small=measurement.small,
        notes=(
            *(f"{rows:,} not compared: {reason}." for reason, rows in measurement.excluded.items() if rows),
            *measurement.notes,
            *unknown_note(table),
        ),
    )
