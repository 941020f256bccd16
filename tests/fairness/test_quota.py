"""What a quota says, and the windows that it leaves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spofr_core import ConfigError, Fairness, Quota
from spofr_core.fairness import Composition
from spofr_core.policy.proof.prefixes import prefix_limits


def test_a_quota_survives_json_and_leaves_no_trace_where_there_is_none():
    quota = Quota(slack=1, top=10, minimum={"women": {10: 2}})
    fairness = Fairness(delta=0.05, every_ranking=quota)
    assert fairness.to_dict()["every_ranking"] == {"slack": 1, "top": 10, "minimum": {"women": {"10": 2}}}
    assert Fairness.from_dict(fairness.to_dict()) == fairness
    assert "every_ranking" not in Fairness(delta=0.05).to_dict()
    assert fairness.with_delta(0.1).every_ranking == quota
    assert fairness.with_quota(None) == Fairness(delta=0.05)


@pytest.mark.parametrize(
    ("given_", "said"),
    [
        ({}, "give slack, such as slack=1, or a minimum"),
        ({"slack": -1}, "slack is -1"),
        ({"slack": 1, "top": 0}, "top is 0"),
        ({"top": 3, "minimum": {"a": {1: 1}}}, "top goes with slack"),
        ({"minimum": {"a": {3: 4}}}, "4 among the first 3"),
        ({"minimum": {"a": {}}}, "has no depth"),
        ({"slack": 0.5}, "slack"),
    ],
)
def test_a_quota_that_makes_no_sense_is_refused(given_, said):
    with pytest.raises(ConfigError, match=said):
        Quota(**given_)


def windows_of(quota, sizes):
    found = quota.windows(Composition(np.array([sizes]), tuple("abcdef"[: len(sizes)])))
    return found.earliest.tolist(), found.latest.tolist(), int(found.impossible[0])


def test_windows_by_hand():
    # 3 of a and 7 of b: shares of a in prefixes of 1 .. 10 are 0.3, 0.6, 0.9, 1.2, 1.5, 1.8, 2.1, 2.4, 2.7, 3
    earliest, latest, impossible = windows_of(Quota(slack=0), [3, 7])
    assert earliest[:3] == [0, 3, 6]
    assert latest[:3] == [3, 6, 9]
    assert impossible == 0
    # up to four positions only: the second of a may come at the fourth, the third after it, and the first is due then
    earliest, latest, _ = windows_of(Quota(slack=0, top=4), [3, 7])
    assert earliest[:3] == [0, 3, 4]
    assert latest[:3] == [3, 9, 9]
    assert windows_of(Quota(minimum={"a": {5: 2}}), [3, 7])[:2] == ([0] * 10, [4, 4, 9, *[9] * 7])


def test_lists_of_one_group_have_no_quota():
    assert windows_of(Quota(slack=0), [4, 0])[:2] == ([0] * 4, [3] * 4)
    assert windows_of(Quota(minimum={"a": {1: 1}}), [0, 4])[2] == 0


@given(
    sizes=st.lists(st.integers(0, 6), min_size=2, max_size=4).filter(lambda sizes: sum(size > 0 for size in sizes) > 1),
    slack=st.none() | st.integers(0, 2),
    top=st.none() | st.integers(1, 12),
    minima=st.dictionaries(
        st.sampled_from("ab"), st.dictionaries(st.integers(1, 12), st.integers(0, 4), min_size=1, max_size=2)
    ),
)
def test_windows_are_those_that_the_proof_derives_from_the_counts(sizes, slack, top, minima):
    minima = {name: {depth: min(count, depth) for depth, count in depths.items()} for name, depths in minima.items()}
    if slack is None and not minima:
        minima = {"a": {1: 1}}
    quota = Quota(slack=slack, top=None if slack is None else top, minimum=minima or None)
    earliest, latest, impossible = windows_of(quota, sizes)
    labels = np.repeat(list("abcd")[: len(sizes)], sizes)
    limits = prefix_limits(quota, labels)
    assert limits is not None
    assert impossible == limits.first_impossible
    if not impossible:
        first, last = limits.windows()
        assert earliest == first.tolist()
        assert latest == last.tolist()
    if not minima:
        assert impossible == 0
