"""DELTR's loss against its formula and finite differences."""

import numpy as np
import pytest
import torch

from spofr_core.errors import ConfigError
from spofr_core.learning import DELTR
from spofr_core.learning.methods.deltr import ExposureHinge
from tests.learning.toy import lists_of, numeric_gradient, toy_data


def by_formula(lists, scores, protected, penalty):
    labels, total = lists.labels.numpy().astype(float), 0.0
    for q in range(len(lists)):
        rows = slice(lists.offsets[q], lists.offsets[q + 1])
        p = np.exp(scores[rows]) / np.exp(scores[rows]).sum()
        total -= labels[rows] @ np.log(p)
        inside = lists.codes[rows] == protected
        if inside.any() and not inside.all():
            total += penalty * max(0.0, p[~inside].mean() - p[inside].mean()) ** 2
    return total / len(lists)


@pytest.mark.parametrize("lengths", [(5, 5), (2, 9)])
@pytest.mark.parametrize("protected", [0, 2])
def test_value_and_gradient(lengths, protected):
    lists = lists_of(toy_data(12, lengths=lengths, n_groups=3))
    loss = ExposureHinge(lists, protected, 500.0)
    batch = lists.batch(np.arange(len(lists)))
    scores = np.random.default_rng(0).normal(size=int(lists.offsets[-1]))
    tensor = torch.from_numpy(scores).requires_grad_()
    value = loss(tensor, batch)
    value.backward()
    assert value.item() == pytest.approx(by_formula(lists, scores, protected, 500.0), rel=1e-6)
    expected = numeric_gradient(lambda s: by_formula(lists, s, protected, 500.0), scores)
    np.testing.assert_allclose(tensor.grad.numpy(), expected, atol=1e-5 * np.abs(expected).max())


def test_no_penalty_where_the_protected_group_is_ahead():
    data = toy_data(1, lengths=(4, 4)).with_groups([0, 0, 1, 1], ("a", "b"))
    lists = lists_of(data)
    batch = lists.batch(np.array([0]))
    ahead = torch.tensor([2.0, 2.0, 0.0, 0.0], dtype=torch.float64)
    assert ExposureHinge(lists, 0, 1e6)(ahead, batch).item() == ExposureHinge(lists, 0, 0.0)(ahead, batch).item()
    assert ExposureHinge(lists, 1, 1e6)(ahead, batch).item() > 1e3


def test_the_protected_group_is_named_or_the_least_relevant_one():
    data = toy_data(30, n_groups=3)
    lists = lists_of(data)
    means = [data.relevance[data.groups == g].mean() for g in range(3)]
    assert DELTR().protected_code(lists) == int(np.argmin(means))
    assert DELTR(protected="c").protected_code(lists) == 2
    with pytest.raises(ConfigError, match=r"protected is 'z', but the groups are \['a', 'b', 'c'\]"):
        DELTR(protected="z").fit(data)


def test_a_strong_penalty_lifts_the_protected_group():
    train, test = toy_data(200, lengths=(6, 6)), toy_data(100, lengths=(6, 6), seed=9)
    v = DELTR().fairness.position_bias.vector(6)

    def gap(penalty):
        model = DELTR(penalty=penalty, protected="a", seed=1, learning_rate=1e-2, max_steps=300)
        exposure = model.fit(train, toy_data(60, seed=5)).policies(test).expectation(v)
        return exposure[test.groups == 1].mean() - exposure[test.groups == 0].mean()

    assert gap(0.0) > 0.02
    assert gap(1e4) < 0.5 * gap(0.0)
