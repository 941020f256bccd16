"""Runs of the shell on the pages: those of the home store, and those of any store that the dashboard is pointed to."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dashboard.session import visible_runs
from dashboard.session.chosen_model import model_named
from spofr_core.cli import app
from spofr_core.cli.commands.dashboard_command import pointed_at
from spofr_core.errors import ConfigError
from spofr_core.experiments import RunStore


@pytest.fixture(autouse=True)
def _visitor(monkeypatch):
    monkeypatch.setattr(visible_runs, "visitor", lambda: "somebody")
    monkeypatch.setattr(visible_runs, "bundled", lambda root: ())


def train(*more: object) -> None:
    words = ["train", "--sample", "german-credit", "--method", "uniform", *map(str, more)]
    assert CliRunner().invoke(app, words, catch_exceptions=False).exit_code == 0


def test_a_model_trained_in_the_shell_is_on_the_pages(own_home):
    train()
    (sweep,) = visible_runs.sweeps()
    frame = visible_runs.results_of([sweep])
    assert frame["method"].tolist() == ["uniform"]
    model = model_named(sweep.runs[0])
    assert model is not None
    assert not model.guaranteed


def test_stores_that_it_is_pointed_to_are_shown_with_their_single_runs(own_home, tmp_path, monkeypatch):
    first, second = tmp_path / "first", tmp_path / "second"
    train("--out", first)
    train("--out", second, "--seed", 1)
    train("--out", second, "--seed", 2)
    shutil.rmtree(second / "sweeps")
    assert visible_runs.sweeps() == []
    for name, value in pointed_at([first, second]).items():
        monkeypatch.setenv(name, value)
    shown = visible_runs.sweeps()
    assert sorted(len(sweep.runs) for sweep in shown) == [1, 2]
    assert {sweep.origin for sweep in shown} == {"shared"}
    assert len(visible_runs.results_of(shown)) == 3


def test_a_folder_of_a_reproduction_is_the_store_below_it(tmp_path):
    RunStore(tmp_path / "made" / "runs")
    assert pointed_at([tmp_path / "made"]) == {"SPOFR_RUNS": str((tmp_path / "made" / "runs").resolve())}


def test_a_folder_without_runs_is_refused(tmp_path: Path):
    assert pointed_at([]) == {}
    with pytest.raises(ConfigError, match="There are no runs in"):
        pointed_at([tmp_path])
