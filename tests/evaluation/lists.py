"""Small datasets for the tests of audits."""

from __future__ import annotations

import numpy as np

from spofr_core.data import RankingDataset


def dataset(scores, groups, relevance=None, *, names=None) -> RankingDataset:
    """Lists of scores, lists of group letters, and optionally lists of labels."""
    lengths = [len(s) for s in scores]
    flat_groups = [g for group in groups for g in group]
    names = names or tuple(sorted(set(flat_groups)))
    return RankingDataset(
        query_ids=np.array([f"q{i}" for i in range(len(scores))], dtype=object),
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        item_ids=np.concatenate([np.arange(n) for n in lengths]),
        groups=np.array([names.index(g) for g in flat_groups], dtype=np.int32),
        group_names=names,
        relevance=None if relevance is None else np.concatenate([np.asarray(r, dtype=float) for r in relevance]),
        score=np.concatenate([np.asarray(s, dtype=float) for s in scores]),
    )


def random_dataset(seed, n_queries=30, longest=7, n_groups=3, labels=True) -> RankingDataset:
    """Short lists with many ties, absent groups and single-group lists."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, longest + 1, n_queries)
    names = tuple("abcdefg"[:n_groups])
    return dataset(
        [rng.integers(0, 4, n) / 3 for n in lengths],
        [rng.choice(names, n) for n in lengths],
        [rng.integers(0, 3, n) for n in lengths] if labels else None,
        names=names,
    )
