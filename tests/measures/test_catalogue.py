"""Every measure against its definition, one ranking at a time, over all orders of ties."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from spofr_core import Fairness, PositionBias, fair_policies, measure
from spofr_core.measures import MEASURES
from tests.measures import reference
from tests.measures.lists import dataset, one_ranking


@st.composite
def small_lists(draw: st.DrawFn) -> dict[str, list]:
    """A list of two or three groups, with many ties."""
    n = draw(st.integers(2, 6))
    groups = draw(st.lists(st.sampled_from("ABC"), min_size=n, max_size=n).filter(lambda g: len(set(g)) > 1))
    scores = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    relevance = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n).filter(any))
    return {"groups": groups, "scores": scores, "relevance": relevance}


def exposures(one: dict[str, list], vector=lambda j: 1 / (1 + j)) -> list[float]:
    """Expected exposure of every item."""
    found = [0.0] * len(one["groups"])
    orders = list(reference.orders(one["scores"]))
    for order in orders:
        for j, item in enumerate(order, 1):
            found[item] += vector(j) / len(orders)
    return found


def shown(one: dict[str, list], order: tuple[int, ...]) -> list[str]:
    return [one["groups"][item] for item in order]


def about(found, name: str, expected: float):
    """The expected value exactly, or, of a list with so many orders that some are drawn, up to six standard errors."""
    error = found.found[name].error
    return pytest.approx(expected, abs=1e-12 if error is None else 1e-12 + 6 * error[0])


@settings(max_examples=60, deadline=None)
@given(small_lists())
@example({"groups": list("AABBCC"), "scores": [0] * 6, "relevance": [0] * 6})  # 90 orders, of which 64 are drawn
def test_measures_of_whole_rankings_are_expectations_over_the_orders_of_ties(one):
    target = reference.list_target(one["groups"])
    everywhere = sorted(target)
    fewest = min(everywhere, key=one["groups"].count)  # the first by name where several have as few
    definitions = {
        "NDKL": lambda s: reference.ndkl(s, target),
        "NDKL@3": lambda s: reference.ndkl(s, target, 3),
        "ARP": reference.arp,
        "infeasible_index": lambda s: reference.infeasible_index(s, target),
        "impact_ratio@2": lambda s: reference.impact_ratio(s, 2),
        "AWRF": lambda s: reference.awrf(s, target, lambda j: 1 / (1 + j)),
        "Skew@2": lambda s: reference.skew(s, fewest, target, 2),
        "MinSkew@2": lambda s: min(reference.skew(s, g, target, 2) for g in target),
        "MaxSkew@2": lambda s: max(reference.skew(s, g, target, 2) for g in target),
        "rND(step=2)": lambda s: reference.rnd(s, fewest, 2) if len(s) > 2 else math.nan,
    }
    found = measure(dataset(one), list(definitions))
    for name, value in definitions.items():
        expected = reference.expectation(one["scores"], lambda order, value=value: value(shown(one, order)))
        if not math.isfinite(expected):
            assert np.isnan(found.values[name][0]), name
            assert len(found.undefined[found.undefined["measure"] == name]) == 1
        else:
            assert found.values[name][0] == about(found, name, expected), name


@settings(max_examples=40, deadline=None)
@given(small_lists())
@example({"groups": list("AAAABC"), "scores": [0] * 6, "relevance": [0, 0, 0, 1, 0, 0]})  # 120 orders
def test_awrf_times_ndcg_is_the_expectation_of_the_product(one):
    target = reference.list_target(one["groups"])

    def value(order: tuple[int, ...]) -> float:
        fair = reference.awrf(shown(one, order), target, reference.trec_attention)
        return fair * reference.ndcg_of([one["relevance"][item] for item in order], reference.trec_attention)

    expected = reference.expectation(one["scores"], value)
    found = measure(dataset(one), "AWRFxnDCG")
    assert found.values["AWRFxnDCG"][0] == about(found, "AWRFxnDCG", expected)


@settings(max_examples=60, deadline=None)
@given(small_lists())
def test_measures_of_exposure_take_the_exposure_that_items_expect(one):
    x, groups, relevance = exposures(one), one["groups"], one["relevance"]
    t = exposures(one | {"scores": relevance})
    names = sorted(set(groups))
    fewest = min(names, key=groups.count)

    def total(values, members) -> float:
        return sum(v for v, g in zip(values, groups, strict=True) if members(g))

    means = [total(x, lambda g, name=name: g == name) / groups.count(name) for name in names]
    clicks = [a * b for a, b in zip(x, relevance, strict=True)]

    def ratio(gains) -> float:
        worth = [total(relevance, lambda g: g == fewest), total(relevance, lambda g: g != fewest)]
        got = [total(gains, lambda g: g == fewest), total(gains, lambda g: g != fewest)]
        return (got[0] / worth[0]) / (got[1] / worth[1]) if min(*worth, got[1]) > 0 else math.nan

    definitions = {
        "exposure_ratio": min(means) / max(means),
        "pairwise": sum(abs(a - b) for i, a in enumerate(means) for b in means[i + 1 :]),
        "max_violation": max(abs(e - sum(x) / len(x)) for e in means),
        "EE-D": sum(a * a for a in x),
        "EE-R": sum(a * b for a, b in zip(x, t, strict=True)),
        "EE-L": sum((a - b) ** 2 for a, b in zip(x, t, strict=True)),
        "EE-L(of=groups)": sum(
            (total(x, lambda g, n=name: g == n) - total(t, lambda g, n=name: g == n)) ** 2 for name in names
        ),
        "IAA": sum(abs(a / sum(x) - b / sum(relevance)) for a, b in zip(x, relevance, strict=True)),
        "Gini": reference.gini(x),
        "DTR": ratio(x),
        "DIR": ratio(clicks),
    }
    found = measure(dataset(one), list(definitions))
    for name, expected in definitions.items():
        assert found.values[name][0] == pytest.approx(expected, abs=1e-12, nan_ok=True), name


def test_a_list_by_hand():
    """Women at 2 and 5 of five places, men at the others; v = 1/2, 1/3, 1/4, 1/5, 1/6."""
    data = one_ranking("MWMMW", [1, 1, 0, 0, 1])
    found = measure(data, ["exposure_ratio", "Skew@2", "ARP", "impact_ratio@3", "DTR", "infeasible_index"]).values
    women, men = (1 / 3 + 1 / 6) / 2, (1 / 2 + 1 / 4 + 1 / 5) / 3
    assert found["exposure_ratio"][0] == pytest.approx(women / men)
    assert found["Skew@2"][0] == pytest.approx(math.log(0.5 / 0.4))
    assert found["ARP"][0] == pytest.approx(4 / 6 - 2 / 6)  # of 6 mixed pairs men win 2 + 1 + 1, women 2
    assert found["impact_ratio@3"][0] == pytest.approx((1 / 2) / (2 / 3))
    assert found["DTR"][0] == pytest.approx((women / 1) / (men / (1 / 3)))  # every woman is relevant, one man in three
    assert found["infeasible_index"][0] == 0  # women need 0, 0, 1, 1, 2; men 0, 1, 1, 2, 3


def test_the_infeasible_index_looks_at_the_last_prefix_too():
    found = measure(one_ranking("AAB"), "infeasible_index(target={'A': 0.3, 'B': 0.7})".replace("'", '"'))
    # Wanted of B among the first 1, 2, 3: 0, 1, 2. There are 0, 0, 1.
    assert next(iter(found.values.values()))[0] == 2


@settings(max_examples=25, deadline=None)
@given(st.lists(small_lists(), min_size=1, max_size=3), st.floats(0, 0.1))
def test_for_policies_the_expectation_is_over_the_lottery(lists, delta):
    data = dataset(*lists)
    policies = fair_policies(data, Fairness(delta=delta))
    found = measure(data, ["NDKL", "ARP", "AWRF", "impact_ratio@2", "AWRFxnDCG"], policies=policies)
    for q, one in enumerate(lists):
        for name, value in _over_lottery(one, policies[q]).items():
            assert found.values[name][q] == pytest.approx(value, abs=1e-12), name


def _over_lottery(one, policy) -> dict[str, float]:
    target, trec = reference.list_target(one["groups"]), reference.trec_attention

    def expected(value) -> float:
        return sum(p * value(tuple(r)) for p, r in zip(policy.probabilities, policy.rankings, strict=True))

    def utility(order) -> float:
        return reference.ndcg_of([one["relevance"][item] for item in order], trec)

    return {
        "NDKL": expected(lambda o: reference.ndkl(shown(one, o), target)),
        "ARP": expected(lambda o: reference.arp(shown(one, o))),
        "AWRF": expected(lambda o: reference.awrf(shown(one, o), target, lambda j: 1 / (1 + j))),
        "impact_ratio@2": expected(lambda o: reference.impact_ratio(shown(one, o), 2)),
        "AWRFxnDCG": expected(lambda o: reference.awrf(shown(one, o), target, trec) * utility(o)),
    }


def test_the_exposure_model_is_the_one_that_is_chosen():
    data = one_ranking("ABBA")
    steep = measure(data, "exposure_ratio", fairness=Fairness(delta=0, position_bias=PositionBias(shift=0)))
    assert steep.values["exposure_ratio"][0] == pytest.approx((1 / 2 + 1 / 3) / (1 + 1 / 4))


def test_targets():
    data = dataset(
        {"groups": "AAB", "scores": [3, 2, 1], "relevance": [1, 0, 3]},
        {"groups": "ABBB", "scores": [4, 3, 2, 1], "relevance": [0, 0, 0, 1]},
    )
    wanted = {
        "list": ({"A": 2 / 3, "B": 1 / 3}, {"A": 1 / 4, "B": 3 / 4}),
        "data": ({"A": 3 / 7, "B": 4 / 7},) * 2,
        "uniform": ({"A": 1 / 2, "B": 1 / 2},) * 2,
        "relevant": ({"A": 1 / 4, "B": 3 / 4}, {"A": 0.0, "B": 1.0}),
    }
    for name, targets in wanted.items():
        found = measure(data, ["AWRF", "NDKL"], target=name).values
        for q, (shown_groups, target) in enumerate(zip(("AAB", "ABBB"), targets, strict=True)):
            expected = reference.awrf(list(shown_groups), target, lambda j: 1 / (1 + j))
            assert found["AWRF"][q] == pytest.approx(expected), (name, q)
            if target["A"]:
                assert found["NDKL"][q] == pytest.approx(reference.ndkl(list(shown_groups), target))
            else:
                assert np.isnan(found["NDKL"][q])
    given_shares = measure(data, "AWRF", target={"A": 1, "B": 3}).values["AWRF"]
    assert given_shares[0] == pytest.approx(reference.awrf(list("AAB"), {"A": 0.25, "B": 0.75}, lambda j: 1 / (1 + j)))


def test_equal_attention_over_lists_makes_up_for_what_one_list_lacks():
    """Two lists of the same two items, each on top once: unequal in each list, equal over both."""
    data = dataset(
        {"groups": "AB", "scores": [2, 1], "relevance": [1, 1]}, {"groups": "AB", "scores": [1, 2], "relevance": [1, 1]}
    ).replace(item_ids=np.array(["x", "y", "x", "y"]))
    entry = measure(data, "IAA").summary["measures"]["IAA"]
    assert entry["mean"] == pytest.approx(2 * (0.6 - 0.5))  # shares of 1/2 and 1/3: 0.6 and 0.4
    assert entry["overall"] == pytest.approx(0.0)


def test_the_impact_ratio_of_the_data_counts_selections_over_all_lists():
    data = dataset({"groups": "AAB", "scores": [3, 2, 1]}, {"groups": "ABB", "scores": [1, 2, 3]})
    entry = measure(data, "impact_ratio@1").summary["measures"]["impact_ratio@1"]
    assert entry["overall"] == pytest.approx(1.0)  # one of three A, one of three B
    assert entry["mean"] == 0.0


def test_values_stay_within_their_limits():
    rng = np.random.default_rng(0)
    lists = [
        {
            "groups": [*"ABC", *rng.choice(list("ABC"), 27)],
            "scores": rng.integers(0, 12, 30),
            "relevance": rng.integers(0, 3, 30),
        }
        for _ in range(40)
    ]
    found = measure(dataset(*lists), "all")
    for chosen in found.measures:
        values = found.values[str(chosen)]
        low, high = chosen.limits
        assert np.nanmin(values) >= low - 1e-9
        assert np.nanmax(values) <= high + 1e-9


def test_every_measure_says_what_it_is():
    for entry in MEASURES.values():
        assert entry.description.endswith("."), entry.name
        assert entry.formula, entry.name
        assert entry.source, entry.name
