"""Expected exposure: how unequal it is, how well it goes with relevance, and how far it is from a target of its own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from spofr_core.data.rows import list_sums
from spofr_core.errors import ConfigError
from spofr_core.measures import MEASURES, Measure, RankingView, Values
from spofr_core.measures.measure import UNKNOWN_GROUP, FloatArray

OF = ("items", "groups")


def _per_query(
    view: RankingView, *, of: str, function: Callable[[FloatArray, FloatArray], FloatArray], ideal: bool
) -> Values:
    """Sum over items, or over groups, of f(x, t).

    x is the expected exposure of an item; t what it would get if the list were ordered by relevance and items of equal
    relevance shared their positions evenly. Of a group both are sums over its items.
    """
    if of not in OF:
        raise ConfigError(f"'of' must be one of {list(OF)}, got {of!r}.")
    x, offsets = view.item_exposure, view.data.offsets
    t = view.ideal_exposure if ideal else np.zeros(len(x))
    if of == "items":
        return Values(list_sums(function(x, t), offsets))
    sizes = view.composition.sizes
    by_group = (np.nan_to_num(view.group_means(values)) * sizes for values in (x, t))
    values = np.where(view.unknown_group, np.nan, function(*by_group).sum(axis=1))
    return Values(values, {UNKNOWN_GROUP: view.unknown_group})


def _squares(x: FloatArray, t: FloatArray) -> FloatArray:
    return x * x


def _products(x: FloatArray, t: FloatArray) -> FloatArray:
    return x * t


def _squared_differences(x: FloatArray, t: FloatArray) -> FloatArray:
    return np.asarray((x - t) ** 2)


for _name, _label, _better, _function, _formula, _about in (
    ("EE-D", "Expected exposure disparity (EE-D)", "lower", _squares, "x.x", "How unequally exposure is handed out."),
    (
        "EE-R",
        "Expected exposure relevance (EE-R)",
        "higher",
        _products,
        "x.t",
        "How well exposure goes with relevance.",
    ),
    (
        "EE-L",
        "Expected exposure loss (EE-L)",
        "lower",
        _squared_differences,
        "||x - t||^2",
        "How far exposure is from what equal treatment of equally relevant items would give.",
    ),
):
    MEASURES.register(
        Measure(
            name=_name,
            label=_label,
            better=_better,  # type: ignore[arg-type]
            ideal=0.0 if _name == "EE-L" else None,
            limits=(0.0, np.inf),
            needs=() if _name == "EE-D" else ("relevance",),
            parameters={"of": "items"},
            description=_about,
            formula=f"{_formula}; x = expected exposure, t = exposure shared equally among items of equal relevance",
            source="Diaz et al. 2020",
            in_audit=False,
            per_query=partial(_per_query, function=_function, ideal=_name != "EE-D"),
        )
    )
