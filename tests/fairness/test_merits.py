"""Merits from labels, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from spofr_core.data import RankingDataset
from spofr_core.errors import ConfigError, DataError
from spofr_core.fairness import group_merits


def dataset(relevance) -> RankingDataset:
    return RankingDataset(
        query_ids=np.array(["q1", "q2"]),
        offsets=np.array([0, 3, 5]),
        item_ids=np.arange(5),
        groups=np.array([0, 0, 1, 0, 1], dtype=np.int32),
        group_names=("a", "b"),
        relevance=relevance,
    )


def test_mean_label_normalised_over_items():
    merits = group_merits(dataset(np.array([1.0, 0, 0, 2, 2])))
    mean_a, mean_b = 3 / 3, 2 / 2
    overall = (3 * mean_a + 2 * mean_b) / 5
    assert merits == pytest.approx({"a": mean_a / overall, "b": mean_b / overall})


def test_sum_per_list_is_the_named_variant():
    merits = group_merits(dataset(np.array([1.0, 0, 0, 2, 2])), variant="list-sum")
    overall = (3 * 3 / 2 + 2 * 2 / 2) / 5
    assert merits == pytest.approx({"a": (3 / 2) / overall, "b": (2 / 2) / overall})


def test_refusals():
    with pytest.raises(DataError, match="this data has none"):
        group_merits(dataset(None))
    with pytest.raises(DataError, match="every relevance label is 0"):
        group_merits(dataset(np.zeros(5)))
    with pytest.raises(ConfigError, match=r"'variant' must be one of \['mean', 'list-sum'\], got 'sum'"):
        group_merits(dataset(np.ones(5)), variant="sum")
