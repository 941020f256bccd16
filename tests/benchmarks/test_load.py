"""What the load script makes of its waits; the crowd itself is too long for a test."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
load = pytest.importorskip("load")


def test_waits_errors_and_memory_are_told_apart() -> None:
    tally = load.Tally(given_up=Counter({"page: late": 2}), broken=Counter({"500 /x": 3}))
    tally.rest["page"] = [1.0, 2.0, 30.0]
    tally.seen["page"] = [0.5, 0.5, 0.5]
    tally.rest["delta"] = [0.25]
    tally.megabytes = [(0.0, 200.0), (9.0, 900.0), (11.0, 400.0), (21.0, 300.0), (31.0, 310.0), (40.0, 305.0)]
    asked = argparse.Namespace(browsers=3, minutes=0.5, pause=2.0)
    told = load.summary(tally, "x\nTraceback (most recent call last):\n", asked)
    assert told["waits"]["page"]["rest"] == {"median": 2.0, "p95": pytest.approx(27.2), "most": 30.0}
    assert told["waits"]["delta"] == {"times": 1, "seen": None, "rest": {"median": 0.25, "p95": 0.25, "most": 0.25}}
    assert told["megabytes_by_quarter"] == [900.0, 400.0, 300.0, 310.0]
    words = load.table(told)
    assert "4 waits, 2 given up after 60 s, 3 error boxes or errors of scripts, 1 tracebacks" in words
    assert "| page | 3 | 0.50, 0.50 | 2.00, 27.20 |" in words
    assert "- 2 x page: late" in words
    assert "- 3 x 500 /x" in words
