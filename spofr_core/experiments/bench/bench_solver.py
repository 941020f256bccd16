"""`spofr bench solver`: the exact solver beside hot-started GLOP, an assignment solver and a plain sort, in one run."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from spofr_core.errors import SpofrError
from spofr_core.experiments.bench.bench_quotas import bench_quotas
from spofr_core.experiments.bench.timing import interleaved, peak_memory
from spofr_core.fairness import Discount, Fairness
from spofr_core.policy import fair_policies, verify
from spofr_core.policy.programme import PreparedLists, prepare
from spofr_core.policy.solvers.exact import Workspace
from spofr_core.policy.solvers.glop import GlopModel
from spofr_core.policy.tradeoff_curve import utility_curve

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """One row of the table: lists of n items in G groups; the ratio to GLOP asked for, and hoped for."""

    n: int
    groups: int
    lists: int
    glop_solves: int
    least: float
    stretch: float


GLOP_CASES = (
    Case(20, 2, 2000, 60, 300, 800),
    Case(20, 3, 1000, 60, 60, 180),
    Case(20, 5, 1000, 60, 30, 90),
    Case(20, 7, 500, 60, 15, 50),
    Case(100, 2, 200, 12, 500, 1500),
    Case(500, 2, 20, 3, 3000, 9000),
)
LONG_CASES = (Case(1000, 2, 10, 0, 50, 50), Case(1000, 5, 2, 0, 1, 1))
MORE_GROUPS_LIMIT = 5.0
"""A list of 200 items with 100 groups may take this many times one with 50."""
OWN_GROUP_LIMIT = 1.0
"""A list of 100 items, each on its own, may take as long as one assignment problem of 1,000 items."""
VERIFIED = 5_000
"""Items of the list whose verification is timed."""
VERIFY_LIMIT = 1.0
"""It may take as long as one assignment problem of 1,000 items."""


def bench_solver(*, rounds: int = 7, seed: int = 0, quick: bool = False) -> dict[str, Any]:
    """Microseconds per list and ratios; delta = 0 and scores that correlate with the group, so that rows are active.

    GLOP is given its best conditions: one model, built before, for one composition of groups, every solve starting
    from the last basis. "End to end" sets the objective, solves and reads the matrix; "Solve()" is the solve alone.
    Both sides solve slightly changed scores each time, as in training.
    """
    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        cases = GLOP_CASES[:4] if quick else GLOP_CASES
        against_glop = [_against_glop(case, rounds, seed) for case in cases]
        against_assignment = [] if quick else [_against_assignment(case, rounds, seed) for case in LONG_CASES]
        crowded = _crowded(rounds, seed)
        quotas = bench_quotas(make_lists, rounds=rounds, seed=seed, quick=quick)
        verification = [] if quick else [_verification(groups, rounds, seed) for groups in (2, 5)]
    finally:
        numba.set_num_threads(threads)
    ratios = {f"n={row['n']} G={row['groups']} x GLOP hot": row["ratio_end_to_end"] for row in against_glop}
    ratios |= {f"n={row['n']} G={row['groups']} x assignment": row["ratio"] for row in against_assignment}
    verified = {f"verify n={row['n']} G={row['groups']} / assignment": row["ratio"] for row in verification}
    ratios |= verified
    crowded_limits = {"n=200 G=100 / G=50": MORE_GROUPS_LIMIT, "n=100 G=100 / assignment of 1,000": OWN_GROUP_LIMIT}
    ratios |= dict(zip(crowded_limits, (crowded["ratio_of_groups"], crowded["ratio_to_assignment"]), strict=True))
    ratios |= {row["name"]: row["ratio"] for row in quotas}
    scaling = _two_threads(rounds, seed) if threads > 1 else None
    if scaling is not None:
        ratios["two threads x one"] = scaling["ratio"]
    return {
        "cpus": os.cpu_count(),
        "rounds": rounds,
        "delta": 0.0,
        "against_glop": against_glop,
        "against_assignment": against_assignment,
        "verification": verification,
        "crowded": crowded,
        "quotas": quotas,
        "threads": scaling,
        "sweep": _sweep(rounds, seed),
        "memory": {"lists": 100_000, "peak_rise_bytes": peak_memory(solve_many, 100_000, warmup=_compile)},
        "ratios": ratios,
        "limits": dict.fromkeys(verified, VERIFY_LIMIT)
        | crowded_limits
        | {row["name"]: row["at_most"] for row in quotas},
    }


def make_lists(n: int, groups: int, lists: int, seed: int) -> tuple[PreparedLists, FloatArray]:
    """Lists of one composition with group-correlated scores under delta = 0."""
    rng = np.random.default_rng(seed)
    codes = np.concatenate([rng.permutation(np.arange(n) % groups) for _ in range(lists)]).astype(np.int32)
    scores = rng.normal(size=n * lists) + 0.8 * codes / max(groups - 1, 1)
    offsets = np.arange(lists + 1) * n
    return prepare(codes, offsets, Fairness(delta=0.0)), scores


def _changed(scores: FloatArray, seed: int) -> tuple[FloatArray, FloatArray]:
    """The scores, and the same after a small step of training."""
    return scores, scores + 0.05 * np.random.default_rng(seed + 1).normal(size=len(scores))


def _against_glop(case: Case, rounds: int, seed: int) -> dict[str, Any]:
    lists, scores = make_lists(case.n, case.groups, case.lists, seed)
    pair = _changed(scores, seed)
    hot, glop = Workspace(lists), _HotGlop(lists, pair, case.glop_solves)
    turn = iter(range(10**9))

    def cold() -> None:
        workspace = Workspace(lists)
        _solved(workspace.run(scores, 0))

    exact = interleaved(
        {
            "hot": lambda: _solved(hot.run(pair[next(turn) % 2], 0)),
            "cold": cold,
            "argsort": lambda: np.argsort(scores.reshape(case.lists, case.n), axis=1),
            "glop": glop.round,
        },
        rounds=rounds,
        warmup=2,
    )
    per_list = {name: 1e6 * exact[name] / case.lists for name in ("hot", "cold", "argsort")}
    end_to_end, solve_only = 1e6 * glop.end_to_end, 1e6 * glop.solve_only
    chosen = per_list["hot"] if case.groups > 2 else per_list["cold"]
    return {
        "n": case.n,
        "groups": case.groups,
        "exact_us": chosen,
        "exact_cold_us": per_list["cold"],
        "argsort_us": per_list["argsort"],
        "glop_end_to_end_us": end_to_end,
        "glop_solve_us": solve_only,
        "ratio_end_to_end": end_to_end / chosen,
        "ratio_solve": solve_only / chosen,
        "at_least": case.least,
        "stretch": case.stretch,
        "held": end_to_end / chosen >= case.least,
    }


class _HotGlop:
    """GLOP on one model, one list after the other; keeps its own times, since a round holds many solves."""

    def __init__(self, lists: PreparedLists, pair: tuple[FloatArray, FloatArray], solves: int) -> None:
        n = int(lists.offsets[1])
        self._lists, self._pair, self._solves, self._n = lists, pair, solves, n
        # GLOP's own tolerances: the tighter ones of the reference backend would slow the peer down.
        self._model = GlopModel(lists.sizes[0].tolist(), lists.v[:n], parameters="")
        self._next = 0
        self._seconds: list[tuple[float, float]] = []

    def round(self) -> None:
        for _ in range(max(self._solves // 4, 1)):
            self._solve_next()

    def _solve_next(self) -> None:
        n, lists = self._n, self._lists
        q = self._next % len(lists)
        scores = self._pair[self._next % 2][q * n : (q + 1) * n]
        self._next += 1
        by_group = np.argsort(lists.codes[q * n : (q + 1) * n], kind="stable")
        start = time.perf_counter()
        self._model.load(scores[by_group], lists.w[:n], lists.lower[q], lists.upper[q])
        before = time.perf_counter()
        status = self._model.run()
        after = time.perf_counter()
        self._model.read()
        self._seconds.append((time.perf_counter() - start, after - before))
        if status != 0:
            raise SpofrError(f"GLOP ended with status {status} in the benchmark; the comparison would be void.")

    @property
    def end_to_end(self) -> float:
        return statistics.median(total for total, _ in self._seconds)

    @property
    def solve_only(self) -> float:
        return statistics.median(solve for _, solve in self._seconds)


def _against_assignment(case: Case, rounds: int, seed: int) -> dict[str, Any]:
    lists, scores = make_lists(case.n, case.groups, case.lists, seed)
    cost = np.outer(scores[: case.n], Discount().vector(case.n))

    def exact() -> None:
        workspace = Workspace(lists)
        _solved(workspace.run(scores, 0))

    seconds = interleaved(
        {"exact": exact, "assignment": lambda: linear_sum_assignment(cost, maximize=True)},
        rounds=max(rounds // 2, 3),
    )
    per_list = seconds["exact"] / case.lists
    return {
        "n": case.n,
        "groups": case.groups,
        "exact_us": 1e6 * per_list,
        "assignment_us": 1e6 * seconds["assignment"],
        "ratio": seconds["assignment"] / per_list,
        "at_least": case.least,
        "held": seconds["assignment"] / per_list >= case.least,
    }


def _verification(groups: int, rounds: int, seed: int) -> dict[str, Any]:
    """A long list verified, certificate and all, beside one assignment problem of a much shorter one."""
    lists, scores = make_lists(VERIFIED, groups, 1, seed)
    policies = fair_policies(scores, lists.codes, lists.offsets, lists.fairness, group_names=lists.group_names)
    certificate = policies[0].certificate
    shorter, their_scores = make_lists(LONG_CASES[0].n, groups, 1, seed)
    cost = np.outer(their_scores, shorter.w)

    def verified() -> None:
        found = verify(certificate, scores, lists.codes, lists.fairness, group_names=lists.group_names)
        if not found.ok:
            raise SpofrError(f"The benchmark's own certificate was refused: {found.reasons}")

    seconds = interleaved(
        {"verify": verified, "assignment": lambda: linear_sum_assignment(cost, maximize=True)},
        rounds=max(rounds // 2, 3),
    )
    ratio = seconds["verify"] / seconds["assignment"]
    return {
        "n": VERIFIED,
        "groups": groups,
        "verify_us": 1e6 * seconds["verify"],
        "assignment_n": len(their_scores),
        "assignment_us": 1e6 * seconds["assignment"],
        "ratio": ratio,
        "at_most": VERIFY_LIMIT,
        "held": ratio <= VERIFY_LIMIT,
    }


def _crowded(rounds: int, seed: int) -> dict[str, Any]:
    """Lists with very many groups, up to each item on its own, solved cold beside one assignment problem."""
    long = LONG_CASES[0].n
    cost = np.outer(np.random.default_rng(seed).normal(size=long), Discount().vector(long))

    def cold(n: int, groups: int) -> Callable[[], None]:
        lists, scores = make_lists(n, groups, 1, seed)
        return lambda: _solved(Workspace(lists).run(scores, 0))

    seconds = interleaved(
        {
            "fifty": cold(200, 50),
            "hundred": cold(200, 100),
            "each_its_own": cold(100, 100),
            "assignment": lambda: linear_sum_assignment(cost, maximize=True),
        },
        rounds=max(rounds // 2, 3),
    )
    return {
        **{f"{name}_us": 1e6 * value for name, value in seconds.items()},
        "ratio_of_groups": seconds["hundred"] / seconds["fifty"],
        "ratio_to_assignment": seconds["each_its_own"] / seconds["assignment"],
    }


def _two_threads(rounds: int, seed: int) -> dict[str, Any]:
    """Many short rounds: the slower of two threads sets the pace, so one neighbour on the machine spoils a round."""
    lists, scores = make_lists(20, 2, 20_000, seed)
    workspace = Workspace(lists)

    def on(threads: int) -> None:
        numba.set_num_threads(threads)
        workspace.run(scores, 0)

    before = numba.get_num_threads()
    try:
        seconds = interleaved({"one": lambda: on(1), "two": lambda: on(2)}, rounds=9 * rounds)
    finally:
        numba.set_num_threads(before)
    return {"lists": len(lists), **seconds, "ratio": seconds["one"] / seconds["two"]}


def _sweep(rounds: int, seed: int) -> dict[str, Any]:
    """The whole tradeoff curve of a test set: 41 deltas x 4,000 lists of 20, in one call."""
    lists, scores = make_lists(20, 2, 4000, seed)
    deltas = np.linspace(0.0, 0.4, 41)
    seconds = interleaved(
        {"sweep": lambda: utility_curve(scores, lists.codes, lists.offsets, lists.fairness, deltas)},
        rounds=max(rounds // 2, 3),
    )
    return {"deltas": len(deltas), "lists": len(lists), "seconds": seconds["sweep"]}


def solve_many(lists: int) -> object:
    """What the memory measurement runs: policies of many lists of 20, kept."""
    rng = np.random.default_rng(0)
    return fair_policies(
        rng.normal(size=20 * lists), rng.integers(0, 2, 20 * lists), np.arange(lists + 1) * 20, Fairness(delta=0.01)
    )


def _compile() -> None:
    solve_many(2)


def _solved(unsolved: NDArray[np.int64]) -> None:
    if len(unsolved):
        raise SpofrError(f"{len(unsolved)} lists were not solved in the benchmark; the comparison would be void.")
