"""`spofr bench serve`: a call of the reranker beside a batch and `fair_policy`, and the service beside an echo."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from itertools import count
from typing import Any

import numba
import numpy as np

from spofr_core.experiments.bench.bench_solver import make_lists
from spofr_core.policy import fair_policy
from spofr_core.policy.solvers.exact import Workspace
from spofr_core.serving.bench.bench_load import bench_load
from spofr_core.serving.reranker import Reranker

LIMITS = {"rank / batched list, median": 15.0}
ITEMS = 20


def bench_serve(
    *, calls: int = 200, rounds: int = 50, seed: int = 0, load: bool = True, readers: int = 8
) -> dict[str, Any]:
    """Microseconds of one call for a list of 20 items in two groups, and ratios to the batched time per list.

    Every call has scores that were never seen before and a query of its own, so that nothing is answered from memory
    but the bounds of the composition. The batch is that of `spofr bench solver`: the kernel on one thread, cold, its
    lists prepared. Short batches and as many calls take turns, so that other work on the machine hits both alike. With
    `load`, the running service is asked as well: see `bench_load`.
    """
    lists, scores = make_lists(ITEMS, 2, calls, seed)
    codes = lists.codes.reshape(calls, ITEMS)
    groups = [np.array(["a", "b"])[row].tolist() for row in codes]
    reranker = Reranker(lists.fairness, seed=seed)
    batched: list[float] = []
    ranked: list[float] = []
    plain: list[float] = []
    fresh = count()

    def turn(*, keep: bool) -> None:
        """A batch, every list by a call of its own, and a few by `fair_policy`."""
        batches, calls_, wholes = [_seconds(Workspace(lists).run, scores, seed)], [], []
        for q in range(calls):
            number = next(fresh)
            own = scores[q * ITEMS : (q + 1) * ITEMS] + 1e-9 * number
            calls_.append(_seconds(reranker.rank, own, groups[q], number))
            if q % 20 == 0:
                wholes.append(_seconds(fair_policy, own, groups[q], lists.fairness))
        if keep:
            batched.extend(batches)
            ranked.extend(calls_)
            plain.extend(wholes)

    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        for round_ in range(rounds + 1):
            turn(keep=round_ > 0)
    finally:
        numba.set_num_threads(threads)
    per_list = float(np.median(batched)) / calls
    asked = bench_load(rounds=max(rounds // 2, 1), readers=readers) if load else {}
    median, tail = float(np.median(ranked)), float(np.quantile(ranked, 0.99))
    return {
        "n": ITEMS,
        "groups": 2,
        "calls": len(ranked),
        "rounds": rounds,
        "cpus": os.cpu_count(),
        "batched_us": 1e6 * per_list,
        "rank_us": 1e6 * median,
        "rank_p99_us": 1e6 * tail,
        "fair_policy_us": 1e6 * float(np.median(plain)),
        "load": asked,
        "ratios": {
            "rank / batched list, median": median / per_list,
            "rank / batched list, p99": tail / per_list,
            "fair_policy / batched list, median": float(np.median(plain)) / per_list,
            **asked.get("ratios", {}),
        },
        "limits": {**LIMITS, **asked.get("limits", {})},
    }


def _seconds(run: Callable[..., object], *arguments: Any) -> float:
    start = time.perf_counter()
    run(*arguments)
    return time.perf_counter() - start
