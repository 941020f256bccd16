"""Small ranking data with something to learn, and lists of different lengths."""

import numpy as np

from spofr_core.data import RankingDataset
from spofr_core.fairness import Fairness
from spofr_core.learning import METHODS
from spofr_core.learning.lists import Lists
from spofr_core.learning.scorers.scaling import Scaler

FAIRNESS = Fairness(delta=0.02)
QUICK = {"max_steps": 30, "validate_every": 5, "batch_size": 8, "learning_rate": 1e-2}
LEARNING = [name for name in METHODS if name != "uniform"]


def toy_data(
    n_queries: int = 40,
    *,
    lengths: tuple[int, int] = (4, 9),
    n_features: int = 5,
    n_groups: int = 2,
    seed: int = 0,
    truth: int = 12345,
) -> RankingDataset:
    """Binary labels from a noisy linear score that leans towards the later groups, which the first feature tells."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(lengths[0], lengths[1] + 1, n_queries)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    n = int(offsets[-1])
    features = rng.normal(size=(n, n_features))
    groups = rng.integers(0, n_groups, n)
    features[:, 0] = groups + 0.1 * features[:, 0]
    weights = np.random.default_rng(truth).normal(size=n_features)
    weights[0] = 1.0
    value = features @ weights + 0.3 * rng.normal(size=n)
    return RankingDataset(
        query_ids=np.array([f"q{q}" for q in range(n_queries)]),
        offsets=offsets,
        item_ids=np.array([f"i{i}" for i in range(n)]),
        groups=groups,
        group_names=tuple("abcdefgh"[:n_groups]),
        relevance=(value > np.quantile(value, 0.7)).astype(float),
        features=features,
        feature_names=tuple(f"x{k}" for k in range(n_features)),
    )


def lists_of(data: RankingDataset) -> Lists:
    """The data as a loss sees it, unscaled."""
    n_features = data.features.shape[1]
    return Lists.of(data, Scaler(np.zeros(n_features), np.ones(n_features)), np.arange(n_features))


def numeric_gradient(function, x: np.ndarray, step: float = 1e-6) -> np.ndarray:
    """Central differences of a function of a vector."""
    gradient = np.zeros_like(x)
    for i in range(len(x)):
        up, down = x.copy(), x.copy()
        up[i] += step
        down[i] -= step
        gradient[i] = (function(up) - function(down)) / (2 * step)
    return gradient


def weights(model):
    return model.learned.scorer.arrays()


def assert_same_weights(a, b):
    assert a.keys() == b.keys()
    for name in a:
        assert np.array_equal(a[name], b[name]), name
