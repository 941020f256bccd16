"""Training on data that is not as one would like it."""

import warnings

import numpy as np
import pandas as pd
import pytest
import torch

from spofr_core.data.shared_features import share
from spofr_core.errors import ConfigError, DataError
from spofr_core.fairness import Fairness
from spofr_core.learning import (
    SPOFR,
    CollapsedScores,
    PredictThenOptimize,
    Unfair,
    make_estimator,
)
from spofr_core.learning.lists import feature_table
from spofr_core.learning.scorers.network import build_network
from spofr_core.learning.scorers.scaling import Scaler
from tests.learning.toy import FAIRNESS, LEARNING, QUICK, assert_same_weights, toy_data, weights


def test_constant_features_are_counted_and_harmless(train, validation):
    def with_constant(data):
        features = np.column_stack([data.features, np.full(data.n_items, 1e9 + 0.1)])
        return data.replace(features=features, feature_names=(*data.feature_names, "flat"))

    model = PredictThenOptimize(FAIRNESS, **QUICK).fit(with_constant(train), with_constant(validation))
    assert model.report.counts["constant_features"] == 1
    assert "Features that are constant in the training data and carry no information: 1." in model.report.notes
    assert np.all(np.isfinite(model.scores(with_constant(validation))))


def test_features_that_are_not_finite_are_refused_with_their_place(train):
    features = np.array(train.features)
    features[7, 2] = np.nan
    with pytest.raises(DataError, match=r"'features' holds nan at query 'q\d', item 'i7'"):
        train.replace(features=features)


@pytest.mark.parametrize("method", LEARNING)
def test_lists_without_a_relevant_item_are_counted(method, train, validation):
    relevance = np.array(train.relevance)
    relevance[: train.offsets[5]] = 0.0
    data = train.replace(relevance=relevance)
    model = make_estimator(method, FAIRNESS, **QUICK).fit(data, validation)
    empty = int(np.sum(np.add.reduceat(relevance, train.offsets[:-1]) == 0))
    assert empty >= 5
    assert model.report.counts["lists_without_relevant_item"] == empty
    assert f"Training lists without a relevant item: {empty}." in model.report.notes


@pytest.mark.parametrize("method", LEARNING)
def test_labels_below_zero_teach_what_the_shifted_ones_do_and_dcg_is_that_of_the_labels(method, train, validation):
    """The validation lists go lower than the training lists: what is added to both is what they need together."""
    below = [part.replace(relevance=part.relevance - lowest) for part, lowest in ((train, 1.0), (validation, 2.0))]
    shifted = [part.replace(relevance=part.relevance + 2.0) for part in below]
    mine, theirs = (make_estimator(method, FAIRNESS, **QUICK).fit(*parts) for parts in (below, shifted))
    assert_same_weights(weights(mine), weights(theirs))
    worth = np.mean([np.sum(1 / np.log2(np.arange(2, n + 2))) for n in validation.list_lengths])
    for field, gap in (("validation_dcg", 2 * worth), ("regret", 0.0)):
        assert theirs.report.best[field] - mine.report.best[field] == pytest.approx(gap, abs=1e-5)
    assert "Labels below 0: a label of -2 counts as 0" in " ".join(mine.report.notes)
    assert "Labels below 0" not in " ".join(theirs.report.notes)


def test_no_relevant_item_at_all_is_an_error(train):
    data = train.replace(relevance=np.zeros(train.n_items))
    with pytest.raises(DataError, match="None of the 40 training lists has a relevant item"):
        SPOFR(FAIRNESS, **QUICK).fit(data)


def test_items_that_are_all_equally_relevant_are_an_error(train):
    for relevance in (1.0, 0.1):
        data = train.replace(relevance=np.full(train.n_items, relevance))
        with pytest.raises(DataError, match=rf"All \d+ training items have the relevance {relevance:g}: there is no"):
            PredictThenOptimize(FAIRNESS, loss="lambdarank", **QUICK).fit(data)


@pytest.mark.parametrize("relevance", [0.0, 1.0])
@pytest.mark.parametrize(
    ("method", "options"), [*((name, {}) for name in LEARNING), ("pto", {"loss": "lambdarank"})], ids=str
)
def test_validation_lists_that_tell_no_order_do_not_keep_the_first_weights(method, options, relevance, train):
    blind = toy_data(3, n_groups=3, seed=1)
    blind = blind.replace(relevance=np.full(blind.n_items, relevance))
    model = make_estimator(method, FAIRNESS, **QUICK, **options).fit(train, blind)
    alone = make_estimator(method, FAIRNESS, **QUICK, **options, validation_share=0.0).fit(train)
    np.testing.assert_array_equal(model.scores(train), alone.scores(train))
    assert "equally relevant, so that they cannot tell which weights are better" in " ".join(model.report.notes)


@pytest.mark.parametrize("method", LEARNING)
def test_lists_of_a_single_group_are_counted(method, train, validation):
    groups = np.array(train.groups)
    groups[: train.offsets[9]] = 1
    data = train.with_groups(groups, train.group_names)
    model = make_estimator(method, FAIRNESS, **QUICK).fit(data, validation)
    assert model.report.counts["single_group_lists"] >= 9
    only_one = train.with_groups(np.zeros(train.n_items, dtype=int), ("a",))
    report = make_estimator(method, FAIRNESS, **QUICK).fit(only_one, only_one).report
    assert report.counts["single_group_lists"] == len(train)
    assert report.best["violation"] is None


@pytest.mark.parametrize("method", [*LEARNING, "uniform"])
def test_one_training_query_is_enough(method):
    data = toy_data(1, lengths=(6, 6), seed=1)
    assert data.relevance.sum() > 0
    model = make_estimator(method, FAIRNESS, **QUICK).fit(data)
    assert len(model.scores(data)) == 6
    assert method == "uniform" or model.report.steps in (30, 60)  # one stage or two


def test_lists_that_cannot_meet_delta_are_trained_with_the_smallest_they_can(train, validation):
    fairness = Fairness(delta=0.0, notion="merit", merits={"a": 0.1, "b": 0.5, "c": 8.0})
    report = SPOFR(fairness, **QUICK).fit(train, validation).report
    assert report.counts["relaxed_lists"] > 0
    assert any("cannot meet delta" in note for note in report.notes)


def test_a_collapsed_network_warns(train, validation, monkeypatch):
    def dead_network(*arguments):
        network = build_network(*arguments)
        for parameter in network.parameters():
            torch.nn.init.zeros_(parameter)  # no unit fires, and no gradient ever wakes one
        return network

    monkeypatch.setattr("spofr_core.learning.scorers.network.build_network", dead_network)
    model = PredictThenOptimize(FAIRNESS, **QUICK)
    with pytest.warns(CollapsedScores, match="all items the same score in 100% of the training lists"):
        model.fit(train, validation)
    assert "coin tosses. Try another seed, a wider network (hidden=(32,)) or a smaller" in model.report.notes[-1]
    assert model.report.best["distinct_scores"] == 1.0


def test_a_healthy_network_does_not_warn(train, validation):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PredictThenOptimize(FAIRNESS, **QUICK).fit(train, validation)


def test_validation_lists_are_held_out_when_none_are_given(train):
    report = PredictThenOptimize(FAIRNESS, **QUICK).fit(train).report
    assert report.counts["training_lists"] == 32
    assert report.counts["validation_lists"] == 8
    assert "8 of 40 training lists were held out" in report.notes[0]
    last = PredictThenOptimize(FAIRNESS, **QUICK, validation_share=0.0).fit(train).report
    assert last.counts["training_lists"] == 40
    assert "last step" in last.notes[0]


def test_copies_of_a_list_stay_together_when_held_out():
    data = toy_data(10)
    thrice = data[np.tile(np.arange(10), 3)]
    report = PredictThenOptimize(FAIRNESS, **QUICK).fit(thrice).report
    assert report.counts["training_lists"] == 24
    assert report.counts["validation_lists"] == 6


def test_labels_must_be_there():
    data = toy_data(5).replace(relevance=None)
    with pytest.raises(DataError, match="relevance labels"):
        SPOFR(FAIRNESS).fit(data)
    with pytest.raises(DataError, match="no features"):
        SPOFR(FAIRNESS).fit(toy_data(5).replace(features=None, feature_names=()))


def test_features_can_be_excluded(train, validation):
    model = PredictThenOptimize(FAIRNESS, exclude_features=("x0", "x3"), **QUICK).fit(train, validation)
    assert model.learned.feature_names == ("x1", "x2", "x4")
    changed = np.array(validation.features)
    changed[:, [0, 3]] = 77.0
    np.testing.assert_array_equal(model.scores(validation), model.scores(validation.replace(features=changed)))
    with pytest.raises(ConfigError, match="exclude_features names 'group'"):
        PredictThenOptimize(FAIRNESS, exclude_features=("group",)).fit(train)


def test_validation_groups_are_matched_by_name(train, validation):
    names = ("c", "a", "b")
    other = validation.with_groups(np.array([1, 2, 0])[validation.groups], names)
    for method in ("fultr", "deltr", "spofr"):
        first = make_estimator(method, FAIRNESS, **QUICK).fit(train, validation)
        second = make_estimator(method, FAIRNESS, **QUICK).fit(train, other)
        assert_same_weights(weights(first), weights(second))


@pytest.mark.parametrize("wrong", [pd.DataFrame({"query": [1]}), "a.csv", np.zeros(3)], ids=type)
def test_what_is_no_dataset_is_refused_in_a_sentence(wrong, train):
    model = SPOFR(FAIRNESS, **QUICK).fit(train)
    plain = Unfair(**QUICK).fit(train)
    for use in (SPOFR(FAIRNESS).fit, lambda x: SPOFR(FAIRNESS).fit(train, x), model.scores, model.policies):
        with pytest.raises(DataError, match=rf"must be a RankingDataset, got {type(wrong).__name__}; read_dataset"):
            use(wrong)
    with pytest.raises(DataError, match="'data' must be a RankingDataset"):
        plain.policies(wrong)


@pytest.mark.parametrize("size", [1e40, 1e-40])
def test_labels_that_single_precision_does_not_know_are_refused_with_their_place(size, train):
    data = train.replace(relevance=size * np.array(train.relevance))
    with pytest.raises(DataError, match=r"The relevance of query 'q\d+', item 'i\d+' is .*multiply all by a constant"):
        SPOFR(FAIRNESS, **QUICK).fit(data)


# -- settings ------------------------------------------------------------------------------------------


def test_the_table_of_features_has_the_rows_in_use_in_their_order():
    rng = np.random.default_rng(0)
    data = toy_data(6, n_groups=2)
    table, rows = rng.normal(size=(300, 4)), rng.integers(0, 300, data.n_items)
    used, place = np.unique(rows, return_inverse=True)
    found_table, found_rows = feature_table(data.replace(features=share(table, rows), feature_names=tuple("abcd")))
    assert 0 < len(used) < 300
    np.testing.assert_array_equal(found_table, table[used])
    np.testing.assert_array_equal(found_rows, place)


@pytest.mark.parametrize("size", [1e-300, 1e300, 1.7e308])
def test_features_of_any_size_are_scaled_alike(size):
    rng = np.random.default_rng(0)
    table, counts = np.clip(rng.normal(size=(200, 2)) / 4, -1, 1), np.ones(200, dtype=np.int64)
    plain = Scaler.fit(table, counts, "standard").transform(table)
    table[:, 1] *= size
    np.testing.assert_allclose(Scaler.fit(table, counts, "standard").transform(table), plain, rtol=1e-5)
