"""The guarantee, and blindness to labels, on the bundled data."""

import numpy as np
import pytest

from spofr_core.data import RankingDataset, load_sample, simulate_clicks
from spofr_core.fairness import Composition, Discount, Fairness, group_merits
from spofr_core.learning import SPOFR, PredictThenOptimize, Uniform

GRID = (0.0, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.4)
QUICK = {"max_steps": 60, "validate_every": 20}


def worst_violation(data: RankingDataset, fairness: Fairness, item_exposure: np.ndarray) -> float:
    """Largest excess over delta of any group in any list, from the exposures of the items."""
    composition = Composition.of(data.groups, data.offsets, data.group_names)
    terms = fairness.terms(composition)
    exposure = composition.group_means(item_exposure, data.groups, data.offsets)
    excess = np.abs(terms.violations(exposure)) - terms.delta
    return float(np.max(np.where(terms.constrained, excess, -np.inf)))


def holds_everywhere(model, data: RankingDataset, grid) -> None:
    longest = int(data.list_lengths.max())
    for delta in grid:
        fairness = model.fairness.with_delta(delta)
        policies = model.policies(data, fairness)
        excess = worst_violation(data, fairness, policies.expectation(fairness.position_bias.vector(longest)))
        assert excess <= 1e-9, (delta, excess)


@pytest.mark.parametrize("method", [SPOFR, PredictThenOptimize])
@pytest.mark.parametrize(("sample", "groups"), [("german-credit", 2), ("mslr", 5), ("hiring", 8)])
def test_delta_holds_in_every_test_list(method, sample, groups):
    options = {} if sample == "hiring" else {"lists": 120}
    splits = load_sample(sample, groups=None if groups == 2 else groups, **options)
    model = method(Fairness(delta=0.03), **QUICK).fit(splits.train, splits.validation)
    holds_everywhere(model, splits.test, GRID[::2])


@pytest.mark.slow
@pytest.mark.parametrize("method", [SPOFR, PredictThenOptimize])
@pytest.mark.parametrize(
    ("sample", "groups"),
    [("german-credit", g) for g in (2, 3, 4, 5, 6, 7)]
    + [("mslr", g) for g in (2, 3, 4, 5, 6, 7)]
    + [("hiring", g) for g in (2, 4, 8)],
)
def test_delta_holds_in_every_test_list_of_every_sample(method, sample, groups):
    splits = load_sample(sample, groups=groups)
    for trained_at in (0.0, 0.05):
        model = method(Fairness(delta=trained_at), **QUICK).fit(splits.train, splits.validation)
        holds_everywhere(model, splits.test, GRID)


def test_the_merit_notion_holds_too():
    splits = load_sample("german-credit", lists=150)
    clicks = simulate_clicks(splits.train, 300)
    fairness = Fairness(delta=0.05, notion="merit", merits=group_merits(clicks))
    model = SPOFR(fairness, **QUICK).fit(clicks, simulate_clicks(splits.validation, 100))
    holds_everywhere(model, splits.test, (0.02, 0.05, 0.2))
    gap = Fairness(delta=0.01, notion="gap")
    policies = model.policies(splits.test, gap)
    assert worst_violation(splits.test, gap, policies.exposure) <= 1e-9


@pytest.fixture(scope="module")
def german():
    return load_sample("german-credit", test_lists=1500)


def constant_scorer(data: RankingDataset, fairness: Fairness):
    model = PredictThenOptimize(fairness, max_steps=1, validation_share=0.0, learning_rate=1e-12)
    model.fit(data[:2])
    for parameter in model.learned.scorer.network.parameters():
        parameter.data.zero_()
    return model


@pytest.mark.filterwarnings("default::spofr_core.learning.CollapsedScores")
@pytest.mark.parametrize("delta", [0.0, 0.03, 5.0])
def test_a_constant_scorer_ranks_at_random(german, delta):
    test = german.test
    model = constant_scorer(german.train, Fairness(delta=delta))
    w = Discount().vector(20)
    reached = test.relevance @ model.policies(test).expectation(w) / len(test)
    ideal = w[0] + w[1]  # both relevant items on top
    random = test.relevance @ Uniform().fit(german.train).policies(test).expectation(w) / len(test)
    assert random == pytest.approx(0.704, abs=0.001)
    assert ideal == pytest.approx(1.63, abs=0.01)
    per_list = 0.3  # standard deviation of the DCG of a random ranking of such a list
    assert reached == pytest.approx(random, abs=4 * per_list / np.sqrt(len(test)))


@pytest.mark.parametrize("method", [SPOFR, PredictThenOptimize])
def test_labels_of_the_test_data_change_no_policy(german, method):
    model = method(Fairness(delta=0.01), **QUICK).fit(german.train[:100], german.validation[:100])
    test = german.test[:200]
    rng = np.random.default_rng(0)
    shuffled = test.replace(relevance=rng.permutation(test.relevance))
    without = test.replace(relevance=None)
    expected = model.policies(test)
    for other in (shuffled, without):
        np.testing.assert_array_equal(model.policies(other).solution.rankings, expected.solution.rankings)
        np.testing.assert_array_equal(model.policies(other).solution.probabilities, expected.solution.probabilities)


def test_one_model_serves_every_delta(german):
    model = SPOFR(Fairness(delta=0.05), **QUICK).fit(german.train[:100], german.validation[:100])
    estimated = [model.policies(german.test, Fairness(delta=d)).utility.mean() for d in GRID]
    assert np.all(np.diff(estimated) >= -1e-9)
    assert estimated[-1] > estimated[0]
