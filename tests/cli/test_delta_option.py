"""`--delta 10%`: every command that takes a delta, on lists of 480 and of 12 to 30, and in a shell of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from spofr_core.cli import app
from spofr_core.data import read_dataset
from spofr_core.errors import SpofrError
from spofr_core.evaluation import audit
from spofr_core.experiments import RunConfig, RunStore, SweepSpec
from spofr_core.fairness import Fairness

ROOT = Path(__file__).resolve().parents[2]
HIRING = str(ROOT / "sample_data" / "hiring.csv")
ENTRANTS = str(ROOT / "tests" / "fixtures" / "entrants.csv")
SHORT = ["--set", "max_steps=10", "--set", "validate_every=5"]


def spofr(*arguments: object, code: int = 0) -> str:
    """What the command prints; the sentence of its refusal where it is to be refused."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if code == 2:
        assert isinstance(result.exception, SpofrError)
        return str(result.exception)
    assert result.exit_code == code, result.output
    return result.stdout


def shell(*arguments: object, code: int = 0) -> str:
    """The same in a process of its own, errors included."""
    command = [sys.executable, "-c", "from spofr_core.cli import main; main()", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def summary_of(*arguments: object) -> dict:
    return json.loads(spofr(*arguments, "--json", "-"))


def test_a_file_is_judged_by_ten_per_cent_where_nobody_says_more():
    summary = summary_of("audit", HIRING)
    assert (summary["delta"], summary["unit"]) == (0.1, "share")
    data = read_dataset(HIRING)
    assert summary["queries"] == audit(data, Fairness(delta=0.1, unit="share")).summary["queries"]
    assert summary == summary_of("audit", HIRING, "--delta", "10%")
    assert "exceeds the tolerance of 10 %." in shell("audit", HIRING)


@pytest.mark.parametrize(("sample", "asked"), [("german-credit", (0.05, "absolute")), ("hiring", (0.1, "share"))])
def test_a_sample_is_judged_by_what_it_says(sample, asked):
    summary = summary_of("audit", "--sample", sample)
    assert (summary["delta"], summary["unit"]) == asked


def test_one_share_for_each_group():
    summary = summary_of("audit", HIRING, "--delta", "female=20%,male=5%")
    assert (summary["delta"], summary["unit"]) == ({"female": 0.2, "male": 0.05}, "share")
    said = shell("audit", HIRING, "--delta", "female=10%,male=0.05", code=2)
    assert "--delta mixes the share 10% with the absolute 0.05; write all of them with % or none." in said
    assert "Traceback" not in said


def test_a_repair_in_shares_is_verified_in_shares_alone(tmp_path):
    few = tmp_path / "few.csv"
    few.write_text("".join(Path(HIRING).read_text().splitlines(keepends=True)[:400]))
    out, proofs = tmp_path / "policies.parquet", tmp_path / "proofs.jsonl"
    told = spofr("repair", few, "--delta", "10%", "--out", out, "--certificates", proofs)
    after = next(line for line in told.splitlines() if line.startswith("largest violation")).rsplit("  ", 1)[-1]
    assert after.strip() == "10.0 %"
    for claim in (out, proofs):
        assert "Every query holds delta" in spofr("verify", claim, few, "--delta", "10%")
        assert "Every query holds delta" in spofr("verify", claim, few)  # the usual delta of a file
    assert "queries fail" in shell("verify", out, few, "--delta", "9%", code=1)
    assert "queries fail" in spofr("verify", proofs, few, "--delta", "0.1", code=1)


def test_what_cannot_be_held_is_said_in_per_cent(tmp_path):
    ask = ["--notion", "merit", "--merit", "female=5", "--merit", "male=0.01", "--delta", "1%"]
    said = spofr("repair", HIRING, *ask, "--out", tmp_path / "p.parquet", code=2)
    assert "satisfies delta = 1 %" in said
    told = spofr("repair", HIRING, *ask, "--relax", "--out", tmp_path / "p.parquet", "--json", tmp_path / "s.json")
    first = json.loads((tmp_path / "s.json").read_text())["relaxed"][0]
    assert f"relaxed: query {first['query']} can hold delta = {100 * first['min_delta']:.6g} % at best" in told


def test_a_model_is_trained_for_a_share_and_named_by_it(tmp_path):
    out = tmp_path / "runs"
    said = spofr("train", "--sample", "hiring", "--method", "pto", "--out", out, *SHORT)
    assert "within the tolerance of 10 %" in said
    record = RunStore(out, create=False).records()[0]
    assert (record.config.delta, record.config.unit) == (0.1, "share")
    assert record.row()["unit"] == "share"
    assert record.measured["violation_max"] <= 0.1 + 1e-9
    assert record.measured["fair_share"] == 1.0
    assert "delta 10 %" in record.config.title
    assert "share" in spofr("runs", "list", out)
    strict = summary_of("audit", "--model", out, "--delta", "2%")
    assert strict["violation"]["max"] <= 0.02 + 1e-9


def test_sweeps_take_shares_from_options_and_from_yaml(tmp_path):
    out = tmp_path / "runs"
    spofr("sweep", "--sample", "hiring", "--methods", "pto,deltr", "--deltas", "5%,20%", "--penalties", "1",
          "--out", out, "--no-probe", *SHORT)  # fmt: skip
    records = RunStore(out, create=False).records()
    assert sorted((r.config.method, r.config.delta or 0) for r in records) == [
        ("deltr", 0),
        ("pto", 0.05),
        ("pto", 0.2),
    ]
    assert {record.config.unit for record in records} == {"share"}
    spec = tmp_path / "sweep.yaml"
    spec.write_text(
        "dataset: {sample: hiring}\nmethods: [pto, deltr]\ndeltas: [5%, 20%]\npenalties: [1]\n"
        "training: {max_steps: 10, validate_every: 5}\n"
    )
    assert {config.run for config in SweepSpec.read(spec).runs()} == {record.run for record in records}


def test_the_unit_names_a_run_only_where_it_is_a_share():
    absolute = {"dataset": {"sample": "hiring"}, "method": "spofr", "delta": 0.1}
    assert "unit" not in RunConfig.from_dict(absolute).to_dict()
    assert RunConfig.from_dict(absolute | {"unit": "absolute"}).run == RunConfig.from_dict(absolute).run
    share = RunConfig.from_dict(absolute | {"delta": "10%"})
    assert share.run != RunConfig.from_dict(absolute).run
    assert share == RunConfig.from_dict(share.to_dict()) == RunConfig.from_dict(absolute | {"unit": "share"})


def test_lists_of_hundreds_cannot_hide_behind_an_absolute_delta():
    columns = ["--query", "Year of entry", "--item", "entrant no.", "--group", "sex", "--score", "Points (of 200)"]
    usual = summary_of("audit", ENTRANTS, *columns)
    assert usual["unit"] == "share"
    assert usual["queries"]["fair"] < usual["queries"]["judged"]
    absolute = summary_of("audit", ENTRANTS, *columns, "--delta", "0.05")
    assert absolute["queries"]["judged"] == 0
