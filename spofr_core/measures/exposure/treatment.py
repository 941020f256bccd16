"""Disparate treatment and disparate impact ratios: exposure, and clicks to be expected, per unit of relevance."""

from __future__ import annotations

from functools import partial

import numpy as np

from spofr_core.measures import MEASURES, Measure, RankingView, Values
from spofr_core.measures.measure import FloatArray
from spofr_core.measures.ranking_view import ONE_GROUP


def _per_query(view: RankingView, *, group: str | None, clicks: bool) -> Values:
    """(e_0/u_0) / (e_1/u_1): group 0 is the one that is named, group 1 everybody else in the list.

    u is mean relevance. For the impact ratio e is the mean of exposure times relevance, the clicks to be expected where
    readers click on what is relevant and seen. All means are over items, so that the number of items cancels out
    between e and u: sums are enough.
    """
    chosen = view.group_code(group)
    gains = view.item_exposure * view.gains if clicks else view.item_exposure
    sizes = view.composition.sizes.astype(np.float64)
    got = np.nan_to_num(view.group_means(gains)) * sizes
    worth = np.nan_to_num(view.group_means(view.gains)) * sizes
    mine, others = (got[:, chosen], worth[:, chosen]), (_rest(got, chosen), _rest(worth, chosen))
    absent = ~view.one_group & ((sizes[:, chosen] == 0) | (_rest(sizes, chosen) == 0))
    worthless = ~view.one_group & ~absent & ((mine[1] <= 0) | (others[1] <= 0) | (others[0] <= 0))
    defined = ~view.one_group & ~absent & ~worthless
    top = np.divide(mine[0], mine[1], out=np.full(len(got), np.nan), where=defined)
    bottom = np.divide(others[0], others[1], out=np.ones(len(got)), where=defined)
    name = view.data.group_names[chosen]
    return Values(
        top / bottom,
        {
            ONE_GROUP: view.one_group,
            f"group {name!r} is not in the list": absent,
            "one of the two sides has nothing relevant in the list": worthless,
        },
    )


def _rest(values: FloatArray, chosen: int) -> FloatArray:
    return np.asarray(values.sum(axis=1) - values[:, chosen])


for _name, _label, _what, _clicks in (
    ("DTR", "Disparate treatment ratio", "How much exposure", False),
    ("DIR", "Disparate impact ratio", "How many clicks to be expected (exposure times relevance)", True),
):
    MEASURES.register(
        Measure(
            name=_name,
            of_groups=True,
            label=f"{_label} ({_name})",
            better="closer",
            ideal=1.0,
            limits=(0.0, np.inf),
            needs=("relevance",),
            of_gains=True,
            parameters={"group": None},
            description=f"{_what} one group gets per unit of relevance, over the same for everybody else.",
            formula=f"({'c' if _clicks else 'e'}_0 / u_0) / ({'c' if _clicks else 'e'}_1 / u_1), u = mean relevance",
            source="Singh, Joachims 2018",
            in_audit=False,
            per_query=partial(_per_query, clicks=_clicks),
        )
    )
