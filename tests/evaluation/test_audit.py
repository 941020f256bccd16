"""The audit against hand-computed lists and against the formulas written out a second time."""

from __future__ import annotations

import json
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import ndcg_score

from spofr_core.data import RankingDataset, load_hiring
from spofr_core.errors import ConfigError, DataError
from spofr_core.evaluation import AuditResult, SmallGroups, audit, repair
from spofr_core.evaluation.intervals import wilson
from spofr_core.fairness import Discount, Fairness, PositionBias
from spofr_core.measures.exposure.pairwise import pairwise_disparity
from spofr_core.policy import Policies
from tests.evaluation.lists import dataset, random_dataset

EVERY_GROUP = SmallGroups(items=0, lists=0)


def test_one_list_by_hand():
    """b, a, a: e = 13/36, e_a = (1/3 + 1/4)/2 = 7/24, e_b = 1/2."""
    result = audit(dataset([[0.3, 0.9, 0.5]], ["aba"], [[0, 1, 2]]), Fairness(delta=0.1), small=EVERY_GROUP)
    table = result.queries.set_index("group")
    mean = 13 / 36
    assert table.loc["a", "exposure"] == pytest.approx(7 / 24)
    assert table.loc["b", "exposure"] == pytest.approx(1 / 2)
    assert table.loc["a", "violation"] == pytest.approx(7 / 24 - mean)
    assert table.loc["b", "violation"] == pytest.approx(1 / 2 - mean)
    assert table.loc["a", "lower"] == pytest.approx(mean - 0.1)
    assert table.loc["a", "upper"] == pytest.approx(mean + 0.1)
    assert table["n"].to_dict() == {"a": 2, "b": 1}
    assert table["delta_fair"].to_dict() == {"a": True, "b": False}
    reached, ideal = 1 + 2 / np.log2(3), 2 + 1 / np.log2(3)
    assert table["dcg"].tolist() == pytest.approx([reached] * 2)
    assert table["ndcg"].tolist() == pytest.approx([reached / ideal] * 2)
    summary = result.summary
    assert summary["queries"] == {
        "total": 1,
        "applicable": 1,
        "not_applicable": 0,
        "cannot_fail": 0,
        "judged": 1,
        "fair": 0,
        "share": 0.0,
        "ci": summary["queries"]["ci"],
        "small_only": 0,
    }
    worst = {"violation": 1 / 2 - mean, "exposure": 1 / 2, "mean_exposure": mean}
    assert summary["worst"] == [{"query": "q0", "group": "b"} | {k: pytest.approx(v) for k, v in worst.items()}]
    assert summary["violation"]["max"] == pytest.approx(1 / 2 - mean)
    assert summary["groups"]["a"]["items"] == 2
    assert summary["groups"]["b"]["exposure_mean"] == pytest.approx(1 / 2)
    assert summary["exposure_ratio"] == {
        "value": pytest.approx((7 / 24) / (1 / 2)),
        "ci": None,
        "lowest": "a",
        "highest": "b",
    }
    assert summary["utility"]["dcg"] == pytest.approx(reached)


def brute_force(data: RankingDataset, q: int, delta: float) -> dict[str, tuple[float, float, bool]]:
    """Exposure, violation and verdict of each group: the mean over every order that the scores allow."""
    rows = slice(data.offsets[q], data.offsets[q + 1])
    scores, groups = data.score[rows], data.groups[rows]
    n = len(scores)
    v = 1 / (1 + np.arange(1, n + 1))
    orders = [p for p in permutations(range(n)) if all(scores[p[j]] >= scores[p[j + 1]] for j in range(n - 1))]
    exposure = np.zeros(n)
    for order in orders:
        for position, item in enumerate(order):
            exposure[item] += v[position] / len(orders)
    answer = {}
    for g in np.unique(groups):
        mean = exposure[groups == g].mean()
        answer[data.group_names[g]] = (mean, mean - v.mean(), abs(mean - v.mean()) <= delta + 1e-9)
    return answer


def some_order_fails(data: RankingDataset, q: int, delta: float) -> bool:
    """Whether any order of the list's items, whatever the scores, gives a group a violation above delta."""
    groups = data.groups[data.offsets[q] : data.offsets[q + 1]]
    v = 1 / (1 + np.arange(1, len(groups) + 1))
    return any(
        abs(v[np.array(order) == g].mean() - v.mean()) > delta + 1e-9
        for order in set(permutations(groups.tolist()))
        for g in set(groups.tolist())
    )


@pytest.mark.parametrize("seed", range(4))
def test_ties_are_the_expectation_over_all_orders(seed):
    data, delta = random_dataset(seed, longest=6), 0.06
    table = audit(data, Fairness(delta=delta)).queries
    n_applicable = n_fair = n_judged = 0
    for q, query in enumerate(data.query_ids):
        expected = brute_force(data, q, delta)
        found = table[table["query"] == query].set_index("group")
        assert set(found.index) == set(expected)
        for name, (exposure, violation, fair) in expected.items():
            assert found.loc[name, "exposure"] == pytest.approx(exposure, abs=1e-12)
            assert found.loc[name, "violation"] == pytest.approx(violation, abs=1e-12)
            assert found.loc[name, "delta_fair"] == (fair or len(expected) < 2)
            assert found.loc[name, "applicable"] == (len(expected) >= 2)
        if len(expected) >= 2:
            n_applicable += 1
            if some_order_fails(data, q, delta):
                n_judged += 1
                n_fair += all(fair for *_, fair in expected.values())
    summary = audit(data, Fairness(delta=delta)).summary
    assert summary["queries"]["applicable"] == n_applicable
    assert summary["queries"]["fair"] == n_fair
    assert summary["queries"]["judged"] == n_judged
    assert summary["queries"]["cannot_fail"] == n_applicable - n_judged
    assert summary["queries"]["share"] == pytest.approx(n_fair / n_judged)
    assert 0 < n_fair < n_judged <= n_applicable < summary["queries"]["total"]


@pytest.mark.parametrize("cutoff", [1, 3, 10])
def test_ndcg_against_scikit_learn(cutoff):
    data = random_dataset(11, n_queries=60, longest=12)
    table = audit(data, Fairness(delta=0.1), cutoff=cutoff).table
    for q in range(len(data)):
        rows = slice(data.offsets[q], data.offsets[q + 1])
        y, s = data.relevance[rows], data.score[rows]
        if y.sum() == 0 or len(y) == 1:
            assert np.isnan(table.ndcg[q]) == (y.sum() == 0)
            continue
        assert table.ndcg[q] == pytest.approx(ndcg_score([y], [s], k=cutoff))


def test_summary_is_json_with_the_published_keys():
    summary = json.loads(audit(random_dataset(3), Fairness(delta=0.05), small=EVERY_GROUP).to_json())
    assert summary["schema"] == 2
    assert {"delta", "notion", "queries", "violation", "worst", "groups", "utility"} <= set(summary)
    assert set(summary["queries"]) >= {"total", "applicable", "fair", "share", "ci"}
    assert set(summary["violation"]) >= {"mean", "max", "signed_mean", "quantiles"}
    assert len(summary["worst"]) == 10
    sizes = [abs(w["violation"]) for w in summary["worst"]]
    assert sizes == sorted(sizes, reverse=True)


def test_aggregates_from_the_per_query_table():
    result = audit(random_dataset(5), Fairness(delta=0.05), small=EVERY_GROUP)
    frame = result.queries[result.queries["applicable"]]
    worst = frame.assign(size=frame["violation"].abs()).groupby("query")["size"].max()
    violation = result.summary["violation"]
    assert violation["mean"] == pytest.approx(worst.mean())
    assert violation["max"] == pytest.approx(worst.max())
    assert violation["quantiles"]["0.9"] == pytest.approx(worst.quantile(0.9))
    low, high = violation["mean_ci"]
    assert low < violation["mean"] < high
    signed = frame.groupby("group")["violation"].mean()
    assert violation["signed_group"] == signed.abs().idxmax()
    assert violation["signed_mean"] == pytest.approx(signed[violation["signed_group"]])
    items = result.queries.groupby("group")["n"].sum()
    assert {n: g["items"] for n, g in result.summary["groups"].items()} == items.to_dict()
    compared = frame.groupby("group")["n"].sum()
    weighted = (frame["n"] * frame["exposure"]).groupby(frame["group"]).sum() / compared
    for name, group in result.summary["groups"].items():
        mine = frame[frame["group"] == name]
        assert (group["compared"], group["compared_queries"]) == (compared[name], len(mine))
        assert group["violation_mean"] == pytest.approx(mine["violation"].mean())
        assert group["exposure_mean"] == pytest.approx(weighted[name])


def test_opposite_signs_cancel_in_the_signed_mean_only():
    data = dataset([[2, 1], [1, 2]], ["ab", "ab"])
    violation = audit(data, Fairness(delta=0.0), small=EVERY_GROUP).summary["violation"]
    assert violation["signed_mean"] == pytest.approx(0.0, abs=1e-15)
    assert violation["mean"] == pytest.approx(1 / 12)


def test_fair_share_is_every_step():
    result = audit(random_dataset(7), Fairness(delta=0.05))
    steps = result.fair_share()
    could_fail = audit(random_dataset(7), Fairness(delta=0.0)).summary["queries"]["judged"]
    assert (steps["queries"] == could_fail).all()
    assert (steps["hold"].iloc[-1], steps["cannot_fail"].iloc[-1]) == (could_fail, could_fail)
    for delta in [*steps["delta"], 0.0, 0.031, 0.5]:
        queries = audit(random_dataset(7), Fairness(delta=delta)).summary["queries"]
        cannot_fail = could_fail - queries["judged"]
        held = queries["fair"] + cannot_fail
        assert result.share_at(np.array([delta]))[0] == held / could_fail
        before = steps[steps["delta"] <= delta + 1e-9]
        if len(before):
            row = before.iloc[-1]
            assert (row["hold"], row["cannot_fail"], row["share"]) == (held, cannot_fail, held / could_fail)
            assert [row["lower"], row["upper"]] == pytest.approx(wilson(held, could_fail))
        else:
            assert held == 0


def test_single_group_lists_are_counted_not_judged():
    summary = audit(dataset([[1, 2], [1, 2]], ["aa", "ab"]), Fairness(delta=0.0)).summary
    assert summary["queries"]["total"] == 2
    assert summary["queries"]["applicable"] == 1
    assert summary["queries"]["not_applicable"] == 1


def test_nothing_applicable_gives_no_number():
    summary = audit(dataset([[1, 2], [3]], ["aa", "b"]), Fairness(delta=0.0)).summary
    assert summary["queries"]["share"] is None
    assert summary["queries"]["ci"] is None
    assert summary["violation"]["mean"] is None
    assert summary["violation"]["signed_mean"] is None
    assert summary["worst"] == []
    assert summary["utility"] is None


def test_lists_without_relevant_items_are_left_out_of_ndcg_and_counted():
    utility = audit(dataset([[2, 1], [2, 1]], ["ab", "ab"], [[0, 1], [0, 0]]), Fairness(delta=0.1)).summary["utility"]
    assert utility["queries_without_relevant"] == 1
    assert utility["ndcg"] == pytest.approx(1 / np.log2(3))
    assert utility["dcg"] == pytest.approx(1 / np.log2(3) / 2)


def test_infeasible_merit_is_listed_with_the_delta_that_would_do():
    fairness = Fairness(delta=0.1, notion="merit", merits={"a": 2.0, "b": 0.0}, position_bias=[1.0, 0.5])
    infeasible = audit(dataset([[2, 1]], ["ab"]), fairness).summary["infeasible"]
    assert infeasible == {"count": 1, "queries": [{"query": "q0", "min_delta": pytest.approx(0.5)}]}


def test_given_policies_are_audited_instead_of_the_scores():
    class EveryoneEverywhere:
        def expectation(self, vector):
            return np.repeat(vector.mean(), 2)

    data = dataset([[2, 1]], ["ab"], [[1, 0]])
    result = audit(data, Fairness(delta=0.0), policies=EveryoneEverywhere())
    assert result.ok
    assert result.summary["utility"]["dcg"] == pytest.approx((1 + 1 / np.log2(3)) / 2)
    assert not audit(data, Fairness(delta=0.0)).ok


def test_pairwise_disparity_by_hand():
    exposure = np.array([[0.5, 0.2, 0.1], [0.5, np.nan, 0.1]])
    np.testing.assert_allclose(pairwise_disparity(exposure), [0.3 + 0.4 + 0.1, 0.4])


def test_explicit_discount():
    result = audit(dataset([[2, 1]], ["ab"], [[1, 3]]), Fairness(delta=0.1), discount=Discount(values=[1.0, 0.25]))
    assert result.summary["utility"]["dcg"] == pytest.approx(1.75)
    assert result.summary["discount"] == "2 given values"


def test_no_score_and_no_policies():
    data = dataset([[2, 1]], ["ab"])
    bare = RankingDataset(
        query_ids=data.query_ids,
        offsets=data.offsets,
        item_ids=data.item_ids,
        groups=data.groups,
        group_names=data.group_names,
    )
    with pytest.raises(DataError, match="no score or rank column"):
        audit(bare, Fairness(delta=0.1))


def test_policies_of_other_lists():
    class Short:
        def expectation(self, vector):
            return vector[:1]

    with pytest.raises(DataError, match="rank 1 items but the data has 2"):
        audit(dataset([[2, 1]], ["ab"]), Fairness(delta=0.1), policies=Short())


def test_bad_cutoff():
    with pytest.raises(ConfigError, match="cutoff is 0"):
        audit(dataset([[2, 1]], ["ab"]), Fairness(delta=0.1), cutoff=0)


def test_csv_neutralises_formulas_and_reads_back(tmp_path):
    data = dataset([[2, 1]], ["ab"])
    hostile = RankingDataset(
        query_ids=np.array(["=1+1"], dtype=object),
        offsets=data.offsets,
        item_ids=data.item_ids,
        groups=data.groups,
        group_names=("@a", "-b"),
        score=data.score,
    )
    audit(hostile, Fairness(delta=0.1)).to_csv(tmp_path / "out.csv")
    table = pd.read_csv(tmp_path / "out.csv")
    assert table["query"].tolist() == ["'=1+1"] * 2
    assert table["group"].tolist() == ["'@a", "'-b"]
    assert table["violation"].tolist() == pytest.approx([1 / 12, -1 / 12])


def test_policies_that_leave_a_query_out_are_refused_and_not_counted_as_fair() -> None:
    data = load_hiring()[:5]
    fairness = Fairness(delta=0.05)
    table = repair(data, fairness).policies.to_frame()
    gone = data.query_ids[2].item()
    for broken in (
        table[table["query_id"] != gone],
        table.assign(probability=table["probability"].where(table["query_id"] != gone)),
    ):
        with pytest.raises(DataError, match=f"policy of query {gone!r} is no lottery"):
            audit(data, fairness, policies=Policies.from_frame(broken, data, fairness))


def test_what_is_no_dataset_or_no_fairness_is_refused() -> None:
    data = load_hiring()[:2]
    with pytest.raises(DataError, match="must be a RankingDataset, got DataFrame"):
        audit(data.to_frame(), Fairness(delta=0.05))
    with pytest.raises(ConfigError, match="must be a Fairness, got float"):
        audit(data, 0.05)
    with pytest.raises(ConfigError, match="'seed' is -1"):
        audit(data, Fairness(delta=0.05), seed=-1)


def test_reports_make_their_folder(tmp_path) -> None:
    result = audit(load_hiring()[:3], Fairness(delta=0.05))
    result.to_json(tmp_path / "a" / "audit.json")
    result.to_html(tmp_path / "b" / "audit.html")
    assert json.loads((tmp_path / "a" / "audit.json").read_text())["schema"] == 2
    assert (tmp_path / "b" / "audit.html").read_text().startswith("<!doctype html>")


@pytest.mark.parametrize("notion", ["exposure", "merit"])
@pytest.mark.parametrize("size", [1e-12, 1e12])
def test_the_unit_of_exposures_and_merits_changes_no_verdict(notion, size):
    """Exposures a million million times as small are not all within rounding of each other, nor large ones far off."""
    data = load_hiring()[:60]
    vector = 1.0 / np.arange(2, 1 + data.list_lengths.max() + 1)

    def judged(unit: float, delta: float) -> tuple[AuditResult, list[float]]:
        merits = {"notion": "merit", "merits": dict.fromkeys(data.group_names, unit)} if notion == "merit" else {}
        bias = PositionBias(values=vector * (unit if notion == "exposure" else 1.0))
        fairness = Fairness(delta=delta * unit, position_bias=bias, **merits)
        found = audit(data, fairness)
        repaired = repair(data, fairness).after if delta < 1 else found
        return found, [repaired.summary["queries"]["share"], *found.measurement.share_at([0.01 * unit, 0.05 * unit])]

    for delta in (0.0, 0.02, 10.0):
        (plain, shares), (other, same) = judged(1.0, delta), judged(size, delta)
        assert other.summary["queries"] == plain.summary["queries"]
        assert same == pytest.approx(shares)
        assert plain.summary["queries"]["judged"] == (0 if delta > 1 else plain.summary["queries"]["applicable"])
