"""Slices of the queries: the values of an attribute, or the combinations of several that occur."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spofr_core.data.group_spec import MISSING_NAME, natural_order
from spofr_core.data.query_attributes import known_attribute
from spofr_core.errors import ConfigError, DataError

MOST_SLICES = 1_000


@dataclass(frozen=True, eq=False)
class Crossing:
    """Slices and the queries in them.

    Attributes
    ----------
    by : tuple of str
        The attributes that are crossed.
    values : tuple of tuples of str
        Of each slice, its value of each attribute: numbers in their order before text in the alphabet's.
    codes : (Q,) int
        The slice of each query.
    """

    by: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    codes: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.values)

    @property
    def labels(self) -> list[str]:
        """Each slice in a few letters: "DE", or "DE & mobile"."""
        return [" & ".join(values) for values in self.values]

    def chosen(self, place: int) -> dict[str, str]:
        """A slice as `RankingDataset.where` takes it."""
        return dict(zip(self.by, self.values[place], strict=True))


def cross(attributes: Mapping[str, NDArray[Any]], by: str | Sequence[str]) -> Crossing:
    """Slices by one attribute, or by several crossed.

    Raises
    ------
    DataError
        When the queries have no such attribute, or none has a value.
    ConfigError
        Without an attribute, and when more than `MOST_SLICES` combinations occur.
    """
    names = tuple(dict.fromkeys((by,) if isinstance(by, str) else by))
    if not names:
        raise ConfigError("Name an attribute to slice by, such as by='country'.")
    codes: NDArray[np.int64] | None = None
    values: list[tuple[str, ...]] = []
    for name in names:
        own, texts = _coded(name, known_attribute(attributes, name))
        pairs = own if codes is None else codes * len(texts) + own
        occurring, codes = np.unique(pairs, return_inverse=True)
        if len(occurring) > MOST_SLICES:
            raise ConfigError(
                f"{' and '.join(map(repr, names))} make {len(occurring):,} slices, more than {MOST_SLICES:,}: slice by "
                "fewer columns, or by some with fewer values."
            )
        before = values or [()]
        values = [(*before[pair // len(texts)], texts[pair % len(texts)]) for pair in occurring.tolist()]
    return Crossing(names, tuple(values), np.asarray(codes, dtype=np.int64))


def _coded(name: str, values: NDArray[Any]) -> tuple[NDArray[np.int64], list[str]]:
    """Codes into the distinct values in their natural order."""
    codes, distinct = pd.factorize(np.asarray(values, dtype=object))
    texts = [str(text) for text in distinct]
    if texts == [MISSING_NAME]:
        raise DataError(
            f"Column {name!r} has no value in any query: there is nothing to slice by. Choose another column.",
            column=name,
            fields=("slices",),
        )
    order = sorted(range(len(texts)), key=lambda place: natural_order(texts[place]))
    place_of = np.empty(len(texts), dtype=np.int64)
    place_of[order] = np.arange(len(texts))
    return place_of[codes], [texts[place] for place in order]
