"""Slices of the queries and their course over time, as the plain summaries that words, tables and charts read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st

from spofr_core.evaluation import HasQueryValues, SlicedResult, Slicing, Window, over_time, slices

_KEPT = 64


@dataclass(frozen=True)
class Sliceable:
    """Something with a value in each query.

    Attributes
    ----------
    measure, label : str
        Which value, and what a list to choose from calls it.
    key : str
        The same key, the same values.
    source : callable
        Makes what has the values; called where they are not remembered.
    """

    measure: str
    label: str
    key: str
    source: Callable[[], HasQueryValues]


def slicing_of(values: Sliceable, by: tuple[str, ...]) -> dict[str, Any]:
    """A slicing as in ``summary["slices"]`` of an audit, of one measure.

    Raises
    ------
    SpofrError
        When there is nothing to slice, or too much.
    """
    return _slicing(values, values.key, values.measure, by)


def course_of(values: Sliceable, window: Window) -> dict[str, Any]:
    """``summary["time"]`` of an audit, of one measure.

    Raises
    ------
    SpofrError
        When no query has a time, or there would be too many windows.
    """
    return _course(values, values.key, values.measure, window)


@st.cache_resource(max_entries=_KEPT, show_spinner=False)
def _slicing(_values: Sliceable, key: str, measure: str, by: tuple[str, ...]) -> dict[str, Any]:
    return Slicing((slices(_values.source(), by, measure=measure),)).summary


@st.cache_resource(max_entries=_KEPT, show_spinner=False)
def _course(_values: Sliceable, key: str, measure: str, window: Window) -> dict[str, Any]:
    found: dict[str, Any] = SlicedResult(courses=(over_time(_values.source(), window, measure=measure),)).summary
    time: dict[str, Any] = found["time"]
    return time
