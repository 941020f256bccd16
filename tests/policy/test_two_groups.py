"""The two-group kernel against HiGHS, against its own proof, and against what symmetry demands."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from spofr_core.policy.solvers.kernels import arguments, two_groups
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
    given = arguments.Problem(
        np.concatenate([problem.scores for problem in problems]),
        np.concatenate([problem.codes for problem in problems]),
        offsets,
        np.array([problem.lower for problem in problems]),
        np.array([problem.upper for problem in problems]),
        problems[0].v,
        problems[0].w,
    )
    answer = arguments.Answer(rankings, probabilities, counts, multipliers, weight, bound, status)
    two_groups.solve(given, np.arange(queries), seed, answer)
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
    longest = n + draw(st.sampled_from([0, 5]))  # a batch's vectors serve its longest list
    v, w = draw(position_vectors(longest, rng)), draw(position_vectors(longest, rng))
    scores = draw(score_vectors(codes, rng))
    lower, upper = np.full(2, -INF), np.full(2, INF)
    if 0 < codes.sum() < n:
        total = v[:n].sum()
        least, greatest = reachable(codes, v)
        ends = np.sort(draw(st.sampled_from([0.0, 0.5, 1.0])) * np.ones(2) if draw(st.booleans()) else rng.random(2))
        low, high = least + (greatest - least) * ends
        if draw(st.booleans()):
            low = high = codes.mean() * total
        rows = draw(st.sampled_from(["first", "second", "both", "mixed"]))
        if rows != "second":
            lower[1], upper[1] = low, high
        if rows in ("second", "both"):
            lower[0], upper[0] = total - high, total - low
        if rows == "mixed":
            lower[1], lower[0] = low, total - high
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
    discount = problem.w[: len(problem.scores)].sum()
    return float((1e-9 * np.ptp(problem.scores) + 1e-14 * np.abs(problem.scores).max()) * discount)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(problems(), st.integers(0, 2**64 - 1))
def test_optimum_is_that_of_highs(problem: Problem, seed: int) -> None:
    answer = solve(problem, seed)
    check(problem, answer)
    optimum = reference_optimum(
        problem.scores, problem.codes, problem.lower - 1e-13, problem.upper + 1e-13, problem.v, problem.w
    )
    assert abs(answer.utility(problem) - optimum) <= tolerance(problem)


def lagrangian_bound(problem: Problem, multipliers: Floats) -> float:
    """Upper bound on the utility that these multipliers prove, from one assignment problem and nothing else."""
    n = len(problem.scores)
    price = multipliers[problem.codes]
    gains = np.outer(problem.scores, problem.w[:n]) + np.outer(price, problem.v[:n])
    items, positions = linear_sum_assignment(gains, maximize=True)
    bounds = np.where(multipliers > 0, problem.lower, problem.upper)
    return float(gains[items, positions].sum() - sum(m * b for m, b in zip(multipliers, bounds, strict=True) if m != 0))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(problems(max_items=200))
def test_multipliers_prove_the_bound(problem: Problem) -> None:
    """Longer lists, where rough vectors make the places' own optima break the chain everywhere."""
    answer = solve(problem)
    check(problem, answer)
    assert abs(answer.bound - lagrangian_bound(problem, answer.multipliers)) <= tolerance(problem)


def correlated(n: int, seed: int, n_first: int | None = None) -> Problem:
    """Continuous scores that favour group 1, and equal mean exposure demanded by both rows."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation((np.arange(n) >= (n // 2 if n_first is None else n_first)).astype(np.int32))
    v = reciprocal(n)
    share = np.bincount(codes, minlength=2) * v.mean()
    return Problem(rng.normal(size=n) + 2.0 * codes, codes, share, share.copy(), v, dcg(n))


def test_hand_solved() -> None:
    """Two items, one place that counts: equal exposure is a fair coin, and a unit of exposure costs half a unit."""
    problem = Problem(
        np.array([3.0, 1.0]),
        np.array([0, 1], dtype=np.int32),
        np.array([-INF, 0.5]),
        np.full(2, INF),
        np.array([1.0, 0.0]),
        np.array([1.0, 0.5]),
    )
    answer = solve(problem)
    np.testing.assert_allclose(answer.probabilities, [0.5, 0.5], rtol=0, atol=1e-15)
    np.testing.assert_array_equal(np.sort(answer.rankings[:, 0]), [0, 1])
    assert answer.utility(problem) == pytest.approx(0.5 * (3 + 0.5) + 0.5 * (1 + 1.5))
    np.testing.assert_allclose(answer.multipliers, [0.0, (3 - 1) * 0.5])
    np.testing.assert_allclose(answer.weight, [0.75, 0.75])
    assert answer.bound == pytest.approx(3.0)


@pytest.mark.parametrize("row", ["lower", "upper"])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_multipliers_are_derivatives_of_the_optimum(row: str, scale: float) -> None:
    """Raising a lower bound by h costs ``lambda h``, raising an upper bound by h gains ``-lambda h``."""
    step, checked = 1e-7, 0
    for seed in range(20):
        problem = correlated(15, seed)
        g = 0 if row == "lower" else 1
        lower, upper = np.full(2, -INF), np.full(2, INF)
        (lower if row == "lower" else upper)[g] = problem.lower[g]
        problem = problem.with_(scores=problem.scores * scale, lower=lower, upper=upper)
        answer = solve(problem)
        before, after = (solve(problem.with_(**{row: getattr(problem, row) + np.eye(2)[g] * h})) for h in (-step, step))
        if before.multipliers[g] != pytest.approx(after.multipliers[g], rel=1e-9):
            continue  # a kink: the optimum has two slopes here
        checked += 1
        slope = (after.bound - before.bound) / (2 * step)
        assert answer.multipliers[g] == pytest.approx(-slope, rel=1e-6)
        assert (answer.multipliers[g] > 0) == (row == "lower")
        assert answer.multipliers[1 - g] == 0
    assert checked >= 15


def test_price_is_on_the_row_that_binds() -> None:
    """Group 0 must not fall below a share; said as its lower bound or as the other's upper bound, looser rows aside."""
    problem = correlated(20, 0)
    tight, total = problem.lower[0], problem.v.sum()
    own = solve(problem.with_(lower=np.array([tight, -INF]), upper=np.array([INF, total - tight + 0.01])))
    other = solve(problem.with_(lower=np.array([tight - 0.01, -INF]), upper=np.array([INF, total - tight])))
    assert own.multipliers[0] > 0 == own.multipliers[1]
    assert other.multipliers[1] < 0 == other.multipliers[0]
    assert own.multipliers[0] == pytest.approx(-other.multipliers[1])


@pytest.mark.parametrize("n_first", [1, 7, 19])
def test_order_and_names_do_not_matter(n_first: int) -> None:
    """Shuffled items get the same places, renamed groups the same rankings."""
    for seed in range(10):
        problem = correlated(20, seed, n_first)
        answer = solve(problem)
        assert len(answer.rankings) == 2
        order = np.random.default_rng(seed).permutation(20)
        shuffled = solve(problem.with_(scores=problem.scores[order], codes=problem.codes[order]))
        renamed = solve(
            problem.with_(codes=1 - problem.codes, lower=problem.lower[::-1].copy(), upper=problem.upper[::-1].copy())
        )
        np.testing.assert_array_equal(order[shuffled.rankings], answer.rankings)
        np.testing.assert_array_equal(renamed.rankings, answer.rankings)
        np.testing.assert_allclose(shuffled.probabilities, answer.probabilities, rtol=0, atol=1e-12)
        np.testing.assert_allclose(renamed.probabilities, answer.probabilities, rtol=0, atol=1e-12)


def mean_positions(problem: Problem, seeds: int = 40, copies: int = 100) -> tuple[Floats, Floats]:
    """Expected position of every item over seeds and queries, and its standard error."""
    n, positions = len(problem.scores), []
    for seed in range(seeds):
        for answer in solve_batch([problem] * copies, seed):
            positions.append(answer.probabilities @ np.argsort(answer.rankings, axis=1))
    sample = np.array(positions)
    assert sample.shape == (seeds * copies, n)
    return sample.mean(axis=0), sample.std(axis=0) / np.sqrt(len(sample)) + 1e-12


@pytest.mark.parametrize("demand", ["none", "equal", "most"])
def test_ties_are_broken_by_lot_within_a_group(demand: str) -> None:
    """Constant scores: every item of a group expects the same position; without a demand, every item of the list."""
    codes = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 1], dtype=np.int32)
    n, v = len(codes), reciprocal(len(codes))
    lower = np.full(2, -INF)
    if demand == "equal":
        lower = np.bincount(codes) * v.mean()
    elif demand == "most":
        lower[1] = reachable(codes, v)[1]
    problem = Problem(np.full(n, 0.3), codes, lower, np.full(2, INF), v, dcg(n))
    mean, error = mean_positions(problem)
    for g in (0, 1):
        middle = mean[codes == g].mean()
        if demand != "equal":
            middle = (n - 1) / 2 if demand == "none" else [9.0, 3.0][g]
        assert (np.abs(mean - middle)[codes == g] < 4 * error[codes == g]).all()


def test_ties_between_groups_are_broken_by_lot_while_the_bounds_are_slack() -> None:
    """Binary scores: the relevant items of both groups expect the same position, and so do the others."""
    codes = np.array([0, 1, 0, 1, 0, 1, 1, 1, 1], dtype=np.int32)
    scores = np.array([1.0, 1, 0, 0, 0, 0, 1, 0, 0])
    problem = Problem(scores, codes, np.full(2, -INF), np.full(2, INF), reciprocal(9), dcg(9))
    mean, error = mean_positions(problem)
    assert (np.abs(mean - np.where(scores == 1, 1.0, 5.5)) < 4 * error).all()


def test_a_seed_fixes_the_answer_and_another_changes_it() -> None:
    problem = Problem(
        np.zeros(30), np.arange(30, dtype=np.int32) % 2, np.full(2, -INF), np.full(2, INF), reciprocal(30), dcg(30)
    )
    once, again, other = solve(problem, 1), solve(problem, 1), solve(problem, 2)
    np.testing.assert_array_equal(once.rankings, again.rankings)
    assert (once.rankings != other.rankings).any()


def test_long_lists_with_many_ties_are_sorted() -> None:
    """Longer than one run of the sort; the plain sort must not lose items or order."""
    rng = np.random.default_rng(0)
    for n in (33, 65, 400, 1001):
        scores = rng.integers(0, 6, n).astype(float)
        codes = rng.integers(0, 2, n).astype(np.int32)
        problem = Problem(scores, codes, np.full(2, -INF), np.full(2, INF), reciprocal(n), dcg(n))
        answer = solve(problem)
        check(problem, answer)
        assert (np.diff(scores[answer.rankings[0]]) <= 0).all()


def test_batch_of_mixed_lists() -> None:
    """Lists of different lengths and groups are solved together as they are alone."""
    v, w = reciprocal(60), dcg(60)
    rng = np.random.default_rng(1)
    batch = []
    for n in [1, 2, 60, 5, 33, 20] * 20:
        codes = rng.choice(rng.choice(6, 2, replace=False), n).astype(np.int32)
        share = np.bincount(codes, minlength=6) * v[:n].mean()
        batch.append(Problem(rng.normal(size=n) + codes, codes, share, share.copy(), v, w))
    together = solve_batch(batch)
    weights_only = solve_batch(batch, write_rankings=False)
    for problem, answer, lean in zip(batch, together, weights_only, strict=True):
        check(problem, answer)
        np.testing.assert_array_equal(answer.weight, lean.weight)
        alone = solve(problem)
        np.testing.assert_array_equal(answer.rankings, alone.rankings)
        np.testing.assert_array_equal(answer.probabilities, alone.probabilities)
        assert (answer.multipliers[np.setdiff1d(np.arange(6), problem.codes)] == 0).all()


def test_queries_not_asked_for_are_left_alone() -> None:
    problem = correlated(10, 0)
    weight, bound, counts = np.full(30, -1.0), np.full(3, -1.0), np.full(3, -1, dtype=np.int32)
    given = arguments.Problem(
        np.tile(problem.scores, 3),
        np.tile(problem.codes, 3),
        np.array([0, 10, 20, 30]),
        np.tile(problem.lower, (3, 1)),
        np.tile(problem.upper, (3, 1)),
        problem.v,
        problem.w,
    )
    answer = arguments.Answer(
        np.full((2, 30), -1, dtype=np.int32),
        np.full((3, 2), -1.0),
        counts,
        np.full((3, 2), -1.0),
        weight,
        bound,
        np.full(3, -1, dtype=np.int8),
    )
    two_groups.solve(given, np.array([2, 0]), 0, answer, warm=True)
    np.testing.assert_array_equal(counts, [2, -1, 2])
    assert bound[1] == -1
    assert (weight.reshape(3, 10)[1] == -1).all()
    np.testing.assert_array_equal(weight[:10], weight[20:])


@pytest.mark.parametrize("slip", [1e-16, 1e-15, 1e-14])
def test_bounds_that_rounding_made_infeasible_are_met_as_closely_as_can_be(slip: float) -> None:
    for seed in range(10):
        problem = correlated(20, seed)
        crossed = problem.with_(lower=problem.lower + slip, upper=problem.upper - slip)
        check(crossed, solve(crossed))
        least, greatest = reachable(problem.codes, problem.v)
        for end, row, beyond in ((least, "upper", -slip), (greatest, "lower", slip)):
            extreme = problem.with_(lower=np.full(2, -INF), upper=np.full(2, INF))
            getattr(extreme, row)[1] = end + beyond
            answer = solve(extreme)
            assert abs(answer.exposure(extreme)[1] - end) <= 1e-12
            assert len(answer.rankings) == 1


def test_constant_position_bias_leaves_the_plain_sort() -> None:
    """Exposure that cannot move: the bounds can only ask for what there is, give or take rounding."""
    problem = correlated(20, 0)
    share = np.bincount(problem.codes) * 0.1 + 1e-15
    answer = solve(problem.with_(v=np.full(20, 0.1), lower=share, upper=share))
    np.testing.assert_array_equal(answer.rankings, [np.argsort(-problem.scores)])
    np.testing.assert_array_equal(answer.multipliers, 0)


def test_free_exposure_beyond_the_discount_costs_nothing() -> None:
    """DCG@3, exposure everywhere: the places below the third are given away at no price."""
    problem = correlated(20, 0)
    w = problem.w.copy()
    w[3:] = 0
    plain = float(np.sort(problem.scores)[::-1] @ w)
    top = np.argsort(-problem.scores)[:3]
    n_0 = int((problem.codes == 0).sum())
    most = problem.v[3 : 3 + n_0].sum() if (problem.codes[top] == 1).all() else 0.0
    assert most > 0
    lower = np.array([most * 0.99, -INF])
    relaxed = problem.with_(w=w, lower=lower, upper=np.full(2, INF))
    answer = solve(relaxed)
    check(relaxed, answer)
    assert answer.utility(relaxed) == pytest.approx(plain, rel=1e-14)
    np.testing.assert_array_equal(answer.multipliers, 0)
