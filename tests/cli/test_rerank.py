"""`spofr rerank` and `spofr verify`: what is written is checked from scratch, and tampering is caught."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from spofr_core.cli import app
from spofr_core.errors import InfeasibleFairness

HIRING = str(Path(__file__).resolve().parents[2] / "sample_data" / "hiring.csv")


def run(*arguments: str):
    return CliRunner().invoke(app, list(arguments), catch_exceptions=False)


@pytest.fixture(scope="module", params=["parquet", "csv"])
def policies(request, tmp_path_factory):
    out = tmp_path_factory.mktemp("rerank") / f"policies.{request.param}"
    result = run("rerank", HIRING, "--delta", "0.03", "--out", str(out), "--json", "-")
    return out, json.loads(result.stdout)


def read(path: Path) -> pd.DataFrame:
    return pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)


def write(table: pd.DataFrame, path: Path) -> None:
    table.to_parquet(path, index=False) if path.suffix == ".parquet" else table.to_csv(path, index=False)


def test_long_table_and_summary(policies):
    path, summary = policies
    table = read(path)
    assert list(table.columns) == ["query_id", "ranking", "probability", "position", "item_id"]
    per_ranking = table.groupby(["query_id", "ranking"])["probability"].first()
    assert per_ranking.groupby("query_id").sum().to_numpy() == pytest.approx(1.0)
    assert summary["after"]["share"] == 1.0
    assert summary["before"]["share"] < 1.0
    assert summary["after"]["violation_max"] <= 0.03 + 1e-9
    assert summary["after"]["score_utility"] < summary["before"]["score_utility"]


def test_verify_passes(policies):
    path, _ = policies
    result = run("verify", str(path), HIRING, "--delta", "0.03", "--json", "-")
    checked = json.loads(result.stdout)
    assert result.exit_code == 0
    assert checked["ok"]
    assert checked["max_violation"] == pytest.approx(0.03, abs=1e-9)
    assert isinstance(checked["max_gap"], float)
    assert checked["max_gap"] < 1e-9
    said = run("verify", str(path), HIRING, "--delta", "0.03").stdout
    assert said == "Every query holds delta; largest violation 0.03; largest gap to the optimum below 1e-9.\n"


def test_verify_fails_for_a_smaller_delta(policies):
    path, _ = policies
    assert run("verify", str(path), HIRING, "--delta", "0.02").exit_code == 1


def test_one_changed_probability_is_caught(policies, tmp_path):
    path, _ = policies
    table = read(path)
    shared = table[(table["probability"] < 0.9) & (table["probability"] > 0.1)]
    first = (table["query_id"] == shared.iloc[0]["query_id"]) & (table["ranking"] == shared.iloc[0]["ranking"])
    table.loc[first, "probability"] += 0.01
    write(table, tmp_path / path.name)
    result = run("verify", str(tmp_path / path.name), HIRING, "--delta", "0.03")
    assert result.exit_code == 1
    assert repr(shared.iloc[0]["query_id"]) in result.stdout


def test_mass_moved_between_rankings_is_caught(policies, tmp_path):
    """Probabilities still sum to 1, but the lottery breaks delta or gives utility away."""
    path, _ = policies
    table = read(path)
    query = table.loc[table["ranking"] == 2, "query_id"].iloc[0]
    for ranking, step in ((1, 0.02), (2, -0.02)):
        table.loc[(table["query_id"] == query) & (table["ranking"] == ranking), "probability"] += step
    write(table, tmp_path / path.name)
    assert run("verify", str(tmp_path / path.name), HIRING, "--delta", "0.03").exit_code == 1


def test_what_floating_point_left_of_no_violation_is_no_violation(tmp_path):
    rng = np.random.default_rng(0)
    rows = {"query": np.repeat(np.arange(30), 10), "item": np.arange(300), "group": rng.choice(["a", "b"], 300)}
    pd.DataFrame({**rows, "score": 1.0}).to_csv(tmp_path / "equal.csv", index=False)
    result = run("repair", str(tmp_path / "equal.csv"), "--delta", "10%", "--out", str(tmp_path / "p.parquet"))
    assert result.exit_code == 0
    assert "largest violation, either way      0.0 %      0.0 %" in result.stdout
    checked = run("verify", str(tmp_path / "p.parquet"), str(tmp_path / "equal.csv"), "--delta", "10%", "--json", "-")
    assert 0 < json.loads(checked.stdout)["max_violation"] < 1e-12
    checked = run("verify", str(tmp_path / "p.parquet"), str(tmp_path / "equal.csv"), "--delta", "10%")
    assert "largest violation 0 %;" in checked.stdout


def test_certificates(tmp_path):
    proofs = tmp_path / "proofs.jsonl"
    run("rerank", HIRING, "--delta", "0.03", "--out", str(tmp_path / "p.parquet"), "--certificates", str(proofs))
    assert run("verify", str(proofs), HIRING, "--delta", "0.03").exit_code == 0
    lines = proofs.read_text("utf-8").splitlines()
    tampered = json.loads(lines[0])
    tampered["dual_bound"] += 1e-3
    proofs.write_text("\n".join([json.dumps(tampered), *lines[1:]]), "utf-8")
    assert run("verify", str(proofs), HIRING, "--delta", "0.03").exit_code == 1


def test_infeasible_merit_is_refused_or_relaxed(tmp_path):
    ask = ["--notion", "merit", "--merit", "female=5", "--merit", "male=0.01", "--delta", "0.001"]
    out = str(tmp_path / "p.parquet")
    with pytest.raises(InfeasibleFairness, match="S0001"):
        run("rerank", HIRING, *ask, "--out", out)
    assert not Path(out).exists()
    summary = json.loads(run("rerank", HIRING, *ask, "--relax", "--out", out, "--json", "-").stdout)
    assert len(summary["relaxed"]) > 0
    assert run("verify", out, HIRING, *ask).exit_code == 1
    assert run("verify", out, HIRING, *ask, "--allow-relaxed").exit_code == 0
