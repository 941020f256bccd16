"""The measures that other packages have too, against those packages; where they differ, which of the two is wrong."""

from __future__ import annotations

import itertools
import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from FairRankTune import Metrics

from spofr_core import Fairness, PositionBias, measure
from spofr_core.measures.prefixes.fair_top_k import failure_probability, minimum_counts
from tests.measures.lists import dataset

LOG_DISCOUNT = PositionBias(values=tuple(1 / np.log2(np.arange(1, 41) + 1)))
"""The exposure 1/log2(1 + j) that FairRankTune fixes."""
FAIRSEARCH = json.loads((Path(__file__).parent / "peers" / "fairsearch_values.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def lists():
    """Thirty rankings of twenty with two to four groups of unequal sizes."""
    rng = np.random.default_rng(3)
    found = []
    for _ in range(30):
        names = list("ABCD")[: rng.integers(2, 5)]
        groups = [*names, *rng.choice(names, 20 - len(names), p=None)]
        found.append({"groups": groups, "scores": rng.permutation(20), "relevance": rng.uniform(0.1, 1, 20)})
    return found


def frames(one):
    """A ranking as FairRankTune takes it: a column of items from the top down, and a group for each."""
    order = np.argsort(-np.asarray(one["scores"]))
    items = [f"i{item}" for item in order]
    groups = dict(zip(items, [one["groups"][item] for item in order], strict=True))
    return pd.DataFrame(items), groups, pd.DataFrame(np.asarray(one["relevance"])[order])


def test_the_peer_is_the_one_that_the_tests_were_written_against():
    assert version("fairranktune") == "0.0.7"  # FairRankTune/Metrics/{ARP,EXP,NDKL,AWRF,IAA}.py


def test_arp_is_that_of_fairranktune(lists):
    found = measure(dataset(*lists), "ARP").values["ARP"]
    theirs = [Metrics.ARP(*frames(one)[:2], "MaxMinDiff")[0] for one in lists]
    np.testing.assert_allclose(found, theirs, rtol=0, atol=1e-9)


def test_the_exposure_ratio_is_that_of_fairranktune(lists):
    found = measure(dataset(*lists), "exposure_ratio", fairness=Fairness(delta=0, position_bias=LOG_DISCOUNT))
    theirs = [Metrics.EXP(*frames(one)[:2], "MinMaxRatio")[0] for one in lists]
    np.testing.assert_allclose(found.values["exposure_ratio"], theirs, rtol=0, atol=1e-9)


def test_the_treatment_ratio_is_that_of_fairranktune_for_two_groups(lists):
    two = [one | {"groups": ["A" if g == "A" else "B" for g in one["groups"]]} for one in lists]
    asked = Fairness(delta=0, position_bias=LOG_DISCOUNT)
    found = measure(dataset(*two), "DTR(group=A)", fairness=asked).values["DTR(group=A)"]
    for value, one in zip(found, two, strict=True):
        ranking, groups, relevance = frames(one)
        by_group = Metrics.EXPU(ranking, groups, relevance, "MinMaxRatio")[1]
        assert value == pytest.approx(by_group["A"] / by_group["B"], abs=1e-9)


def test_ndkl_differs_from_fairranktune_by_its_epsilon_only(lists):
    """FairRankTune adds 1e-7 to every share, so that its divergence of two equal distributions of G groups is not of
    distributions any more. The definition has no epsilon: 0 ln 0 is 0. The difference is of the order of the epsilon.
    """
    found = measure(dataset(*lists), "NDKL").values["NDKL"]
    theirs = np.array([Metrics.NDKL(*frames(one)[:2]) for one in lists])
    np.testing.assert_allclose(found, theirs, rtol=0, atol=1e-5)
    assert np.abs(found - theirs).max() > 1e-9  # so the difference is theirs: with their epsilon it is nil

    def with_epsilon(one) -> float:
        order = np.argsort(-np.asarray(one["scores"]))
        shown = [one["groups"][item] for item in order]
        names = sorted(set(shown))
        target = np.array([shown.count(name) / len(shown) for name in names]) + 1e-7
        weights = 1 / np.log2(np.arange(2, len(shown) + 2))
        terms = []
        for k in range(1, len(shown) + 1):
            share = np.array([shown[:k].count(name) / k for name in names]) + 1e-7
            terms.append(np.sum(share * np.log(share / target)))
        return float(weights @ terms / weights.sum())

    np.testing.assert_allclose([with_epsilon(one) for one in lists], theirs, rtol=0, atol=1e-9)


def test_iaa_is_not_that_of_fairranktune_which_compares_what_has_no_common_scale(lists):
    """FairRankTune takes the attention 1/log2(1 + j) and the relevance as they are, where the definition (Biega et al.,
    equation 1) has both sum to 1 over a ranking, and it returns from inside its loop after the first ranking.
    """
    ranking, _, relevance = frames(lists[0])
    both = pd.concat([ranking, ranking.iloc[::-1].reset_index(drop=True)], axis=1, ignore_index=True)
    worth = pd.concat([relevance, relevance], axis=1, ignore_index=True)
    first = Metrics.IAA(ranking, relevance)
    assert Metrics.IAA(both, worth) == first  # the second ranking is never looked at
    attention = 1 / np.log2(np.arange(2, 22))
    assert first == pytest.approx(np.abs(attention - relevance[0].to_numpy()).sum())
    asked = Fairness(delta=0, position_bias=LOG_DISCOUNT)
    ours = measure(dataset(lists[0]), "IAA", fairness=asked).values["IAA"][0]
    shares = attention / attention.sum() - relevance[0].to_numpy() / relevance[0].sum()
    assert ours == pytest.approx(np.abs(shares).sum(), abs=1e-9)


@pytest.mark.parametrize("case", FAIRSEARCH, ids=lambda case: f"{case['k']}-{case['p']}-{case['alpha']}")
def test_minimum_counts_are_those_of_fairsearchcore(case):
    """fairsearchcore 1.0.4, mtable_generator.py. Its probability of failing leaves out the last prefix
    (`compute_aux_mtable` ends one row early), so the level that it adjusts to is held up to the last prefix only.
    """
    k, p, alpha = case["k"], case["p"], case["alpha"]
    assert minimum_counts(k, p, alpha, adjusted=False).tolist() == case["unadjusted"]
    for kind in ("unadjusted", "adjusted"):
        table = np.array(case[kind], dtype=float)
        table[-1] = table[-2]  # no more is asked of the last prefix than of the one before
        assert failure_probability(table, p) == pytest.approx(case[f"{kind}_failure"], abs=1e-9)
    ours = minimum_counts(k, p, alpha)
    assert failure_probability(ours, p) <= alpha
    # Ours asks for as much as theirs wherever theirs keeps its promise.
    if failure_probability(np.array(case["adjusted"], dtype=float), p) <= alpha:
        assert (ours >= case["adjusted"]).all()


def test_fairsearchcore_exceeds_its_level_where_the_last_prefix_asks_for_more():
    case = next(case for case in FAIRSEARCH if (case["k"], case["p"]) == (10, 0.5))
    fails = 0
    for places in itertools.product((0, 1), repeat=10):  # every ranking of ten is as likely as any other
        fails += any(count < least for count, least in zip(itertools.accumulate(places), case["adjusted"], strict=True))
    assert fails / 2**10 > case["alpha"]
    assert fails / 2**10 == pytest.approx(failure_probability(np.array(case["adjusted"], dtype=float), 0.5))
