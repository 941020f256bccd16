"""Hostile files end in a dataset or in a sentence, in little memory: see `bounded_memory`, which runs in a child."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hostile.bounded_memory import CASES

ROOT = Path(__file__).resolve().parents[2]
EXPECTED = {
    "small_gzip": "RankingDataset",
    "opened_file": "RankingDataset",
    "gzip_bomb": "over 100 times as much, as no table does",
    "parquet_of_one_long_text": "are more than 8 GB when each is written out",
    "letor_of_far_features": "2,000 lines with feature numbers up to 901,999 are too much for a full table",
    "letor_long_item": "RankingDataset",
    "long_item_looked_up_in_groups": "RankingDataset",
    "long_item_in_the_table_of_groups": "RankingDataset",
    "long_item_looked_up_in_judgments": "RankingDataset",
    "long_query_and_judgments": "RankingDataset",
    "long_group": "DataFrame",
    "long_query_through_a_frame": "RankingDataset",
    "long_query_of_clicks": "RankingDataset",
    "long_line": "Line 3 of the data is longer than 16,777,216 characters",
    "long_first_line": "Line 1 of the data is longer than 16,777,216 characters",
}


@pytest.fixture(scope="module")
def outcomes() -> dict[str, str]:
    """What came of all cases, in a process of its own."""
    command = [sys.executable, "-m", "tests.hostile.bounded_memory"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=200, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stderr[-2000:]
    return {line["case"]: line["outcome"] for line in lines}


@pytest.mark.parametrize("name", [case.__name__ for case in CASES])
def test_hostile_files_in_little_memory(outcomes: dict[str, str], name: str) -> None:
    assert EXPECTED[name] in outcomes[name]
