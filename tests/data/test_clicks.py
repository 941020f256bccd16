"""Clicks: frequencies against the model, unbiased labels, exact counts, seeds."""

from __future__ import annotations

import numpy as np
import pytest

from spofr_core.data import RankingDataset, fit_logging_ranker, simulate_clicks, with_ips_labels
from spofr_core.data.clicks import positions_of
from spofr_core.errors import ConfigError, DataError


def lists(seed: int = 0, queries: int = 40) -> RankingDataset:
    """Lists of 3 to 8 items; relevance follows the first feature."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(3, 9, queries)
    n = int(lengths.sum())
    features = rng.normal(size=(n, 3))
    return RankingDataset(
        query_ids=np.array([f"q{k}" for k in range(queries)]),
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        item_ids=np.arange(n),
        groups=rng.integers(0, 2, n),
        group_names=("a", "b"),
        relevance=(features[:, 0] > 0.5).astype(float),
        score=rng.normal(size=n),
        features=features,
    )


def one_list(relevance: list[float]) -> RankingDataset:
    n = len(relevance)
    return RankingDataset(
        query_ids=np.array([7]),
        offsets=np.array([0, n]),
        item_ids=np.arange(n),
        groups=np.zeros(n, int),
        group_names=("g",),
        relevance=np.array(relevance),
        score=-np.arange(n, dtype=float),
    )


def test_positions_and_labels() -> None:
    data = lists()
    clicks = simulate_clicks(data, 500, eta=1.0, logging="score", seed=3)
    assert len(clicks) == 500
    np.testing.assert_allclose(clicks.propensities, 1.0 / clicks.positions)
    np.testing.assert_allclose(clicks.relevance, clicks.clicks * clicks.positions)
    assert np.all(np.add.reduceat(clicks.clicks, clicks.offsets[:-1]) >= 1)
    truth = dict(zip(data.item_ids.tolist(), data.relevance.tolist(), strict=True))
    assert all(truth[item] == 1 for item in clicks.item_ids[clicks.clicks > 0].tolist())
    for part in clicks[:20]:
        order = np.argsort(part.positions)
        assert part.positions[order].tolist() == list(range(1, part.n_items + 1))
        source = data.query(str(part.query_ids[0]).split("/")[0])
        ranked = source.item_ids[np.argsort(-source.score)]
        assert part.item_ids[order].tolist() == ranked.tolist()
        np.testing.assert_array_equal(part.features, source.features)


@pytest.mark.parametrize(("eta", "plus", "minus"), [(1.0, 1.0, 0.0), (0.5, 0.8, 0.1), (0.0, 0.5, 0.5)])
def test_click_frequencies_are_those_of_the_model(eta: float, plus: float, minus: float) -> None:
    relevance = [0.0, 1, 0, 1, 1]
    clicks = simulate_clicks(
        one_list(relevance), 40_000, eta=eta, epsilon_plus=plus, epsilon_minus=minus, logging="score", seed=5
    )
    k = np.arange(1, 6)
    chance = k**-eta * np.where(np.array(relevance) > 0, plus, minus)
    expected = chance / (1 - np.prod(1 - chance))  # given that there is a click
    observed = clicks.clicks.reshape(-1, 5).mean(axis=0)
    error = np.sqrt(expected * (1 - expected) / 40_000)
    assert np.all(np.abs(observed - expected) <= 5 * error + 1e-12)
    shown = 40_000 / (1 - np.prod(1 - chance))
    told = next(note for note in clicks.notes if "impressions of" in note)
    assert abs(int(told.split(" impressions of ")[1].split(" ")[0].replace(",", "")) / shown - 1) < 0.03


def test_labels_are_unbiased() -> None:
    # Per impression shown, the mean label of an item is its relevance.
    data = one_list([1.0, 0, 1, 0, 0, 1])
    clicks = simulate_clicks(data, 60_000, logging="score", seed=1)
    chance = 1 / np.arange(1, 7) * (data.relevance > 0)
    share = 1 - np.prod(1 - chance)
    mean = clicks.relevance.reshape(-1, 6).mean(axis=0) * share
    np.testing.assert_allclose(mean, data.relevance, atol=0.06)


def test_a_seed_fixes_everything() -> None:
    data = lists()
    first, again, other = (simulate_clicks(data, 300, seed=seed) for seed in (1, 1, 2))
    assert first.fingerprint == again.fingerprint
    assert first.fingerprint != other.fingerprint


def test_clipping_is_counted() -> None:
    clicks = simulate_clicks(one_list([1.0] * 10), 200, logging="score", clip=0.15, seed=0)
    assert clicks.propensities.min() == 0.15
    told = next(note for note in clicks.notes if "clipped" in note)
    assert "800 propensities below 0.15" in told  # positions 7 to 10 of 200 lists
    harmed = int(np.sum((clicks.clicks > 0) & (clicks.positions >= 7)))
    assert f"{harmed:,} of these items were clicked" in told
    assert clicks.relevance.max() <= 1 / 0.15


def test_graded_relevance_has_a_threshold() -> None:
    clicks = simulate_clicks(one_list([3.0, 1.0, 2.0]), 300, relevant_at=2.0, eta=0.0, logging="score")
    assert clicks.clicks.reshape(-1, 3).mean(axis=0).tolist() == [1, 0, 1]


def test_ties_of_the_logging_ranker_are_broken_at_random() -> None:
    data = lists(queries=400)
    positions = positions_of(data, np.zeros(data.n_items), np.random.default_rng(0))
    first = positions[data.offsets[:-1]]
    assert abs(np.mean(first == 1) - np.mean(1 / data.list_lengths)) < 0.06
    for part in range(5):
        rows = slice(data.offsets[part], data.offsets[part + 1])
        assert sorted(positions[rows]) == list(range(1, int(data.list_lengths[part]) + 1))


def test_the_logging_ranker_learns_a_direction_from_few_queries() -> None:
    data = lists(queries=200)
    ranker = fit_logging_ranker(data, share=0.05, seed=0)
    assert ranker.weights.shape == (3,)
    assert ranker.weights[0] > 3 * np.abs(ranker.weights[1:]).max()
    np.testing.assert_allclose(ranker.scores(data), data.features @ ranker.weights)
    assert not np.allclose(fit_logging_ranker(data, seed=1).weights, ranker.weights)


def test_refusals() -> None:
    data = lists()
    with pytest.raises(DataError, match="no features"):
        simulate_clicks(one_list([1.0, 0.0]), 10)
    with pytest.raises(DataError, match="Hardly any impression would be clicked"):
        simulate_clicks(one_list([0.0, 0.0]), 10, logging="score")
    with pytest.raises(DataError, match="different relevance"):
        fit_logging_ranker(data.replace(relevance=np.ones(data.n_items)))
    with pytest.raises(ConfigError, match="'epsilon_plus' is 2"):
        simulate_clicks(data, 10, epsilon_plus=2.0)
    with pytest.raises(ConfigError, match="'n_clicks' must be 1 or more"):
        simulate_clicks(data, 0)
    with pytest.raises(ConfigError, match="'logging' must be"):
        simulate_clicks(data, 10, logging="best")
    with pytest.raises(DataError, match="need clicks"):
        with_ips_labels(data)
    with pytest.raises(DataError, match="propensity or a position"):
        with_ips_labels(data.replace(clicks=np.zeros(data.n_items)))
