"""How the curves, marks and bars of trained models are named, coloured, shaped and ordered: the same in every figure.

A method brings its own title, colour and shape (`METHODS`); what has none gets one by its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from spofr_core.fairness import NOTIONS
from spofr_core.learning import METHODS
from spofr_core.reporting.palette import KINDRED_COLOURS, KINDRED_SHAPES, SERIES_COLOURS, SERIES_SHAPES


@dataclass(frozen=True)
class Variant:
    """A method under settings of its own that a figure tells apart; it stands after the method that it is one of."""

    of: str
    title: str
    colour: str
    shape: str


Variants = Mapping[str, Variant]
NO_VARIANTS: Variants = {}


@dataclass(frozen=True, eq=False)
class Series:
    """The rows of a frame with one value of a column, and how they look; `guaranteed` is what their method promises."""

    value: Any
    label: str
    colour: str
    shape: str
    rows: pd.DataFrame
    guaranteed: bool = False


def method_title(method: object, variants: Variants = NO_VARIANTS) -> str:
    """How figures and sentences name a method; its name where nobody registered it."""
    name = str(method)
    if name in variants:
        return variants[name].title
    plain, _, scorer = name.partition(":")
    title = METHODS[plain].title if plain in METHODS else plain
    return f"{title} ({scorer})" if scorer else title


def in_order(methods: Iterable[object], variants: Variants = NO_VARIANTS) -> list[str]:
    """These methods in the order of every figure; those that nobody registered come last, by name."""
    known = list(METHODS)
    place = {name: (known.index(name), "") for name in known}
    place |= {name: (known.index(variant.of), name) for name, variant in variants.items()}

    def order(name: str) -> tuple[int, str]:
        plain, _, scorer = name.partition(":")
        return place.get(name) or (place[plain][0], scorer) if plain in place else (len(known), name)

    return sorted({str(method) for method in methods}, key=order)


def baselines() -> tuple[str, ...]:
    """The methods that are ends of every chart, not rivals."""
    return tuple(method.name for method in METHODS.values() if method.role == "baseline")


def is_baseline(method: object) -> bool:
    """Whether it is an end of every chart, with whatever scorer."""
    return str(method).partition(":")[0] in baselines()


def label_of(by: str, value: Any, variants: Variants = NO_VARIANTS) -> str:
    """How a legend names a value of a column."""
    if by == "method":
        return method_title(value, variants)
    if by == "notion" and value in NOTIONS:
        return NOTIONS[value].label
    if by == "groups":
        return f"{int(value)} groups"
    if by == "clicks":
        return "true labels" if pd.isna(value) else f"{int(value):,} clicks"
    return str(value)


def series_of(frame: pd.DataFrame, by: str = "method", variants: Variants = NO_VARIANTS) -> list[Series]:
    """One series per value of the column: methods in their own order, other values sorted, missing ones last."""
    values = list(frame[by].drop_duplicates())
    if by == "method":
        values = in_order(values, variants)
    else:
        values.sort(key=lambda value: (pd.isna(value), 0 if pd.isna(value) else value))
    series = []
    for place, value in enumerate(values):
        rows = frame[frame[by].isna()] if pd.isna(value) else frame[frame[by] == value]
        colour, shape = _style(by, value, place, variants)
        guaranteed = by == "method" and is_guaranteed(value, variants)
        series.append(Series(value, label_of(by, value, variants), colour, shape, rows, guaranteed))
    return series


def is_guaranteed(method: object, variants: Variants = NO_VARIANTS) -> bool:
    """Whether every policy of a method holds delta in every query; nobody vouches for one that is not registered."""
    name = variants[str(method)].of if str(method) in variants else str(method).partition(":")[0]
    return name in METHODS and METHODS[name].guaranteed


def method_style(method: object, place: int = 0, variants: Variants = NO_VARIANTS) -> tuple[str, str]:
    """Colour and shape of a method; by its place among others where it has none of its own."""
    return _style("method", method, place, variants)


def _style(by: str, value: object, place: int, variants: Variants) -> tuple[str, str]:
    colour, shape = SERIES_COLOURS[place % len(SERIES_COLOURS)], SERIES_SHAPES[place % len(SERIES_SHAPES)]
    name = str(value)
    plain, _, scorer = name.partition(":")
    if by != "method" or (name not in variants and plain not in METHODS):
        return colour, shape
    styled = variants[name] if name in variants else METHODS[plain]
    colour, shape = styled.colour or colour, styled.shape or shape
    return (KINDRED_COLOURS.get(colour, colour), KINDRED_SHAPES.get(shape, shape)) if scorer else (colour, shape)
