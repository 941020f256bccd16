"""`bench_quotas`: what its rows say, and that a list which is not solved voids the comparison."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from spofr_core.errors import SpofrError
from spofr_core.experiments.bench import bench_quotas as bench
from spofr_core.experiments.bench.bench_solver import make_lists


@pytest.fixture
def small(monkeypatch):
    """The same cases, a few lists each."""
    monkeypatch.setattr(bench, "CASES", tuple(replace(case, lists=3, n=min(case.n, 20)) for case in bench.CASES))
    monkeypatch.setattr(bench, "TEST_SET", 12)


def test_a_row_per_case_and_one_for_the_test_set(small):
    rows = bench.bench_quotas(make_lists, rounds=1, seed=0, quick=True)
    assert [row["at_most"] for row in rows] == [4, 10, 20, 50, 4]
    assert rows[-1]["name"] == "12 lists, quota / none"
    for row in rows:
        unit = "s" if "quota_s" in row else "us"
        quota, plain = row[f"quota_{unit}"], row[f"plain_{unit}"]
        assert row["ratio"] == pytest.approx(quota / plain)
        assert min(quota, plain) > 0


def test_the_lists_that_are_timed_hold_the_quota(small):
    lists, scores = make_lists(20, 3, 3, 0)
    within = lists.with_fairness(lists.fairness.with_quota(bench.QUOTA))
    assert within.windows is not None
    assert lists.windows is None
    assert np.isfinite(scores).all()


def test_what_is_not_solved_is_no_time(small, monkeypatch):
    class Idle:
        def __init__(self, lists):
            pass

        def run(self, scores, seed):
            return [0, 1]

    monkeypatch.setattr(bench, "Workspace", Idle)
    with pytest.raises(SpofrError, match="2 lists were not solved in the benchmark"):
        bench.bench_quotas(make_lists, rounds=1, seed=0, quick=True)
