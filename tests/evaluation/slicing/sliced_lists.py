"""Lists whose queries have a country, a device and a time."""

from __future__ import annotations

import numpy as np

from spofr_core.data import RankingDataset
from spofr_core.evaluation import QueryValues
from tests.evaluation.lists import random_dataset

COUNTRIES = ("DE", "FR", "IT")
DEVICES = ("mobile", "desktop")


def sliced_dataset(seed: int = 0, n_queries: int = 120) -> RankingDataset:
    rng = np.random.default_rng(seed)
    days = np.datetime64("2024-01-01", "us") + rng.integers(0, 100, n_queries).astype("timedelta64[D]")
    return random_dataset(seed, n_queries=n_queries, longest=9).replace(
        attributes={"country": rng.choice(COUNTRIES, n_queries), "device": rng.choice(DEVICES, n_queries)}, times=days
    )


def values(numbers, times=None, **attributes) -> QueryValues:
    """Values of one's own, with an attribute or more."""
    about = {name: np.asarray(texts, dtype=object) for name, texts in attributes.items()}
    return QueryValues(
        name="x", label="x", values=np.asarray(numbers, dtype=float), attributes=about, times=times, better="lower"
    )
