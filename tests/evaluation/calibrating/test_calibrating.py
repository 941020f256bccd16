"""Calibrated repairs: what is estimated from what, the gain against a scan by hand, and the price at face value."""

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from spofr_core.cli.application import app
from spofr_core.data import RankingDataset, load_hiring
from spofr_core.data.calibration import CALIBRATIONS, LogisticCalibration
from spofr_core.errors import ConfigError, DataError
from spofr_core.evaluation import (
    audit,
    calibrated_scores,
    calibration_gain,
    prices_at_face_value,
    reliability,
    repair,
)
from spofr_core.fairness import Fairness

TIGHT = Fairness(delta=0.0)


def lists(n=300, length=8, seed=0, power=6.0):
    """Chances of relevance, and a score that is a steep power of them: right in order, wrong in differences."""
    rng = np.random.default_rng(seed)
    group = np.tile(np.arange(length) % 2, n)
    chance = np.clip(rng.beta(2, 3, n * length) - 0.15 * group, 0.01, 0.99)
    return RankingDataset(
        query_ids=np.arange(n),
        offsets=np.arange(n + 1) * length,
        item_ids=np.arange(n * length),
        groups=group,
        group_names=("a", "b"),
        relevance=(rng.random(n * length) < chance).astype(float),
        score=chance**power,
    ), chance


def test_every_query_is_calibrated_by_the_others_alone():
    data, _ = lists(40)
    whole = calibrated_scores(data, "logistic")
    changed = data.replace(relevance=np.where(data.query_of_item == 7, 1 - data.relevance, data.relevance))
    other = calibrated_scores(changed, "logistic")
    mine = data.query_of_item == 7
    np.testing.assert_array_equal(other.estimates[mine], whole.estimates[mine])
    assert not np.array_equal(other.estimates[~mine], whole.estimates[~mine])
    assert whole.folds == 5
    assert whole.error == pytest.approx(np.sqrt(np.mean((whole.estimates - data.relevance) ** 2)))


def test_the_kind_that_fits_better_is_taken_and_order_is_kept():
    data, _ = lists()
    kinds = {kind: calibrated_scores(data, kind) for kind in ("logistic", "isotonic")}
    best = calibrated_scores(data, True)
    assert best.error == min(each.error for each in kinds.values())
    for each in kinds.values():
        for q in range(20):
            rows = slice(data.offsets[q], data.offsets[q + 1])
            np.testing.assert_array_equal(np.argsort(each.estimates[rows]), np.argsort(data.score[rows]))


def test_calibration_brings_a_repair_near_that_of_the_true_chances():
    data, chance = lists(1500)
    gain = calibration_gain(data, TIGHT)
    dcg = {
        name: audit(data, TIGHT, policies=repair(data, TIGHT, scores=scores).policies).summary["utility"]["dcg"]
        for name, scores in (("plain", None), ("true", chance))
    }
    assert gain.plain == pytest.approx(dcg["plain"])
    assert gain.gain == pytest.approx(gain.calibrated - gain.plain)
    assert gain.interval[0] > 0  # steep scores cost something
    assert gain.calibrated > dcg["true"] - 0.25 * (dcg["true"] - dcg["plain"])
    assert "would be better" in gain.sentence
    same = calibration_gain(data.with_scores(chance), TIGHT)
    assert same.interval[0] <= 0 <= same.interval[1] or abs(same.gain) < 0.003


def test_a_calibrated_repair_says_so_and_keeps_the_audit_of_before():
    data, _ = lists(60)
    plain, calibrated = repair(data, TIGHT), repair(data, TIGHT, calibrate="logistic")
    assert calibrated.before.summary["queries"] == plain.before.summary["queries"]
    assert calibrated.before.summary["utility"] == plain.before.summary["utility"]
    assert "taken at face value" in plain.maximised
    assert plain.maximised in plain.after.summary["notes"]
    assert "logistic calibration, fitted to the labels of other queries, in 5 parts" in calibrated.maximised
    assert calibrated.maximised in calibrated.after.summary["notes"]
    assert calibrated.maximised not in calibrated.before.summary["notes"]
    assert json.loads(json.dumps(calibrated.summary))["maximised"] == calibrated.maximised
    assert calibrated.after.summary["violation"]["max"] <= 1e-9


def test_other_data_is_fitted_on_as_a_whole():
    data, _ = lists(50)
    held_out, _ = lists(200, seed=1)
    found = repair(data, TIGHT, calibrate=held_out)
    kind = found.calibrated.kind
    assert "labels of other data" in found.maximised
    if kind == "logistic":
        expected = LogisticCalibration.fit(held_out.score, held_out.relevance).estimates(data.score)
        np.testing.assert_allclose(found.data.score, expected)
    bare = data.replace(relevance=None)  # what is repaired needs no labels then
    np.testing.assert_array_equal(repair(bare, TIGHT, calibrate=held_out).data.score, found.data.score)


def test_what_cannot_be_calibrated_is_said_in_a_sentence():
    data, _ = lists(30)
    with pytest.raises(DataError, match="needs relevance labels"):
        repair(data.replace(relevance=None), TIGHT, calibrate=True)
    with pytest.raises(DataError, match="A single query cannot be calibrated"):
        repair(data[:1], TIGHT, calibrate=True)
    with pytest.raises(ConfigError, match="'calibrate' must be True, one of"):
        repair(data, TIGHT, calibrate="magic")
    with pytest.raises(DataError, match="no score"):
        calibrated_scores(data.replace(score=None))
    backwards = calibrated_scores(data.with_scores(-data.score), "logistic")
    assert backwards.flat
    assert "; the scores say nothing about the labels, so that many estimates are equal" in backwards.sentence
    some = replace(backwards, flat_parts=1).sentence
    assert "in 5 parts; in 1 of them the scores say nothing about the labels, and estimates are equal" in some


def test_a_file_whose_relevant_items_are_all_in_one_query_is_refused_for_what_it_is():
    data, _ = lists(30)
    with pytest.raises(DataError, match="None of the 240 items is relevant"):
        calibrated_scores(data.replace(relevance=np.zeros(240)))
    lonely = data.replace(relevance=np.where(data.query_of_item == 3, 1.0, 0.0))
    with pytest.raises(DataError, match=r"in 5 parts, .* none of the 192 items is relevant\. Repair"):
        calibrated_scores(lonely)


def drawn_people(n=80, length=8, people=160, seed=0):
    """Lists drawn from the same people again and again, whose labels no score could tell."""
    rng = np.random.default_rng(seed)
    rows = np.concatenate([rng.choice(people, length, replace=False) for _ in range(n)])
    score, label = rng.random(people), rng.integers(0, 2, people).astype(float)
    return lists(n, length)[0].replace(item_ids=rows, score=score[rows], relevance=label[rows])


@pytest.mark.parametrize("kind", ["logistic", "isotonic"])
def test_who_is_in_several_lists_is_not_calibrated_by_their_own_label(kind):
    data = drawn_people()
    person = data.item_ids[0]
    flipped = data.replace(relevance=np.where(data.item_ids == person, 1 - data.relevance, data.relevance))
    first, second = (calibrated_scores(each, kind).estimates for each in (data, flipped))
    mine = data.item_ids == person
    assert mine.sum() > 2
    np.testing.assert_array_equal(first[mine], second[mine])
    found = calibrated_scores(data, kind)
    assert "fitted to the labels of other items in other queries, in 21 parts" in found.sentence
    assert found.error > 0.49  # as large as that of a coin: nothing can be known of these people


@pytest.mark.parametrize("kind", ["logistic", "isotonic"])
def test_people_whose_relevance_goes_with_how_often_they_are_drawn_are_not_calibrated_too_low(kind):
    """Two relevant ones in ten, drawn from 20 relevant people and 200 others: the former are in twice as many lists."""
    rng = np.random.default_rng(3)
    rows = np.concatenate(
        [np.concatenate([rng.choice(20, 2, replace=False), 20 + rng.choice(200, 8, replace=False)]) for _ in range(150)]
    )
    score = rng.normal(size=220) + (np.arange(220) < 20)
    data = lists(150, 10)[0].replace(item_ids=rows, score=score[rows], relevance=(rows < 20).astype(float))
    found = calibrated_scores(data, kind)
    assert found.items_apart
    assert found.estimates.mean() == pytest.approx(0.2, abs=0.03)
    assert found.error < 0.4  # that of the mean


def test_an_item_that_counts_twice_is_two_items():
    rng = np.random.default_rng(5)
    score, label = rng.normal(size=60), rng.integers(0, 3, 60).astype(float)
    counts = rng.integers(1, 4, 60)
    for kind in CALIBRATIONS.values():
        weighted, repeated = (
            kind.fit(score, label, counts),
            kind.fit(np.repeat(score, counts), np.repeat(label, counts)),
        )
        np.testing.assert_allclose(weighted.estimates(score), repeated.estimates(score), rtol=1e-6)


def test_labels_that_belong_to_the_query_are_all_learned_from():
    data = drawn_people()
    asked = data.replace(relevance=np.random.default_rng(1).integers(0, 2, data.n_items).astype(float))
    found = calibrated_scores(asked)
    assert not found.items_apart
    same_in_all = lists(20)[0].replace(item_ids=np.tile(np.arange(8), 20), score=np.tile(np.arange(8.0), 20))
    with pytest.raises(DataError, match=r"its own items\. The others do not suffice: there is no item to calibrate"):
        calibrated_scores(same_in_all.replace(relevance=np.tile([0.0, 1.0], 80)))


@pytest.mark.parametrize("calibrate", [None, 0, 1, [1], np.zeros(3), "", "Isotonic"])
def test_what_is_no_way_to_calibrate_is_refused(calibrate):
    with pytest.raises(ConfigError, match="'calibrate' must be True, one of"):
        repair(lists(20)[0], TIGHT, calibrate=calibrate)


@pytest.mark.parametrize("seed", [-1, 0.5])
def test_a_seed_that_cuts_no_parts_is_refused(seed):
    with pytest.raises(ConfigError, match=f"'seed' is {seed}; give an integer"):
        calibrated_scores(lists(10)[0], seed=seed)


def test_other_data_that_is_the_same_data_is_calibrated_across_queries():
    data, chance = lists(60)
    better = data.with_scores(chance).replace(relevance=data.relevance)
    across = calibrated_scores(better)
    for other in (data, better, data.replace(notes=("read again",))):
        found = repair(data, TIGHT, scores=chance, calibrate=other).calibrated
        np.testing.assert_array_equal(found.estimates, across.estimates)
        assert found.folds == 5
    part = calibrated_scores(data[:20], data)
    assert part.known == 20
    assert "; 20 of these queries are among them" in part.sentence
    assert calibrated_scores(data[:20], data[20:]).known == 0


@pytest.mark.parametrize("size", [1e-290, 1e290])
def test_scores_in_any_unit_are_calibrated_alike(size):
    data, _ = lists(40)
    for kind in ("logistic", "isotonic"):
        plain = calibrated_scores(data, kind)
        scaled = calibrated_scores(data.with_scores(size * data.score).replace(relevance=data.relevance), kind)
        np.testing.assert_allclose(scaled.estimates, plain.estimates, rtol=1e-6)
        assert not scaled.flat


def test_a_gain_and_both_ends_of_its_interval_have_the_same_decimals():
    data, _ = lists(40)
    told = {"plain": 2.129, "calibrated": 2.138, "gain": 0.00863, "interval": (0.00379, 0.0138)}
    gain = replace(calibration_gain(data, TIGHT), **told)
    assert gain.sentence.endswith("DCG 2.138 instead of 2.129, +0.0086 (95 % interval +0.0038 to +0.0138).")


def test_rounding_is_no_gain_and_a_handful_of_queries_proves_none():
    data, _ = lists(40)
    equal = data.replace(relevance=np.repeat(np.arange(40) % 2, 8).astype(float))  # no order of a list is worth more
    assert calibration_gain(equal, TIGHT).gain == 0
    assert "makes no difference to the repair that these queries can show" in calibration_gain(equal, TIGHT).sentence
    few = calibration_gain(data[:5], TIGHT)
    assert few.interval is None
    assert few.sentence.startswith("These queries are too few to say")
    assert calibration_gain(data[:6], TIGHT).interval is not None


def test_the_gain_is_that_of_two_repairs():
    data, _ = lists(50)
    gain, plain, calibrated = calibration_gain(data, TIGHT), repair(data, TIGHT), repair(data, TIGHT, calibrate=True)
    assert gain.plain == plain.summary["after"]["dcg"]
    assert gain.calibrated == calibrated.summary["after"]["dcg"]
    worth = 1 / np.log2(np.arange(2, 10))
    by_hand = [
        p * worth @ data.relevance[data.offsets[q] + ranking]
        for q, policy in enumerate(calibrated.policies)
        for ranking, p in zip(policy.rankings, policy.probabilities, strict=True)
    ]
    assert sum(by_hand) / 50 == pytest.approx(gain.calibrated)


def test_a_calibrated_repair_calls_nothing_the_scores_that_is_not():
    data, _ = lists(40)
    plain, calibrated = repair(data, TIGHT), repair(data, TIGHT, calibrate=True)
    assert "mean utility of the scores" in set(plain.table["label"])
    assert "mean utility of the calibrated scores" in set(calibrated.table["label"])
    assert (plain.summary["calibrated"], calibrated.summary["calibrated"]) == (False, True)


def test_reliability_by_hand():
    data, _ = lists(100)
    table = reliability(data, bins=4)
    assert table["items"].sum() == data.n_items
    first = data.score <= np.quantile(data.score, 0.25)
    assert table["relevance"][0] == pytest.approx(data.relevance[first].mean())
    assert table["score_to"][0] == data.score[first].max()
    per_query = [data.relevance[first & (data.query_of_item == q)] for q in range(100)]
    pulls = np.array([np.sum(x - data.relevance[first].mean()) for x in per_query]) / first.sum()
    half = 1.96 * np.sqrt(np.sum(pulls**2) * 100 / 99)
    assert table["upper"][0] - table["relevance"][0] == pytest.approx(half, rel=1e-3)
    assert len(reliability(data.with_scores(np.ones(data.n_items)).replace(relevance=data.relevance))) == 1


def test_prices_do_not_depend_on_unit_or_zero_of_the_scores():
    data, _ = lists(60)
    bare = data.replace(relevance=None)
    table = prices_at_face_value(bare, TIGHT)
    moved = prices_at_face_value(bare.with_scores(7 * bare.score - 100), TIGHT)
    np.testing.assert_allclose(moved["price"], table["price"], atol=1e-6)
    assert (table["price"] > 0).all()
    assert table["price"].max() < 1
    assert table["price"].nunique() == len(table)  # the same order, other prices
    free = prices_at_face_value(bare, Fairness(delta=5.0))
    np.testing.assert_allclose(free["price"], 0, atol=1e-12)
    with pytest.raises(DataError, match="All scores are equal"):
        prices_at_face_value(bare.with_scores(np.zeros(bare.n_items)), TIGHT)
    with pytest.raises(DataError, match="All scores of each list are equal"):
        prices_at_face_value(bare.with_scores(bare.query_of_item / 7), TIGHT)
    largest = bare.with_scores(1.7e308 * (2 * bare.score / bare.score.max() - 1))  # from one end of all numbers on
    np.testing.assert_allclose(prices_at_face_value(largest, TIGHT)["price"], table["price"], atol=1e-3)


def test_the_shell_calibrates(tmp_path):
    hiring = ["--query", "search_id", "--item", "candidate_id", "--group", "gender", "--relevance", "relevance"]
    command = ["repair", "sample_data/hiring.csv", *hiring, "--score", "score", "--out", str(tmp_path / "p.csv")]
    told = CliRunner().invoke(app, [*command, "--calibrate", "--json", str(tmp_path / "s.json")])
    assert told.exit_code == 0
    assert "Maximised is the DCG of relevance estimated from the scores" in told.output
    summary = json.loads((tmp_path / "s.json").read_text())
    expected = repair(load_hiring(), Fairness(delta=0.1, unit="share"), calibrate=True)
    assert summary["after"]["dcg"] == pytest.approx(expected.summary["after"]["dcg"])
    assert "taken at face value" in CliRunner().invoke(app, command).output
    refused = CliRunner().invoke(app, ["repair", str(tmp_path), "--calibrate", "--out", str(tmp_path / "x.csv")])
    assert isinstance(refused.exception, ConfigError)
    assert "a folder is read part by part" in str(refused.exception)
