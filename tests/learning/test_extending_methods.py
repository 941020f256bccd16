"""A method and a scorer from outside: registered with one call each, trained, saved, resumed, swept, offered."""

import subprocess
import sys

import numpy as np
import pytest

from spofr_core.errors import ConfigError, SpofrError
from spofr_core.experiments import RunStore, SweepSpec, run_sweep
from spofr_core.fairness import Fairness
from spofr_core.learning import (
    METHODS,
    SCORERS,
    Method,
    PredictThenOptimize,
    Scorer,
    export_onnx,
    load_model,
    make_estimator,
)
from spofr_core.learning.losses.relevance import ListNet, Logistic
from tests.dashboard.apps import shown
from tests.learning.toy import lists_of, numeric_gradient, toy_data

FAIRNESS = Fairness(delta=0.05)
QUICK = {"max_steps": 30, "validate_every": 5, "learning_rate": 0.05}


class Linear(Scorer):
    """Weights times features, moved by plain gradient steps with a momentum."""

    name = "toy-linear"

    def __init__(self, weights):
        self._weights, self._momentum, self._rate = np.array(weights, dtype=np.float64), None, 0.0

    @classmethod
    def build(cls, n_features, settings):
        return cls(np.random.default_rng(settings.seed).normal(size=n_features))

    @classmethod
    def from_arrays(cls, architecture, arrays):
        return cls(arrays["weights"])

    def architecture(self):
        return {"n_features": len(self._weights)}

    def arrays(self):
        return {"weights": self._weights.copy()}

    def restore(self, arrays):
        self._weights = np.array(arrays["weights"])

    def scores(self, features):
        return features @ self._weights

    def start(self, learning_rate):
        self._rate, self._momentum = learning_rate, np.zeros_like(self._weights)

    def apply_gradient(self, features, gradient):
        self._momentum = 0.9 * self._momentum + features.T @ gradient
        self._weights = self._weights - self._rate * self._momentum

    def optimiser_arrays(self):
        return {"momentum": self._momentum}

    def restore_optimiser(self, arrays):
        self._momentum = np.array(arrays["momentum"])


class Reversed(PredictThenOptimize):
    """Predict, then optimise for the opposite."""

    method = "toy-reversed"

    def _estimates(self, scores, offsets):
        return -super()._estimates(scores, offsets)


REVERSED = Method(
    name="toy-reversed",
    title="the wrong way round",
    about="Ranks the least relevant first.",
    colour="#123456",
    shape="hexagon",
    steered_by="delta",
    guaranteed=True,
    estimator=Reversed,
)


@pytest.fixture
def toys():
    METHODS.register(REVERSED)
    SCORERS.register(Linear)
    yield
    METHODS.unregister(REVERSED.name)
    SCORERS.unregister(Linear.name)


@pytest.fixture(scope="module")
def parts():
    return toy_data(60), toy_data(30, seed=1)


@pytest.mark.parametrize("method", ["spofr", "pto", "fultr", "deltr", "unfair"])
def test_a_scorer_without_torch_learns_from_every_loss_and_is_read_back(toys, parts, tmp_path, method):
    train, validation = parts
    model = make_estimator(method, FAIRNESS, scorer="toy-linear", **QUICK).fit(train, validation)
    start = Linear.build(5, model.settings).arrays()["weights"]
    assert not np.array_equal(model.learned.scorer.arrays()["weights"], start)
    assert model.report.best["validation_dcg"] > model.report.history[0]["validation_dcg"]
    model.save(tmp_path)
    again = load_model(tmp_path)
    np.testing.assert_array_equal(again.scores(train), model.scores(train))
    np.testing.assert_array_equal(again.estimates(train), model.estimates(train))


def test_a_method_from_outside_is_trained_and_read_back(toys, parts, tmp_path):
    train, validation = parts
    make_estimator("toy-reversed", FAIRNESS, **QUICK).fit(train, validation).save(tmp_path)
    model = load_model(tmp_path)
    assert type(model) is Reversed
    assert np.all(model.estimates(train) < 0)
    assert verify_all(model.policies(validation))


def verify_all(policies):
    return all(max(abs(v) for v in policy.violations.values()) <= FAIRNESS.delta + 1e-9 for policy in policies)


@pytest.mark.parametrize("method", ["spofr", "fultr"])
def test_an_interrupted_fit_of_another_scorer_ends_at_the_same_weights(toys, parts, tmp_path, method):
    train, validation = parts
    settings = {**QUICK, "scorer": "toy-linear", "batch_size": 16}
    whole = make_estimator(method, FAIRNESS, **settings).fit(train, validation)

    def interrupt(progress):
        if progress.kind == "epoch" and progress.epoch == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_estimator(method, FAIRNESS, **settings).fit(train, validation, [interrupt], checkpoint=tmp_path)
    resumed = make_estimator(method, FAIRNESS, **settings).fit(train, validation, checkpoint=tmp_path)
    np.testing.assert_array_equal(resumed.learned.scorer.arrays()["weights"], whole.learned.scorer.arrays()["weights"])


def test_a_sweep_runs_over_both_and_names_them_apart(toys, tmp_path):
    spec = {"dataset": {"sample": "german-credit", "lists": 30, "test_lists": 20}, "deltas": [0.1]}
    spec |= {"methods": ["pto", "toy-reversed"], "training": {"max_steps": 10, "scorer": "toy-linear"}}
    sweep = SweepSpec.from_dict(spec)
    store = RunStore(tmp_path)
    run_sweep(sweep, store)
    for config in sweep.runs():
        model = load_model(store.model_folder(config.run))
        assert (model.method, model.learned.scorer.name) == (config.method, "toy-linear")
        assert store.get(config.run).measured["fair_share"] == 1.0
    network = SweepSpec.from_dict(spec | {"training": {"max_steps": 10}})
    assert not {config.run for config in network.runs()} & {config.run for config in sweep.runs()}


def test_the_train_page_offers_both_with_title_and_promise(toys):
    app = shown("train", data="german-credit", state={"train-settings": True})
    pills = app.button_group(key="train-methods")
    assert "the wrong way round" in [option.content for option in pills.proto.options]
    assert "**the wrong way round** (holds delta in every query): Ranks the least relevant first" in pills.proto.help
    assert "**DELTR** (no guarantee)" in pills.proto.help


def test_a_scorer_that_cannot_be_exported_says_so(toys, parts, tmp_path):
    pytest.importorskip("onnx")
    model = make_estimator("pto", FAIRNESS, scorer="toy-linear", **QUICK).fit(*parts)
    with pytest.raises(SpofrError, match="'toy-linear' cannot be exported to ONNX"):
        export_onnx(model, tmp_path / "model.onnx")


def test_an_unknown_scorer_is_refused_with_those_there_are():
    with pytest.raises(ConfigError, match=r"'scorer' must be one of \['network', 'trees'\], got 'forest'"):
        make_estimator("spofr", FAIRNESS, scorer="forest")


def test_the_loss_once_went_by_the_name_of_scorer():
    assert (
        PredictThenOptimize(FAIRNESS, scorer="logistic").settings
        == PredictThenOptimize(FAIRNESS, loss="logistic").settings
    )
    with pytest.raises(ConfigError, match="'scorer' must be one of"):
        make_estimator("spofr", FAIRNESS, scorer="logistic")


@pytest.mark.parametrize("loss", [ListNet(), ListNet(per_list=True), Logistic()])
def test_every_loss_gives_the_gradient_of_its_sum(loss):
    lists = lists_of(toy_data(10))
    batch = lists.batch(np.flatnonzero(lists.label_totals > 0)[:2])
    scores = np.random.default_rng(0).normal(size=int(batch.offsets[-1]))
    value, gradient = loss.value_and_gradient(scores, batch)
    expected = numeric_gradient(lambda s: loss.value_and_gradient(s, batch)[0], scores)
    np.testing.assert_allclose(gradient, expected, atol=1e-6)
    assert value > 0


@pytest.mark.parametrize("method", METHODS.names)
def test_every_method_says_what_it_ranks_by_and_can_relax(parts, method):
    train, validation = parts
    model = make_estimator(method, Fairness(delta=0.0), **QUICK).fit(train, validation)
    policies = model.policies(validation, on_infeasible="relax")
    assert len(policies) == len(validation)
    estimates = model.estimates(validation)
    assert estimates.shape == (validation.n_items,)
    for start, end in zip(validation.offsets[:-1], validation.offsets[1:], strict=True):
        rows = slice(start, end)
        np.testing.assert_array_equal(
            np.argsort(estimates[rows], kind="stable"), np.argsort(model.scores(validation)[rows], kind="stable")
        )


def test_names_of_methods_cost_no_import_of_torch():
    code = "import sys; from spofr_core.learning import METHODS, SCORERS; METHODS.names; print('torch' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"


def test_an_older_name_of_the_loss_that_contradicts_the_loss_is_refused():
    same = PredictThenOptimize(FAIRNESS, scorer="logistic", loss="logistic").settings
    assert (same.scorer, same.loss) == ("network", "logistic")
    with pytest.raises(
        ConfigError, match="scorer='logistic' is an older name of loss='logistic', but the loss is said"
    ):
        PredictThenOptimize(FAIRNESS, scorer="logistic", loss="listnet")
