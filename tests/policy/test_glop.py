from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from ortools.linear_solver import pywraplp
from scipy.optimize import linprog

from spofr_core.errors import ConfigError, InfeasibleFairness, SpofrError
from spofr_core.fairness import Fairness, Quota
from spofr_core.policy import LinearConstraint, Programme, fair_policies, fair_policy, prepare, verify
from spofr_core.policy.solvers import exact
from spofr_core.policy.solvers.glop import GlopModel, GlopSolver
from tests.policy.reference import reference_optimum

FAIRNESS = Fairness(delta=0.01)


def batch(seed: int, n_lists: int = 30, n_groups: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    offsets = np.arange(0, 8 * n_lists + 1, 8)
    groups = np.concatenate([rng.permutation([0, 0, 0, 1, 1, 1, 2, 2]) % n_groups for _ in range(n_lists)])
    return rng.normal(size=8 * n_lists) + groups, groups, offsets


def test_hot_models_give_the_optimum_of_each_list() -> None:
    """The composition repeats, so all but the first list start from another list's basis, with items permuted."""
    scores, groups, offsets = batch(0)
    solver = GlopSolver()
    policies = fair_policies(scores, groups, offsets, FAIRNESS, solver=solver)
    assert len(solver._models) == 1
    lists = policies.lists
    for q, policy in enumerate(policies):
        rows = slice(offsets[q], offsets[q + 1])
        best = reference_optimum(scores[rows], groups[rows], lists.lower[q], lists.upper[q], lists.v, lists.w)
        assert_allclose(policy.utility, best, rtol=1e-9)
    assert verify(policies, scores, groups, FAIRNESS).ok


def test_a_hot_model_needs_fewer_pivots_than_a_cold_one() -> None:
    scores, groups, _ = batch(1)
    lists = prepare(groups[:8], [0, 8], FAIRNESS)
    order = np.argsort(groups[:8], kind="stable")

    def model() -> GlopModel:
        return GlopModel(lists.sizes[0].tolist(), lists.v)

    def pivots(hot: GlopModel, y: np.ndarray) -> int:
        hot.load(y[order], lists.w, lists.lower[0], lists.upper[0])
        assert hot.run() == pywraplp.Solver.OPTIMAL
        return int(hot._solver.iterations())

    hot = model()
    pivots(hot, scores[:8])
    moved = scores[:8] + 0.01
    assert pivots(hot, moved) < pivots(model(), moved)


def test_the_cache_is_bounded() -> None:
    solver = GlopSolver(max_models=3)
    for n in range(2, 9):
        fair_policy(np.arange(float(n)), ["a"] * (n - 1) + ["b"], FAIRNESS, solver=solver)
    assert len(solver._models) == 3
    with pytest.raises(ConfigError, match="at least one"):
        GlopSolver(max_models=0)


def test_compositions_are_shared_between_groups_of_other_names() -> None:
    solver = GlopSolver()
    fair_policy([3.0, 2.0, 1.0], ["a", "b", "b"], FAIRNESS, solver=solver)
    policy = fair_policy([3.0, 2.0, 1.0], ["b", "b", "a"], FAIRNESS, solver=solver)
    assert len(solver._models) == 1
    assert_allclose(policy.utility, fair_policy([3.0, 2.0, 1.0], ["b", "b", "a"], FAIRNESS).utility, rtol=1e-9)


def own_optimum(scores: np.ndarray, policy, constraints: list[LinearConstraint]) -> float:
    """HiGHS on the programme with constraints of one's own."""
    lists, n = policy._batch.lists, len(scores)
    rows, limits = [], []
    for g in range(len(lists.group_names)):
        row = np.outer(lists.codes == g, lists.v).ravel()
        rows += [row, -row]
        limits += [lists.upper[0, g], -lists.lower[0, g]]
    for c in constraints:
        rows += [c.matrix.ravel(), -c.matrix.ravel()]
        limits += [c.upper, -c.lower]
    keep = np.isfinite(limits)
    sums = np.vstack([np.kron(np.eye(n), np.ones(n)), np.kron(np.ones(n), np.eye(n))])
    found = linprog(
        -np.outer(scores, lists.w).ravel(),
        A_ub=np.array(rows)[keep],
        b_ub=np.array(limits)[keep],
        A_eq=sums,
        b_eq=np.ones(2 * n),
        method="highs",
    )
    assert found.status == 0
    return float(-found.fun)


def test_constraints_of_ones_own() -> None:
    rng = np.random.default_rng(2)
    scores, groups = rng.normal(size=7), np.array(list("aabbabc"))
    top = np.zeros((7, 7))
    top[int(scores.argmin()), :3] = 1.0  # the last item must be among the first three half of the time
    constraints = [LinearConstraint(top, lower=0.5), LinearConstraint(rng.normal(size=(7, 7)), -0.4, 0.4)]
    fairness = Fairness(delta=0.05)
    policy = fair_policy(scores, groups, fairness, solver="glop", constraints=constraints)
    assert_allclose(policy.utility, own_optimum(scores, policy, constraints), rtol=1e-8)
    assert np.sum(top * policy.matrix) >= 0.5 - 1e-9
    assert abs(np.sum(constraints[1].matrix * policy.matrix)) <= 0.4 + 1e-9
    checked = verify(policy, scores, groups, fairness, constraints=constraints)
    assert checked.ok, checked.reasons
    assert verify(policy.certificate, scores, groups, fairness, constraints=constraints).ok
    stricter = [LinearConstraint(top, lower=0.6), constraints[1]]
    assert "constraint 1" in verify(policy, scores, groups, fairness, constraints=stricter).reasons[0]
    free = fair_policy(scores, groups, fairness)
    assert policy.utility < free.utility


def test_the_exact_solver_refuses_constraints() -> None:
    with pytest.raises(ConfigError, match="use solver='glop'"):
        fair_policy([1.0, 0.0], ["a", "b"], FAIRNESS, constraints=[LinearConstraint(np.eye(2), 0.5)])


@pytest.mark.parametrize("solver", ["exact", "glop"])
def test_a_quota_beside_constraints_is_refused(solver: str) -> None:
    """A quota keeps groups in the order of scores; here a cheap b belongs above a dear one: 1.45328, not 1.44159."""
    prices = np.array([17.0, 4.0, 15.0, 18.0, 1.0, 7.0])
    top = np.where(np.arange(6) < 3, prices[:, None] / 3, 0.0)
    fairness = Fairness(delta=0.3, unit="share", every_ranking=Quota(minimum={"b": {3: 1}}))
    own = [LinearConstraint(top, upper=prices.mean())]
    with pytest.raises(ConfigError, match="quota and constraints of one's own cannot be had together"):
        fair_policy([0.67, 0.58, 0.4, 0.3, 0.2, 0.09], list("aabbab"), fairness, solver=solver, constraints=own)


@pytest.mark.parametrize(
    ("matrix", "lower", "upper", "message"),
    [
        (np.ones(3), 0, 1, "shape"),
        (np.full((2, 2), np.nan), 0, 1, "holds nan at item 0, position 1"),
        (np.eye(2), 1, 0, "lower must not exceed upper"),
        (np.eye(3), 0, 1, "but the list has 2 items"),
    ],
)
def test_constraints_are_checked(matrix: np.ndarray, lower: float, upper: float, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        fair_policy(
            [1.0, 0.0], ["a", "b"], FAIRNESS, solver="glop", constraints=[LinearConstraint(matrix, lower, upper)]
        )


def test_constraints_against_the_notion_tell_the_smallest_delta() -> None:
    """Item 0 stands first for certain: then e_a - e = 1/2 - 5/12 = 1/12."""
    first = LinearConstraint(np.array([[1.0, 0.0], [0.0, 0.0]]), lower=1.0)
    with pytest.raises(InfeasibleFairness) as caught:
        fair_policy([1.0, 0.0], ["a", "b"], Fairness(delta=0.01), solver="glop", constraints=[first])
    assert_allclose(caught.value.min_delta, 1 / 12)
    fair_policy([1.0, 0.0], ["a", "b"], Fairness(delta=1 / 12 + 1e-9), solver="glop", constraints=[first])
    impossible = LinearConstraint(np.array([[1.0, 0.0], [0.0, 0.0]]), lower=1.5)
    with pytest.raises(ConfigError, match="contradict each other"):
        fair_policy([1.0, 0.0], ["a", "b"], Fairness(delta=0.01), solver="glop", constraints=[impossible])


def test_constraints_are_for_one_list() -> None:
    lists = prepare(["a", "b", "a", "b"], [0, 2, 4], FAIRNESS)
    with pytest.raises(ConfigError, match="one list at a time"):
        Programme(lists, np.zeros(4), 0, (LinearConstraint(np.eye(2), 0),))


def test_every_status_but_optimal_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GlopModel, "run", lambda self: pywraplp.Solver.ABNORMAL)
    with pytest.raises(SpofrError, match="GLOP met numerical trouble for query 0"):
        fair_policy([1.0, 0.0], ["a", "b"], FAIRNESS, solver="glop")


def test_a_failure_recommends_no_solver_that_cannot_help(monkeypatch) -> None:
    scores, groups = [3.0, 2.0, 1.0], ["a", "b", "b"]
    monkeypatch.setattr(GlopModel, "run", lambda self: pywraplp.Solver.ABNORMAL)
    with pytest.raises(SpofrError, match=r"numerical trouble for query 0; try solver='exact'\.$"):
        fair_policy(scores, groups, FAIRNESS, solver="glop")
    own = [LinearConstraint(np.zeros((3, 3)), 0.0, 1.0)]
    with pytest.raises(SpofrError, match="numerical trouble for query 0: look for scores, exposures or merits"):
        fair_policy(scores, groups, FAIRNESS, solver="glop", constraints=own)
    monkeypatch.setattr(exact, "unproved", lambda programme, solution: np.array([0]))
    with pytest.raises(SpofrError, match="after the exact solver had not solved it either: look for scores"):
        fair_policy(scores, groups, FAIRNESS)
