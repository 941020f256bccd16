"""Skew at k: a group's share of the first k items over its target, as a logarithm."""

from __future__ import annotations

from functools import partial

import numpy as np

from spofr_core.measures import MEASURES, Measure, RankingView, Target, Values
from spofr_core.measures.measure import FloatArray
from spofr_core.measures.prefixes.top_counts import top_counts
from spofr_core.measures.ranking_view import NO_TARGET, ONE_GROUP


def _skews(view: RankingView, k: int, target: Target | None) -> tuple[FloatArray, FloatArray]:
    """(R, G): ln(share of g in the first k / target_g), minus infinity where there is nobody; and (Q, G) targets.

    Shares are of the items that are of a group.
    """
    shares = view.target_shares(target)
    counts = top_counts(view, k)
    wanted = shares[view.patterns.lists]
    ratio = np.divide(
        counts / np.maximum(counts.sum(axis=1, keepdims=True), 1),
        wanted,
        out=np.full(wanted.shape, np.nan),
        where=wanted > 0,
    )
    return np.log(ratio, out=np.where(np.isnan(ratio), np.nan, -np.inf), where=ratio > 0), shares


def _of_group(view: RankingView, *, k: int, target: Target | None, group: str | None) -> Values:
    chosen = view.group_code(group)
    skews, shares = _skews(view, k, target)
    mine = skews[:, chosen]
    nobody, untargeted = view.any_ranking(np.isneginf(mine)), ~(shares[:, chosen] > 0)
    name = view.data.group_names[chosen]
    why = {
        ONE_GROUP: view.one_group,
        f"group {name!r} is not in the list, or its target is 0": untargeted & ~view.one_group,
        f"minus infinity: nobody of group {name!r} among the first {k}": nobody & ~untargeted & ~view.one_group,
    }
    return view.expected(np.where(np.isfinite(mine), mine, np.nan), why)


def _extreme(view: RankingView, *, k: int, target: Target | None, least: bool) -> Values:
    skews, shares = _skews(view, k, target)
    silent = ~view.one_group & np.isnan(shares).any(axis=1)
    away = np.inf if least else -np.inf
    found = np.where(np.isnan(skews), away, skews)
    extreme = found.min(axis=1) if least else found.max(axis=1)
    missing = view.any_ranking(~np.isfinite(extreme)) & ~silent & ~view.one_group
    why = {
        ONE_GROUP: view.one_group,
        NO_TARGET: silent,
        f"minus infinity: a group has nobody among the first {k}": missing,
    }
    return view.expected(np.where(np.isfinite(extreme), extreme, np.nan), why)


_COMMON = {
    "limits": (-np.inf, np.inf),
    "depth": 10,
    "source": "Geyik, Ambler, Kenthapadi 2019",
    "in_audit": False,
    "of_groups": True,
}
MEASURES.register(
    Measure(
        name="Skew",
        label="Skew@k",
        better="closer",
        ideal=0.0,
        parameters={"group": None, "target": None},
        description="Share of a group among the first k over its target, as a natural logarithm: below 0 it is rarer "
        "there than it should be.",
        formula="ln(share of g in the first k / target_g)",
        per_query=_of_group,
        **_COMMON,  # type: ignore[arg-type]
    )
)
for _name, _label, _better, _least in (
    ("MinSkew", "MinSkew@k", "higher", True),
    ("MaxSkew", "MaxSkew@k", "lower", False),
):
    MEASURES.register(
        Measure(
            name=_name,
            label=_label,
            better=_better,  # type: ignore[arg-type]
            ideal=0.0,
            parameters={"target": None},
            description=f"The {'least' if _least else 'largest'} skew at k of the groups.",
            formula=f"{'min' if _least else 'max'} over g of ln(share of g in the first k / target_g)",
            per_query=partial(_extreme, least=_least),
            **_COMMON,  # type: ignore[arg-type]
        )
    )
