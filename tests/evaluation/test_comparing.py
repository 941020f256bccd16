"""Comparisons: a case solved by hand, the pairing, what is not compared, and how often a claim is wrong."""

from __future__ import annotations

import math

import numpy as np
import pytest

from spofr_core import Comparison, Fairness, PositionBias, audit, compare, load_sample, measure, repair
from spofr_core.data import RankingDataset
from spofr_core.errors import ConfigError, DataError
from spofr_core.evaluation import SmallGroups
from tests.evaluation.lists import dataset, random_dataset

EVERYBODY = SmallGroups(items=0, lists=0)
SHARE = Fairness(delta="10%")


def row(found: Comparison, name: str, rival: str | None = None):
    rows = found.table[(found.table["name"] == name) & (found.table["rival"] == (rival or found.rivals[0]))]
    assert len(rows) == 1, name
    return rows.iloc[0]


def ranked(data: RankingDataset, seed: int) -> RankingDataset:
    """The same lists in another order."""
    return data.with_scores(np.random.default_rng(seed).random(data.n_items))


@pytest.fixture(scope="module")
def two_queries() -> Comparison:
    """Two lists of two items, a and b; the new ranking turns the first list round."""
    groups, labels = [["a", "b"], ["a", "b"]], [[1, 0], [0, 1]]
    now = dataset([[2, 1], [2, 1]], groups, labels)
    new = dataset([[1, 2], [2, 1]], groups, labels)
    return compare({name: audit(data, SHARE, small=EVERYBODY) for name, data in (("now", now), ("new", new))})


def test_all_numbers_of_two_queries_by_hand(two_queries):
    # Positions get 1/2 and 1/3, their mean is 5/12. Before, a gets 1/2 twice: 1 of the 5/6 that the mean would give it,
    # and b 2/3 of 5/6. After, each gets 1/2 and 1/3: 5/6 of 5/6.
    a, b, ratio = (row(two_queries, name) for name in ("exposure:a", "exposure:b", "exposure_ratio"))
    assert (a.before, a.after, a.difference) == pytest.approx((1.2, 1.0, -1 / 6))
    assert (b.before, b.after, b.difference) == pytest.approx((0.8, 1.0, 0.25))
    assert (ratio.before, ratio.after, ratio.difference) == pytest.approx((2 / 3, 1.0, 1 / 3))
    # Each list is off by 1/12 of a mean of 5/12 in either ranking, which no 10 % allow.
    violation, fair = row(two_queries, "violation"), row(two_queries, "fair")
    assert (violation.before, violation.after, violation.difference) == pytest.approx((0.2, 0.2, 0.0))
    assert (fair.before, fair.after, fair.n) == (0.0, 0.0, 2)
    # The relevant item of the first list falls from position 1 (worth 1) to 2 (worth 1/log2 3).
    worth = 1 / math.log2(3)
    for name in ("dcg", "ndcg"):
        found = row(two_queries, name)
        assert (found.before, found.after) == pytest.approx(((1 + worth) / 2, worth))
        assert found.difference == pytest.approx((worth - 1) / 2)
        assert (found.p, found.test, found.n) == (1.0, "exact", 2)
        assert found.verdict == "no difference that 2 queries can show"
    pairwise = row(two_queries, "pairwise")
    assert (pairwise.before, pairwise.after, pairwise.difference) == pytest.approx((1 / 6, 1 / 6, 0.0))


def test_differences_and_changed_queries_by_hand(two_queries):
    worth = 1 / math.log2(3)
    values = two_queries.differences("dcg")
    assert values["query"].tolist() == ["q0", "q1"]
    np.testing.assert_allclose(values[["before", "after", "difference"]], [[1, worth, worth - 1], [worth, worth, 0]])
    assert two_queries.changed(measure="dcg")["query"].tolist() == ["q0"]
    assert two_queries.changed().empty  # by the violation, of which no list has more or less
    np.testing.assert_allclose(two_queries.differences("exposure:a")["before"], [1.2, 1.2])
    np.testing.assert_allclose(two_queries.differences("exposure_ratio")["after"], [2 / 3, 2 / 3])


def test_six_equal_differences_are_shown_and_five_are_not():
    def comparison(n: int) -> Comparison:
        lists, labels = [["a", "b"]] * n, [[1, 0]] * n
        now, new = dataset([[2, 1]] * n, lists, labels), dataset([[1, 2]] * n, lists, labels)
        return compare({"now": audit(now, SHARE), "new": audit(new, SHARE)}, measures=["dcg"])

    six, five = row(comparison(6), "dcg"), row(comparison(5), "dcg")
    assert (six.p, six.p_holm) == (2 / 64, 2 / 64)
    assert six.verdict == "worse"
    assert six.upper < 0
    # The bootstrap of five equal differences has no spread; the test cannot reject, so the interval reaches 0.
    assert five.p == 2 / 32
    assert (five.lower, five.upper) == pytest.approx((1 / math.log2(3) - 1, 0.0))
    assert five.verdict == "no difference that 5 queries can show"


def test_a_single_query_shows_nothing():
    lists = [["a", "b", "a"]]
    found = compare(
        {"now": audit(dataset([[3, 2, 1]], lists), SHARE), "new": audit(dataset([[1, 3, 2]], lists), SHARE)}
    )
    assert found.table["lower"].isna().all()
    assert set(found.table["verdict"]) == {"no difference that 1 query can show"}


def test_the_same_ranking_differs_in_nothing():
    data = random_dataset(4)
    found = compare({"now": audit(data, SHARE), "again": audit(data, SHARE)})
    assert (found.table["difference"].fillna(0) == 0).all()
    assert found.table["p"].isna().all()
    assert found.summary["tested"] == 0
    assert all(verdict.startswith("no difference") for verdict in found.table["verdict"])
    assert found.changed().empty


def test_intervals_and_numbers_are_those_of_the_repair_and_of_the_audits():
    data = load_sample("hiring").test
    fixed = repair(data, SHARE)
    found = compare({"now": fixed.before, "repair": fixed.after})
    change = fixed.summary["dcg_change"]
    dcg = row(found, "dcg")
    assert dcg.difference == pytest.approx(change["mean"])
    assert (min(change["ci"][0], 0), max(change["ci"][1], 0)) == pytest.approx((dcg.lower, dcg.upper))
    for side, result in (("before", fixed.before), ("after", fixed.after)):
        summary = result.summary
        for name, group in summary["groups"].items():
            assert row(found, f"exposure:{name}")[side] == pytest.approx(group["relative_mean"])
        assert row(found, "exposure_ratio")[side] == pytest.approx(summary["exposure_ratio"]["value"])
        assert row(found, "violation")[side] == pytest.approx(summary["violation"]["mean"])
        assert row(found, "fair")[side] == pytest.approx(summary["queries"]["share"])
        assert row(found, "ndcg")[side] == pytest.approx(summary["measures"]["ndcg"]["mean"])
    verdicts = dict(zip(found.table["name"], found.table["verdict"], strict=True))
    assert verdicts["fair"] == verdicts["exposure_ratio"] == verdicts["violation"] == "better"
    assert verdicts["exposure:female"] == "different"
    assert row(found, "exposure:female").lower > 0


def test_intervals_of_exposures_against_resampling_in_numpy():
    """Ratios of sums and the difference of two such ratios, from resamples of their own."""
    data = load_sample("hiring").test
    fixed = repair(data, SHARE)
    found = compare({"now": fixed.before, "repair": fixed.after})
    rng = np.random.default_rng(11)
    got, due = [], []
    for result in (fixed.before, fixed.after):
        sums = result.table.sizes * result.table.exposure
        got.append(sums)
        due.append(result.table.sizes * (sums.sum(axis=1) / result.table.sizes.sum(axis=1))[:, None])
    draws = rng.integers(0, len(data), (4000, len(data)))
    before, after = (g[draws].sum(axis=1) / d[draws].sum(axis=1) for g, d in zip(got, due, strict=True))
    women = np.quantile(after[:, 0] / before[:, 0] - 1, [0.025, 0.975])
    ratio = np.quantile(after[:, 0] / after[:, 1] - before[:, 0] / before[:, 1], [0.025, 0.975])
    for expected, name in ((women, "exposure:female"), (ratio, "exposure_ratio")):
        mine = row(found, name)
        width = expected[1] - expected[0]
        assert (mine.lower, mine.upper) == pytest.approx(tuple(expected), abs=0.12 * width)


# -- pairing -----------------------------------------------------------------------------------------


def test_queries_without_a_partner_are_counted_and_the_order_does_not_matter():
    data = random_dataset(1, n_queries=12)
    shuffled = ranked(data, 2)[[11, 3, 5, 0, 7, 8]].replace(
        query_ids=np.array(["q11", "q3", "q5", "q0", "q7", "new one"], dtype=object)
    )
    found = compare({"now": audit(data, SHARE), "new": audit(shuffled, SHARE)})
    queries = found.summary["rivals"]["new"]["queries"]
    assert (queries["both"], queries["only_first"], queries["only_rival"]) == (5, 7, 1)
    assert queries["only_rival_ids"] == ["new one"]
    assert queries["only_first_ids"] == ["q1", "q2", "q4", "q6", "q8"]
    assert found.differences("dcg")["query"].tolist() == ["q0", "q3", "q5", "q7", "q11"]
    after = dict(zip(shuffled.query_ids, audit(shuffled, SHARE).table.measures["dcg"], strict=True))
    assert found.differences("dcg")["after"].tolist() == [after[q] for q in ("q0", "q3", "q5", "q7", "q11")]


def test_numbers_and_texts_of_the_same_ids_are_paired_and_it_is_said():
    data = random_dataset(1, n_queries=5)
    numbers = data.replace(query_ids=np.arange(5))
    texts = data.replace(query_ids=np.array([str(k) for k in range(5)], dtype=object))
    found = compare({"now": audit(numbers, SHARE), "new": audit(texts, SHARE)})
    assert found.summary["rivals"]["new"]["queries"]["both"] == 5
    assert "of another kind" in found.summary["rivals"]["new"]["notes"][0]


def test_no_common_query_is_refused():
    data = random_dataset(1, n_queries=3)
    other = data.replace(query_ids=np.array(["x", "y", "z"], dtype=object))
    with pytest.raises(DataError, match="no query in common: the first ids are 'q0' and 'x'"):
        compare({"now": audit(data, SHARE), "new": audit(other, SHARE)})


def test_a_query_without_a_value_on_one_side_is_left_out_and_counted():
    lists = [["a", "b"]] * 3
    now = dataset([[2, 1]] * 3, lists, [[1, 0], [0, 0], [0, 1]])
    new = dataset([[1, 2]] * 3, lists, [[1, 0], [1, 0], [0, 1]])
    found = row(compare({"now": audit(now, SHARE), "new": audit(new, SHARE)}), "ndcg")
    assert (found.n, found.left_out) == (2, 1)
    worth = 1 / math.log2(3)
    assert (found.before, found.after) == pytest.approx(((1 + worth) / 2, (1 + worth) / 2))


# -- what is not compared ----------------------------------------------------------------------------


def test_other_groups_leave_what_does_not_depend_on_their_names():
    data = random_dataset(6, n_groups=2)
    other = data.with_groups(data.groups, ("x", "y"))
    found = compare({"letters": audit(data, SHARE), "others": audit(other, SHARE)})
    assert not any(found.table["kind"] == "group")
    assert {"exposure_ratio", "violation", "fair", "dcg", "ndcg"} <= set(found.table["name"])
    assert found.summary["rivals"]["others"]["not_compared"] == [
        {"name": "exposure", "why": "the groups differ (a, b and x, y)"}
    ]
    # The same lists under other names: nothing differs, whatever the groups are called.
    assert found.table["difference"].abs().max() == pytest.approx(0, abs=1e-12)


def test_more_unequal_groups_are_different_and_not_worse():
    rng = np.random.default_rng(0)
    lists = [["a", "b"] * 6] * 60
    data = dataset([rng.random(12) + 0.4 * (np.arange(12) % 2) for _ in range(60)], lists)
    halves = data.with_groups(np.tile([0, 0, 1, 1], 180), ("first", "second"))
    found = compare({"letters": audit(data, SHARE), "halves": audit(halves, SHARE)})
    ratio = row(found, "exposure_ratio")
    assert (ratio.verdict, ratio.test, ratio.better) == ("different", "normal", "")
    assert row(found, "violation").verdict == "different"


@pytest.mark.parametrize(
    ("other", "refused", "why"),
    [
        (Fairness(delta=0.05), {"violation"}, "the units of delta differ (share and absolute)"),
        (Fairness(delta="10%", notion="gap"), {"violation"}, "the notions differ (exposure and gap)"),
        (
            Fairness(delta="10%", position_bias=PositionBias(power=2.0)),
            {"exposure", "exposure_ratio", "violation", "pairwise"},
            "the exposure models differ (v_j = 1/(1 + j) and v_j = 1/(1 + j)^2)",
        ),
    ],
)
def test_what_is_asked_otherwise_is_not_compared_and_it_is_said(other, refused, why):
    data = random_dataset(2, n_groups=2)
    found = compare({"now": audit(data, SHARE), "other": audit(data, other)})
    reasons = {reason["name"]: reason["why"] for reason in found.summary["rivals"]["other"]["not_compared"]}
    assert set(reasons) == refused
    assert not refused & set(found.table["name"])
    assert row(found, "dcg").difference == 0
    assert why in next(iter(reasons.values()))
    assert row(found, "fair").better == ""


def test_other_given_values_are_another_exposure_model_under_the_same_label():
    data = random_dataset(2)
    given = [audit(data, Fairness(delta=0.1, position_bias=[1.0, last, 0, 0, 0, 0, 0])) for last in (0.5, 0.25)]
    found = compare({"now": given[0], "new": given[1]})
    assert not {"exposure_ratio", "violation", "exposure:a"} & set(found.table["name"])


def test_a_measure_without_what_it_needs_is_refused_with_the_reason():
    data = random_dataset(2, labels=False)
    sides = {name: audit(data, SHARE, measures=["DTR"]) for name in ("now", "new")}
    with pytest.raises(ConfigError, match=r"'DTR' cannot be compared here: .*it needs relevance"):
        compare(sides, measures=["DTR"])


def test_another_depth_leaves_out_ndcg():
    data = random_dataset(2)
    found = compare({"now": audit(data, SHARE), "deep": audit(data, SHARE, cutoff=3)})
    assert {"name": "ndcg", "why": "its depth differs (10 and 3)"} in found.summary["rivals"]["deep"]["not_compared"]
    assert "dcg" in set(found.table["name"])


def test_small_groups_are_listed_and_not_tested():
    rng = np.random.default_rng(0)
    lists = [["a", "b"] * 10 + (["c"] if k == 0 else []) for k in range(20)]
    data = dataset([rng.random(len(each)) for each in lists], lists)
    found = compare({"now": audit(data, SHARE), "new": audit(ranked(data, 1), SHARE)})
    small = row(found, "exposure:c")
    assert small.small
    assert math.isnan(small.p)
    assert small.n == 1
    assert not row(found, "exposure:a").small


# -- named measures ----------------------------------------------------------------------------------


def test_measured_values_are_compared_as_audits_are():
    data, other = random_dataset(3), ranked(random_dataset(3), 5)
    names = ["NDKL", "dcg"]
    found = compare({"now": measure(data, names), "new": measure(other, names)})
    assert found.table["name"].tolist() == names
    audited = compare(
        {"now": audit(data, SHARE, measures=names), "new": audit(other, SHARE, measures=names)}, measures=names
    )
    kept = ["name", "before", "after", "difference", "p", "p_holm", "verdict"]
    assert found.table[kept].equals(audited.table[kept])


def test_a_measure_that_is_best_in_between_is_compared_by_its_distance():
    data, other = random_dataset(3, n_queries=40, n_groups=2), ranked(random_dataset(3, n_queries=40, n_groups=2), 5)
    before, after = measure(data, ["DTR"]), measure(other, ["DTR"])
    found = compare({"now": before, "new": after})
    values = found.differences("DTR")
    np.testing.assert_allclose(values["before"], np.abs(before.values["DTR"] - 1))
    np.testing.assert_allclose(values["after"], np.abs(after.values["DTR"] - 1))
    line = row(found, "DTR")
    assert line.better == "lower"
    assert line.label.startswith("distance of")


def test_the_ratio_of_the_audit_and_the_measure_of_that_name_are_told_apart():
    data, other = random_dataset(3, n_groups=2), ranked(random_dataset(3, n_groups=2), 5)
    sides = {
        name: audit(each, SHARE, measures=["exposure_ratio", "max_violation"], small=EVERYBODY)
        for name, each in (("now", data), ("new", other))
    }
    found = compare(sides)
    assert row(found, "exposure_ratio").before == pytest.approx(sides["now"].summary["exposure_ratio"]["value"])
    assert row(found, "exposure_ratio_per_query").before == pytest.approx(
        np.nanmean(sides["now"].table.measures["exposure_ratio"])
    )
    assert "max_violation" not in set(found.table["name"])  # it is the violation, and stands there once


def test_measures_are_chosen_as_people_write_them():
    data, other = random_dataset(3), ranked(random_dataset(3), 5)
    sides = {"now": audit(data, SHARE), "new": audit(other, SHARE)}
    chosen = compare(sides, measures=["nDCG@10", "Max_Violation", "exposure"]).table["name"].tolist()
    assert chosen == ["ndcg", "violation", "exposure:a", "exposure:b", "exposure:c"]
    with pytest.raises(ConfigError, match=r"There is no 'beauty' to compare; there is 'exposure:a'.*measures="):
        compare(sides, measures=["beauty"])
    asked = {
        "now": audit(data, SHARE),
        "new": audit(data, Fairness(delta="10%", notion="merit", merits=dict.fromkeys("abc", 1.0))),
    }
    with pytest.raises(ConfigError, match="'violation' cannot be compared here: the notions differ"):
        compare(asked, measures=["violation"])


def test_fewer_rows_leave_more_to_each():
    data, other = random_dataset(3, n_queries=60), ranked(random_dataset(3, n_queries=60), 5)
    sides = {"now": audit(data, SHARE), "new": audit(other, SHARE)}
    alone, among = row(compare(sides, measures=["dcg"]), "dcg"), row(compare(sides), "dcg")
    assert alone.p == among.p == alone.p_holm
    assert among.p_holm >= alone.p_holm
