"""Analyses on tables small enough to be worked out by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from spofr_core.data import RankingDataset
from spofr_core.errors import ConfigError, DataError
from spofr_core.evaluation.exact_tradeoff import EXACT_DELTAS, exact_tradeoff
from spofr_core.evaluation.fronts import best_at_violation, dominated, grid_search, lead_at_violation
from spofr_core.evaluation.guarantees import guarantees, run_shares
from spofr_core.evaluation.seeds import mean_interval, paired_difference, sign_of
from spofr_core.evaluation.tradeoffs import (
    asked_and_achieved,
    method_difference,
    multi_group,
    price_of_fairness,
    run_times,
    tradeoff,
    training_sizes,
)
from spofr_core.fairness import Discount, Fairness, PositionBias
from tests.experiments.frames import run, table
from tests.policy.reference import reference_optimum


def test_mean_interval_is_students():
    values = np.array([1.0, 2.0, 4.0, np.nan])
    mean, lower, upper = mean_interval(values)
    low, high = stats.t.interval(0.95, 2, loc=7 / 3, scale=stats.sem(values[:3]))
    assert (mean, lower, upper) == pytest.approx((7 / 3, low, high))
    assert mean_interval(np.array([3.0]))[0] == 3.0
    assert np.isnan(mean_interval(np.array([3.0]))[1])
    assert np.isnan(mean_interval(np.array([np.nan]))[0])


def test_tradeoff_is_the_mean_over_seeds_of_runs_that_are_done():
    frame = tradeoff(
        table(
            run("a", delta=0.1, seed=0, dcg=1.0),
            run("b", delta=0.1, seed=1, dcg=2.0),
            run("c", delta=0.1, seed=2, dcg=9.0, status="failed"),
            run("d", delta=0.0, seed=0, dcg=0.5),
            run("e", method="fultr", penalty=1.0),
        )
    )
    assert frame["delta"].tolist() == [0.0, 0.1]
    assert frame["n"].tolist() == [1, 2]
    assert frame["dcg"].tolist() == [0.5, 1.5]
    assert frame["dcg_min"].tolist() == [0.5, 1.0]
    assert frame["dcg_upper"].iloc[1] == pytest.approx(1.5 + stats.t.ppf(0.975, 1) * 0.5)
    assert frame["ideal_dcg"].tolist() == [2.0, 2.0]


def test_training_sizes_keep_data_with_several_sizes_and_full_labels_are_one():
    frame = training_sizes(
        table(run("a", delta=0.1, clicks=None), run("b", delta=0.1, clicks=50), run("c", delta=0.2, dataset="x"))
    )
    assert frame["dataset"].tolist() == ["d", "d"]
    assert frame["clicks"].isna().tolist() == [False, True]


def test_multi_group_keeps_data_with_several_numbers_of_groups():
    runs = table(
        run("a", delta=0.1, groups=2), run("b", delta=0.1, groups=3, dcg=0.9), run("c", delta=0.1, dataset="x")
    )
    frame = multi_group(runs)
    assert frame[["groups", "dcg"]].to_numpy().tolist() == [[2, 1.0], [3, 0.9]]


def test_run_times_divide_run_by_run():
    frame = run_times(
        table(run("a", seconds=10, epochs=5), run("b", seconds=6, epochs=1), run("u", method="uniform", epochs=0))
    )
    assert len(frame) == 1
    assert (frame["seconds_per_epoch"][0], frame["epochs"][0], frame["n"][0]) == (4.0, 3.0, 2)


def test_asked_against_achieved():
    frame = asked_and_achieved(
        table(
            run("a", delta=0.1, violation_mean=0.02, violation_max=0.1 + 1e-10),
            run("b", delta=0.2, seed=0, violation_mean=0.1, violation_max=0.15),
            run("c", delta=0.2, seed=1, violation_mean=0.3, violation_max=0.25),
            run("d", method="deltr", penalty=10.0, violation_mean=0.4, violation_max=0.5, fair_share=None),
        )
    ).set_index(["method", "value"])
    assert frame.loc[("spofr", 0.1), "holds"]
    assert not frame.loc[("spofr", 0.2), "holds"]
    assert frame.loc[("spofr", 0.2), "violation_mean"] == pytest.approx(0.2)
    assert frame.loc[("deltr", 10.0), "holds"] is pd.NA
    assert frame.loc[("deltr", 10.0), "asked"] == "penalty"


def test_price_is_paired_by_seed_before_it_is_averaged():
    runs = [
        run(f"{s}{d}", delta=d, seed=s, dcg=dcg)
        for s, d, dcg in [(0, 0.0, 1.0), (0, 0.4, 2.0), (1, 0.0, 3.0), (1, 0.4, 4.0)]
    ]
    frame = price_of_fairness(table(*runs))
    assert frame["delta"].tolist() == [0.0, 0.4]
    assert frame["price"].tolist() == pytest.approx([(0.5 + 0.25) / 2, 0.0])


def test_difference_of_methods_is_paired_by_seed():
    runs = [run(f"s{s}", delta=0.1, seed=s, dcg=1.0 + s) for s in range(3)]
    runs += [run(f"p{s}", method="pto", delta=0.1, seed=s, dcg=0.5 + s) for s in range(2)]
    frame = method_difference(table(*runs), "spofr", "pto")
    assert frame[["n", "difference", "lower", "upper"]].to_numpy().tolist() == [[2, 0.5, 0.5, 0.5]]


def test_dominated_points_by_hand():
    violation = np.array([0.0, 0.1, 0.1, 0.2, 0.2, 0.0 + 1e-16])
    utility = np.array([1.0, 1.0, 1.5, 1.5, 2.0, 1.0])
    # 0 and 5 are the same point up to floating point; 1 is beaten by both; 3 by 2.
    assert dominated(violation, utility).tolist() == [False, True, False, True, False, False]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=12))
def test_dominated_points_against_the_definition(points):
    violation, utility = (np.array([p[k] for p in points], dtype=float) for k in (0, 1))
    expected = [
        any(v <= a and u >= b and (v < a or u > b) for v, u in zip(violation, utility, strict=True))
        for a, b in zip(violation, utility, strict=True)
    ]
    assert dominated(violation, utility).tolist() == expected


def test_grid_search_compares_within_a_setting():
    points = grid_search(
        table(
            run("a", delta=0.1, violation_mean=0.1, dcg=1.0),
            run("b", method="fultr", penalty=1.0, violation_mean=0.2, dcg=0.9),
            run("c", method="fultr", penalty=9.0, violation_mean=0.3, dcg=1.1),
            run("d", delta=0.1, violation_mean=0.0, dcg=5.0, dataset="x"),
        )
    ).set_index("run")
    assert points["dominated"].to_dict() == {"a": False, "b": True, "c": False, "d": False}
    assert points["dominated_in_method"].to_dict() == {"a": False, "b": False, "c": False, "d": False}


def test_best_at_violation_averages_seeds_first():
    runs = [
        run("a", delta=0.1, seed=0, violation_mean=0.00, dcg=3.0),
        run("b", delta=0.1, seed=1, violation_mean=0.02, dcg=1.0),
    ]
    runs += [
        run("c", delta=0.0, violation_mean=0.0, dcg=1.0),
        run("d", method="deltr", penalty=1.0, violation_mean=0.5),
    ]
    frame = best_at_violation(table(*runs), [0.005, 0.01]).set_index(["method", "level"])
    assert frame.loc[("spofr", 0.005), "dcg"] == 1.0
    assert frame.loc[("spofr", 0.01), "dcg"] == 2.0
    assert frame.loc[("spofr", 0.01), "delta"] == 0.1
    assert np.isnan(frame.loc[("deltr", 0.01), "dcg"])


def seeds(method: str, dcg: dict[int, float], **columns) -> list[dict]:
    """A run of each seed."""
    return [run(f"{method}{s}", method=method, seed=s, dcg=value, **columns) for s, value in dcg.items()]


OURS = {0: 1.0, 1: 1.1, 2: 1.2, 3: 1.05}


@pytest.mark.parametrize(
    ("theirs", "sign"),
    [
        ({0: 0.5, 1: 0.62, 2: 0.69, 3: 0.56}, "+"),
        ({0: 0.9, 1: 1.15, 2: 1.1, 3: 1.06}, "0"),  # within noise
        ({0: 1.0, 1: 1.1, 2: 1.2, 3: 1.05}, "0"),  # the same
        ({0: 0.5, 1: 0.6}, "?"),  # two seeds in common
        ({7: 0.5, 8: 0.6, 9: 0.7}, "?"),  # none in common
    ],
)
def test_a_lead_is_told_from_three_seeds_in_common_on_and_beyond_their_noise(theirs, sign):
    runs = table(*seeds("spofr", OURS, delta=0.1), *seeds("fultr", theirs, penalty=1.0))
    (row,) = lead_at_violation(runs, 0.05, ahead="spofr").to_dict("records")
    common = sorted(OURS.keys() & theirs.keys())
    assert (row["method"], row["rival"], row["n"], row["sign"]) == ("spofr", "fultr", len(common), sign)
    if len(common) > 1:
        differences = np.array([OURS[s] - theirs[s] for s in common])
        half = stats.t.ppf(0.975, len(common) - 1) * stats.sem(differences)
        expected = [differences.mean(), differences.mean() - half, differences.mean() + half]
        assert [row["difference"], row["lower"], row["upper"]] == pytest.approx(expected, abs=1e-12)


def test_a_method_alone_has_no_lead_and_a_named_one_may_be_behind():
    ours, theirs = seeds("spofr", OURS, delta=0.1), seeds("deltr", {s: v + 1 for s, v in OURS.items()}, penalty=1.0)
    assert lead_at_violation(table(*ours), 0.05).empty
    assert lead_at_violation(table(*ours, *(row | {"violation_mean": 0.2} for row in theirs)), 0.05).empty
    (row,) = lead_at_violation(table(*ours, *theirs), 0.05, ahead="spofr").to_dict("records")
    assert (row["method"], row["sign"]) == ("spofr", "-")
    assert row["difference"] == pytest.approx(-1)


def test_runs_of_one_seed_are_averaged_before_they_are_paired():
    twice = run("again", delta=0.1, seed=0, dcg=3.0)
    runs = table(*seeds("spofr", OURS, delta=0.1), twice, *seeds("pto", OURS, delta=0.1))
    (row,) = paired_difference(runs, ["delta"], "dcg", between="method", first="spofr", second="pto").to_dict("records")
    assert (row["n"], row["difference"]) == (4, pytest.approx(1.0 / 4))
    assert sign_of({"n": 3, "lower": -1e-15, "upper": 1.0}) == "0"
    assert sign_of({"n": 3, "lower": 1e-15, "upper": 1.0}) == "0"
    assert sign_of({"n": 3, "lower": -2.0, "upper": -1.0}) == "-"


def queries(**violations: list[float]) -> pd.DataFrame:
    """Per-query results: violations of each run, None for a query that is not applicable; DCG 1, 2, ..."""
    frames = []
    for name, values in violations.items():
        frames.append(
            pd.DataFrame(
                {
                    "run": name,
                    "violation": [0.0 if v is None else v for v in values],
                    "dcg": np.arange(1.0, len(values) + 1),
                    "applicable": [v is not None for v in values],
                }
            )
        )
    return pd.concat(frames, ignore_index=True)


def test_run_shares_by_hand():
    shares = run_shares(queries(b=[0.0, 0.1, 0.1 + 1e-10, 0.3], a=[None, None, 0.2, None]), [0.0, 0.1, 0.2])
    assert shares.runs == ("a", "b")
    assert shares.share.tolist() == [[0.0, 0.0, 1.0], [0.25, 0.75, 0.75]]
    assert shares.dcg.tolist() == [2.5, 2.5]
    assert shares.half == pytest.approx([stats.t.ppf(0.975, 3) * stats.sem([1, 2, 3, 4])] * 2)


def test_run_shares_take_rows_in_any_order():
    frame = queries(a=[0.0, 0.2], b=[0.1, 0.1])
    assert np.array_equal(run_shares(frame.iloc[[3, 0, 2, 1]], [0.1]).share, run_shares(frame, [0.1]).share)


def guarantee_case():
    results = table(
        run("s", delta=0.1),
        run("f", method="fultr", penalty=1.0),
        run("g", method="fultr", penalty=10.0),
    )
    test = queries(s=[0.1, 0.1], f=[0.0, 0.3], g=[0.3, 0.3]).assign(dcg=[1, 1, 3, 3, 9, 9])
    validation = queries(s=[0.1, 0.1], f=[0.0, 0.0], g=[0.3, 0.0]).assign(dcg=[1, 1, 2, 2, 5, 5])
    return results, test, validation


def test_guarantees_select_on_validation_and_report_on_test():
    frame = guarantees(*guarantee_case(), deltas=[0.1], levels=[0.5, 1.0]).set_index(["method", "level"])
    assert frame.loc[("spofr", 1.0), ["run", "dcg", "share", "holds"]].tolist() == ["s", 1.0, 1.0, True]
    # Half of the validation queries of g hold delta, and its validation DCG is the best; on test it does not.
    assert frame.loc[("fultr", 0.5), ["run", "dcg", "share", "holds", "qualified"]].tolist() == [
        "g",
        9.0,
        0.0,
        False,
        2,
    ]
    assert frame.loc[("fultr", 1.0), ["run", "dcg", "share", "holds", "qualified"]].tolist() == [
        "f",
        3.0,
        0.5,
        False,
        1,
    ]


def test_guarantees_can_select_on_test_as_the_paper_does():
    frame = guarantees(*guarantee_case(), deltas=[0.1], levels=[0.5, 1.0], select="test").set_index(["method", "level"])
    assert frame.loc[("fultr", 0.5), ["run", "share", "holds"]].tolist() == ["f", 0.5, True]
    empty = frame.loc[("fultr", 1.0)]
    assert empty["qualified"] == 0
    assert pd.isna(empty["dcg"])
    assert (
        empty["explanation"]
        == "No fultr model of 2 holds delta = 0.1 on 100% of the queries; the closest reaches 50.0%."
    )


def test_guarantees_need_the_part_that_they_select_on():
    results, test, _ = guarantee_case()
    with pytest.raises(ConfigError, match="no per-query results"):
        guarantees(results, test)


def lists() -> RankingDataset:
    """Two lists of three: the scores prefer group a, the labels b."""
    return RankingDataset(
        query_ids=np.array(["p", "q"]),
        offsets=np.array([0, 3, 6]),
        item_ids=np.arange(6),
        groups=np.array([0, 0, 1, 0, 1, 1]),
        group_names=("a", "b"),
        relevance=np.array([0.0, 0.0, 1.0, 0.0, 0.0, 1.0]),
        score=np.array([3.0, 2.0, 1.0, 3.0, 2.0, 1.0]),
    )


def test_exact_tradeoff_ends_at_the_sort_and_holds_every_delta():
    data = lists()
    frame = exact_tradeoff(data.score, data, Fairness(delta=0.3), seed=0)
    assert len(frame) == len(EXACT_DELTAS) == 41
    worth = Discount().vector(3)
    # Without a condition that binds, both relevant items stand last.
    assert frame["dcg"].iloc[-1] == pytest.approx(worth[2])
    # delta = 0 lifts them.
    assert frame["dcg"].iloc[0] > worth[2]
    assert (frame["violation_max"] <= frame["delta"] + 1e-9).all()
    assert (frame["fair_share"] == 1.0).all()
    assert (frame["relaxed"] == 0).all()


def test_exact_tradeoff_of_the_labels_is_the_optimum_of_a_reference_solver():
    data = lists()
    deltas = [0.0, 0.02, 0.1]
    frame = exact_tradeoff(data.relevance, data, Fairness(delta=0.3), deltas)
    v, w = PositionBias().vector(3), Discount().vector(3)
    for delta, found in zip(deltas, frame["dcg"], strict=True):
        optima = []
        for q in range(2):
            rows = slice(3 * q, 3 * q + 3)
            sizes = np.bincount(data.groups[rows])
            low, high = sizes * (v.mean() - delta), sizes * (v.mean() + delta)
            optima.append(reference_optimum(data.relevance[rows], data.groups[rows], low, high, v, w))
        assert found == pytest.approx(np.mean(optima), abs=1e-9)


def test_exact_tradeoff_needs_relevance():
    data = lists()
    bare = RankingDataset(
        query_ids=data.query_ids,
        offsets=data.offsets,
        item_ids=data.item_ids,
        groups=data.groups,
        group_names=data.group_names,
    )
    with pytest.raises(DataError, match="needs relevance"):
        exact_tradeoff(data.score, bare, Fairness(delta=0.3))
