"""Gates: every row counts once, however it is written, and a margin is what a rival may be worse by."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy.stats import binomtest

from spofr_core import Comparison, Fairness, audit, compare, measure
from spofr_core.errors import ConfigError
from spofr_core.evaluation import SmallGroups
from spofr_core.evaluation.comparing.sign_flips import holm, sign_flip_test
from tests.evaluation.lists import dataset, random_dataset

SHARE = Fairness(delta="10%")
LOSS = 1 - 1 / np.log2(3)
"""What a list of two loses of its nDCG where the relevant item falls to the second place."""


def turned(n: int, of: int, measures=("ndcg",), **how) -> Comparison:
    """`of` lists of two items, of which the new ranking turns the first `n` round, for the worse."""
    groups, labels = [["a", "b"]] * of, [[1, 0]] * of
    small = SmallGroups(items=0, lists=0)
    now, new = dataset([[2, 1]] * of, groups, labels), dataset([[1, 2]] * n + [[2, 1]] * (of - n), groups, labels)
    sides = {name: audit(data, SHARE, small=small, **how) for name, data in (("now", now), ("new", new))}
    return compare(sides, measures=measures)


def shuffled(**how) -> dict:
    data = random_dataset(3, n_queries=60)
    other = data.with_scores(np.random.default_rng(5).random(data.n_items))
    return {"now": audit(data, SHARE, **how), "new": audit(other, SHARE, **how)}


def failed(found: Comparison, name: str, margin: float) -> bool:
    return bool(found.worse([name], tolerate={name: margin}))


@pytest.mark.parametrize(
    ("spelled", "name"),
    [
        ("nDCG@10", "ndcg"),
        ("ndcg(k=10)", "ndcg"),
        ("DCG", "dcg"),
        ("AWRF(target=list)", "AWRF"),
        ("Skew@10(target=list)", "Skew@10"),
    ],
)
def test_a_measure_that_is_there_already_is_no_second_row(spelled, name):
    asked = [] if name in ("ndcg", "dcg") else [name]
    plain, again = compare(shuffled(measures=asked)), compare(shuffled(measures=[*asked, spelled, spelled]))
    assert again.table["name"].tolist() == plain.table["name"].tolist()
    np.testing.assert_array_equal(again.table["p_holm"], plain.table["p_holm"])
    assert compare(shuffled(measures=[*asked, spelled]), measures=[spelled]).table["name"].tolist() == [name]
    assert again.differences(spelled).equals(plain.differences(name))
    assert [line.name for line in again.worse([spelled, name])] == [line.name for line in plain.worse([name])]


def test_another_depth_or_target_is_another_row():
    found = compare(shuffled(measures=["nDCG@3", "AWRF", "AWRF(target=uniform)"], cutoff=5))
    assert {"ndcg", "ndcg@3", "AWRF", "AWRF(target=uniform)"} <= set(found.table["name"])
    data = random_dataset(3, n_queries=60)
    sides = {str(k): measure(data.with_scores(data.score * k), ["AWRF", "AWRF(target=uniform)"], target="uniform")
             for k in (1, -1)}  # fmt: skip
    assert compare(sides).table["name"].tolist() == ["AWRF"]


def test_the_loss_of_every_list_is_tolerated_up_to_the_margin():
    found = turned(40, 40)
    assert [line.name for line in found.worse(["ndcg"])] == ["ndcg"]
    assert failed(found, "ndcg", 0.0)
    assert failed(found, "ndcg", LOSS - 0.001)
    assert not failed(found, "ndcg", LOSS + 0.001)
    assert not failed(turned(5, 5), "ndcg", 0.001)  # five lists cannot show it, with a margin as without one


def test_differences_are_tested_after_the_margin_is_taken_off():
    """Of 20 lists 12 lose: with a margin the gate asks about the mean of differences that are higher by it."""
    found = turned(12, 20)
    values = found.differences("ndcg")["difference"].to_numpy()
    (line,) = found.lines
    for margin in np.linspace(0.005, 0.6 * LOSS + 0.05, 25):
        p = sign_flip_test(values + margin, seed=0).p
        claimed = line.upper + margin < 0 and p <= 0.05
        assert failed(found, "ndcg", margin) == claimed, margin


def test_holm_goes_over_the_rows_with_their_margins():
    found = turned(12, 20, measures=["ndcg", "dcg", "pairwise", "violation"])
    rows = {line.name: line for line in found.lines}
    values = found.differences("ndcg")["difference"].to_numpy()
    seen = set()
    for margin in np.linspace(0.005, 0.2, 40):
        tested = [name for name, line in rows.items() if line.p is not None]
        p = [sign_flip_test(values + margin, seed=0).p if name == "ndcg" else rows[name].p for name in tested]
        adjusted = dict(zip(tested, holm(np.array(p)), strict=True))["ndcg"]
        claimed = rows["ndcg"].upper + margin < 0 and adjusted <= 0.05
        assert failed(found, "ndcg", margin) == claimed
        seen.add(claimed)
    assert seen == {True, False}


@pytest.mark.parametrize("name", ["ndcg", "fair", "exposure:a", "exposure_ratio", "violation", "AWRF"])
def test_a_gate_with_a_margin_fails_only_where_one_without_it_does_and_less_than_it_lost(name):
    """A ranking that puts group b last: everything is worse by more than little, and by no more than it is."""
    rng = np.random.default_rng(1)
    n, length = 80, 8
    groups, labels = [list("aabbabab")] * n, [[0, 0, 1, 0, 1, 0, 0, 1]] * n
    now = rng.random((n, length))
    new = now - np.where(np.array(groups) == "a", 0.5, 0.0)
    sides = {
        title: audit(dataset(scores, groups, labels), Fairness(delta="30%"), measures=["AWRF"])
        for title, scores in (("now", now), ("new", new if name != "ndcg" else -np.asarray(labels) + now))
    }
    found = compare(sides)
    line = next(line for line in found.lines if line.name == name)
    assert line.is_worse, line
    size, shown = abs(line.difference), min(abs(line.lower), abs(line.upper))
    assert failed(found, name, shown / 2)
    assert not failed(found, name, shown + 1e-6)
    assert not failed(found, name, size)
    assert found.worse([name], tolerate={"exposure" if name == "exposure:a" else name: shown / 2})
    back = compare(dict(reversed(sides.items())))
    assert not failed(back, name, shown / 2)


def test_a_gate_fails_seldom_where_the_loss_is_the_margin():
    """Differences of mean -margin: at most 5 % of gates may fail, half of the two-sided level."""
    rng, margin, times = np.random.default_rng(4), 0.3, 200
    gates = 0
    for _ in range(times):
        lost = (rng.random(40) < margin / LOSS).sum()  # so that the mean loss is the margin
        gates += failed(turned(int(lost), 40), "ndcg", margin)
    assert binomtest(gates, times, 0.05, alternative="greater").pvalue > 0.001


@pytest.mark.parametrize(
    ("tolerate", "told"),
    [
        ({"ndcg": -0.1}, "The margin of 'ndcg' is -0.1; give a number of 0 or more, such as 0.005."),
        ({"ndcg": float("nan")}, "The margin of 'ndcg' is nan; give"),
        ({"ndcg": float("inf")}, "The margin of 'ndcg' is inf; give"),
        ({"ndcg": True}, "The margin of 'ndcg' is True; give"),
        ({"ndcg": "much"}, "The margin of 'ndcg' is 'much'; give"),
        ({"beauty": 0.1}, "There is no 'beauty' to compare"),
        ({"dcg": 0.1}, "'dcg' has a margin and is no gate; the gates are 'ndcg', 'exposure:a'."),
        ({"ndcg": 0.1, "nDCG@10": 0.2}, "'ndcg' and 'nDCG@10' are margins of the same row; give one."),
        ({"exposure:a": 1.0}, "The margin of 'exposure:a' is 1.0; a group has no more than all to lose"),
    ],
)
def test_margins_that_say_nothing_are_refused(tolerate, told):
    found = turned(3, 40, measures=None)
    with pytest.raises(ConfigError) as caught:
        found.worse(["ndcg", "exposure:a"], tolerate=tolerate)
    assert str(caught.value).startswith(told)


def test_a_row_that_no_query_changes_is_never_worse():
    assert not any(map(partial(failed, turned(0, 40, measures=None), margin=0.1), ["ndcg", "exposure:a", "violation"]))
