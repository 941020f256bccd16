"""An executor registered from outside: `--scheduler` finds it by the beginning of the address."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from spofr_core.cli import app
from spofr_core.experiments import EXECUTORS, RunStore


def test_a_sweep_runs_on_it(plugged, tmp_path: Path):
    plugged("executor", EXECUTORS, "spoken")
    runs = tmp_path / "runs"
    arguments = ["sweep", "--sample", "german-credit", "--methods", "uniform", "--out", str(runs), "--no-probe"]
    result = CliRunner().invoke(app, [*arguments, "--scheduler", "spoken:desk"], catch_exceptions=False)
    assert result.exit_code == 0
    store = RunStore(runs, create=False)
    (run,) = store.names()
    assert store.find(run).status == "done"
    assert f"spoken:desk begins with {run}" in result.stderr
