"""Policies with each item on its own: against HiGHS, by hand, and against a group column that says the same."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spofr_core import Discount, Fairness, PositionBias, fair_policies, fair_policy, verify
from spofr_core.data import RankingDataset
from spofr_core.errors import ConfigError
from spofr_core.fairness import Quota
from spofr_core.policy import verify_file
from spofr_core.policy.proof.certificate import write_certificates
from tests.policy.reference import reference_optimum


def dataset(*lists) -> RankingDataset:
    scores = np.concatenate([np.asarray(each, dtype=float) for each in lists])
    offsets = np.cumsum([0, *map(len, lists)])
    plain = RankingDataset(
        query_ids=np.array([f"q{k}" for k in range(len(lists))]),
        offsets=offsets,
        item_ids=np.arange(len(scores)),
        groups=np.zeros(len(scores), dtype=np.int32),
        group_names=("all",),
        score=scores,
    )
    return plain.with_each_item()


def drawn(seed: int, *, ties: bool) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    lists = [rng.random(n) for n in (1, 2, 3, 5, 8, 13)]
    return [np.round(3 * scores) / 3 for scores in lists] if ties else lists


@pytest.mark.parametrize("ties", [False, True], ids=["distinct", "ties"])
@pytest.mark.parametrize("cutoff", [None, 3], ids=["all positions", "top 3"])
@pytest.mark.parametrize(("delta", "unit"), [(0.0, "absolute"), (0.03, "absolute"), (0.1, "share"), (0.6, "share")])
def test_the_utility_is_that_of_the_reference(delta, unit, cutoff, ties):
    bias, discount = PositionBias(cutoff=cutoff), Discount()
    lists = drawn(7, ties=ties)
    policies = fair_policies(dataset(*lists), Fairness(delta=delta, unit=unit, position_bias=bias))
    for policy, scores in zip(policies, lists, strict=True):
        n = len(scores)
        v, w = bias.vector(n), discount.vector(n)
        width = delta * v.mean() if unit == "share" else delta
        if n == 1:
            width = np.inf  # nobody to be compared with
        best = reference_optimum(scores, np.arange(n), [v.mean() - width] * n, [v.mean() + width] * n, v, w)
        assert policy.utility == pytest.approx(best, abs=1e-8)
        assert np.all(np.abs(policy.exposure - v.mean()) <= width + 1e-9)


def test_at_delta_zero_every_item_gets_the_mean_and_the_utility_is_that_of_the_uniform_lottery():
    scores = np.array([3.0, 2.0, 2.0, 0.5, 0.0])
    policy = fair_policy(scores, range(5), Fairness(delta=0.0))
    v, w = PositionBias().vector(5), Discount().vector(5)
    assert policy.exposure == pytest.approx(np.full(5, v.mean()), abs=1e-12)
    # v and w are not proportional, so the best lottery with equal exposures may place items better than by chance.
    assert policy.utility >= scores.mean() * w.sum() - 1e-9
    # With the discount of the exposures themselves it cannot: utility = scores' (mean v) = mean score times sum of v.
    same = fair_policy(scores, range(5), Fairness(delta=0.0), discount=v)
    assert same.utility == pytest.approx(scores.mean() * v.sum(), abs=1e-12)


def test_two_items_share_the_first_position_as_worked_by_hand():
    """v = 1/2, 1/3, mean 5/12. delta 1/24: the better item has 5/12 + 1/24 = 11/24 = 3/4 of 1/2 and 1/4 of 1/3."""
    policy = fair_policy([1.0, 0.0], ["x", "y"], Fairness(delta=1 / 24))
    assert sorted(zip(policy.probabilities.round(12), policy.rankings.tolist(), strict=True)) == [
        (0.25, [1, 0]),
        (0.75, [0, 1]),
    ]
    whole = fair_policies(dataset([1.0, 0.0]), Fairness(delta=0.1, unit="share"))[0]  # 10 % of 5/12 is 1/24
    assert whole.probabilities.max() == pytest.approx(0.75, abs=1e-12)


def test_a_column_with_a_group_for_each_item_gives_the_same_lotteries():
    lists = drawn(3, ties=False)
    data = dataset(*lists)
    named = data.with_groups([f"{q}-{k:02}" for q, scores in enumerate(lists) for k in range(len(scores))])
    assert not named.each_item
    asked = Fairness(delta=0.2, unit="share")
    alone, grouped = fair_policies(data, asked), fair_policies(named, asked)
    assert alone.utility == pytest.approx(grouped.utility, abs=1e-9)
    assert alone.exposure == pytest.approx(grouped.exposure, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 9), st.integers(0, 10**6), st.sampled_from([0.0, 0.05, 0.3, 1.0]))
def test_the_order_of_the_rows_does_not_matter(n, seed, delta):
    rng = np.random.default_rng(seed)
    scores, order = rng.random(n), rng.permutation(n)
    asked = Fairness(delta=delta, unit="share")
    before, after = (fair_policies(dataset(each), asked)[0] for each in (scores, scores[order]))
    assert after.utility == pytest.approx(before.utility, abs=1e-9)
    assert after.exposure == pytest.approx(before.exposure[order], abs=1e-7)


def test_certificates_are_verified_without_a_solver(tmp_path):
    data = dataset(*drawn(11, ties=True))
    asked = Fairness(delta=0.15, unit="share")
    policies = fair_policies(data, asked)
    assert verify(policies, data.score, data.groups, asked, group_names=data.group_names).ok
    write_certificates(policies, tmp_path / "proof.jsonl")
    assert verify_file(tmp_path / "proof.jsonl", data, asked).ok
    policies.write(tmp_path / "policies.parquet")
    assert verify_file(tmp_path / "policies.parquet", data, asked).ok
    assert not verify_file(tmp_path / "policies.parquet", data, asked.with_delta(0.05)).ok


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (Fairness(delta=0.1, notion="gap"), "A gap is between two groups"),
        (Fairness(delta=0.1, notion="merit", merits={"item 1": 1.0, "item 2": 1.0}), "Merit is the mean label of a"),
        (Fairness(delta={"item 1": 0.1, "item 2": 0.2}), "no groups to give a delta each"),
        (Fairness(delta=0.1, every_ranking=Quota(slack=1)), "A quota counts the items of groups"),
    ],
    ids=["gap", "merit", "delta by group", "quota"],
)
def test_what_is_asked_of_groups_is_refused_in_a_sentence(asked, why):
    with pytest.raises(ConfigError, match=why):
        fair_policies(dataset([1.0, 0.0]), asked)
