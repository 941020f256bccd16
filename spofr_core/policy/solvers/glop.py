"""The programme as a plain linear programme in OR-Tools GLOP: the reference, and the solver of any linear constraint.

A model is built once for each composition of groups and kept: only its objective and bounds change from list to list,
so the simplex starts from the last basis (GLOP keeps it as long as the matrix stays the same). Items enter in the
order of their groups, shuffled within a group, and are mapped back afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from cachetools import LRUCache
from ortools.linear_solver import pywraplp
from scipy.optimize import linear_sum_assignment

from spofr_core.errors import ConfigError, InfeasibleFairness, SpofrError
from spofr_core.fairness import TOLERANCE, format_delta
from spofr_core.policy.decomposition import decompose
from spofr_core.policy.programme import FloatArray, IntArray, LinearConstraint, PreparedLists, Programme
from spofr_core.policy.solvers.solver import Solution

_STATUS = {
    pywraplp.Solver.FEASIBLE: "stopped before it reached an optimum",
    pywraplp.Solver.INFEASIBLE: "found the programme infeasible",
    pywraplp.Solver.UNBOUNDED: "found the programme unbounded",
    pywraplp.Solver.ABNORMAL: "met numerical trouble",
    pywraplp.Solver.MODEL_INVALID: "refused the model",
    pywraplp.Solver.NOT_SOLVED: "did not solve the programme",
}
_TIGHT = "primal_feasibility_tolerance:1e-10 dual_feasibility_tolerance:1e-10"


@dataclass(frozen=True, eq=False)
class Vertex:
    """What GLOP returns for one list: the matrix, and the multipliers of groups and constraints."""

    matrix: FloatArray
    multipliers: FloatArray
    constraint_multipliers: FloatArray


class GlopModel:
    """The programme of one composition: n x n probabilities, 2 n rows of sums, a row per group and per constraint.

    Parameters
    ----------
    sizes : sequence of int
        Items of each group, in the order in which the groups' items enter.
    v : (n,) float
        Position bias.
    constraints : sequence of LinearConstraint
        With rows in the order of the items here.
    allowed : (n, n) bool, optional
        Positions that each item may take.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        v: FloatArray,
        constraints: Sequence[LinearConstraint] = (),
        parameters: str = _TIGHT,
        allowed: npt.NDArray[np.bool_] | None = None,
    ) -> None:
        n = len(v)
        self.n = n
        self._solver = pywraplp.Solver.CreateSolver("GLOP")
        if self._solver is None or not self._solver.SetSolverSpecificParametersAsString(parameters):
            raise SpofrError("OR-Tools offers no GLOP solver here; reinstall ortools, or use solver='exact'.")
        infinity = self._solver.infinity()
        most = np.full(n * n, infinity) if allowed is None else np.where(allowed.ravel(), infinity, 0.0)
        self._cells: list[Any] = [self._solver.NumVar(0.0, limit, "") for limit in most.tolist()]
        for i in range(n):
            self._sum_to_one(self._cells[i * n : (i + 1) * n])
            self._sum_to_one(self._cells[i::n])
        ends = np.cumsum(sizes)
        self._groups = [
            self._row(np.tile(v, size), self._cells[(end - size) * n : end * n])
            for size, end in zip(sizes, ends.tolist(), strict=True)
        ]
        self._extra = [self._row(constraint.matrix.ravel(), self._cells) for constraint in constraints]
        for row, constraint in zip(self._extra, constraints, strict=True):
            row.SetBounds(float(constraint.lower), float(constraint.upper))
        self._objective = self._solver.Objective()
        self._objective.SetMaximization()

    def _sum_to_one(self, cells: list[Any]) -> None:
        row = self._solver.Constraint(1.0, 1.0)
        for cell in cells:
            row.SetCoefficient(cell, 1.0)

    def _row(self, coefficients: FloatArray, cells: list[Any]) -> Any:
        row = self._solver.Constraint(-self._solver.infinity(), self._solver.infinity())
        for cell, coefficient in zip(cells, coefficients.tolist(), strict=True):
            if coefficient != 0.0:
                row.SetCoefficient(cell, coefficient)
        return row

    def load(self, scores: FloatArray, w: FloatArray, lower: FloatArray, upper: FloatArray) -> None:
        """Set the objective scores' Pi w and the bounds on each group's total exposure."""
        set_coefficient = self._objective.SetCoefficient
        for cell, coefficient in zip(self._cells, np.outer(scores, w).ravel().tolist(), strict=True):
            set_coefficient(cell, coefficient)
        for row, low, high in zip(self._groups, lower.tolist(), upper.tolist(), strict=True):
            row.SetBounds(low, high)

    def run(self) -> int:
        """Solve from the last basis and return OR-Tools' status."""
        return int(self._solver.Solve())

    def read(self) -> Vertex:
        """The optimum that `run` found. A multiplier is what a unit of the row earns: minus OR-Tools' dual value."""
        matrix = np.array([cell.solution_value() for cell in self._cells]).reshape(self.n, self.n)
        return Vertex(
            matrix=matrix,
            multipliers=np.array([-row.dual_value() for row in self._groups]),
            constraint_multipliers=np.array([-row.dual_value() for row in self._extra]),
        )


class GlopSolver:
    """Solves lists one by one, with a hot model for each composition of groups.

    Parameters
    ----------
    max_models : int
        Models kept, the least recently used goes first.
    after_exact : bool
        Whether it gets what the exact solver could not solve; then that solver is not recommended.
    """

    def __init__(self, max_models: int = 64, *, after_exact: bool = False) -> None:
        if max_models < 1:
            raise ConfigError(f"'max_models' is {max_models}; keep at least one.")
        self._models: LRUCache[tuple[tuple[int, ...], bytes, bytes], GlopModel] = LRUCache(max_models)
        self._after_exact = after_exact

    def solve(self, programme: Programme, warm: Solution | None = None) -> Solution:
        """Solve every list. `warm` is not used: the models themselves are hot."""
        return self.solve_some(programme, np.arange(len(programme.lists)))

    def solve_some(self, programme: Programme, queries: IntArray) -> Solution:
        """Solve these lists only; the entries of the others are empty."""
        lists = programme.lists
        shape = lists.sizes.shape
        multipliers, bound = np.zeros(shape), np.zeros(len(lists))
        extra = np.zeros(len(programme.constraints))
        lotteries: dict[int, tuple[npt.NDArray[np.int32], FloatArray]] = {}
        for q in queries.tolist():
            vertex = self._vertex(programme, q)
            if not np.isfinite(vertex.multipliers).all():
                raise self._trouble("found prices of exposure too large for a number", programme, q)
            multipliers[q] = vertex.multipliers
            extra = vertex.constraint_multipliers
            bound[q] = _dual_bound(programme, q, vertex)
            lotteries[q] = _lottery(lists, q, vertex.matrix)
            if self._after_exact and not _reaches(programme, q, lotteries[q], bound[q]):
                raise self._trouble("did not reach its own bound", programme, q)
        rankings, probabilities, counts = _pack(lists, lotteries)
        return Solution(
            rankings, probabilities, counts, multipliers, bound, solver="glop", constraint_multipliers=extra
        )

    def _vertex(self, programme: Programme, q: int) -> Vertex:
        """Permute the items by group, solve, and permute back.

        Scores and both vectors are brought to the unit scale first, since GLOP's tolerances are absolute; a shift of
        the scores adds a constant to every policy's utility.
        """
        lists = programme.lists
        start, end = lists.offsets[q], lists.offsets[q + 1]
        n = int(end - start)
        y, codes = programme.scores[start:end], lists.codes[start:end]
        groups = np.flatnonzero(lists.sizes[q])
        groups = groups[np.argsort(-lists.sizes[q, groups], kind="stable")]
        rank = np.empty(lists.sizes.shape[1], dtype=np.int64)
        rank[groups] = np.arange(len(groups))
        shuffle = np.random.default_rng([programme.seed, q]).random(n)
        allowed = _allowed(lists, q, groups)
        # Within windows the items of a group stand in the order of their scores.
        order = np.lexsort((shuffle, rank[codes]) if allowed is None else (shuffle, -y, rank[codes]))

        spread, v_unit, w_unit = _unit(np.ptp(y)), _unit(lists.v[:n].max()), _unit(lists.w[:n].max())
        v, w = lists.v[:n] / v_unit, lists.w[:n] / w_unit
        lower, upper = lists.lower[q, groups] / v_unit, lists.upper[q, groups] / v_unit
        constraints = [LinearConstraint(c.matrix[order], c.lower, c.upper) for c in programme.constraints]
        sizes = tuple(lists.sizes[q, groups].tolist())
        unit = ((y - y.min()) / spread)[order]
        found = self._optimum(programme, q, sizes, v, constraints, allowed, unit, w, lower, upper)

        matrix = np.empty((n, n))
        matrix[order] = found.matrix
        multipliers = np.zeros(lists.sizes.shape[1])
        with np.errstate(over="ignore"):  # whoever asked looks at it
            multipliers[groups] = found.multipliers * (spread * w_unit / v_unit)
        return Vertex(matrix, multipliers, found.constraint_multipliers * (spread * w_unit))

    def _optimum(
        self,
        programme: Programme,
        q: int,
        sizes: tuple[int, ...],
        v: FloatArray,
        constraints: list[LinearConstraint],
        allowed: npt.NDArray[np.bool_] | None,
        *objective_and_bounds: FloatArray,
    ) -> Vertex:
        """Solve hot; if that fails, once more cold and with GLOP's own tolerances: a bad basis is no reason."""
        key = (sizes, v.tobytes(), b"" if allowed is None else allowed.tobytes())
        hot = None if constraints else self._models.get(key)
        status = pywraplp.Solver.NOT_SOLVED
        for parameters in (_TIGHT, ""):
            first = parameters == _TIGHT
            model = hot if hot is not None and first else GlopModel(sizes, v, constraints, parameters, allowed)
            model.load(*objective_and_bounds)
            status = model.run()
            if status == pywraplp.Solver.OPTIMAL:
                if not constraints:
                    self._models[key] = model
                return model.read()
        self._models.pop(key, None)
        name = programme.lists.query_name(q)
        if status == pywraplp.Solver.INFEASIBLE and constraints:
            raise _infeasible(programme, name)
        raise self._trouble(_STATUS.get(status, f"returned status {status}"), programme, q)

    def _trouble(self, what: str, programme: Programme, q: int) -> SpofrError:
        said = f"GLOP {what} for query {programme.lists.query_name(q)!r}"
        if not (self._after_exact or programme.constraints or programme.lists.increasing):
            return SpofrError(f"{said}; try solver='exact'.")
        before = ", after the exact solver had not solved it either" if self._after_exact else ""
        return SpofrError(
            f"{said}{before}: look for scores, exposures or merits of very different sizes, or ask for a larger delta."
        )


def _reaches(programme: Programme, q: int, lottery: tuple[npt.NDArray[np.int32], FloatArray], bound: float) -> bool:
    """Whether a lottery is as good as its dual bound says, by the measure of `verify`."""
    lists = programme.lists
    y = programme.scores[lists.offsets[q] : lists.offsets[q + 1]]
    w, (rankings, probabilities) = lists.w[: len(y)], lottery
    utility = float(probabilities @ (y[rankings] @ w))
    return bound - utility <= TOLERANCE * float(np.abs(y).max()) * float(w.sum())


def _allowed(lists: PreparedLists, q: int, groups: IntArray) -> npt.NDArray[np.bool_] | None:
    """(n, n): positions that the members of these groups may take, in the order of the groups; None without quotas."""
    if lists.windows is None:
        return None
    part = lists.windows.part(q)
    ends = np.cumsum(lists.sizes[q])
    rows = np.concatenate([np.arange(ends[g] - lists.sizes[q, g], ends[g]) for g in groups])
    positions = np.arange(len(rows))
    return (part.earliest[rows, None] <= positions) & (positions <= part.latest[rows, None])


def _unit(value: float) -> float:
    return float(value) if value > 0 else 1.0


def _dual_bound(programme: Programme, q: int, vertex: Vertex) -> float:
    """Largest Lagrangian over all rankings minus what the bounds cost: an upper bound whatever the multipliers are."""
    lists = programme.lists
    rows = slice(lists.offsets[q], lists.offsets[q + 1])
    n = len(vertex.matrix)
    y, codes = programme.scores[rows], lists.codes[rows]
    gain = np.outer(y, lists.w[:n]) + np.outer(vertex.multipliers[codes], lists.v[:n])
    cost = _bounds_cost(vertex.multipliers, lists.lower[q], lists.upper[q])
    for constraint, multiplier in zip(programme.constraints, vertex.constraint_multipliers, strict=True):
        gain += multiplier * constraint.matrix
        cost += _bounds_cost(multiplier, constraint.lower, constraint.upper)
    allowed = _allowed(lists, q, np.flatnonzero(lists.sizes[q]))
    if allowed is not None:
        gain[np.lexsort((-y, codes))] = np.where(allowed, gain[np.lexsort((-y, codes))], -np.inf)
    return float(gain[linear_sum_assignment(gain, maximize=True)].sum()) - cost


def _bounds_cost(multipliers: npt.ArrayLike, lower: npt.ArrayLike, upper: npt.ArrayLike) -> float:
    active = np.where(np.asarray(multipliers) > 0, lower, upper)
    paid = np.asarray(multipliers) != 0
    return float(np.sum(np.where(paid, multipliers * np.where(paid, active, 0.0), 0.0)))


def _lottery(lists: PreparedLists, q: int, matrix: FloatArray) -> tuple[npt.NDArray[np.int32], FloatArray]:
    """Decompose the matrix, then move the probabilities by what rounding cost: the bounds hold to the last digits."""
    found = decompose(np.maximum(matrix, 0.0))
    n = len(matrix)
    codes = lists.codes[lists.offsets[q] : lists.offsets[q + 1]]
    exposure = np.zeros((lists.sizes.shape[1], len(found.rankings)))
    for column, ranking in enumerate(found.rankings):
        np.add.at(exposure[:, column], codes[ranking], lists.v[:n])
    totals = exposure @ found.probabilities
    wanted = np.clip(totals, lists.lower[q], lists.upper[q])
    if np.array_equal(totals, wanted):
        return found.rankings, found.probabilities
    named = len(lists.group_names)  # what items without a group get makes up for the others
    exposure, totals, wanted = exposure[:named], totals[:named], wanted[:named]
    rows = np.vstack([np.ones(len(found.rankings)), exposure])
    change = np.linalg.lstsq(rows, np.concatenate([[0.0], wanted - totals]), rcond=None)[0]
    moved = found.probabilities + change
    return found.rankings, moved / moved.sum() if np.all(moved > 0) else found.probabilities


def _pack(
    lists: PreparedLists, lotteries: dict[int, tuple[npt.NDArray[np.int32], FloatArray]]
) -> tuple[npt.NDArray[np.int32], FloatArray, npt.NDArray[np.int32]]:
    """Lotteries of single lists as flat arrays."""
    most = max((len(p) for _, p in lotteries.values()), default=1)
    rankings = np.zeros((most, lists.n_items), dtype=np.int32)
    probabilities = np.zeros((len(lists), most))
    counts = np.zeros(len(lists), dtype=np.int32)
    for q, (orders, chances) in lotteries.items():
        m = len(chances)
        rankings[:m, lists.offsets[q] : lists.offsets[q + 1]] = orders
        probabilities[q, :m] = chances
        counts[q] = m
    return rankings, probabilities, counts


def _infeasible(programme: Programme, name: object) -> SpofrError:
    """What to tell the user when their constraints and the notion cannot be had together."""
    smallest = _smallest_delta_under(programme)
    if smallest is None:
        return ConfigError(
            f"No policy of query {name!r} satisfies the constraints, whatever the delta: they contradict each other."
        )
    least = format_delta(smallest, programme.lists.fairness.unit)
    return InfeasibleFairness(
        f"No policy of query {name!r} satisfies the constraints and the notion together; "
        f"with these constraints the smallest feasible delta is {least}.",
        query=name,
        min_delta=smallest,
    )


def _smallest_delta_under(programme: Programme) -> float | None:
    """min d with abs(scale_g e_g - target_g) <= d for all groups, under the constraints; None if they contradict."""
    lists, terms = programme.lists, programme.lists.terms
    n = lists.n_items
    solver = pywraplp.Solver.CreateSolver("GLOP")
    infinity = solver.infinity()
    d = solver.NumVar(0.0, infinity, "d")
    cells = np.array([[solver.NumVar(0.0, infinity, "") for _ in range(n)] for _ in range(n)])
    for line in (*cells, *cells.T):
        solver.Add(solver.Sum(line.tolist()) == 1)
    for c in programme.constraints:
        total = solver.Sum((c.matrix * cells).ravel().tolist())
        solver.Add(total >= c.lower) if np.isfinite(c.lower) else None
        solver.Add(total <= c.upper) if np.isfinite(c.upper) else None
    for g in np.flatnonzero(terms.constrained[0]):
        mean = solver.Sum((cells[lists.codes == g] * lists.v).ravel().tolist()) * float(1 / lists.sizes[0, g])
        gap = mean * float(terms.scale[0, g]) - float(terms.target[0, g])
        solver.Add(gap <= d)
        solver.Add(gap >= -d)
    solver.Minimize(d)
    return float(d.solution_value()) if solver.Solve() == pywraplp.Solver.OPTIMAL else None
