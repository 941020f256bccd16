"""Rankings of tied scores: all of them where they are few, drawn ones otherwise."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spofr_core import Fairness, fair_policies, load_sample
from spofr_core.learning.losses.plackett_luce import PlackettLucePolicies
from spofr_core.policy.lotteries import MOST_ORDERS, sorted_lotteries
from tests.measures import reference


def patterns(lotteries, kinds, query=0):
    """The kinds at the positions of every ranking of a list."""
    return [
        tuple(kinds[lotteries.rows[lotteries.starts[r] : lotteries.starts[r + 1]]].tolist())
        for r in range(lotteries.first[query], lotteries.first[query + 1])
    ]


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=6))
def test_every_order_of_kinds_is_there_once(items):
    scores, kinds = (np.array(column) for column in zip(*items, strict=True))
    found = sorted_lotteries(scores.astype(float), np.array([0, len(items)]), kinds)
    if found.sampled[0]:
        return
    counts = Counter(tuple(kinds[list(order)].tolist()) for order in reference.orders(scores.tolist()))
    assert sorted(patterns(found, kinds)) == sorted(counts)
    assert len(set(counts.values())) == 1  # so equal weights are right
    np.testing.assert_allclose(found.weights, 1 / len(counts))


def test_a_tie_of_many_is_drawn_and_close_to_its_expectation():
    n = 40
    kinds = np.arange(n) % 2
    found = sorted_lotteries(np.zeros(n), np.array([0, n]), kinds, seed=1)
    assert found.sampled.all()
    assert len(found) == MOST_ORDERS
    first = np.array([kinds[found.rows[start]] for start in found.starts[:-1]], dtype=float)
    assert abs(found.expectation(first)[0] - 0.5) < 4 * found.standard_error(first)[0]
    again = sorted_lotteries(np.zeros(n), np.array([0, n]), kinds, seed=1)
    np.testing.assert_array_equal(found.rows, again.rows)
    assert (sorted_lotteries(np.zeros(n), np.array([0, n]), kinds, seed=2).rows != found.rows).any()


def test_drawn_orders_are_uniform():
    """Of three items that tie in a list of many ties, all six orders are as likely."""
    scores = np.concatenate([np.zeros(8), np.full(3, -1.0)])
    found = Counter()
    for seed in range(100):
        drawn = sorted_lotteries(scores, np.array([0, 11]), np.arange(11), seed=seed)
        found.update(tuple(drawn.rows[end - 3 : end].tolist()) for end in drawn.starts[1:])
    assert set(found) == set(permutations((8, 9, 10)))
    expected = sum(found.values()) / 6
    assert (
        sum((count - expected) ** 2 / expected for count in found.values()) < 20.5
    )  # chi-square, 5 degrees: p = 0.001


def test_long_and_short_lists_in_one_batch():
    rng = np.random.default_rng(0)
    lengths = np.array([1, 3, 60, 200, 2])
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    scores = rng.integers(0, 50, offsets[-1]).astype(float)
    kinds = rng.integers(0, 2, offsets[-1])
    found = sorted_lotteries(scores, offsets, kinds)
    for q in range(len(lengths)):
        for r in range(found.first[q], found.first[q + 1]):
            rows = found.rows[found.starts[r] : found.starts[r + 1]]
            assert sorted(rows.tolist()) == list(range(offsets[q], offsets[q + 1]))
            assert (np.diff(scores[rows]) <= 0).all()


def test_policies_give_their_rankings_as_they_are():
    data = load_sample("hiring").test[:7]
    policies = fair_policies(data, Fairness(delta=0.01))
    found = policies.lotteries(data.groups)
    vector = 1 / np.arange(2.0, 2 + data.list_lengths.max())
    total = np.zeros(data.n_items)
    for r, q in enumerate(found.lists):
        rows = found.rows[found.starts[r] : found.starts[r + 1]]
        total[rows] += found.weights[r] * vector[: len(rows)]
        assert data.offsets[q] <= rows.min()
    np.testing.assert_allclose(total, policies.expectation(vector))


def test_drawn_rankings_of_plackett_luce_policies_agree_with_their_expectations():
    rng = np.random.default_rng(5)
    offsets = np.array([0, 4, 10])
    policies = PlackettLucePolicies(rng.normal(size=10), offsets, samples=20_000, seed=3)
    found = policies.lotteries(np.zeros(10, dtype=np.int64))
    assert found.sampled.all()
    top = np.zeros(10)
    for r in range(len(found)):
        top[found.rows[found.starts[r]]] += found.weights[r]
    exact = policies.expectation(np.array([1.0, 0, 0, 0, 0, 0]))
    assert top == pytest.approx(exact, abs=4 * 0.5 / np.sqrt(MOST_ORDERS))
