"""The loop: determinism, resumption, early stopping, messages, and data that is not as one would like it."""

import io
import json
import math
import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import torch

from spofr_core.data.shared_features import share
from spofr_core.errors import ConfigError, DataError, SpofrError
from spofr_core.fairness import Fairness
from spofr_core.learning import (
    DELTR,
    FULTR,
    METHODS,
    SPOFR,
    CollapsedScores,
    JsonLines,
    PredictThenOptimize,
    ProgressBar,
    StopTraining,
    TrainingDiverged,
    TrainingSettings,
    Unfair,
    make_estimator,
)
from spofr_core.learning.lists import feature_table
from spofr_core.learning.losses.links import ListShares, RawScores
from spofr_core.learning.scorers.network import build_network
from spofr_core.learning.scorers.scaling import Scaler
from tests.learning.toy import toy_data

FAIRNESS = Fairness(delta=0.02)
QUICK = {"max_steps": 30, "validate_every": 5, "batch_size": 8, "learning_rate": 1e-2}
LEARNING = [name for name in METHODS if name != "uniform"]


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def train():
    return toy_data(40, n_groups=3)


@pytest.fixture(scope="module")
def validation():
    return toy_data(20, n_groups=3, seed=1)


def test_an_epoch_that_was_cut_short_counts_as_far_as_it_went(train, validation):
    # 40 lists in batches of 8 make five steps a pass.
    for method, steps, passes in (("pto", 7, 1.4), ("pto", 10, 2.0), ("spofr", 8, 3.2)):
        model = make_estimator(method, FAIRNESS, **QUICK | {"max_steps": steps}).fit(train, validation)
        assert model.report.epochs == pytest.approx(passes, abs=1e-12)
    trees = make_estimator("pto", FAIRNESS, scorer="trees", **QUICK | {"max_steps": 7}).fit(train, validation)
    assert trees.report.epochs == trees.report.steps == 7

    def stop(message):
        if message.step == 5 + 5 // 2:
            raise StopTraining

    options = QUICK | {"max_steps": 30, "validate_every": 1}
    stopped = make_estimator("pto", FAIRNESS, **options).fit(train, validation, callbacks=[stop])
    assert (stopped.report.stopped, stopped.report.epochs) == ("callback", pytest.approx(1.4))


def weights(model):
    return model.learned.scorer.arrays()


def assert_same_weights(a, b):
    assert a.keys() == b.keys()
    for name in a:
        assert np.array_equal(a[name], b[name]), name


@pytest.mark.parametrize("method", LEARNING)
def test_every_method_learns_something(method, train, validation):
    model = make_estimator(method, FAIRNESS, **QUICK | {"max_steps": 150}).fit(train, validation)
    test = toy_data(60, n_groups=3, seed=2)
    worth = model.policies(test).expectation(model.discount.vector(9))
    uniform = make_estimator("uniform", FAIRNESS).fit(train).policies(test).expectation(model.discount.vector(9))
    assert test.relevance @ worth > 1.1 * (test.relevance @ uniform)
    assert model.report.best["validation_dcg"] > model.report.history[0]["validation_dcg"]


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("pto", {"loss": "listnet-within-groups"}),
        ("spofr", {"loss": "spo+", "warm_up": "listnet-within-groups", "margin": 0.0}),
    ],
)
def test_a_network_learns_within_groups(method, options, train):
    """Lists without a relevant item come first, so that a loss which took the groups of other lists would show."""
    relevance = np.array(train.relevance)
    relevance[: train.offsets[20]] = 0.0
    telling = train.replace(features=0.1 * train.features + relevance[:, None], relevance=relevance)
    model = make_estimator(method, FAIRNESS, **QUICK | {"max_steps": 150, "validation_share": 0.0} | options)
    scores = model.fit(telling).scores(telling)
    assert model.report.counts["lists_without_relevant_item"] >= 20
    assert scores[relevance > 0].mean() > scores[relevance == 0].mean() + 3 * scores[relevance == 0].std()


@pytest.mark.parametrize("method", LEARNING)
def test_a_seed_repeats_to_the_last_bit_and_another_differs(method, train, validation):
    first, again, other = (
        weights(make_estimator(method, FAIRNESS, seed=seed, **QUICK).fit(train, validation)) for seed in (1, 1, 2)
    )
    assert_same_weights(first, again)
    assert any(not np.array_equal(first[name], other[name]) for name in first)


def test_the_global_random_state_is_left_alone(train):
    before = torch.get_rng_state()
    PredictThenOptimize(FAIRNESS, **QUICK).fit(train)
    assert np.array_equal(before, torch.get_rng_state())


class Killed(Exception):
    pass


@pytest.mark.parametrize(
    ("method", "killed_in_epoch", "options"),
    [(method, epoch, {}) for method in LEARNING for epoch in (1, 4)]
    + [("spofr", 8, {}), ("spofr", 8, {"margin": 1e9})],  # these in the second stage
)
def test_a_killed_fit_continues_to_the_same_weights(method, killed_in_epoch, options, train, validation, tmp_path):
    def kill(progress):
        if progress.kind == "validation" and progress.epoch == killed_in_epoch + 1:
            raise Killed

    whole = make_estimator(method, FAIRNESS, seed=3, **QUICK, **options).fit(train, validation)
    with pytest.raises(Killed):
        make_estimator(method, FAIRNESS, seed=3, **QUICK, **options).fit(train, validation, [kill], checkpoint=tmp_path)
    steps = []
    resumed = make_estimator(method, FAIRNESS, seed=3, **QUICK, **options)
    resumed.fit(train, validation, [lambda progress: steps.append(progress.step)], checkpoint=tmp_path)
    assert steps[0] == 5 * killed_in_epoch
    assert_same_weights(weights(whole), weights(resumed))
    assert resumed.report.best_step == whole.report.best_step
    assert [m["objective"] for m in resumed.report.history] == [m["objective"] for m in whole.report.history]


def test_a_finished_fit_is_not_repeated(train, validation, tmp_path):
    first = PredictThenOptimize(FAIRNESS, **QUICK).fit(train, validation, checkpoint=tmp_path)
    kinds = []
    again = PredictThenOptimize(FAIRNESS, **QUICK)
    again.fit(train, validation, [lambda progress: kinds.append(progress.kind)], checkpoint=tmp_path)
    assert kinds == ["start", "end"]
    assert_same_weights(weights(first), weights(again))
    assert again.report.stopped == "max_steps"


def test_a_checkpoint_of_another_fit_is_refused(train, validation, tmp_path):
    PredictThenOptimize(FAIRNESS, **QUICK).fit(train, validation, checkpoint=tmp_path)
    for other in (PredictThenOptimize(FAIRNESS, **QUICK, seed=5), PredictThenOptimize(Fairness(delta=0.1), **QUICK)):
        with pytest.raises(DataError, match="other data, settings"):
            other.fit(train, validation, checkpoint=tmp_path)
    with pytest.raises(DataError, match="other data, settings"):
        PredictThenOptimize(FAIRNESS, **QUICK).fit(validation, train, checkpoint=tmp_path)
    path = tmp_path / "checkpoint.safetensors"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(DataError, match="cannot be read"):
        PredictThenOptimize(FAIRNESS, **QUICK).fit(train, validation, checkpoint=tmp_path)


@pytest.mark.parametrize("settings", [{}, {"scorer": "trees"}], ids=str)
@pytest.mark.parametrize(
    ("old", "new"), [(b"stage_epoch", b"stage_epocH"), (b"best.", b"beST.")], ids=["position", "weights"]
)
def test_a_damaged_checkpoint_is_refused_in_a_sentence(old, new, settings, train, validation, tmp_path):
    options = {**QUICK, **settings}
    SPOFR(FAIRNESS, **options).fit(train, validation, checkpoint=tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes().replace(old, new))
    with pytest.raises(DataError, match=r"The checkpoint .* is damaged \(.*\): delete it to start over"):
        SPOFR(FAIRNESS, **options).fit(train, validation, checkpoint=tmp_path)


def test_early_stopping_keeps_the_best_weights(train, validation):
    settings = {"max_steps": 500, "validate_every": 5, "patience": 4, "learning_rate": 0.05, "batch_size": 8}
    model = PredictThenOptimize(FAIRNESS, **settings).fit(train, validation)
    report = model.report
    objectives = [m["objective"] for m in report.history]
    assert report.stopped == "early stopping"
    assert report.best["objective"] == max(objectives)
    assert report.steps == report.best_step + 4 * 5
    worth = model.policies(validation).expectation(model.discount.vector(9))
    assert validation.relevance @ worth / len(validation) == pytest.approx(report.best["validation_dcg"], abs=1e-6)


def test_fine_tuning_starts_from_the_best_warm_up_and_is_never_worse_on_validation(train, validation):
    model = SPOFR(FAIRNESS, warm_up="listnet", **QUICK).fit(train, validation)
    warm = [m for m in model.report.history if m["stage"] != model.report.history[-1]["stage"]]
    assert len({m["stage"] for m in model.report.history}) == 2
    assert model.report.best["objective"] >= max(m["objective"] for m in warm)


def test_a_logistic_warm_up_is_predict_then_optimise_until_the_programme_takes_over(train, validation):
    options = {"loss": "spo+", "seed": 1, **QUICK}
    first = PredictThenOptimize(FAIRNESS, scorer="logistic", seed=1, **QUICK).fit(train, validation)
    model = SPOFR(FAIRNESS, warm_up="logistic", margin=0.0, **options).fit(train, validation)
    warm = [m["objective"] for m in model.report.history if m["stage"] == "logistic warm-up"]
    assert warm == [m["objective"] for m in first.report.history]
    assert 0 < model.estimates(train).min() < model.estimates(train).max() < 1
    held = SPOFR(FAIRNESS, warm_up="logistic", margin=1e9, **options).fit(train, validation)
    assert_same_weights(weights(held), weights(first))
    assert held.report.best_step == first.report.best_step
    assert held.report.best["objective"] == first.report.best["objective"]


def test_the_loss_of_the_paper_has_no_remedy_unless_it_is_asked_for():
    alone, warm = (SPOFR(FAIRNESS, loss="spo+", **options).settings for options in ({}, {"warm_up": "listnet"}))
    assert (alone.first_loss, alone.tie_breaker, type(alone.link)) == ("none", "random", RawScores)
    assert (warm.tie_breaker, type(warm.link), warm.needed_gain) == ("scores", ListShares, 1.0)
    asked = SPOFR(FAIRNESS, loss="spo+", warm_up="listnet", ties="random", estimates="scores", margin=0.0).settings
    assert (asked.tie_breaker, type(asked.link), asked.needed_gain) == ("random", RawScores, 0.0)
    assert SPOFR(FAIRNESS).settings.needed_gain == 0.0


def test_a_gain_replaces_the_warm_up_exactly_when_it_is_large_enough(train, validation):
    options = QUICK | {"max_steps": 10, "seed": 2}
    warm = PredictThenOptimize(FAIRNESS, **options).fit(train, validation)
    tuned = SPOFR(FAIRNESS, **options).fit(train, validation)
    assert tuned.report.best_step > warm.report.best_step

    def items(model):
        worth = model.policies(validation).expectation(model.discount.vector(9))
        return validation.relevance * worth / len(validation)

    gains = items(tuned) - items(warm)
    ratio = gains.sum() / np.sqrt(np.sum((gains - gains.mean()) ** 2))
    assert ratio > 0
    for factor, winner in ((0.99, tuned), (1.01, warm)):
        model = SPOFR(FAIRNESS, margin=float(factor * ratio), **options).fit(train, validation)
        assert_same_weights(weights(model), weights(winner))
        told = [note for note in model.report.notes if "were kept" in note]
        assert len(told) == (winner is warm)
        assert all(f"gained {gains.sum():.4f}" in note and f"{ratio:.1f} standard errors" in note for note in told)


def test_a_margin_does_not_undo_a_warm_up_that_is_stopped(train, validation):
    def stop(progress):
        if progress.step >= 20:
            raise StopTraining

    model = SPOFR(FAIRNESS, margin=1e9, **QUICK).fit(train, validation, [stop])
    assert model.report.stopped == "callback"
    assert model.report.best_step > 0
    assert model.report.best["objective"] == max(m["objective"] for m in model.report.history)


def test_messages(train, validation):
    seen = []
    model = SPOFR(FAIRNESS, **QUICK).fit(train, validation, [seen.append])
    assert seen[0].kind == "start"
    assert seen[-1].kind == "end"
    validations = [m for m in seen if m.kind == "validation"]
    for message in validations:
        assert message.violation <= message.max_violation <= 0.02 + 1e-9
        assert message.fair_share == 1.0
        assert message.regret >= -1e-9
        assert 1 < message.distinct_scores <= 9
        assert message.score_spread > 0
    assert sum(m.improved for m in validations) >= 1
    assert max(m.epoch for m in seen) == math.ceil(model.report.epochs)
    assert all(a.step <= b.step and a.seconds <= b.seconds for a, b in pairwise(seen))
    late = [m for m in validations if m.step > 0]
    assert all(np.isfinite(m.loss) and m.eta_seconds >= 0 for m in late)


def test_a_method_without_guarantee_reports_its_violations(train, validation):
    report = Unfair(Fairness(delta=0.0), **QUICK).fit(train, validation).report
    assert report.best["fair_share"] < 0.5
    assert report.best["violation"] > 0.01


def test_callbacks_may_stop_a_fit(train, validation):
    def stop(progress):
        if progress.step >= 10:
            raise StopTraining

    report = PredictThenOptimize(FAIRNESS, **QUICK).fit(train, validation, [stop]).report
    assert report.stopped == "callback"
    assert report.steps == 10


def test_json_lines(train, validation, tmp_path):
    stream, path = io.StringIO(), tmp_path / "logs" / "fit.jsonl"
    PredictThenOptimize(FAIRNESS, **QUICK).fit(train, validation, [JsonLines(stream), JsonLines(path)])
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert stream.getvalue() == path.read_text()
    assert lines[-1]["kind"] == "end"
    assert {"epoch", "step", "loss", "regret", "validation_dcg", "violation", "fair_share", "eta_seconds"} <= set(
        lines[1]
    )


def test_progress_bar_is_for_terminals(train, validation):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    plain, terminal = io.StringIO(), Terminal()
    with ProgressBar(plain) as quiet, ProgressBar(terminal) as bar:
        PredictThenOptimize(FAIRNESS, **QUICK).fit(train, validation, [quiet, bar])
    assert plain.getvalue() == ""
    assert "listnet" in terminal.getvalue()


# -- data that is not as one would like it ------------------------------------------------------------


def test_a_loss_that_is_no_number_ends_the_fit_with_a_reason(train, validation):
    with pytest.raises(TrainingDiverged, match=r"The loss is (nan|inf) in epoch \d+, step \d+.*learning rate"):
        PredictThenOptimize(FAIRNESS, **QUICK | {"learning_rate": 1e30}).fit(train, validation)


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


def test_unknown_settings_are_refused():
    with pytest.raises(ConfigError, match=r"no setting 'learningrate'.*Did you mean 'learning_rate'"):
        SPOFR(FAIRNESS, learningrate=1e-3)
    with pytest.raises(ConfigError, match="no setting 'penalty'"):
        SPOFR(FAIRNESS, penalty=1.0)
    with pytest.raises(ConfigError, match="'fairness' must be a Fairness"):
        SPOFR(0.05)
    with pytest.raises(ConfigError, match=r"'method' must be one of \['spofr'"):
        make_estimator("spo", FAIRNESS)
    with pytest.raises(ConfigError, match="every layer needs a width"):
        TrainingSettings(hidden=(8, 0))
    with pytest.raises(ConfigError, match=r"'hidden' is '32,16': input should be a list, such as \[8, 4\] or"):
        TrainingSettings(hidden="32,16")
    with pytest.raises(ConfigError, match="'exclude_features' is 'age': input should be a list"):
        TrainingSettings(exclude_features="age")
    for setting, beyond in (("seed", 2**64), ("leaf_items", 2**31)):
        with pytest.raises(ConfigError, match=f"{setting!r} is {beyond}: input should be less than {beyond}"):
            TrainingSettings(**{setting: beyond})


@pytest.mark.parametrize("method", [FULTR, DELTR, Unfair])
def test_methods_without_a_constraint_cannot_be_asked_for_one(method, train):
    model = method(**QUICK).fit(train)
    with pytest.raises(ConfigError, match="cannot be asked for a delta"):
        model.policies(train, Fairness(delta=0.1))


def test_an_untrained_model_says_so(train):
    with pytest.raises(SpofrError, match="not trained yet"):
        SPOFR(FAIRNESS).scores(train)


def test_config_round_trip():
    model = FULTR(Fairness(delta=0.1, position_bias=[1.0, 0.5, 0.2]), penalty=3.0, hidden=(7, 3), seed=4)
    again = FULTR.from_config(json.loads(json.dumps(model.to_config())))
    assert again.settings == model.settings
    assert again.fairness == model.fairness
    assert "penalty=3.0" in repr(again)


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
