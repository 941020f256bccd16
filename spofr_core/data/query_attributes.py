"""What is known of whole queries: attributes to slice by, such as country or device, and when each was asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from spofr_core.data.group_spec import MISSING_NAME, natural_order
from spofr_core.data.ids import label_text
from spofr_core.errors import DataError
from spofr_core.read_only import read_only

TIME_TYPE = np.dtype("datetime64[us]")
_LISTED = 10


def as_attributes(attributes: Mapping[str, Any], n_queries: int) -> Mapping[str, npt.NDArray[Any]]:
    """Attributes as read-only arrays of text, one value per query; a missing value becomes "(missing)"."""
    found = {str(name): _as_text(values) for name, values in attributes.items()}
    for name, values in found.items():
        if values.shape != (n_queries,):
            raise DataError(
                f"Attribute {name!r} has shape {values.shape} for {n_queries} queries: give one value per query.",
                column=name,
            )
        values.flags.writeable = False
    return read_only(found)


def _as_text(values: Any) -> npt.NDArray[Any]:
    array = np.asarray(values)
    if array.dtype.kind == "U" or all(isinstance(value, str) for value in array.tolist()):
        return array.view()
    return np.array([label_text(value) or MISSING_NAME for value in array.tolist()], dtype=object)


def as_times(times: Any, n_queries: int) -> npt.NDArray[np.datetime64] | None:
    """Times as a read-only array in UTC, to the microsecond; NaT where a query has none."""
    if times is None:
        return None
    array = np.asarray(times)
    if array.dtype.kind != "M" or array.shape != (n_queries,):
        raise DataError(
            f"'times' has type {array.dtype} and shape {array.shape} for {n_queries} queries: give one "
            "numpy.datetime64 per query, in UTC.",
            column="times",
        )
    view = array.astype(TIME_TYPE).view()
    view.flags.writeable = False
    return view


def at_queries(
    attributes: Mapping[str, npt.NDArray[Any]],
    times: npt.NDArray[np.datetime64] | None,
    queries: slice | npt.NDArray[Any],
) -> dict[str, Any]:
    """The fields `attributes` and `times` of these queries alone."""
    return {
        "attributes": {name: values[queries] for name, values in attributes.items()},
        "times": None if times is None else times[queries],
    }


def query_mask(
    attributes: Mapping[str, npt.NDArray[Any]], wanted: Mapping[str, Any], n_queries: int
) -> npt.NDArray[np.bool_]:
    """Which queries have all of the wanted values; several values of one attribute are alternatives.

    Raises
    ------
    DataError
        For an attribute that there is not, or a value that no query has.
    """
    mask = np.ones(n_queries, dtype=bool)
    for name, value in wanted.items():
        values = known_attribute(attributes, name)
        several = isinstance(value, Sequence | np.ndarray) and not isinstance(value, str)
        texts = [label_text(one) or MISSING_NAME for one in (value if several else [value])]
        there = set(values.tolist())
        unknown = next((text for text in texts if text not in there), None)
        if unknown is not None:
            some = sorted(there, key=natural_order)
            more = f" and {len(some) - _LISTED:,} more" if len(some) > _LISTED else ""
            raise DataError(
                f"No query has {name} {unknown!r}; there is {', '.join(map(repr, some[:_LISTED]))}{more}.", column=name
            )
        mask &= np.isin(values.astype(object), np.array(texts, dtype=object))
    return mask


def known_attribute(attributes: Mapping[str, npt.NDArray[Any]], name: str) -> npt.NDArray[Any]:
    """The values of an attribute.

    Raises
    ------
    DataError
        When the queries have no such attribute.
    """
    if name not in attributes:
        there = f"they have {', '.join(map(repr, attributes))}" if attributes else "they have none"
        raise DataError(
            f"The queries have no attribute {name!r}; {there}.",
            column=name,
            fields=("slices",),
            mend=f"Name its column where the data is read: slices=[{name!r}].",
            on_page="Choose its column where the data is read.",
        )
    return attributes[name]


def attribute_notes(attributes: Mapping[str, npt.NDArray[Any]], times: npt.NDArray[np.datetime64] | None) -> list[str]:
    """What a reader should know of attributes and times: how many are missing, and which cannot be sliced by."""
    notes = []
    for name, values in attributes.items():
        missing = int(np.count_nonzero(values == MISSING_NAME))
        distinct = len(set(values.tolist()))
        if missing == len(values) > 0:
            notes.append(f"Column {name!r} has no value in any query: there is nothing to slice by.")
        elif missing:
            notes.append(
                f"{missing:,} of {len(values):,} queries have no value in column {name!r}: they make up the slice "
                f"{MISSING_NAME!r}."
            )
        if 1 < distinct == len(values):
            notes.append(f"Column {name!r} has another value in every query: slices of one query say nothing.")
    if times is not None and np.isnat(times).any():
        without = int(np.isnat(times).sum())
        notes.append(f"{without:,} of {len(times):,} queries have no time: they are in no window of time.")
    return notes


def check_slice_count(column: str, values: Sequence[str], most: int) -> None:
    """Refuse a column with more distinct values than slices can sensibly be."""
    if len(values) > most:
        raise DataError(
            f"Column {column!r} has {len(values):,} distinct values ({', '.join(map(repr, values[:3]))}, ...), more "
            f"than the limit of {most:,} slices: slice by something that many queries share, such as a country or a "
            "category.",
            column=column,
            fields=("slices",),
            mend="If it is right, raise the limit: limits=Limits(slices=...).",
        )
