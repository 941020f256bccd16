"""A method registered from outside: in the shell and on the Train page."""

from __future__ import annotations

import json
import re

import pytest

from dashboard.session.visible_runs import Sweep
from spofr_core.data import SAMPLES
from spofr_core.experiments import RunStore
from spofr_core.learning import METHODS
from tests.dashboard.apps import charts, shown

SHORT = ["--set", "max_steps=60", "--set", "validate_every=20"]


def test_the_shell_trains_and_audits_it(shell):
    assert "backwards" in shell("sample method", "train", "--help")
    dcg = {}
    for method in ("backwards", "unfair"):
        arguments = ["train", "--sample", "bakeries", "--method", method, "--delta", "0.05", "--out", method]
        words = shell("sample method", *arguments, *SHORT)
        dcg[method] = float(re.search(r" DCG ([\d.]+)\.\n", words)[1])
    summary = json.loads(shell("sample method", "audit", "--model", "backwards", "--json", "-"))
    assert summary["utility"]["dcg"] == pytest.approx(dcg["backwards"], abs=1e-4)
    assert dcg["backwards"] < dcg["unfair"]


def test_the_train_page_offers_it(plugged):
    plugged("sample", SAMPLES, "bakeries")
    plugged("method", METHODS, "backwards")
    assert "backwards" in shown("train", data="bakeries").get("button_group")[0].options


def test_figures_draw_it_in_its_own_colour_and_shape(shell, plugged, tmp_path):
    """The runs of a sweep in the shell are on the pages of the same home."""
    plugged("sample", SAMPLES, "bakeries")
    plugged("method", METHODS, "backwards")
    folder = tmp_path / "home" / "runs"
    # Alone: a chart greys what another method dominates.
    shell("sample method", "sweep", "--sample", "bakeries", "--methods", "backwards", "--out", str(folder), *SHORT)
    store = RunStore(folder, create=False)
    sweep = Sweep(store, tuple(store.names()), 0.0, "shared")
    drawn = json.dumps(charts(shown("tradeoffs", sweep=sweep.key)))
    assert METHODS["backwards"].colour in drawn
    assert '"star' in drawn
