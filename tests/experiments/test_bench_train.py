"""The training benchmark: what it prints."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from spofr_core.cli import app
from spofr_core.errors import ConfigError


@pytest.mark.parametrize("rounds", ["0", "-1"])
def test_a_benchmark_without_rounds_is_refused(rounds: str) -> None:
    with pytest.raises(ConfigError, match=f"The number of rounds is {rounds}; give 1 or more"):
        CliRunner().invoke(app, ["bench", "train", "--quick", "--rounds", rounds], catch_exceptions=False)


def test_ratios_are_printed_beside_the_papers_and_follow_from_the_seconds(tmp_path: Path) -> None:
    target = tmp_path / "train.json"
    result = CliRunner().invoke(app, ["bench", "train", "--quick", "--json", str(target)])
    assert result.exit_code == 0, result.output
    measured = json.loads(target.read_text())
    (table,) = measured["german_credit"]
    seconds = table["seconds"]
    assert table["ratios"]["spofr / listnet"] == seconds["spofr"] / seconds["listnet"]
    assert table["ratios"]["fultr / spofr"] == seconds["fultr"] / seconds["spofr"]
    assert measured["paper"]["5000"]["SPOFR*"] == 39.0
    assert measured["ratios"]["1000 clicks: fultr / spofr"] == table["ratios"]["fultr / spofr"]
    assert "1000 clicks: spofr / listnet" in result.output
    trees = measured["trees_on_adult"]
    assert 0 < trees["ratios"]["solver / round of SPO+ on trees"] < 1
    assert "adult: solver / round of SPO+ on trees" in result.output
    best = trees["seconds_to_best"]
    assert measured["ratios"]["adult: trees / network to the best validation"] == best["trees"] / best["network"]
