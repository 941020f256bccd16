"""Losses through the programme against their definitions."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from spofr_core.fairness import Discount, Fairness
from spofr_core.learning.decisions import prepared
from spofr_core.learning.lists import Lists
from spofr_core.learning.losses.links import ListShares, Probabilities
from spofr_core.learning.losses.through_programme import FenchelYoung, SPOPlus, tie_broken
from spofr_core.policy import fair_policy, solve_weights
from tests.learning.toy import lists_of, numeric_gradient, toy_data

FAIRNESS = [
    Fairness(delta=0.0),
    Fairness(delta=0.02),
    Fairness(delta={"a": 0.01, "b": 0.03, "c": 0.0, "d": 0.5}),
    Fairness(delta=0.05, notion="merit", merits={"a": 0.8, "b": 1.1, "c": 1.0, "d": 1.2}),
]


def made(kind: str, *, n_groups: int = 3, fairness: Fairness = FAIRNESS[1], seed: int = 0, **options):
    lists = lists_of(toy_data(8, n_groups=n_groups, seed=seed))
    programme = prepared(lists, fairness, Discount())
    loss = {"spo+": SPOPlus, "fy": FenchelYoung}[kind](lists, programme, **options)
    return lists, loss, lists.batch(np.arange(len(lists)))


def value_at(loss, batch, scores: np.ndarray) -> float:
    loss.start_epoch(3)
    return float(loss(torch.from_numpy(scores), batch))


def gradient_at(loss, batch, scores: np.ndarray) -> np.ndarray:
    loss.start_epoch(3)
    tensor = torch.from_numpy(scores).requires_grad_()
    loss(tensor, batch).backward()
    return tensor.grad.numpy()


def random_scores(lists: Lists, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=int(lists.offsets[-1]))


def by_definition(lists: Lists, scores: np.ndarray, fairness: Fairness) -> float:
    """SPO+ of the batch from policies that GLOP finds."""
    labels, total = lists.labels.numpy().astype(float), 0.0
    w = Discount().vector(lists.longest)
    for q in range(len(lists)):
        rows = slice(lists.offsets[q], lists.offsets[q + 1])
        y, yhat = labels[rows], scores[rows]
        groups = np.array(lists.group_names)[lists.codes[rows]]
        worst = fair_policy(2 * yhat - y, groups, fairness, solver="glop", on_infeasible="relax").utility
        ideal = fair_policy(y, groups, fairness, solver="glop", on_infeasible="relax").matrix @ w[: len(y)]
        total += worst - 2 * yhat @ ideal + y @ ideal
    return total / len(lists)


@pytest.mark.parametrize("n_groups", [1, 2, 4])
@pytest.mark.parametrize("fairness", FAIRNESS, ids=["zero", "exposure", "per-group", "merit"])
def test_spo_plus_is_its_definition(n_groups, fairness):
    # The term -2 yhat' Pi*(y) w depends on which optimal policy of the labels is meant: distinct labels make it unique.
    lists = lists_of(toy_data(4, n_groups=n_groups))
    torch.manual_seed(0)
    lists.labels.copy_(torch.rand(len(lists.labels)))
    loss = SPOPlus(lists, prepared(lists, fairness, Discount()))
    scores = random_scores(lists, 5)
    batch = lists.batch(np.arange(len(lists)))
    assert value_at(loss, batch, scores) == pytest.approx(by_definition(lists, scores, fairness), abs=1e-7)


@pytest.mark.parametrize("n_groups", [2, 4])
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("spo+", {}),
        ("fy", {"sigma": 0.5, "draws": 3}),
        ("fy", {"sigma": 0.5, "draws": 3, "target": "policy"}),
        ("fy", {"sigma": 0.5, "draws": 2, "weighting": "labels"}),
        ("fy", {"sigma": 0.5, "draws": 2, "weighting": "labels", "link": ListShares()}),
        ("spo+", {"link": ListShares()}),
        ("spo+", {"link": Probabilities()}),
    ],
)
def test_gradient_is_that_of_the_value(kind, options, n_groups):
    lists, loss, batch = made(kind, n_groups=n_groups, **options)
    scores = random_scores(lists, 1)
    expected = numeric_gradient(lambda s: value_at(loss, batch, s), scores)
    np.testing.assert_allclose(gradient_at(loss, batch, scores), expected, atol=2e-7)


@pytest.mark.parametrize(
    ("kind", "options"), [("spo+", {}), ("spo+", {"ties": "scores"}), ("fy", {"draws": 2, "sigma": 1.0})]
)
def test_gradient_sums_to_zero_in_every_list(kind, options):
    lists, loss, batch = made(kind, **options)
    gradient = gradient_at(loss, batch, random_scores(lists, 2))
    assert np.abs(gradient).max() > 1e-3
    np.testing.assert_allclose(np.add.reduceat(gradient, lists.offsets[:-1]), 0.0, atol=1e-12)


@pytest.mark.parametrize("scale", [0.5, 1.0, 7.0, 1e3])
def test_perfect_scores_cost_nothing(scale):
    lists, loss, batch = made("spo+")
    assert value_at(loss, batch, scale * lists.labels.numpy().astype(float)) == pytest.approx(0.0, abs=1e-8 * scale)
    assert value_at(loss, batch, -scale * lists.labels.numpy().astype(float)) > 0.1


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**31), mix=st.floats(0.05, 0.95))
def test_spo_plus_is_convex_and_bounds_the_regret(seed, mix):
    lists, loss, batch = made("spo+")
    a, b = random_scores(lists, seed), 3 * random_scores(lists, seed + 1)
    between = value_at(loss, batch, mix * a + (1 - mix) * b)
    assert between <= mix * value_at(loss, batch, a) + (1 - mix) * value_at(loss, batch, b) + 1e-9
    labels, programme = lists.labels.numpy().astype(float), prepared(lists, FAIRNESS[1], Discount())
    regret = labels @ (solve_weights(labels, programme) - solve_weights(a, programme))
    assert value_at(loss, batch, a) >= regret / len(lists) - 1e-9


def test_the_order_of_a_batch_does_not_matter():
    lists, loss, batch = made("spo+")
    scores = random_scores(lists, 4)
    order = np.random.default_rng(0).permutation(len(lists))
    shuffled = lists.batch(order)
    rows = np.concatenate([np.arange(lists.offsets[q], lists.offsets[q + 1]) for q in order])
    assert value_at(loss, shuffled, scores[rows]) == pytest.approx(value_at(loss, batch, scores), abs=1e-12)
    np.testing.assert_allclose(
        gradient_at(loss, shuffled, scores[rows]), gradient_at(loss, batch, scores)[rows], atol=1e-12
    )


def test_ties_of_labels_are_broken_by_scores_and_nothing_else_is():
    labels = np.array([0.0, 1.0, 0.0, 3.0, 2.0, 0.0])
    scores = np.array([5.0, -4.0, 6.0, 1.0, 1.0, 1.0])
    broken = tie_broken(labels, scores, np.array([0, 3, 6]))
    assert np.argsort(-broken[:3]).tolist() == [1, 2, 0]
    np.testing.assert_allclose(broken, labels, atol=0.0031)
    np.testing.assert_array_equal(broken[3:], labels[3:])


def test_score_ties_make_the_target_agree_with_the_scores():
    lists, loss, batch = made("spo+", ties="scores", n_groups=2, fairness=Fairness(delta=5.0))
    scores = 1e-3 * random_scores(lists, 9) + lists.labels.numpy()
    # the scores order the items as labels and ties do, so the target is the policy of the scores
    np.testing.assert_allclose(gradient_at(loss, batch, 10 * scores), 0.0, atol=1e-12)


def test_lists_may_weigh_as_much_as_their_labels():
    lists, plain, batch = made("fy", sigma=0.5, draws=1, target="labels")
    _, weighted, _ = made("fy", sigma=0.5, draws=1, target="labels", weighting="labels")
    scores = random_scores(lists, 3)
    ratio = np.repeat(lists.label_totals / lists.label_totals.mean(), lists.lengths)
    np.testing.assert_allclose(
        gradient_at(weighted, batch, scores), ratio * gradient_at(plain, batch, scores), atol=1e-12
    )


def test_noise_in_the_labels_averages_out_of_the_label_target():
    """With one click per list the mean target is proportional to the click rates; that of policies is not."""
    rates = np.array([0.5, 0.3, 0.2, 0.0])
    data = toy_data(10, lengths=(4, 4)).with_groups(np.tile([0, 0, 1, 1], 10), ("a", "b"))
    lists = lists_of(data)
    lists.labels.copy_(torch.eye(4)[[0, 0, 0, 0, 0, 1, 1, 1, 2, 2]].reshape(-1))
    programme = prepared(lists, Fairness(delta=0.01), Discount())
    share = FenchelYoung(lists, programme, sigma=1.0, draws=1)._target.reshape(10, 4).mean(axis=0)
    np.testing.assert_allclose(share / share.sum(), rates, atol=1e-7)
    wanted = FenchelYoung(lists, programme, sigma=1.0, draws=1, target="policy")._target.reshape(10, 4).mean(axis=0)
    assert np.abs(wanted / wanted.sum() - rates).max() > 0.1


def test_labels_of_any_scale_teach_probabilities_the_same():
    lists, loss, batch = made("spo+", link=Probabilities())
    scores = random_scores(lists, 4)
    expected = gradient_at(loss, batch, scores)
    lists.labels.mul_(17.0)
    scaled = SPOPlus(lists, prepared(lists, FAIRNESS[1], Discount()), link=Probabilities())
    np.testing.assert_array_equal(gradient_at(scaled, batch, scores), expected)
