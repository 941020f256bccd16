"""Differences between two rankings by slices of the queries and over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spofr_core.evaluation.comparing.compared_names import chosen_names
from spofr_core.evaluation.comparing.pairing import Pair
from spofr_core.evaluation.comparing.quantities import FAIR, VIOLATION, Quantity
from spofr_core.evaluation.slicing.query_values import QueryValues
from spofr_core.evaluation.slicing.sliced_result import SlicedResult, sliced_result
from spofr_core.evaluation.slicing.windows import Window


@dataclass(frozen=True, eq=False)
class Differences:
    """After less before of every query that two rankings have, ready to be sliced.

    Attributes
    ----------
    pair : Pair
        Attributes and times of the queries are those of the first ranking.
    quantities : mapping of str to Quantity
    """

    pair: Pair
    quantities: Mapping[str, Quantity]

    def query_values(self, measure: str) -> QueryValues:
        """The differences in something by its name; of a group, in its exposure over the mean of the list."""
        quantity = self.quantities[chosen_names([measure], self.quantities.values(), {})[0]]
        table = self.pair.before.table
        return QueryValues(
            name=quantity.name,
            label=f"change in the {quantity.label}" if quantity.kind != "measure" else f"change in {quantity.label}",
            values=quantity.difference,
            attributes={} if table is None else table.attributes,
            times=None if table is None else table.times,
            unit=quantity.unit,
            better=quantity.better,
        )

    def sliced(
        self, by: Sequence[str], *, window: Window | None, measures: Sequence[str] | None, seed: int
    ) -> SlicedResult:
        """Slices and courses over time; of the violation and the share that holds delta where nothing is named."""
        usual = [name for name in (VIOLATION, FAIR) if name in self.quantities] or list(self.quantities)[:1]
        return sliced_result(self, by, window=window, measures=measures or usual, seed=seed)
