"""The numbers behind the charts of one query's policy, computed once for the charts and the tables under them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spofr_core.fairness import Fairness, Quota
from spofr_core.policy import Policy, prefix_limits, schedule_bound, shown_violations

SAMPLED_BINS = 40
SERVED = 1000
"""Impressions that are followed."""
DRAWERS = 40
"""Seeds of independent draws beside a schedule."""


def by_score(policy: Policy) -> NDArray[np.int64]:
    """Item indices in the order of the scores; equal scores stay in the order of the data."""
    return np.argsort(-policy.scores, kind="stable")


def corner(policy: Policy, items: NDArray[Any], positions: int) -> NDArray[np.float64]:
    """Probabilities of these items at the first positions; the whole matrix of a long list would fill the memory."""
    row = np.full(len(policy.scores), -1)
    row[items] = np.arange(len(items))
    part = np.zeros((len(items), positions))
    for ranking, probability in zip(policy.rankings, policy.probabilities, strict=True):
        rows = row[ranking[:positions]]
        columns = np.flatnonzero(rows >= 0)
        part[rows[columns], columns] += probability
    return part


def position_frame(policy: Policy, most: int) -> pd.DataFrame:
    """Probability of each item at each position, items from the highest score down: "item", then "1", "2", ..."""
    shown = min(len(policy.scores), most)
    order = by_score(policy)[:shown]
    frame = pd.DataFrame(corner(policy, order, shown), columns=[str(j + 1) for j in range(shown)])
    frame.insert(0, "item", [str(policy.item_ids[k]) for k in order])
    return frame


def policy_bounds_rows(
    compared: Sequence[tuple[str, Policy]], sorted_now: Mapping[str, float], *, each_item: bool = False
) -> list[dict[str, Any]]:
    """For each policy and group: the exposure that delta allows, that of the sort by score, and that of the policy.

    Parameters
    ----------
    compared : sequence of (title, Policy)
        Policies of one query, such as those of two deltas.
    sorted_now : mapping of str to float
        Exposure of each group when the query is sorted by score.
    each_item : bool
        Each item is on its own: rows have the id of the item in "item", and no "group".
    """
    first = compared[0][1]
    ids = {name: str(item) for name, item in zip(first.groups, first.item_ids.tolist(), strict=True)}
    return [
        {
            "delta": title,
            **({"item": ids[name]} if each_item else {"group": name}),
            "lower bound": bounds[name][0],
            "upper bound": bounds[name][1],
            "plain sort": sorted_now[name],
            "policy": exposure[name],
            "signed violation": violations[name],
            "shadow price": prices[name],
        }
        for title, policy in compared
        for bounds, exposure, violations, prices in [
            (policy.bounds, policy.group_exposure, policy.violations, policy.shadow_prices)
        ]
        for name in exposure
    ]


def sampled_frame(
    values: NDArray[np.float64], weights: NDArray[np.float64], expected: float, delta: float
) -> pd.DataFrame:
    """Share of periods by the largest violation of what was shown, in bins from 0 that cover delta."""
    top = max(float(values.max(initial=0.0)), delta, expected, 1e-9) * 1.05
    shares, edges = np.histogram(values, bins=np.linspace(0, top, SAMPLED_BINS + 1), weights=weights)
    return pd.DataFrame({"violation from": edges[:-1], "to": edges[1:], "share": shares})


def served_frame(policy: Policy, fairness: Fairness, delta: float) -> pd.DataFrame:
    """Largest violation of what was shown after 1, 2, .. impressions: by a schedule, and by independent draws.

    Columns: "impressions", "schedule", what no schedule exceeds ("bound": delta and what counting whole rankings adds,
    see `schedule_bound`), the middle of the seeds of draws ("draws"), and the limits between which nine of ten of them
    lie ("draws from", "to"); rows at some thirty numbers of impressions, ever further apart.
    """
    at = np.unique([*np.geomspace(1, SERVED, 36).astype(int), 20])
    draws = np.random.default_rng(0).choice(
        len(policy.probabilities), size=(DRAWERS, SERVED), p=policy.probabilities / policy.probabilities.sum()
    )
    drawn = np.array([shown_violations(policy, fairness, served)[at - 1] for served in draws])
    low, middle, high = np.quantile(drawn, (0.05, 0.5, 0.95), axis=0)
    return pd.DataFrame(
        {
            "impressions": at,
            "schedule": shown_violations(policy, fairness, policy.schedule(SERVED))[at - 1],
            "bound": delta + schedule_bound(policy, fairness) / at,
            "draws": middle,
            "draws from": low,
            "to": high,
        }
    )


PREFIX_COLUMNS = ("group", "first", "at least", "at most", "plain sort")
"""Columns of `prefix_frame` before those of the rankings."""


def prefix_frame(policy: Policy, quota: Quota) -> pd.DataFrame | None:
    """How many of each group stand among the first 1, 2, ... positions, and how many a quota asks for and allows.

    Columns: `PREFIX_COLUMNS`, then "ranking 1", "ranking 2", ... of the lottery, as they are numbered; a row per group
    and prefix. None where the list has a single group, which has no quota.
    """
    groups = np.array(policy.groups, dtype=object)
    limits = prefix_limits(quota, groups)
    if limits is None:
        return None
    shown = {"plain sort": by_score(policy)}
    shown |= {f"ranking {number}": ranking for number, ranking in enumerate(policy.rankings, start=1)}
    n, names = len(groups), [name for name in limits.names if name is not None]
    counts = {
        title: np.concatenate([np.cumsum(groups[ranking] == name) for name in names])
        for title, ranking in shown.items()
    }
    return pd.DataFrame(
        {
            "group": np.repeat(np.array(names, dtype=object), n),
            "first": np.tile(np.arange(1, n + 1), len(names)),
            # What a prefix has to hold, longer ones hold as well.
            "at least": np.maximum.accumulate(limits.least[: len(names)], axis=1)[:, 1:].ravel(),
            "at most": limits.most[: len(names), 1:].ravel(),
            **counts,
        }
    )


def outside_limits(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    """Rows of a `prefix_frame` in which a ranking has fewer or more of a group than its quota lets it have, shortest
    prefix first."""
    outside = (frame[column] < frame["at least"]) | (frame[column] > frame["at most"])
    return frame[outside].sort_values("first", kind="stable")
