"""`spofr bench measures`: the whole catalogue beside an audit, and beside FairRankTune, in one run."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from spofr_core.data import RankingDataset
from spofr_core.errors import ConfigError
from spofr_core.evaluation import audit, measure
from spofr_core.experiments.bench.timing import interleaved
from spofr_core.fairness import Fairness
from spofr_core.measures import MEASURES

LIMITS = {"catalogue_over_audit": 5.0, "ours_over_fairranktune": 1 / 50}
SHARED = ("ARP", "exposure_ratio", "DTR", "NDKL", "IAA")
"""Measures that FairRankTune has too, as ARP, EXP, EXPU, NDKL and IAA."""


def bench_measures(
    *, queries: int = 50_000, items: int = 20, peer_lists: int = 200, rounds: int = 5, seed: int = 0
) -> dict[str, Any]:
    """Seconds of an audit, of all measures of the same lists, and of those that FairRankTune has too, as ratios.

    - catalogue_over_audit: every measure with mean and interval, over an audit with its summary.
    - ours_over_fairranktune: the measures that both have, with mean and interval in ours: seconds per list of all
      lists, over FairRankTune's, which takes one list at a time, of the first `peer_lists`.

    Raises
    ------
    ConfigError
        When FairRankTune is not installed.
    """
    theirs = _peer()
    data = _lists(queries, items, seed)
    frames = [_as_frames(one) for one in data[:peer_lists]]
    seconds = interleaved(
        {
            "audit": lambda: audit(data, Fairness(delta=0.05)).summary,
            "catalogue": lambda: measure(data, "all").summary,
            "shared": lambda: measure(data, SHARED).summary,
            "fairranktune": lambda: [theirs(*frame) for frame in frames],
        },
        rounds=rounds,
    )
    ratios = {
        "catalogue_over_audit": seconds["catalogue"] / seconds["audit"],
        "ours_over_fairranktune": (seconds["shared"] / queries) / (seconds["fairranktune"] / len(frames)),
    }
    return {
        "rows": queries * items,
        "queries": queries,
        "measures": len(MEASURES),
        "peer_lists": peer_lists,
        "rounds": rounds,
        "cpus": os.cpu_count(),
        "load": os.getloadavg()[0],
        "seconds": seconds,
        "ratios": ratios,
        "limits": LIMITS,
        "held": {name: ratios[name] <= limit for name, limit in LIMITS.items()},
    }


def _peer() -> Callable[..., Any]:
    """FairRankTune's five measures of one ranking."""
    try:
        from FairRankTune import Metrics
    except ImportError as error:
        raise ConfigError(
            "FairRankTune, beside which the measures are timed, is not installed: pip install -r requirements-dev.txt."
        ) from error

    def measured(ranking: pd.DataFrame, groups: dict[str, str], relevance: pd.DataFrame) -> tuple[Any, ...]:
        return (
            Metrics.ARP(ranking, groups, "MaxMinDiff"),
            Metrics.EXP(ranking, groups, "MinMaxRatio"),
            Metrics.EXPU(ranking, groups, relevance, "MinMaxRatio"),
            Metrics.NDKL(ranking, groups),
            Metrics.IAA(ranking, relevance),
        )

    return measured


def _lists(queries: int, items: int, seed: int) -> RankingDataset:
    rng = np.random.default_rng(seed)
    rows = queries * items
    groups = rng.integers(0, 2, rows, dtype=np.int32)
    return RankingDataset(
        query_ids=np.arange(queries),
        offsets=np.arange(0, rows + 1, items),
        item_ids=np.arange(rows),
        groups=groups,
        group_names=("men", "women"),
        relevance=rng.integers(0, 3, rows) / 2,
        score=np.round(rng.normal(size=rows) - 0.3 * groups.astype(np.float64), 5),
    )


def _as_frames(one: RankingDataset) -> tuple[pd.DataFrame, dict[str, str], pd.DataFrame]:
    order = np.argsort(-np.asarray(one.score), kind="stable")
    names = [f"i{item}" for item in order]
    groups = {name: one.group_names[one.groups[item]] for name, item in zip(names, order, strict=True)}
    return pd.DataFrame(names), groups, pd.DataFrame(np.asarray(one.relevance)[order])
