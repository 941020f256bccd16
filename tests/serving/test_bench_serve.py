"""The benchmark of serving runs, and says what it is held to."""

from __future__ import annotations

import pytest

from spofr_core.serving.bench.bench_load import bench_load
from spofr_core.serving.bench.bench_minutes import bench_minutes
from spofr_core.serving.bench.bench_serve import LIMITS, bench_serve


def test_the_benchmark_tells_its_ratios_and_limits():
    found = bench_serve(calls=40, rounds=1, load=False)
    assert found["calls"] == 40
    assert set(LIMITS) <= set(found["ratios"])
    assert found["ratios"]["rank / batched list, median"] * found["batched_us"] > 0.9 * found["rank_us"]
    assert found["rank_us"] <= found["rank_p99_us"]


def test_the_service_is_asked_beside_an_echo():
    found = bench_load(requests=30, rounds=1, readers=3)
    assert (found["requests"], found["readers"]) == (30, 3)
    ratio = found["ratios"]["service / echo, seconds per request"]
    speeds = found["requests_per_second"]
    assert ratio == pytest.approx(speeds["echo"] / speeds["service"])
    assert set(found["limits"]) <= set(found["ratios"])


def test_minutes_under_load_tell_memory_and_errors():
    found = bench_minutes(0.04, readers=2)
    assert found["requests"] > 20
    assert found["ratios"]["requests that were not answered"] == 0
    assert set(found["limits"]) == set(found["ratios"])
    assert found["memory_mb"][0] > 20
