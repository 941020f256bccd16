"""`spofr verify` of policies that are the best for estimates, not for the scores of the file."""

import pytest
from typer.testing import CliRunner

from spofr_core.cli.application import app
from spofr_core.errors import ConfigError

PORTAL = [
    *("tests/fixtures/portal.csv", "--query", "search", "--item", "candidate", "--rank", "pos_shown"),
    *("--group", "gender (self-stated)", "--relevance", "contacted", "--delta", "10%"),
]


def run(*words):
    return CliRunner().invoke(app, list(map(str, words)))


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory):
    place = tmp_path_factory.mktemp("calibrated")
    written = ["--out", place / "p.csv", "--certificates", place / "p.jsonl"]
    told = run("repair", *PORTAL, "--calibrate", "--seed", 3, *written)
    assert told.exit_code == 0, told.output
    return place, told.output


def test_a_calibrated_repair_says_how_it_is_checked(calibrated):
    _, told = calibrated
    assert told.startswith("Re-ranked exactly by relevance estimated from the ranks, 55 of 55 queries hold")
    assert "check them by `spofr verify` with --calibrate --seed 3 too" in told


@pytest.mark.parametrize("name", ["p.csv", "p.jsonl"])
def test_it_is_proved_by_the_same_estimates_and_by_no_others(calibrated, name):
    place, _ = calibrated
    proved = run("verify", place / name, *PORTAL, "--calibrate", "--seed", 3)
    assert proved.exit_code == 0, proved.output
    assert proved.output.startswith("Every query holds delta")
    assert run("verify", place / name, *PORTAL).exit_code == 1
    assert run("verify", place / name, *PORTAL, "--calibrate").exit_code == 1  # other parts, other estimates


def test_policies_of_a_model_are_proved_by_its_estimates(tmp_path):
    settings = ["--set", "scorer=trees", "--set", "max_steps=5", "--delta", "10%"]
    trained = run("train", "--sample", "german-credit", "--method", "pto", *settings, "--out", tmp_path / "runs")
    assert trained.exit_code == 0, trained.output
    told = run("repair", "--model", tmp_path / "runs", "--out", tmp_path / "p.parquet")
    assert "check them by `spofr verify` with --model too" in told.output
    proved = run("verify", tmp_path / "p.parquet", "--model", tmp_path / "runs")
    assert proved.exit_code == 0, proved.output
    both = run("verify", tmp_path / "p.parquet", "--model", tmp_path / "runs", "--calibrate")
    assert isinstance(both.exception, ConfigError)
    assert "a model has its own estimates" in str(both.exception)
