"""A loss registered from outside: methods that learn relevance take it, SPOFR begins with it, the page offers it."""

from __future__ import annotations

import numpy as np
import pytest

from spofr_core import SPOFR, Fairness, PredictThenOptimize
from spofr_core.data import SAMPLES, load_sample
from spofr_core.errors import ConfigError
from spofr_core.learning import LOSSES
from spofr_core.learning.losses.relevance import DirectLoss, ListNet
from spofr_core.learning.losses.through_programme import SPOPlus
from tests.dashboard.apps import rerun, shown

SHORT = {"max_steps": 300, "validate_every": 20, "learning_rate": 3e-3}


def test_the_shell_trains_with_it(shell):
    chosen = ["--set", "loss=squared", "--set", "max_steps=40", "--method", "pto", "--delta", "0.05", "--out", "model"]
    assert "within the tolerance of 0.05" in shell("sample loss", "train", "--sample", "bakeries", *chosen)


def test_it_teaches_relevance_alone_and_before_the_programme(plugged):
    plugged("sample", SAMPLES, "bakeries")
    splits = load_sample("bakeries")
    for settings in ({"loss": "squared"}, {"loss": "none"}):
        with pytest.raises(ConfigError, match=settings["loss"]):
            PredictThenOptimize(Fairness(delta=0.05), **settings)
    plugged("loss", LOSSES, "squared")
    model = PredictThenOptimize(Fairness(delta=0.05), loss="squared", **SHORT).fit(splits.train, splits.validation)
    assert np.corrcoef(model.scores(splits.test), splits.test.relevance)[0, 1] > 0.9
    model = SPOFR(Fairness(delta=0.05), warm_up="squared", **SHORT).fit(splits.train, splits.validation)
    assert {each["stage"] for each in model.report.history} == {"squared + spo+", "spo+"}
    assert np.corrcoef(model.scores(splits.test), splits.test.relevance)[0, 1] > 0.6


def test_the_train_page_offers_it(plugged):
    plugged("sample", SAMPLES, "bakeries")
    plugged("loss", LOSSES, "squared")
    app = shown("train", data="bakeries", state={"train-settings": True, "train-shell": True})
    app.selectbox(key="train-loss").set_value("squared")
    written = rerun(app).code[-1].value
    assert "loss: squared" in written
    assert "warm_up: squared" in written


class Doubled(ListNet):
    """A wrapper around a loss that is there."""

    def __call__(self, scores, batch):
        """Twice the loss."""
        return 2 * super().__call__(scores, batch)


def test_a_wrapper_changes_the_training_or_is_refused(plugged):
    plugged("sample", SAMPLES, "bakeries")
    splits, found = load_sample("bakeries"), {}
    for name, kind in (("listnet", ListNet), ("doubled", Doubled)):
        entry = LOSSES["listnet"]
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(LOSSES._entries, "listnet", type(entry)("listnet", "", lambda *_, kind=kind: kind()))
            model = PredictThenOptimize(Fairness(delta=0.05), **SHORT).fit(splits.train, splits.validation)
            found[name] = model.report.history[1]["loss"]
    assert found["doubled"] > 1.5 * found["listnet"]
    with pytest.raises(TypeError, match="value_and_gradient"):
        type("Silent", (SPOPlus,), {"__call__": lambda self, scores, batch: 0 * scores.sum()})
    assert issubclass(SPOPlus, DirectLoss)
