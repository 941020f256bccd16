"""FULTR's gradient and its Plackett-Luce policies against enumeration."""

from itertools import permutations

import numpy as np
import pytest
import torch

from spofr_core.errors import ConfigError, DataError
from spofr_core.fairness import Discount, Fairness
from spofr_core.learning import FULTR, PlackettLucePolicies, Unfair
from spofr_core.learning.losses.plackett_luce import reinforce
from spofr_core.learning.methods.fultr import FULTRSettings, Pairs, PolicyGradient, top_one_entropy
from tests.learning.toy import lists_of, numeric_gradient, toy_data

SCORES = np.array([0.3, -0.7, 1.1, 0.2])
CODES = np.array([0, 1, 1, 0])
OFFSETS = np.array([0, 4])
W, V = Discount().vector(4), Fairness(delta=0).position_bias.vector(4)


def rankings_with_probabilities(scores):
    for ranking in permutations(range(len(scores))):
        left = list(ranking)
        probability = 1.0
        for item in ranking:
            probability *= np.exp(scores[item]) / np.exp(scores[left]).sum()
            left.remove(item)
        yield np.array(ranking), probability


def expected_worth(scores, vector):
    worth = np.zeros(len(scores))
    for ranking, probability in rankings_with_probabilities(scores):
        worth[ranking] += probability * vector
    return worth


def estimate(gains, costs, *, samples, seed):
    return reinforce(SCORES, gains, costs, CODES, OFFSETS, V, W, n_groups=2, samples=samples, seed=seed)


def test_probabilities_of_the_enumeration_sum_to_one():
    assert sum(p for _, p in rankings_with_probabilities(SCORES)) == pytest.approx(1.0)


@pytest.mark.parametrize("costs", [np.zeros(4), np.array([0.5, -0.3, -0.3, 0.5])])
def test_reinforce_is_the_gradient_of_the_expected_reward(costs):
    gains = np.array([0.0, 3.0, 1.0, 0.0])

    def reward(scores):
        return gains @ expected_worth(scores, W) - costs @ expected_worth(scores, V)

    runs = np.array([estimate(gains, costs, samples=2000, seed=k)[0] for k in range(60)])
    error = runs.std(axis=0, ddof=1) / np.sqrt(len(runs))
    exact = numeric_gradient(reward, SCORES)
    assert np.all(np.abs(runs.mean(axis=0) - exact) < 4.5 * error)
    assert np.all(4.5 * error < 0.1 * np.abs(exact).max())
    # reward and exposure of the same samples
    _, mean_reward, exposure = estimate(gains, costs, samples=200_000, seed=7)
    assert mean_reward[0] == pytest.approx(reward(SCORES), abs=0.01)
    expected = np.bincount(CODES, weights=expected_worth(SCORES, V))
    np.testing.assert_allclose(exposure[0], expected, atol=0.003)


def test_few_samples_are_unbiased_too():
    gains, costs = np.array([1.0, 0.0, 0.0, 2.0]), np.zeros(4)
    runs = np.array([estimate(gains, costs, samples=2, seed=k)[0] for k in range(40_000)])
    exact = numeric_gradient(lambda s: gains @ expected_worth(s, W), SCORES)
    error = runs.std(axis=0) / np.sqrt(len(runs))
    assert np.all(np.abs(runs.mean(axis=0) - exact) < 4.5 * error)


def one_list():
    data = toy_data(1, lengths=(4, 4), n_groups=2, seed=3).with_groups(CODES, ("a", "b"))
    lists = lists_of(data)
    lists.labels.copy_(torch.tensor([0.0, 3.0, 1.0, 0.0]))
    return lists


@pytest.mark.parametrize(
    "fairness", [Fairness(delta=0.1), Fairness(delta=0.1, notion="merit", merits={"a": 0.6, "b": 1.4})]
)
def test_the_whole_loss_has_the_gradient_of_the_objective(fairness):
    lists, penalty, entropy = one_list(), 40.0, 0.7
    labels = lists.labels.numpy()
    scale = (1.4, 0.6) if fairness.notion == "merit" else (1.0, 1.0)

    def disparity(scores):
        exposure = expected_worth(scores, V)
        return scale[0] * exposure[CODES == 0].mean() - scale[1] * exposure[CODES == 1].mean()

    def objective(scores):
        bonus = entropy * top_one_entropy(scores, OFFSETS)[0]
        return labels @ expected_worth(scores, W) + bonus - penalty * disparity(scores) ** 2

    settings = FULTRSettings(penalty=penalty, samples=300_000, entropy=entropy, memory=0.5)
    loss = PolicyGradient(lists, fairness, Discount(), settings)
    loss.restore({"running": np.array([disparity(SCORES)]), "seen": np.ones(1), "entropy": np.array([entropy])})
    scores = torch.from_numpy(SCORES.copy()).requires_grad_()
    loss(scores, lists.batch(np.array([0]))).backward()
    exact = -numeric_gradient(objective, SCORES)
    np.testing.assert_allclose(scores.grad.numpy(), exact, atol=0.02 * np.abs(exact).max())
    assert loss.disparities()[0] == pytest.approx(disparity(SCORES), abs=1e-3)


def test_running_disparities_cancel_across_lists_and_forget():
    lists = lists_of(toy_data(2, lengths=(4, 4)).with_groups([0, 0, 1, 1, 1, 1, 0, 0], ("a", "b")))
    loss = PolicyGradient(lists, Fairness(delta=0.1), Discount(), FULTRSettings(memory=0.9, entropy=0.0))
    steep = torch.tensor([9.0, 8.0, -8.0, -9.0])
    loss(torch.cat([steep, steep]), lists.batch(np.array([0, 1])))
    assert loss.disparities()[0] == pytest.approx(0.0, abs=1e-3)
    for _ in range(60):
        loss(steep, lists.batch(np.array([0])))
    assert loss.disparities()[0] == pytest.approx(V[:2].mean() - V[2:].mean(), abs=1e-2)


def test_lists_without_one_of_the_groups_have_no_pair():
    lists = lists_of(toy_data(2, lengths=(4, 4)).with_groups([0, 1, 2, 2, 0, 0, 0, 0], ("a", "b", "c")))
    pairs = Pairs(lists, Fairness(delta=0.1))
    prices = pairs.prices(np.array([1.0, 10.0, 100.0]), pairs.present)
    np.testing.assert_allclose(prices, [[11.0, 99.0, -110.0], [0.0, 0.0, 0.0]])
    means, known = pairs.means(np.array([[1.0, 2.0, 4.0], [9.0, 0.0, 0.0]]), pairs.present, np.ones(2))
    np.testing.assert_allclose(means, [-1.0, -3.0, -2.0])
    assert known.all()


def test_entropy_gradient():
    scores, offsets = np.array([0.2, 1.3, -0.4, 2.0, 0.1]), np.array([0, 3, 5])
    expected = numeric_gradient(lambda s: top_one_entropy(s, offsets)[0], scores)
    np.testing.assert_allclose(top_one_entropy(scores, offsets)[1], expected, atol=1e-8)


def test_expectations_are_those_of_the_enumeration_within_the_reported_error():
    scores = np.concatenate([SCORES, [50.0, -50.0, 0.0]])
    policies = PlackettLucePolicies(scores, np.array([0, 4, 7]), samples=4000, seed=1)
    exact, error = expected_worth(SCORES, W), policies.standard_error(W)
    assert np.all(np.abs(policies.expectation(W)[:4] - exact) < 4.5 * error[:4])
    assert np.all(error[:4] < 0.01)
    np.testing.assert_allclose(policies.expectation(W)[4:], W[[0, 2, 1]])
    np.testing.assert_array_equal(error[4:], 0.0)


def test_the_reported_error_is_the_spread_of_repetitions():
    runs = np.array([PlackettLucePolicies(SCORES, OFFSETS, 256, seed).expectation(V) for seed in range(400)])
    claimed = PlackettLucePolicies(SCORES, OFFSETS, 256, 0).standard_error(V)
    np.testing.assert_allclose(claimed, runs.std(axis=0), rtol=0.2)


def test_long_lists_are_sampled_by_the_other_sort():
    scores = np.linspace(0, 3, 60)
    policies = PlackettLucePolicies(scores, np.array([0, 60]), samples=3000)
    top = np.zeros(60)
    top[0] = 1.0
    p = np.exp(scores) / np.exp(scores).sum()
    assert np.all(np.abs(policies.expectation(top) - p) < 5 * np.sqrt(p / 3000))
    drawn = policies.rankings(0, 5, seed=1)
    assert np.array_equal(np.sort(drawn, axis=1), np.tile(np.arange(60), (5, 1)))


def test_bad_requests_are_refused():
    policies = PlackettLucePolicies(SCORES, OFFSETS)
    with pytest.raises(DataError, match="longest list has 4"):
        policies.expectation(np.ones(3))
    with pytest.raises(DataError, match="samples is 1"):
        PlackettLucePolicies(SCORES, OFFSETS, 1)
    with pytest.raises(ConfigError, match="evaluation_samples"):
        FULTR(evaluation_samples=100)


def test_a_strong_penalty_brings_groups_together():
    train, test = toy_data(300, lengths=(6, 6)), toy_data(100, lengths=(6, 6), seed=9)

    def mean_gap(penalty):
        model = FULTR(penalty=penalty, entropy=0.1, learning_rate=1e-2, max_steps=400, seed=1).fit(
            train, toy_data(50, seed=5)
        )
        exposure = model.policies(test).expectation(Fairness(delta=0).position_bias.vector(6))
        return abs(exposure[test.groups == 0].mean() - exposure[test.groups == 1].mean())

    assert mean_gap(300.0) < 0.4 * mean_gap(0.0)


def mean_dcg(model, test):
    worth = model.policies(test).expectation(Discount().vector(int(test.list_lengths.max())))
    return float(test.relevance @ worth) / len(test)


def test_without_a_penalty_it_is_as_good_as_a_plain_sort_of_the_same_network_in_spite_of_entropy(
    tmp_path,
):
    train, validation, test = toy_data(60), toy_data(40, seed=5), toy_data(200, seed=9)
    shared = {"learning_rate": 1e-2, "max_steps": 100}
    plain = mean_dcg(Unfair(**shared).fit(train, validation), test)
    undecided = {"penalty": 0.0, "entropy": 5.0, "entropy_decay": 1.0, **shared}
    model = FULTR(**undecided).fit(train, validation)
    assert mean_dcg(model, test) > 0.97 * plain
    assert mean_dcg(FULTR(sharpen=False, **undecided).fit(train, validation), test) < 0.9 * plain
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(FULTR.load(tmp_path / "model").estimates(test), 40.0 * model.scores(test))
