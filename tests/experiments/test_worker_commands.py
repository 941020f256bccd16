"""Every command that shares out its work gives the numbers of one process, wherever the work is done."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

from spofr_core.cli import app
from spofr_core.evaluation import folder_repair
from spofr_core.experiments.paper import paper_sweeps
from tests.experiments.specs import TINY

SIZES = replace(
    paper_sweeps.SIZES["small"],
    data={"german-credit": paper_sweeps.DataSizes(40, (40,), lists=10, test_lists=12)},
    few_deltas=(0.0, 0.4),
    penalties=(0.0, 10.0),
    seeds=1,
    training={"max_steps": 4, "validate_every": 2, "hidden": [4]},
)
QUOTA = ["--quota-min", "a@5=1", "--quota-slack", "2"]
COMMANDS = {
    "audit": ["audit", "ROWS", "--csv", "OUT/a.csv", "--top-k", "3", "--measure", "Skew@5(group=a)", *QUOTA],
    "measure": ["measure", "ROWS", "--csv", "OUT/m.csv", "--protected", "b", "--slice", "country", "--time", "when"],
    "repair": ["repair", "ROWS", "--out", "OUT/policies.csv", "--certificates", "OUT/proofs.jsonl", "--delta", "10%"],
    "sweep": ["sweep", "SPEC", "--out", "OUT/runs", "--no-probe"],
    "reproduce": ["reproduce", "grid", "--out", "OUT", "--dataset", "german-credit", "--no-probe", "--no-images"],
}
SHARED = [name for name in COMMANDS if "ROWS" in COMMANDS[name]]


@pytest.fixture(scope="module")
def given(tmp_path_factory) -> dict[str, Path]:
    """A folder whose scores tie in more orders than can be looked at, and what a sweep is to train."""
    place = tmp_path_factory.mktemp("given")
    rng = np.random.default_rng(3)
    n, lists = 1200, np.arange(1200) % 60
    frame = pd.DataFrame(
        {
            "query": [f"q{k}" for k in lists],
            "item": np.arange(n),
            "group": rng.choice(["a", "b", "c"], n),
            "score": rng.integers(0, 2, n),
            "relevance": rng.integers(0, 3, n),
            "country": np.array(["DE", "FR", None], dtype=object)[lists % 3],
            "when": 1.6e9 + 86400 * lists,
        }
    )
    (place / "rows").mkdir()
    for k in range(3):
        frame.iloc[k::3].to_parquet(place / "rows" / f"{k}.parquet")
    training = {"max_steps": 4, "validate_every": 2, "hidden": [4]}
    described = {"dataset": TINY, "methods": ["pto", "uniform"], "deltas": [0.0, 0.1], "training": training}
    (place / "sweep.yaml").write_text(json.dumps(described))
    return {"ROWS": place / "rows", "SPEC": place / "sweep.yaml"}


def test_the_table_has_every_command_that_shares_out_its_work():
    commands = typer.main.get_command(app).commands.values()
    takes = {c.name for c in commands if not c.hidden and {"workers", "scheduler"} <= {p.name for p in c.params}}
    assert takes == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_numbers_are_those_of_one_process(name, given, dask, tmp_path, monkeypatch):
    monkeypatch.setattr(folder_repair, "ROWS_PER_PART", 300)
    monkeypatch.setitem(paper_sweeps.SIZES, "small", SIZES)
    found = []
    for number, words in enumerate((["--workers", "1"], ["--workers", "2"], ["--scheduler", _address(dask)])):
        out = tmp_path / f"out{number}"
        out.mkdir()
        said = CliRunner().invoke(app, [*_filled(COMMANDS[name], given | {"OUT": out}), *words], catch_exceptions=False)
        assert said.exit_code == 0, said.output
        if "ROWS" in COMMANDS[name] and number:
            assert "4/4 parts" in said.stderr
        found.append((said.stdout.replace(str(out), "OUT") if name in SHARED else "", _numbers(out)))
    assert len(found[0][1]) > 0
    assert found[1] == found[0]
    assert found[2] == found[0]


def _address(dask) -> str:
    return str(dask.client.scheduler.address)


def _filled(words: list[str], paths: dict[str, Path]) -> list[str]:
    for name, path in paths.items():
        words = [word.replace(name, str(path)) for word in words]
    return words


def _numbers(out: Path) -> dict[str, bytes]:
    """Every file that holds numbers and no times, by its name: of models, all of their weights."""
    models = sorted(out.rglob("*.safetensors"))
    files = models or sorted(path for path in out.iterdir() if path.is_file())
    return {str(path.relative_to(out)): path.read_bytes() for path in files}
