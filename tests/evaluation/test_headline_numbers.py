"""What the headline rests on: lists that cannot fail, small groups, and intervals over queries."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spofr_core.data import load_hiring
from spofr_core.errors import ConfigError
from spofr_core.evaluation import SmallGroups, audit, measure_exposure, repair, sliced_exposure
from spofr_core.evaluation.intervals import RatiosOfSums
from spofr_core.fairness import Fairness, PositionBias
from spofr_core.reporting import verdict
from tests.evaluation.lists import dataset, random_dataset

EVERY_GROUP = SmallGroups(items=0, lists=0)


def entrants(lists: int = 5, length: int = 480):
    """Long lists in which every second item is of group b, and b stands below a as far as it can."""
    groups = ["a" * (length // 2) + "b" * (length // 2)] * lists
    return dataset([np.arange(length)[::-1].astype(float)] * lists, groups)


def test_long_lists_cannot_fail_an_absolute_delta_and_are_not_said_to_hold_it():
    result = audit(entrants(), Fairness(delta=0.05))
    counts = result.summary["queries"]
    assert {name: counts[name] for name in ("applicable", "cannot_fail", "judged", "fair", "share", "ci")} == {
        "applicable": 5, "cannot_fail": 5, "judged": 0, "fair": 0, "share": None, "ci": None,
    }  # fmt: skip
    assert result.table.cannot_fail.all()
    assert result.ok
    suggested = result.summary["suggested_delta"]
    assert audit(entrants(), Fairness(delta=suggested)).summary["queries"]["judged"] == 5
    assert audit(entrants(), Fairness(delta=0.1, unit="share")).summary["queries"]["judged"] == 5


def test_a_list_can_fail_up_to_the_violation_of_a_group_on_top():
    """One a above one b: e = 5/12, e_a = 1/2, so the largest violation is 1/12."""
    data = dataset([[1.0, 2.0]], ["ab"])
    for delta, judged in ((1 / 12 - 1e-6, 1), (1 / 12, 0), (0.5, 0)):
        assert audit(data, Fairness(delta=delta)).summary["queries"]["judged"] == judged


def test_one_strict_delta_of_many_can_be_exceeded():
    data = dataset([[1.0, 2.0]], ["ab"])
    for strict, judged in ((0.0, 1), (0.5, 0)):
        assert audit(data, Fairness(delta={"a": 0.5, "b": strict})).summary["queries"]["judged"] == judged


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10_000),
    delta=st.floats(0, 1),
    unit=st.sampled_from(["absolute", "share"]),
    notion=st.sampled_from(["exposure", "merit"]),
)
def test_curve_and_headline_agree_at_every_delta(seed, delta, unit, notion):
    merits = {"a": 1.0, "b": 0.5, "c": 2.0} if notion == "merit" else None
    data = random_dataset(seed, n_queries=12, labels=False)
    measured = measure_exposure(data, Fairness(delta=0.1, unit=unit, notion=notion, merits=merits))
    counts, strictest = (measured.judge(asked).summary["queries"] for asked in (delta, 0.0))
    steps = measured.fair_share()
    assert (steps[["delta", "hold", "cannot_fail", "share"]].diff().dropna() >= 0).all(axis=None)
    assert (steps["queries"] == strictest["judged"]).all()
    row = int(np.searchsorted(steps["delta"], delta + 1e-9, side="right")) - 1
    held, cannot_fail = steps[["hold", "cannot_fail"]].iloc[row] if row >= 0 else (0, 0)
    assert (held - cannot_fail, strictest["judged"] - cannot_fail) == (counts["fair"], counts["judged"])
    share = held / strictest["judged"] if strictest["judged"] else np.nan
    assert measured.share_at([delta])[0] == pytest.approx(share, nan_ok=True)


def test_lists_that_cannot_fail_a_larger_delta_stay_in_the_curve():
    """A pair can be off by 1/12 at most, and tied ones are by nothing; six with one a on top or last are by more."""
    data = dataset([[1.0, 1.0]] * 4 + [np.arange(6.0)] * 2, ["ab"] * 4 + ["bbbbba", "abbbbb"])
    steps = measure_exposure(data, Fairness(delta=0.0)).fair_share()
    assert steps["queries"].tolist() == [6] * len(steps)
    assert steps["share"].is_monotonic_increasing
    assert steps["hold"].tolist()[:2] == [4, 4]
    assert steps["delta"].tolist()[:2] == pytest.approx([0, 1 / 12])
    assert steps["cannot_fail"].tolist()[:2] == [0, 4], "without these the share would fall to 0 of 2"


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 10_000), share=st.floats(0.01, 20))
def test_where_a_delta_is_suggested_it_forbids_something_and_is_round(seed, share):
    data = random_dataset(seed, n_queries=6, labels=False)
    summary = audit(data, Fairness(delta=share, unit="share")).summary
    suggested = summary["suggested_delta"]
    if summary["queries"]["judged"] or not summary["queries"]["applicable"]:
        assert suggested is None
        return
    assert f"{suggested:e}"[0] in "125"
    assert set(f"{suggested:e}"[2:].split("e")[0]) == {"0"}
    assert suggested <= 0.1
    assert audit(data, Fairness(delta=suggested, unit="share")).summary["queries"]["judged"] > 0


def test_no_delta_is_suggested_where_none_could_forbid_anything():
    flat = Fairness(delta=0.0, position_bias=PositionBias(values=[1.0, 1.0]))
    summary = audit(dataset([[2.0, 1.0]], ["ab"]), flat).summary
    assert (summary["queries"]["cannot_fail"], summary["suggested_delta"]) == (1, None)


def with_one_stranger():
    """Twelve lists of a and b in turn, in the first of which a stranger stands on top; a thirteenth of a alone."""
    groups = ["c" + "ab" * 3] + ["ab" * 3] * 11 + ["aa"]
    return dataset([np.arange(len(g))[::-1].astype(float) for g in groups], groups)


def test_a_small_group_writes_neither_ratio_nor_worst_query_nor_gap():
    data = with_one_stranger()
    whole = audit(data, Fairness(delta=0.1), small=EVERY_GROUP).summary
    assert (whole["exposure_ratio"]["highest"], whole["worst"][0]["group"]) == ("c", "c")
    assert whole["violation"]["signed_group"] == "c"
    summary = audit(data, Fairness(delta=0.1)).summary
    assert {name: group["small"] for name, group in summary["groups"].items()} == {"a": False, "b": False, "c": True}
    assert summary["small_groups"] == {"items": 30, "lists": 10}
    assert {summary["exposure_ratio"]["lowest"], summary["exposure_ratio"]["highest"]} == {"a", "b"}
    assert "c" not in {row["group"] for row in summary["worst"]}
    assert summary["violation"]["signed_group"] != "c"
    assert summary["violation"]["max"] == whole["violation"]["max"]
    assert (summary["groups"]["a"]["items"], summary["groups"]["a"]["compared"]) == (38, 36)


def test_lists_that_only_small_groups_break_are_counted():
    summary = audit(with_one_stranger(), Fairness(delta=0.1)).summary
    assert (summary["queries"]["judged"] - summary["queries"]["fair"], summary["queries"]["small_only"]) == (1, 1)
    strict = audit(with_one_stranger(), Fairness(delta=0.01)).summary
    assert (strict["queries"]["fair"], strict["queries"]["small_only"]) == (0, 0)


def test_in_few_lists_a_group_must_be_in_each():
    assert not SmallGroups().of(audit(entrants(5), Fairness(delta=0.1)).table).any()
    groups = ["a" * 40 + "b" * 40] * 4 + ["a" * 40 + "c" * 40]
    data = dataset([np.arange(80.0)] * 5, groups)
    assert SmallGroups().of(audit(data, Fairness(delta=0.1)).table).tolist() == [False, True, True]


def test_a_bad_size_is_refused():
    with pytest.raises(ConfigError, match="items"):
        SmallGroups(items=-1)


def test_the_repair_keeps_the_sizes_of_its_measurement():
    data, asked = with_one_stranger(), Fairness(delta=0.1)
    measured = measure_exposure(data, asked, small=EVERY_GROUP)
    assert repair(data, asked, measured=measured).after.summary["small_groups"] == EVERY_GROUP.to_dict()


def plain_bootstrap(data, resamples=4000):
    """Resampled means of exposure per item, of the same relative to the lists' means, and of violation: plain numpy."""
    table = audit(data, Fairness(delta=0.05)).table
    rng = np.random.default_rng(1)
    draws = rng.integers(0, len(table), (resamples, len(table)))
    totals, items = (table.sizes * table.exposure)[draws].sum(axis=1), table.sizes[draws].sum(axis=1)
    means = (table.sizes * table.exposure).sum(axis=1, keepdims=True) / table.sizes.sum(axis=1, keepdims=True)
    return totals / items, totals / (table.sizes * means)[draws].sum(axis=1), table.violation[draws].mean(axis=1)


def test_intervals_of_groups_against_a_plain_bootstrap():
    data = load_hiring()[:150]
    exposure, relative, violation = plain_bootstrap(data)
    summary = audit(data, Fairness(delta=0.05)).summary
    for g, group in enumerate(summary["groups"].values()):
        close_to(group["exposure_ci"], exposure[:, g])
        close_to(group["relative_ci"], relative[:, g])
        close_to(group["violation_ci"], violation[:, g])
    close_to(summary["exposure_ratio"]["ci"], relative[:, 0] / relative[:, 1])


def test_relative_exposure_by_hand():
    """A list of two and one of three, v = 1/2, 1/3, 1/4: a gets 1/2 + 1/4 where 5/12 + 13/36 would be the mean."""
    summary = audit(dataset([[2, 1], [3, 2, 1]], ["ab", "bba"]), Fairness(delta=0.1)).summary
    assert summary["groups"]["a"]["relative_mean"] == pytest.approx((3 / 4) / (5 / 12 + 13 / 36))
    assert summary["groups"]["b"]["relative_mean"] == pytest.approx((1 / 3 + 5 / 6) / (5 / 12 + 2 * 13 / 36))


def close_to(interval, draws):
    expected = np.quantile(draws, [0.025, 0.975])
    np.testing.assert_allclose(interval, expected, atol=0.08 * (expected[1] - expected[0]))


def test_the_linearised_interval_is_what_the_bootstrap_comes_to(monkeypatch):
    rng = np.random.default_rng(3)
    sizes = rng.integers(1, 9, (3000, 2)).astype(float)
    totals = sizes * rng.gamma(2.0, [0.1, 0.2], (3000, 2))
    drawn = RatiosOfSums(totals, sizes, seed=0, resamples=4000)
    monkeypatch.setattr(RatiosOfSums, "MOST_CELLS", 10)
    linear = RatiosOfSums(totals, sizes, seed=0)
    for one, other in (
        (linear.interval(0), drawn.interval(0)),
        (linear.interval(1, confidence=0.8), drawn.interval(1, confidence=0.8)),
        (linear.quotient_interval(0, 1), drawn.quotient_interval(0, 1)),
    ):
        np.testing.assert_allclose(one, other, atol=0.06 * (one[1] - one[0]))


def test_one_query_has_no_interval():
    one = RatiosOfSums(np.array([[1.0, 0.0]]), np.array([[2.0, 0.0]]), seed=0)
    assert one.values[0] == 0.5
    assert np.isnan(one.values[1])
    assert (one.interval(0), one.interval(1), one.quotient_interval(0, 1)) == (None, None, None)


def test_the_pair_of_extremes_among_many_groups_has_a_wider_interval_than_a_pair_that_was_named():
    rng = np.random.default_rng(5)
    sizes = np.full((80, 6), 3.0)
    ratios = RatiosOfSums(sizes * rng.gamma(2.0, 0.1, (80, 6)), sizes, seed=0)
    named, picked = (ratios.quotient_interval(0, 1, confidence=1 - 0.05 / pairs) for pairs in (1, 15))
    assert picked[0] < named[0] < named[1] < picked[1]


def test_equal_groups_are_seldom_told_apart():
    """Twelve groups that chance alone orders: the interval of the extreme pair excludes 1 in few of 40 audits."""
    told = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        groups = ["".join(rng.permutation(list("abcdefghijkl") * 2)) for _ in range(30)]
        data = dataset([rng.random(24) for _ in groups], groups)
        low, high = audit(data, Fairness(delta=0.1), seed=seed).summary["exposure_ratio"]["ci"]
        told += not low <= 1 <= high
    assert told <= 6


def test_where_all_groups_get_the_same_none_is_compared_with_itself():
    tied = dataset([np.zeros(9)] * 40, ["abcabcabc"] * 40)  # every order is as likely
    result = audit(tied.replace(attributes={"site": np.repeat(["x", "y"], 20)}), Fairness(delta=0.1))
    ratio = result.summary["exposure_ratio"]
    assert (ratio["lowest"], ratio["highest"], ratio["value"]) == ("a", "c", pytest.approx(1))
    for _, row in sliced_exposure(result.table, "site").ratios.iterrows():
        assert row["lowest"] != row["highest"]
    two = audit(dataset([np.zeros(8)] * 40, ["abababab"] * 40), Fairness(delta=0.1))
    assert verdict(two.summary).startswith("Between group a and group b ")
