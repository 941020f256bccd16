"""How the curves, marks and bars of trained models are named, coloured, shaped and ordered: the same in every figure.

A method brings its own title, colour and shape (`METHODS`); what has none gets one by its place.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from spofr_core.fairness import NOTIONS
from spofr_core.learning import METHODS
from spofr_core.learning import method_title as method_title  # pages know it as a word of this room
from spofr_core.reporting.palette import (
    GROUP_COLOURS,
    GROUP_SHAPES,
    KINDRED_COLOURS,
    KINDRED_SHAPES,
    SERIES_COLOURS,
    SERIES_SHAPES,
)


@dataclass(frozen=True, eq=False)
class Series:
    """The rows of a frame with one value of a column, and how they look; `guaranteed` is what their method promises."""

    value: Any
    label: str
    colour: str
    shape: str
    rows: pd.DataFrame
    guaranteed: bool = False


def in_order(methods: Iterable[object]) -> list[str]:
    """These methods in the order of every figure; those that nobody registered come last, by name."""
    known = list(METHODS)

    def order(name: str) -> tuple[int, str]:
        plain, _, variant = name.partition(":")
        return (known.index(plain), variant) if plain in known else (len(known), name)

    return sorted({str(method) for method in methods}, key=order)


def baselines() -> tuple[str, ...]:
    """The methods that are ends of every chart, not rivals."""
    return tuple(method.name for method in METHODS.values() if method.role == "baseline")


def is_baseline(method: object) -> bool:
    """Whether it is an end of every chart, in whatever variant."""
    return str(method).partition(":")[0] in baselines()


def label_of(by: str, value: Any) -> str:
    """How a legend names a value of a column."""
    if by == "method":
        return method_title(value)
    if by == "notion" and value in NOTIONS:
        return NOTIONS[value].label
    if by == "groups":
        return f"{int(value)} groups"
    if by == "clicks":
        return "true labels" if pd.isna(value) else f"{int(value):,} clicks"
    return str(value)


def series_of(frame: pd.DataFrame, by: str = "method") -> list[Series]:
    """One series per value of the column: methods in their own order, other values sorted, missing ones last."""
    values = list(frame[by].drop_duplicates())
    if by == "method":
        values = in_order(values)
    else:
        values.sort(key=lambda value: (pd.isna(value), 0 if pd.isna(value) else value))
    own = [_style(by, value, place) for place, value in enumerate(values)]
    of_methods = {*KINDRED_COLOURS, *KINDRED_COLOURS.values()}
    colours = [each for each in GROUP_COLOURS if each not in {colour for colour, _ in own} | of_methods]
    shapes = [each for each, _ in GROUP_SHAPES if each not in {shape for _, shape in own}]
    series: list[Series] = []
    for place, (value, (colour, shape)) in enumerate(zip(values, own, strict=True)):
        rows = frame[frame[by].isna()] if pd.isna(value) else frame[frame[by] == value]
        if (colour, shape) in own[:place]:  # bars and muted marks have one of the two: a clash takes a new one of both
            colour = colours.pop(0) if colours else colour
            shape = shapes.pop(0) if shapes else f"{SERIES_SHAPES[place % len(SERIES_SHAPES)]}-open"
        guaranteed = by == "method" and is_guaranteed(value)
        series.append(Series(value, label_of(by, value), colour, shape, rows, guaranteed))
    return series


def is_guaranteed(method: object) -> bool:
    """Whether every policy of a method holds delta in every query; nobody vouches for one that is not registered."""
    name = str(method).partition(":")[0]
    return name in METHODS and METHODS[name].guaranteed


def method_style(method: object, place: int = 0) -> tuple[str, str]:
    """Colour and shape of a method; by its place among others where it has none of its own."""
    return _style("method", method, place)


def _style(by: str, value: object, place: int) -> tuple[str, str]:
    colour, shape = SERIES_COLOURS[place % len(SERIES_COLOURS)], SERIES_SHAPES[place % len(SERIES_SHAPES)]
    plain, _, variant = str(value).partition(":")
    if by != "method" or plain not in METHODS:
        return colour, shape
    colour, shape = METHODS[plain].colour or colour, METHODS[plain].shape or shape
    return (KINDRED_COLOURS.get(colour, colour), KINDRED_SHAPES.get(shape, shape)) if variant else (colour, shape)
