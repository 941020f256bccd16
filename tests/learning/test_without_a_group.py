"""Training on lists with items without a group: they are ranked as any other, and no bound or penalty is about them."""

import numpy as np
import pytest
import torch

from spofr_core import verify
from spofr_core.data import NO_GROUP, UNKNOWN, RankingDataset
from spofr_core.data.groups.regrouping import in_groups_of
from spofr_core.fairness import Discount
from spofr_core.learning import METHODS
from spofr_core.learning.losses.within_groups import ListNetWithinGroups
from spofr_core.learning.methods.deltr import DELTR, ExposureHinge
from spofr_core.learning.methods.fultr import FULTRSettings, PolicyGradient
from tests.learning.toy import FAIRNESS, LEARNING, QUICK, lists_of, toy_data


def some_without(data: RankingDataset, seed: int = 1) -> RankingDataset:
    drawn = np.random.default_rng(seed).random(data.n_items)
    codes = np.where(drawn < 0.15, UNKNOWN, np.where(drawn < 0.3, NO_GROUP, data.groups))
    return data.with_groups(codes, data.group_names)


@pytest.mark.parametrize("method", LEARNING)
def test_every_method_learns_and_keeps_its_promise(method):
    train, test = some_without(toy_data(n_groups=3)), some_without(toy_data(20, n_groups=3, seed=4))
    model = METHODS[method].estimator(FAIRNESS, **QUICK).fit(train, test)
    policies = model.policies(test)
    if METHODS[method].guaranteed:
        check = {"offsets": test.offsets, "group_names": test.group_names}
        assert verify(policies, policies.scores, test.groups, FAIRNESS, **check).ok
    renamed = test.with_groups(np.append([2, 1, 0], [NO_GROUP, UNKNOWN])[test.groups], test.group_names[::-1])
    assert in_groups_of(renamed, train).groups.tolist() == test.groups.tolist()


def test_deltr_compares_the_protected_with_those_of_other_groups_alone():
    data = toy_data(1, lengths=(5, 5)).with_groups([0, UNKNOWN, 1, NO_GROUP, 1], ("a", "b"))
    lists, scores = lists_of(data), np.array([0.1, 2.0, 0.9, 3.0, 0.4])
    batch, tensor = lists.batch(np.array([0])), torch.from_numpy(scores)
    p = np.exp(scores) / np.exp(scores).sum()
    added = ExposureHinge(lists, 0, 500.0)(tensor, batch) - ExposureHinge(lists, 0, 0.0)(tensor, batch)
    assert added.item() == pytest.approx(500.0 * (p[[2, 4]].mean() - p[0]) ** 2, rel=1e-6)
    labels = np.array([1.0, 0.0, 0.0, 0.0, 0.0])
    assert DELTR().protected_code(lists_of(data.replace(relevance=labels))) == 1


def test_fultr_has_no_price_for_items_without_a_group():
    data = toy_data(3, lengths=(5, 5))
    codes = np.tile([0, UNKNOWN, NO_GROUP, UNKNOWN, 0], 3)
    codes[10:] = [1, UNKNOWN, 1, NO_GROUP, 1]  # no list has both groups, so that there is nothing to pay
    lists = lists_of(data.with_groups(codes, ("a", "b")))
    scores, batch = np.random.default_rng(0).normal(size=15), lists.batch(np.arange(3))

    def gradient(penalty):
        settings = FULTRSettings(penalty=penalty, samples=50, entropy=0.0)
        loss = PolicyGradient(lists, FAIRNESS, Discount(), settings)
        loss.restore({"running": np.array([0.4]), "seen": np.ones(1), "entropy": np.zeros(1)})
        return loss.value_and_gradient(scores, batch)[1]

    assert np.array_equal(gradient(0.0), gradient(1e6))


def test_within_groups_they_are_ordered_among_themselves():
    data = some_without(toy_data(12))
    block = data.with_groups(np.where(data.groups < 0, 2, data.groups), (*data.group_names, "none"))
    scores, queries = np.random.default_rng(2).normal(size=data.n_items), np.arange(12)
    values = [
        ListNetWithinGroups(lists).derivatives(scores, lists.batch(queries)) for lists in map(lists_of, (data, block))
    ]
    assert values[0][0] == values[1][0]
    assert np.array_equal(values[0][1], values[1][1])
