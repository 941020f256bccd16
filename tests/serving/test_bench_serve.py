"""The benchmark of serving runs, and says what it is held to."""

from __future__ import annotations

from spofr_core.serving.bench_serve import LIMITS, bench_serve


def test_the_benchmark_tells_its_ratios_and_limits():
    found = bench_serve(calls=40, rounds=1)
    assert found["calls"] == 40
    assert set(LIMITS) <= set(found["ratios"])
    assert found["ratios"]["rank / batched list, median"] * found["batched_us"] > 0.9 * found["rank_us"]
    assert found["rank_us"] <= found["rank_p99_us"]
