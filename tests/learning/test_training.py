"""The loop: determinism, resumption, early stopping, messages."""

import io
import json
import math
from itertools import pairwise

import numpy as np
import pytest
import torch

from spofr_core.errors import ConfigError, DataError, SpofrError
from spofr_core.fairness import Discount, Fairness
from spofr_core.learning import (
    DELTR,
    FULTR,
    METHODS,
    SPOFR,
    JsonLines,
    PredictThenOptimize,
    ProgressBar,
    StopTraining,
    TrainingDiverged,
    TrainingSettings,
    Unfair,
    make_estimator,
    model_card,
    with_scorer,
)
from spofr_core.learning.decisions import prepared
from spofr_core.learning.lists import Lists
from spofr_core.learning.losses.links import ListShares, RawScores
from spofr_core.learning.losses.relevance import ListNet, MixedLoss
from spofr_core.learning.losses.through_programme import SPOPlus
from spofr_core.learning.methods.spofr import SPOFRSettings
from spofr_core.learning.scorers.scaling import Scaler
from tests.learning.toy import FAIRNESS, LEARNING, QUICK, assert_same_weights, toy_data, weights


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
        ("spofr", {"warm_up": "listnet-within-groups", "margin": 0.0}),
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


def warm_steps(model):
    return max(m["step"] for m in model.report.history if m["stage"] == model.report.history[0]["stage"])


def test_all_weights_of_the_default_have_been_through_the_programme(train, validation):
    """The sum of both losses from the first step on: its start, which has been through neither, is never kept."""
    rate = {"learning_rate": 1e-12, "max_steps": 20}  # nothing is learned, so that the start is as good as the rest
    model = SPOFR(FAIRNESS, **QUICK | rate).fit(train, validation)
    assert model.report.best_step > 0
    assert {m["stage"] for m in model.report.history} == {"listnet + spo+", "spo+"}
    alone = SPOFR.published(FAIRNESS, **QUICK | {"max_steps": 20}).fit(train, validation)
    assert alone.report.best_step > 0


def test_a_mixed_loss_is_the_sum_of_its_parts(train):
    scaler = Scaler.fit(train.features, np.ones(train.n_items), "none")
    lists = Lists.of(train, scaler, np.arange(train.features.shape[1]))
    lists = lists.take(np.flatnonzero(lists.label_totals > 0))
    batch, rng = lists.batch(np.arange(20)), np.random.default_rng(0)
    scores = rng.normal(size=len(batch.labels))
    spo = SPOPlus(lists, prepared(lists, FAIRNESS, Discount()), ties="scores", link=ListShares())
    value, gradient = MixedLoss(ListNet(), spo, 0.7).value_and_gradient(scores, batch)
    one, two = (loss.value_and_gradient(scores, batch) for loss in (ListNet(), spo))
    assert value == pytest.approx(one[0] + 0.7 * two[0], rel=1e-12)
    np.testing.assert_allclose(gradient, one[1] + 0.7 * two[1], rtol=0, atol=1e-12)


def test_the_published_recipe_is_that_of_the_papers_table():
    model = SPOFR.published(FAIRNESS, seed=3)
    s = model.settings
    assert (s.loss, s.first_loss, s.learning_rate, s.batch_size, s.hidden) == ("spo+", "none", 1e-5, 64, "halving")
    assert (s.tie_breaker, type(s.link), s.seed, model.method) == ("random", RawScores, 3, "spofr-published")
    recipe = {"loss": "spo+", "warm_up": "none", "hidden": "halving", "learning_rate": 1e-5, "batch_size": 64}
    assert METHODS["spofr-published"].recipe == recipe


def test_a_logistic_warm_up_is_predict_then_optimise_until_the_programme_takes_over(train, validation):
    options = {"loss": "spo+", "seed": 1, **QUICK}
    first = PredictThenOptimize(FAIRNESS, scorer="logistic", seed=1, **QUICK).fit(train, validation)
    model = SPOFR(FAIRNESS, warm_up="logistic", mix=0.0, margin=0.0, **options).fit(train, validation)
    warm = [m["objective"] for m in model.report.history if m["stage"] == "logistic warm-up"]
    assert warm == [m["objective"] for m in first.report.history]
    assert 0 < model.estimates(train).min() < model.estimates(train).max() < 1
    assert model.report.best["stage"] == "spo+"  # whatever the warm-up reached
    assert model.report.best["objective"] == max(
        m["objective"] for m in model.report.history if m["step"] > warm_steps(model)
    )
    held = SPOFR(FAIRNESS, warm_up="logistic", margin=1e9, **options).fit(train, validation)
    assert_same_weights(weights(held), weights(first))
    assert held.report.best_step == first.report.best_step
    assert held.report.best["objective"] == first.report.best["objective"]


def test_without_a_warm_up_the_loss_of_the_paper_has_no_remedy():
    alone, warm = (SPOFR(FAIRNESS, **options).settings for options in ({"warm_up": "none"}, {}))
    assert (alone.loss, alone.tie_breaker, type(alone.link)) == ("spo+", "random", RawScores)
    assert (warm.loss, warm.first_loss) == ("spo+", "listnet")
    assert (warm.tie_breaker, type(warm.link), warm.needed_gain, warm.first_mix) == ("scores", ListShares, 1.0, 0.3)
    assert SPOFR(FAIRNESS, margin=1.0).settings.first_mix == 0.0
    asked = SPOFR(FAIRNESS, ties="random", estimates="scores", margin=0.0).settings
    assert (asked.tie_breaker, type(asked.link), asked.needed_gain) == ("random", RawScores, 0.0)


def test_configurations_from_before_the_default_changed_mean_what_they_meant():
    """They are written out with None where the loss decided, and read with a plain warm-up."""
    paper, after, smoothed = (
        SPOFRSettings(loss=loss, warm_up=warm_up, margin=None, mix=0.0, ties=None, estimates=None)
        for loss, warm_up in (("spo+", None), ("spo+", "listnet"), ("fenchel-young", None))
    )
    assert (after.first_mix, after.needed_gain) == (0.0, 1.0)
    assert (paper.first_loss, paper.tie_breaker, type(paper.link)) == ("none", "random", RawScores)
    assert (smoothed.first_loss, type(smoothed.link), smoothed.needed_gain) == ("listnet", ListShares, 0.0)


def test_a_gain_replaces_the_warm_up_exactly_when_it_is_large_enough(train, validation):
    options = QUICK | {"max_steps": 10, "seed": 2}
    warm = PredictThenOptimize(FAIRNESS, **options).fit(train, validation)
    tuned = SPOFR(FAIRNESS, mix=0.0, margin=0.0, **options).fit(train, validation)
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
        shown = with_scorer("spofr", model.settings.to_dict(), model.report.best)
        assert shown == ("pto:SPOFR kept its warm-up" if winner is warm else "spofr")
        title = "predict-then-optimise (SPOFR kept its warm-up)" if winner is warm else "SPOFR"
        assert model_card(model).startswith(f"# Model card: {title}\n")
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
