"""The programme with a quota beside the same one without, for `spofr bench solver`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spofr_core.errors import SpofrError
from spofr_core.experiments.bench.timing import interleaved
from spofr_core.fairness import Quota
from spofr_core.policy import PreparedLists, fair_policies
from spofr_core.policy.solvers.exact import Workspace

QUOTA = Quota(slack=1, top=10)
TEST_SET = 4_000
"""Lists of 20 whose policies a page solves when delta or the quota moves."""

MakeLists = Callable[[int, int, int, int], tuple[PreparedLists, NDArray[np.float64]]]


@dataclass(frozen=True)
class QuotaCase:
    """Lists of n items in G groups, and how many times the programme without a quota they may take."""

    n: int
    groups: int
    lists: int
    limit: float


CASES = (
    QuotaCase(20, 2, 2000, 4),
    QuotaCase(20, 3, 400, 10),
    QuotaCase(20, 5, 200, 20),
    QuotaCase(20, 7, 60, 50),
    QuotaCase(500, 2, 10, 10),
)


def bench_quotas(make_lists: MakeLists, *, rounds: int, seed: int, quick: bool) -> list[dict[str, Any]]:
    """A row per case, each list solved cold, and one for all policies of a test set as a page asks for them."""
    chosen = CASES[:4] if quick else CASES
    return [*(_cold(case, make_lists, rounds, seed) for case in chosen), _test_set(make_lists, rounds, seed)]


def _cold(case: QuotaCase, make_lists: MakeLists, rounds: int, seed: int) -> dict[str, Any]:
    plain, scores = make_lists(case.n, case.groups, case.lists, seed)
    within = plain.with_fairness(plain.fairness.with_quota(QUOTA))

    def solve(lists: PreparedLists) -> None:
        left = len(Workspace(lists).run(scores, 0))
        if left:
            raise SpofrError(f"{left} lists were not solved in the benchmark; the comparison would be void.")

    seconds = interleaved({"quota": lambda: solve(within), "plain": lambda: solve(plain)}, rounds=3 * rounds)
    per_list = {f"{name}_us": 1e6 * value / case.lists for name, value in seconds.items()}
    name = f"n={case.n} G={case.groups} quota / none"
    return {"name": name, **per_list, "ratio": seconds["quota"] / seconds["plain"], "at_most": case.limit}


def _test_set(make_lists: MakeLists, rounds: int, seed: int) -> dict[str, Any]:
    plain, scores = make_lists(20, 2, TEST_SET, seed)
    asked = {"plain": plain.fairness, "quota": plain.fairness.with_quota(QUOTA)}
    seconds = interleaved(
        {
            name: partial(fair_policies, scores, plain.codes, plain.offsets, fairness)
            for name, fairness in asked.items()
        },
        rounds=max(rounds // 2, 3),
    )
    return {
        "name": f"{TEST_SET:,} lists, quota / none",
        **{f"{name}_s": value for name, value in seconds.items()},
        "ratio": seconds["quota"] / seconds["plain"],
        "at_most": CASES[0].limit,
    }
