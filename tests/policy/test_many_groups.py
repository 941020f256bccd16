"""The kernel for any number of groups against HiGHS, its own proof, and itself under symmetries."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spofr_core.policy.solvers.kernels import many_groups, two_groups
from spofr_core.policy.solvers.kernels.arguments import Answer as Solution
from spofr_core.policy.solvers.kernels.arguments import Problem as Batch
from spofr_core.policy.solvers.kernels.crossover import FEW
from tests.policy.reference import reference_optimum


def solve(batch, seed=0, start=None, queries=None, kernel=many_groups):
    n_queries, n_codes = batch.lower.shape
    n_items = len(batch.scores)
    out = start or Solution(
        rankings=np.full((n_codes + 1, n_items), -1, np.int32),
        probabilities=np.full((n_queries, n_codes + 1), np.nan),
        counts=np.zeros(n_queries, np.int32),
        multipliers=np.zeros((n_queries, n_codes)),
        weight=np.full(n_items, np.nan),
        bound=np.full(n_queries, np.nan),
        status=np.full(n_queries, -1, np.int8),
    )
    given = batch._replace(codes=batch.codes.astype(np.int32), offsets=batch.offsets.astype(np.int64))
    asked = np.arange(n_queries) if queries is None else np.asarray(queries, np.int64)
    kernel.solve(given, asked, seed, out, warm=start is not None)
    return out


def single(scores, codes, lower, upper, v, w):
    return Batch(
        np.asarray(scores, float),
        np.asarray(codes),
        np.array([0, len(scores)]),
        np.atleast_2d(np.asarray(lower, float)),
        np.atleast_2d(np.asarray(upper, float)),
        np.asarray(v, float),
        np.asarray(w, float),
    )


def exposures(ranking, codes, v, n_codes):
    return np.bincount(codes[ranking], weights=v[: len(ranking)], minlength=n_codes)


def check(batch, out, q=0):
    """Everything that a solution claims, recomputed from its rankings; returns the utility."""
    span = slice(batch.offsets[q], batch.offsets[q + 1])
    y, codes = batch.scores[span], batch.codes[span]
    n, n_codes = len(y), batch.lower.shape[1]
    v, w = batch.v[:n], batch.w[:n]
    count = out.counts[q]
    rankings, theta = out.rankings[:count, span], out.probabilities[q, :count]
    present = np.unique(codes)

    assert out.status[q] == 0
    assert np.array_equal(np.sort(rankings, axis=1), np.tile(np.arange(n), (count, 1)))
    assert theta.min() > 0
    assert theta.sum() == pytest.approx(1, abs=1e-14)
    exposure = theta @ np.array([exposures(r, codes, v, n_codes) for r in rankings])
    room = 1e-12 * max(1, v.sum())
    assert np.all(exposure[present] >= batch.lower[q, present] - room)
    assert np.all(exposure[present] <= batch.upper[q, present] + room)

    position_weight = np.zeros(n)
    for r, p in zip(rankings, theta, strict=True):
        position_weight[r] += p * w
    assert out.weight[span] == pytest.approx(position_weight, abs=1e-13 * max(1, w[0]))

    lam = np.zeros(n_codes)
    lam[present] = out.multipliers[q, present]
    at_lower = exposure <= batch.lower[q] + 1e-9
    at_upper = exposure >= batch.upper[q] - 1e-9
    assert np.all(at_lower[lam > 0])
    assert np.all(at_upper[lam < 0])
    active = at_lower[present] | at_upper[present]
    assert count <= 1 + active.sum()

    # The Lagrangian at these multipliers, less what they charge for the bounds, is the bound; no ranking exceeds it,
    # and every one of the lottery attains it. Of many groups an interior point proves the bound, so that it is the
    # lottery that attains it: rankings of little probability may fall short of it by more.
    charge = sum(x * (batch.lower[q, g] if x > 0 else batch.upper[q, g]) for g, x in enumerate(lam) if x != 0)
    scale = np.ptp(y) * np.ptp(w) + np.abs(lam).max() * np.ptp(v)
    rounding = 1e-14 * (np.abs(y).max() * w.sum() + np.abs(lam).max() * v.sum())
    lagrangians = np.array([y[r] @ w + lam @ exposures(r, codes, v, n_codes) - charge for r in rankings])
    short, room = out.bound[q] - lagrangians, 1e-9 * scale + rounding
    assert short.min() >= -room
    assert (theta @ short if len(present) > FEW else short.max()) <= room
    utility = float(y @ position_weight)
    assert utility <= out.bound[q] + 1e-11 * scale + rounding
    return utility


def draw_vector(draw, rng, n):
    kind = draw(st.sampled_from(["harmonic", "log", "random", "steps", "cut", "constant", "linear"]))
    j = np.arange(n)
    if kind == "harmonic":
        return 1 / (2.0 + j)
    if kind == "log":
        return 1 / np.log2(2.0 + j)
    if kind == "random":
        return np.sort(rng.random(n))[::-1].copy()
    if kind == "steps":
        return np.sort(rng.integers(0, 4, n).astype(float))[::-1].copy()
    if kind == "cut":
        return np.where(j < draw(st.integers(1, n)), 1 / np.log2(2.0 + j), 0.0)
    if kind == "constant":
        return np.full(n, 0.5)
    return (n - j) / n


def draw_scores(draw, rng, codes):
    n = len(codes)
    kind = draw(st.sampled_from(["normal", "correlated", "binary", "few", "equal", "sparse"]))
    y = {
        "normal": lambda: rng.normal(size=n),
        "correlated": lambda: rng.normal(size=n) + codes,
        "binary": lambda: rng.integers(0, 2, n).astype(float),
        "few": lambda: rng.integers(0, 4, n) + 0.5 * codes,
        "equal": lambda: np.full(n, 0.7),
        "sparse": lambda: (rng.random(n) < 0.1) * rng.integers(1, 9, n).astype(float),
    }[kind]()
    return y * draw(st.sampled_from([1e-6, 1.0, 1e6])) + draw(st.sampled_from([0.0, 0.0, 1e6, -3.0]))


def draw_bounds(draw, rng, codes, v, n_codes, fewest=1, most=4):
    """Bounds that some policy holds: one that gives equal exposure, or a mixture of that many rankings."""
    n = len(codes)
    sizes = np.bincount(codes, minlength=n_codes).astype(float)
    delta = draw(st.sampled_from([0.0, 0.0, 0.01, 0.05, 1.0]))
    if draw(st.booleans()):
        center = sizes * v.mean()
        lower, upper = center - sizes * delta, center + sizes * delta
    else:
        mixture = rng.dirichlet(np.ones(draw(st.integers(fewest, most))))
        center = mixture @ np.array([exposures(rng.permutation(n), codes, v, n_codes) for _ in mixture])
        lower = center - delta * rng.random(n_codes)
        upper = center + delta * rng.random(n_codes)
    if draw(st.booleans()):
        lower = np.where(rng.random(n_codes) < 0.3, -np.inf, lower)
        upper = np.where(rng.random(n_codes) < 0.3, np.inf, upper)
    return lower, upper


@st.composite
def instances(draw, most_groups=7, longest=40):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = draw(st.integers(1, longest))
    n_codes = draw(st.integers(1, most_groups))
    codes = rng.integers(0, n_codes, n)
    if draw(st.booleans()):  # one item each, and one large group
        codes = np.where(np.arange(n) < n_codes, np.arange(n) % n_codes, 0)[rng.permutation(n)]
    v, w = draw_vector(draw, rng, n), draw_vector(draw, rng, n)
    lower, upper = draw_bounds(draw, rng, codes, v, n_codes)
    return single(draw_scores(draw, rng, codes), codes, lower, upper, v, w)


def close(batch, value, other):
    """Equal to 1e-9 relative, or to what the cancellation of large scores leaves."""
    size = np.abs(batch.scores).max() * np.abs(batch.w).sum()
    return abs(value - other) <= 1e-9 * abs(other) + 1e-10 * np.ptp(batch.scores) * np.ptp(batch.w) + 1e-14 * size


@settings(max_examples=250, deadline=None)
@given(instances())
def test_optimum_is_that_of_highs(batch):
    utility = check(batch, solve(batch))
    best = reference_optimum(batch.scores, batch.codes, batch.lower[0], batch.upper[0], batch.v, batch.w)
    assert close(batch, utility, best)


@settings(max_examples=150, deadline=None)
@given(instances(), st.integers(0, 2**32), st.sampled_from([0.0, 1e-3, 1.0]))
def test_warm_start_changes_no_value(batch, seed, noise):
    out = solve(batch)
    rng = np.random.default_rng(seed)
    moved = batch._replace(scores=batch.scores + noise * np.ptp(batch.scores) * rng.normal(size=len(batch.scores)))
    cold = check(moved, solve(moved))
    assert close(moved, check(moved, solve(moved, start=out)), cold)


@settings(max_examples=120, deadline=None)
@given(instances(), st.just(0.0) | st.floats(1e-14, 0.1))  # bounds less than rounding apart are left to GLOP
def test_warm_start_survives_new_bounds(batch, wider):
    out = solve(batch)
    moved = batch._replace(lower=batch.lower - wider, upper=batch.upper + wider)
    cold = check(moved, solve(moved))
    assert close(moved, check(moved, solve(moved, start=out)), cold)


@settings(max_examples=150, deadline=None)
@given(instances(most_groups=2, longest=60))
def test_agrees_with_the_kernel_for_two_groups(batch):
    value = check(batch, solve(batch))
    assert close(batch, value, float(batch.scores @ solve(batch, kernel=two_groups).weight))


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 7), st.sampled_from([0.0, 0.01]))
def test_batches_equal_single_queries(seed, n_codes, delta):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 30, 9)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    codes = rng.integers(0, n_codes, offsets[-1])
    scores = rng.integers(0, 5, offsets[-1]) + 0.3 * codes
    v, w = 1 / (2.0 + np.arange(30)), 1 / np.log2(2.0 + np.arange(30))
    sizes = np.array([np.bincount(codes[a:b], minlength=n_codes) for a, b in pairwise(offsets)])
    mean = np.array([v[:n].mean() for n in lengths])[:, None]
    batch = Batch(scores, codes, offsets, sizes * (mean - delta), sizes * (mean + delta), v, w)
    chosen = np.array([7, 0, 3])
    out = solve(batch, queries=chosen)
    assert set(np.flatnonzero(out.status == 0)) == set(chosen)
    for q in chosen:
        span = slice(offsets[q], offsets[q + 1])
        value = check(batch, out, q)
        best = reference_optimum(scores[span], codes[span], batch.lower[q], batch.upper[q], v, w)
        assert value == pytest.approx(best, rel=1e-9, abs=1e-9)
    untouched = np.setdiff1d(np.arange(9), chosen)
    assert np.isnan(out.bound[untouched]).all()


def test_multipliers_are_the_slope_of_the_utility_in_the_bounds():
    rng = np.random.default_rng(3)
    codes = np.arange(15) % 3
    y = rng.normal(size=15) + codes
    v, w = 1 / (2.0 + np.arange(15)), 1 / np.log2(2.0 + np.arange(15))
    mean, step = 5 * v.mean(), 1e-5
    lower = np.array([mean - 0.02, mean - 0.03, -np.inf])
    batch = single(y, codes, lower, np.full(3, np.inf), v, w)
    out = solve(batch)
    assert np.any(out.multipliers[0, :2] > 0)
    for g in range(2):
        values = []
        for sign in (-1, 1):
            shifted = lower.copy()
            shifted[g] += sign * step
            moved = batch._replace(lower=shifted[None])
            values.append(y @ solve(moved).weight)
        slope = (values[1] - values[0]) / (2 * step)
        assert slope == pytest.approx(-out.multipliers[0, g], rel=1e-6)


def test_hand_solved_three_items():
    # Three groups of one item, equal exposure: each item must expect the mean of v, so the lottery over the three
    # rotations of any order is feasible; the utility depends only on the mixture of orders that even out v but not w.
    v, w = np.array([1.0, 0.0, 0.0]), np.array([1.0, 0.5, 0.0])
    batch = single([3.0, 2.0, 0.0], [0, 1, 2], np.full(3, 1 / 3), np.full(3, 1 / 3), v, w)
    # Each item leads with probability 1/3; among the other two the better one is second: 1/3 (3 + 1) + 1/3 (2 + 3/2)
    # + 1/3 (0 + 3/2) = 3.
    assert check(batch, solve(batch)) == pytest.approx(3.0, abs=1e-12)


@pytest.mark.parametrize("nudge", [0.0, 1e-15, -1e-15, 1e-14])
def test_bounds_at_the_edge_of_what_can_be_reached(nudge):
    rng = np.random.default_rng(0)
    for _ in range(20):
        codes = rng.integers(0, 4, 20)
        v, w = 1 / (2.0 + np.arange(20)), 1 / np.log2(2.0 + np.arange(20))
        y = rng.normal(size=20) + 0.5 * codes
        ranking = np.argsort(codes, kind="stable")  # a vertex: the first group on top, and so on
        extreme = exposures(ranking, codes, v, 4)
        batch = single(y, codes, extreme + nudge, extreme + nudge, v, w)
        out = solve(batch)
        assert out.status[0] == 0
        ideal = np.lexsort((-y, codes))
        assert y @ out.weight == pytest.approx(y[ideal] @ w, abs=1e-9)


def test_many_groups_among_many_codes():
    rng = np.random.default_rng(1)
    for n, n_codes in [(100, 20), (60, 40), (50, 50)]:
        codes = np.concatenate([np.arange(n_codes), rng.integers(0, n_codes, n - n_codes)])[rng.permutation(n)]
        y = rng.normal(size=n) + 2 * codes / n_codes
        v, w = 1 / (2.0 + np.arange(n)), 1 / np.log2(2.0 + np.arange(n))
        sizes = np.bincount(codes, minlength=n_codes)
        for delta in (0.0, 0.01):
            batch = single(y, codes, sizes * (v.mean() - delta), sizes * (v.mean() + delta), v, w)
            check(batch, solve(batch))


def test_absent_groups_are_ignored():
    rng = np.random.default_rng(2)
    codes = rng.choice([3, 41, 77], 20)
    y = rng.normal(size=20) + codes / 40
    v, w = 1 / (2.0 + np.arange(20)), 1 / np.log2(2.0 + np.arange(20))
    sizes = np.bincount(codes, minlength=100)
    bounds = np.where(sizes > 0, sizes * v.mean(), np.nan)
    few = np.searchsorted([3, 41, 77], codes)
    small = single(y, few, bounds[[3, 41, 77]], bounds[[3, 41, 77]], v, w)
    expected = check(small, solve(small))
    out = solve(single(y, codes, bounds, bounds, v, w))
    assert y @ out.weight == pytest.approx(expected, abs=1e-12)
    assert not out.multipliers[0, sizes == 0].any()


@settings(max_examples=100, deadline=None)
@given(instances(), st.integers(0, 2**32))
def test_codes_carry_no_meaning(batch, seed):
    """Renaming the groups renames the multipliers and changes nothing else."""
    n_codes = batch.lower.shape[1]
    name = np.random.default_rng(seed).permutation(n_codes)
    old = np.argsort(name)
    renamed = batch._replace(codes=name[batch.codes], lower=batch.lower[:, old], upper=batch.upper[:, old])
    one, two = solve(batch), solve(renamed)
    assert one.counts == two.counts
    count = one.counts[0]
    assert np.array_equal(one.rankings[:count], two.rankings[:count])
    assert np.array_equal(one.probabilities[0, :count], two.probabilities[0, :count])
    assert np.array_equal(one.multipliers[0], two.multipliers[0, name])


@pytest.mark.parametrize("cut", [30, 4])
def test_equal_scores_give_equal_chances_within_a_group(cut):
    n, draws = 12, 1500
    codes = np.array([0, 1, 2, 0, 0, 1, 2, 2, 0, 1, 1, 2])
    v = np.where(np.arange(n) < cut, 1 / (2.0 + np.arange(n)), 0)
    w = 1 / np.log2(2.0 + np.arange(n))
    sizes = np.bincount(codes)
    batch = single(np.full(n, 0.3), codes, sizes * v.mean(), sizes * v.mean(), v, w)
    places = np.zeros((draws, n))
    for seed in range(draws):
        out = solve(batch, seed=seed)
        for r in range(out.counts[0]):
            places[seed, out.rankings[r]] += out.probabilities[0, r] * np.arange(n)
    error = places.std(axis=0) / np.sqrt(draws)
    for g in range(3):
        mine = places[:, codes == g].mean(axis=0)
        assert np.all(np.abs(mine - mine.mean()) < 5 * error[codes == g])


def test_plain_sort_when_it_is_fair_enough():
    rng = np.random.default_rng(4)
    y, codes = rng.normal(size=100), rng.integers(0, 5, 100)
    v = w = 1 / np.log2(2.0 + np.arange(100))
    out = solve(single(y, codes, np.full(5, -np.inf), np.full(5, np.inf), v, w))
    assert out.counts[0] == 1
    assert np.array_equal(out.rankings[0], np.argsort(-y))
    assert not out.multipliers.any()
    assert out.bound[0] == pytest.approx(np.sort(y)[::-1] @ w, rel=1e-14)


def test_a_thousand_items():
    rng = np.random.default_rng(5)
    n = 1000
    codes = rng.integers(0, 5, n)
    v = 1 / (2.0 + np.arange(n))
    sizes = np.bincount(codes)
    for y, w in [
        (rng.normal(size=n) + 0.5 * codes, 1 / np.log2(2.0 + np.arange(n))),
        (rng.normal(size=n) + codes, 1 / np.log2(2.0 + np.arange(n))),
        (
            (rng.random(n) < 0.1 + 0.1 * codes).astype(float),
            np.where(np.arange(n) < 10, 1 / np.log2(2.0 + np.arange(n)), 0),
        ),
    ]:
        batch = single(y, codes, sizes * v.mean(), sizes * v.mean(), v, w)
        check(batch, solve(batch))


def test_out_of_reach_is_never_called_optimal():
    v, w = 1 / (2.0 + np.arange(9)), 1 / np.log2(2.0 + np.arange(9))
    codes = np.arange(9) % 3
    y = np.random.default_rng(6).normal(size=9)
    out = solve(single(y, codes, np.full(3, v[:3].sum()), np.full(3, np.inf), v, w))
    assert out.status[0] == 1


def test_scores_on_a_grid_that_rounding_has_bent():
    """Many multipliers are zero but for rounding here; taking their signs at face value once made the solver circle."""
    n, n_codes = 54, 6
    v = w = (n - np.arange(n)) / n
    for seed in range(60):
        rng = np.random.default_rng(seed)
        codes = rng.integers(0, n_codes, n)
        y = 1e-6 * (rng.integers(0, 4, n) + 0.5 * codes) - 3
        mixture = rng.dirichlet(np.ones(4))
        center = mixture @ np.array([exposures(rng.permutation(n), codes, v, n_codes) for _ in mixture])
        batch = single(y, codes, center - 0.05 * rng.random(n_codes), center + 0.05 * rng.random(n_codes), v, w)
        check(batch, solve(batch))
