"""Measures of lists in which items have no group: each says what it can, and why where it cannot."""

from __future__ import annotations

import numpy as np
import pytest

from spofr_core.evaluation import measure
from spofr_core.measures import MEASURES
from tests.evaluation.lists import dataset

OF_GROUPS = [m.name for m in MEASURES.values() if m.of_groups] + ["max_violation", "EE-L(of=groups)"]
OF_ITEMS = ["dcg", "ndcg", "EE-D", "EE-R", "EE-L", "IAA", "Gini"]


def lists(group: str):
    """Two lists that differ in the group of their first item."""
    labels = [[1, 0, 2, 0, 1, 1]] * 2
    return dataset([[6, 5, 4, 3, 2, 1]] * 2, ["baabab", f"{group}aaabb"], labels, names=("a", "b", "x", "y"))


def without(code: int):
    data = lists("x")
    return data.replace(groups=np.where(data.groups == 2, code, data.groups), group_names=("a", "b"))


@pytest.mark.parametrize("name", OF_GROUPS)
def test_an_unknown_group_is_a_reason(name):
    found, known = (measure(data, [name], protected="b") for data in (without(-1), without(-1)[:1]))
    ((name, values),) = found.values.items()
    said = found.undefined[found.undefined["query"] == "q1"]
    assert said["why"].tolist() == ["the group of an item is not known"]
    np.testing.assert_array_equal(values, [known.values[name][0], np.nan])
    assert found.summary["measures"][name]["overall"] is None


@pytest.mark.parametrize("name", OF_ITEMS)
def test_what_is_of_items_alone_needs_no_group(name):
    np.testing.assert_array_equal(measure(without(-1), [name]).values[name], measure(lists("b"), [name]).values[name])


def test_items_of_no_group_keep_their_places():
    """The list x a a a b b, where x is of no group: a at 2, 3, 4 and b at 5, 6."""
    v = 1 / (1 + np.arange(1.0, 7))
    shares, target = np.array([v[1:4].sum(), v[4:].sum()]) / v[1:].sum(), np.array([3, 2]) / 5

    def kl(p, q):
        return sum(a * np.log2(a / b) for a, b in zip(p, q, strict=True) if a > 0)

    middle = (shares + target) / 2
    prefixes = np.array([(1, 0), (2, 0), (3, 0), (3, 1), (3, 2)])  # of the first 2, 3, .. places, as a and b
    weights = 1 / np.log2(np.arange(3.0, 8))
    divergences = [np.log(2) * kl(counts / counts.sum(), target) for counts in prefixes]
    wanted = {
        "AWRF": 1 - (kl(shares, middle) + kl(target, middle)) / 2,
        "NDKL": (weights * divergences).sum() / weights.sum(),
        "ARP": 1.0,
        "Skew@5(group=b)": np.log((1 / 4) / (2 / 5)),
        "infeasible_index": 1.0,  # of the first three that are of a group, one should be a b
        "impact_ratio@5": 1 / 2,
    }
    found = measure(without(-2), list(wanted)).values
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name][1], value, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("name", ["rND(step=2)", "FA*IR"])
def test_what_has_no_meaning_beside_them_says_so(name):
    found = measure(without(-2), [name])
    assert found.undefined["why"].tolist() == ["an item belongs to no group"]
