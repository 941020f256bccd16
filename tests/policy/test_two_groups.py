"""The two-group kernel against HiGHS, against its own proof, and against what symmetry demands."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from spofr_core.policy.kernels import two_groups
from tests.policy.reference import reference_optimum

Floats = NDArray[np.float64]
INF = np.inf


@dataclass(frozen=True)
class Problem:
    """One query; the bounds are on each group's total exposure."""

    scores: Floats
    codes: NDArray[np.int32]
    lower: Floats
    upper: Floats
    v: Floats
    w: Floats

    def with_(self, **changes: Any) -> "Problem":
        return Problem(**{**self.__dict__, **changes})


@dataclass(frozen=True)
class Answer:
    rankings: NDArray[np.int32]
    probabilities: Floats
    multipliers: Floats
    weight: Floats
    bound: float

    def exposure(self, problem: Problem) -> Floats:
        """Total exposure of each group."""
        per_item = np.zeros(len(problem.scores))
        for ranking, probability in zip(self.rankings, self.probabilities, strict=True):
            per_item[ranking] += probability * problem.v[: len(ranking)]
        return np.bincount(problem.codes, weights=per_item, minlength=len(problem.lower))

    def utility(self, problem: Problem) -> float:
        w = problem.w[: len(problem.scores)]
        gains = [float(problem.scores[ranking] @ w) for ranking in self.rankings]
        return float(self.probabilities @ gains)


def solve_batch(problems: list[Problem], seed: int = 0, write_rankings: bool = True) -> list[Answer]:
    """Solve queries that share `v` and `w`; the first problem's vectors are long enough for all."""
    sizes = [len(problem.scores) for problem in problems]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    queries, total, groups = len(problems), int(offsets[-1]), len(problems[0].lower)
    rankings = np.full((2 if write_rankings else 0, total), -1, dtype=np.int32)
    probabilities = np.full((queries, 2), np.nan)
    counts = np.full(queries, -1, dtype=np.int32)
    multipliers = np.full((queries, groups), np.nan)
    weight, bound = np.full(total, np.nan), np.full(queries, np.nan)
    status = np.full(queries, -1, dtype=np.int8)
    two_groups.solve(
        np.concatenate([problem.scores for problem in problems]),
        np.concatenate([problem.codes for problem in problems]),
        offsets,
        np.arange(queries),
        np.array([problem.lower for problem in problems]),
        np.array([problem.upper for problem in problems]),
        problems[0].v,
        problems[0].w,
        np.uint64(seed),
        False,
        rankings,
        probabilities,
        counts,
        multipliers,
        weight,
        bound,
        status,
    )
    assert (status == 0).all()
    return [
        Answer(
            rankings=rankings[: counts[q], offsets[q] : offsets[q + 1]],
            probabilities=probabilities[q, : counts[q]],
            multipliers=multipliers[q],
            weight=weight[offsets[q] : offsets[q + 1]],
            bound=float(bound[q]),
        )
        for q in range(queries)
    ]


def solve(problem: Problem, seed: int = 0) -> Answer:
    return solve_batch([problem], seed)[0]


def dcg(n: int) -> Floats:
    return 1 / np.log2(1 + np.arange(1, n + 1.0))


def reciprocal(n: int) -> Floats:
    return 1 / (1 + np.arange(1, n + 1.0))


def reachable(codes: NDArray[np.int32], v: Floats) -> tuple[float, float]:
    """Least and greatest total exposure of group 1."""
    n_1 = int((codes == 1).sum())
    return float(v[len(codes) - n_1 : len(codes)].sum()), float(v[:n_1].sum())


@st.composite
def position_vectors(draw: st.DrawFn, n: int, rng: np.random.Generator) -> Floats:
    """Nonincreasing vectors: smooth, rough, with plateaus, cut off, constant."""
    kind = draw(st.sampled_from(["dcg", "reciprocal", "rough", "plateaus", "constant", "linear"]))
    if kind == "dcg":
        vector = dcg(n)
    elif kind == "reciprocal":
        vector = 1 / (draw(st.sampled_from([0.0, 1.0])) + np.arange(1, n + 1.0)) ** draw(
            st.sampled_from([0.5, 1.0, 2.0])
        )
    elif kind == "rough":
        vector = np.sort(rng.random(n))[::-1]
    elif kind == "plateaus":
        vector = np.sort(rng.integers(0, 4, n) / 4.0)[::-1]
    elif kind == "constant":
        vector = np.full(n, 0.7)
    else:
        vector = np.arange(n, 0.0, -1.0)
    vector = vector.copy()
    if draw(st.booleans()):
        vector[draw(st.integers(1, n)) :] = 0.0
    return vector


@st.composite
def score_vectors(draw: st.DrawFn, codes: NDArray[np.int32], rng: np.random.Generator) -> Floats:
    """Scores that favour a group or not, with ties, binary labels, constants, at every scale and shift."""
    n = len(codes)
    scores = rng.normal(size=n) + draw(st.sampled_from([-3.0, -1.0, 0.0, 1.0, 3.0])) * codes
    kind = draw(st.sampled_from(["continuous", "rounded", "binary", "constant"]))
    if kind == "rounded":
        scores = np.round(scores)
    elif kind == "binary":
        scores = (scores > 1.0).astype(float)
    elif kind == "constant":
        scores = np.ones(n)
    return scores * 10.0 ** draw(st.sampled_from([-6, 0, 6])) + draw(st.sampled_from([0.0, 1e6, -1e6]))


@st.composite
def problems(draw: st.DrawFn, max_items: int = 40) -> Problem:
    n = draw(st.integers(1, max_items))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    share = draw(st.sampled_from([0.0, 0.1, 0.5, 0.9]))
    codes = (rng.random(n) < share).astype(np.int32)
    if draw(st.booleans()):
        codes[rng.integers(n)] = 1
    v, w = draw(position_vectors(n, rng)), draw(position_vectors(n, rng))
    scores = draw(score_vectors(codes, rng))
    lower, upper = np.full(2, -INF), np.full(2, INF)
    if 0 < codes.sum() < n:
        least, greatest = reachable(codes, v)
        ends = np.sort(draw(st.sampled_from([0.0, 0.5, 1.0])) * np.ones(2) if draw(st.booleans()) else rng.random(2))
        low, high = least + (greatest - least) * ends
        if draw(st.booleans()):
            low = high = (codes == 1).sum() * v.mean()
        rows = draw(st.sampled_from(["first", "second", "both", "mixed"]))
        if rows != "second":
            lower[1], upper[1] = low, high
        if rows in ("second", "both"):
            lower[0], upper[0] = v.sum() - high, v.sum() - low
        if rows == "mixed":
            lower[1], lower[0] = low, v.sum() - high
            upper[1] = INF
    return Problem(scores, codes, lower, upper, v, w)


def check(problem: Problem, answer: Answer) -> None:
    """Everything that can be checked without another solver."""
    n = len(problem.scores)
    w = problem.w[:n]
    assert len(answer.rankings) in (1, 2)
    for ranking in answer.rankings:
        np.testing.assert_array_equal(np.sort(ranking), np.arange(n))
    assert (answer.probabilities > 0).all()
    assert abs(answer.probabilities.sum() - 1) <= 1e-15

    present = np.unique(problem.codes)
    exposure, magnitude = answer.exposure(problem), max(1.0, problem.v[:n].sum())
    if len(present) == 2:
        assert (exposure[present] >= problem.lower[present] - 1e-12 * magnitude).all()
        assert (exposure[present] <= problem.upper[present] + 1e-12 * magnitude).all()
    else:
        assert len(answer.rankings) == 1

    weight = np.zeros(n)
    for ranking, probability in zip(answer.rankings, answer.probabilities, strict=True):
        weight[ranking] += probability * w
    np.testing.assert_allclose(answer.weight, weight, rtol=0, atol=1e-14 * max(1.0, w[0]))

    gap, slack = answer.bound - answer.utility(problem), tolerance(problem)
    assert -slack <= gap <= slack

    # complementary slackness: a price only on a bound that is met with equality, with the sign of that bound
    active = present[answer.multipliers[present] != 0]
    assert len(active) <= 1
    for g in active:
        limit = problem.lower[g] if answer.multipliers[g] > 0 else problem.upper[g]
        assert abs(exposure[g] - limit) <= 1e-12 * magnitude


def tolerance(problem: Problem) -> float:
    """1e-9 of the utility at stake, and what rounding costs at the size of the scores."""
    stake = np.ptp(problem.scores) * problem.w.sum()
    return float(1e-9 * stake + 1e-14 * np.abs(problem.scores).max() * problem.w.sum())


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(problems(), st.integers(0, 2**64 - 1))
def test_optimum_is_that_of_highs(problem: Problem, seed: int) -> None:
    answer = solve(problem, seed)
    check(problem, answer)
    optimum = reference_optimum(
        problem.scores, problem.codes, problem.lower - 1e-13, problem.upper + 1e-13, problem.v, problem.w
    )
    assert abs(answer.utility(problem) - optimum) <= tolerance(problem)
