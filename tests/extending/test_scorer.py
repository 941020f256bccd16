"""A scorer registered from outside: every method that learns takes it, in shell, page and Python; it can be saved."""

from __future__ import annotations

import json

import numpy as np
import pytest

from spofr_core import SPOFR, Fairness, load_model
from spofr_core.data import SAMPLES, load_sample
from spofr_core.errors import ConfigError
from spofr_core.learning import SCORERS
from tests.dashboard.apps import rerun, shown

SHORT = ["--set", "max_steps=40", "--set", "validate_every=10"]


def test_the_shell_trains_with_it(shell):
    arguments = ["train", "--sample", "bakeries", "--delta", "0.05", "--set", "scorer=linear", "--out", "model"]
    assert "within the tolerance of 0.05" in shell("sample scorer", *arguments, *SHORT)
    summary = json.loads(shell("sample scorer", "audit", "--model", "model", "--json", "-"))
    assert summary["queries"]["share"] == 1.0


@pytest.mark.usefixtures("one_thread")
def test_it_learns_is_saved_and_read(plugged, tmp_path):
    plugged("sample", SAMPLES, "bakeries")
    splits = load_sample("bakeries")
    with pytest.raises(ConfigError, match="linear"):
        SPOFR(Fairness(delta=0.05), scorer="linear")
    plugged("scorer", SCORERS, "linear")
    settings = {"scorer": "linear", "learning_rate": 0.1, "max_steps": 200, "validate_every": 20}
    model = SPOFR(Fairness(delta=0.05), **settings).fit(splits.train, splits.validation)
    bread, cake = np.abs(model.learned.scorer.weights)
    assert bread > 3 * cake  # stars follow bread alone
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    np.testing.assert_array_equal(again.scores(splits.test), model.scores(splits.test))


def test_the_train_page_offers_it_and_its_sweep_names_it(plugged):
    plugged("sample", SAMPLES, "bakeries")
    opened = {"train-settings": True, "train-shell": True}
    plugged("scorer", SCORERS, "linear")
    app = shown("train", data="bakeries", state=opened)
    assert app.selectbox(key="train-scorer").options == ["network", "trees", "linear"]
    app.selectbox(key="train-scorer").set_value("linear")
    assert "scorer: linear" in rerun(app).code[-1].value
