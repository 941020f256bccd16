"""Items without a group keep their places and have no bound: policies, proofs, files and services."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

from spofr_core import Fairness, Quota, fair_policies, fair_policy, verify
from spofr_core.data import NO_GROUP, UNKNOWN, RankingDataset
from spofr_core.errors import ConfigError, DataError, InfeasibleFairness
from spofr_core.policy import Policies
from spofr_core.serving import Reranker
from tests.policy.lists import Case, cases

SCORES = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4]
GROUPS = ["a", None, "a", "b", None, "b"]
FAIRNESS = Fairness(delta=0.02)


def solved(case: Case, **options: object):
    return fair_policy(
        case.scores,
        case.groups,
        case.fairness,
        discount=case.discount,
        on_infeasible="relax",
        missing="keep",
        **options,
    )


@settings(max_examples=150, deadline=None)
@given(cases(notions=("exposure", "merit"), some_ungrouped=True))
def test_every_policy_is_proved_as_good_as_another_solver_and_written_down_whole(case: Case) -> None:
    policy = solved(case)
    certificate = json.loads(json.dumps(policy.certificate))
    named = sorted({group for group in case.groups if group is not None})
    assert sorted(policy.violations) == sorted(certificate["multipliers"]) == sorted(certificate["bounds"]) == named
    for claim in (policy, certificate):
        found = verify(claim, case.scores, case.groups, case.fairness, allow_relaxed=True, missing="keep")
        assert found.ok, found.reasons
    assert not any("GLOP" in note for note in policy.notes)
    other = solved(case, solver="glop")
    assert policy.utility == pytest.approx(other.utility, rel=1e-9, abs=1e-9 * np.abs(case.scores).max() * len(SCORES))
    reranker = Reranker(case.fairness, discount=case.discount, on_infeasible="relax", missing="keep")
    shown = reranker.rank(case.scores, case.groups)
    assert shown.ranking.tolist() in policy.rankings.tolist()


@settings(max_examples=60, deadline=None)
@given(cases(notions=("exposure", "merit"), some_ungrouped=True))
def test_a_broken_policy_is_refused(case: Case) -> None:
    certificate = solved(case).certificate
    check = {"allow_relaxed": True, "missing": "keep"}
    swapped = {**certificate, "rankings": [ranking[::-1] for ranking in certificate["rankings"]]}
    if np.ptp(case.scores) > 0 and len(case.scores) > 1:
        assert not verify(swapped, case.scores, case.groups, case.fairness, **check).ok
    for wrong in ({"probabilities": [1.1 * p for p in certificate["probabilities"]]}, {"multipliers": {"nobody": 0.0}}):
        assert not verify({**certificate, **wrong}, *_asked(case), **check).ok
    assert not verify({**certificate, "utility": certificate["utility"] + 1e9}, *_asked(case), **check).ok


def _asked(case: Case):
    return case.scores, case.groups, case.fairness


def test_a_list_without_two_named_groups_is_sorted_by_score_and_has_no_bound() -> None:
    for groups in (["a", None, "a", None, None, None], [None] * 6):
        policy = fair_policy(SCORES, groups, FAIRNESS, missing="keep")
        assert policy.rankings.tolist() == [list(range(6))]
        assert verify(policy, SCORES, groups, FAIRNESS, missing="keep").ok
        assert Reranker(FAIRNESS, missing="keep").rank(SCORES, groups).how == "fair"
        assert policy.groups == tuple(groups)


def test_a_check_says_of_whom_delta_holds() -> None:
    """Items of no group are nobody's; of those whose group is unknown nothing is known."""
    for codes, of in (([0, -1, 1, 1], " for the items whose group is known"), ([0, -2, 1, 1], "")):
        asked = {"offsets": [0, 4], "fairness": FAIRNESS, "group_names": ("a", "b")}
        groups = np.array(codes, dtype=np.int32)
        found = verify(fair_policies(SCORES[:4], groups, **asked), SCORES[:4], groups, **asked)
        assert f" holds delta{of};" in found.sentence
        assert found.summary["unknown"] == codes.count(-1)


def test_missing_groups_are_refused_unless_they_are_to_be_kept() -> None:
    words = "The group of item 1 is missing: use missing='keep'"
    for call in (
        lambda: fair_policy(SCORES, GROUPS, FAIRNESS),
        lambda: fair_policies(SCORES, GROUPS, [0, 6], FAIRNESS),
        lambda: Reranker(FAIRNESS).rank(SCORES, GROUPS),
        lambda: verify(fair_policy(SCORES, GROUPS, FAIRNESS, missing="keep"), SCORES, GROUPS, FAIRNESS),
    ):
        with pytest.raises(DataError, match=words):
            call()
    with pytest.raises(ConfigError, match="one of \\['error', 'keep'\\], got 'own_group'"):
        fair_policy(SCORES, GROUPS, FAIRNESS, missing="own_group")
    kept = fair_policy(SCORES, GROUPS, FAIRNESS, missing="keep")
    for nothing in (np.nan, pd.NA):
        groups = [nothing if group is None else group for group in GROUPS]
        assert fair_policy(SCORES, groups, FAIRNESS, missing="keep").utility == kept.utility
    with pytest.raises(ConfigError, match="The gap notion takes lists whose items are all of one of two groups"):
        fair_policy(SCORES, GROUPS, Fairness(delta=0.1, notion="gap"), missing="keep")


def test_which_items_have_no_group_is_said_by_the_data_of_whoever_verifies() -> None:
    policy = fair_policy(SCORES, GROUPS, FAIRNESS, missing="keep")
    others = ["a", "b", "a", "b", None, "b"]
    for claim in (policy, policy.certificate):
        assert not verify(claim, SCORES, others, FAIRNESS, missing="keep").ok


def test_datasets_tables_and_warm_starts() -> None:
    rng = np.random.default_rng(5)
    groups = rng.integers(NO_GROUP, 3, 120).astype(np.int32)
    data = RankingDataset(
        query_ids=np.arange(10),
        offsets=np.arange(0, 121, 12),
        item_ids=np.tile(np.arange(12), 10),
        groups=groups,
        group_names=("a", "b", "c"),
        score=rng.normal(size=120) + 0.5 * groups,
    )
    policies = fair_policies(data, FAIRNESS)
    check = {"offsets": data.offsets, "group_names": data.group_names}
    assert verify(policies, data.score, data.groups, FAIRNESS, **check).ok
    assert np.nanmax(np.abs(policies.violations)) <= 0.02 + 1e-9
    back = Policies.from_frame(policies.to_frame(), data, FAIRNESS)
    assert back.group_exposure == pytest.approx(policies.group_exposure, nan_ok=True)
    again = fair_policies(data, Fairness(delta=0.01), warm=policies)
    assert again.utility == pytest.approx(fair_policies(data, Fairness(delta=0.01)).utility)
    assert policies.shadow_prices.shape == (10, 3)
    kinds = data.with_groups(np.where(groups == NO_GROUP, UNKNOWN, groups), data.group_names)
    assert np.array_equal(fair_policies(kinds, FAIRNESS).solution.rankings, policies.solution.rankings)


def test_quotas_count_named_items_of_the_whole_list() -> None:
    fairness = Fairness(delta=1.0, every_ranking=Quota(slack=0))
    policy = fair_policy(SCORES, GROUPS, fairness, missing="keep")
    shown = [[GROUPS[i] for i in ranking] for ranking in policy.rankings]
    for groups in shown:
        for k in range(1, 7):
            for name in ("a", "b"):
                assert 2 * k // 6 <= groups[:k].count(name) <= -(-2 * k // 6)
    both = Fairness(delta=1.0, every_ranking=Quota(minimum={"a": {2: 2}, "b": {2: 1}}))
    with pytest.raises(InfeasibleFairness, match="its first 2 positions: it has 6 items, 2 of a, 2 of b"):
        fair_policy(SCORES, GROUPS, both, missing="keep")


def test_nan_beside_texts_in_a_list_is_a_group_that_is_missing() -> None:
    labels = ["a", float("nan"), "a", "b", float("nan"), "b"]
    policy = fair_policy(SCORES, labels, FAIRNESS, missing="keep")
    assert list(policy.violations) == ["a", "b"]
    assert verify(policy, SCORES, labels, FAIRNESS, missing="keep").unknown == 2
    assert list(fair_policy(SCORES, ["a", "nan", "a", "b", "nan", "b"], FAIRNESS).violations) == ["a", "b", "nan"]
    data = RankingDataset.from_frame(
        pd.DataFrame({"query_id": 1, "item_id": range(6), "group": GROUPS, "score": SCORES})
    )
    assert data.with_groups(labels, missing="keep").unknown.sum() == 2
    refusals = (
        lambda: fair_policy(SCORES, labels, FAIRNESS),
        lambda: fair_policies(SCORES, labels, [0, 6], FAIRNESS),
        lambda: Reranker(FAIRNESS).rank(SCORES, labels),
        lambda: data.with_groups(labels),
    )
    for refused in refusals:
        with pytest.raises(DataError, match="The group of item 1 is missing"):
            refused()
