"""Small lists for the tests of measures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from spofr_core.data import RankingDataset


def dataset(*lists: dict[str, Sequence[Any]]) -> RankingDataset:
    """Lists of {"groups": names, "scores": numbers, "relevance": numbers or left out}."""
    lengths = [len(one["groups"]) for one in lists]
    names = sorted({name for one in lists for name in one["groups"]})
    flat = [name for one in lists for name in one["groups"]]
    relevance = [value for one in lists for value in one.get("relevance", ())]
    return RankingDataset(
        query_ids=np.array([f"q{q}" for q in range(len(lists))]),
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        item_ids=np.arange(len(flat)),
        groups=np.array([names.index(name) for name in flat], dtype=np.int32),
        group_names=tuple(names),
        relevance=np.array(relevance, dtype=float) if relevance else None,
        score=np.array([value for one in lists for value in one["scores"]], dtype=float),
    )


def one_ranking(groups: Sequence[str], relevance: Sequence[float] | None = None) -> RankingDataset:
    """A single list that is shown in this order."""
    shown: dict[str, Sequence[Any]] = {"groups": list(groups), "scores": list(range(len(groups), 0, -1))}
    return dataset(shown | ({} if relevance is None else {"relevance": relevance}))
