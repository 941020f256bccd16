"""A few dozen of the kills that `benchmarks/faults.py` deals out by the thousand."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORKS = ("uploads being stored", "the service's counters and log", "rerank", "train, network", "train, trees")
pytestmark = pytest.mark.timeout(3_600)


@pytest.fixture(scope="module", params=[6, pytest.param(100, marks=pytest.mark.slow)])
def kills(request) -> int:
    """How many of each work."""
    return request.param


@pytest.fixture(scope="module")
def told(kills, tmp_path_factory) -> list[dict]:
    """What became of each work: killed up to six times, going on after each."""
    path = tmp_path_factory.mktemp("kills") / "kills.jsonl"
    works = [word for work in WORKS for word in ("--work", work)]
    command = [sys.executable, "benchmarks/faults.py", "kills", "--kills", str(kills), "--results", str(path), *works]
    subprocess.run(command, cwd=ROOT, check=False, capture_output=True)
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("work", WORKS)
def test_nothing_half_written_is_seen_and_the_end_is_the_same(told, kills, work):
    chains = [line for line in told if line["work"] == work]
    assert sum(line["kills"] for line in chains) >= kills
    assert [fault for line in chains for fault in line["faults"]] == []


def test_some_kills_met_a_write(told):
    """Otherwise nothing was tried."""
    cuts = [cut for line in told for cut in line["cuts"]]
    assert {"while it wrote", "at a move into place"} & set(cuts)
