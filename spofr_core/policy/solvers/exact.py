"""The exact solver: the structure of the programme instead of a general linear programme, batched over lists.

Lists with one or two groups go to a chord search over one multiplier, those with more to column generation; both are
compiled, run the lists in parallel, and return the lottery with its dual. What they do not take goes to GLOP, with a
note.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from spofr_core.errors import ConfigError
from spofr_core.policy.compiled_threads import threads_for
from spofr_core.policy.expectation import expectation
from spofr_core.policy.programme import FloatArray, IntArray, PreparedLists, Programme
from spofr_core.policy.quotas import rankings_within
from spofr_core.policy.solvers.kernels import many_groups, two_groups
from spofr_core.policy.solvers.kernels.arguments import Answer, Problem
from spofr_core.policy.solvers.provable import require_proof
from spofr_core.policy.solvers.solver import Solution

if TYPE_CHECKING:
    from spofr_core.policy.solvers.glop import GlopSolver


def problem_of(lists: PreparedLists, scores: FloatArray) -> Problem:
    """What the kernels are given."""
    problem = Problem(scores, lists.codes, lists.offsets, lists.lower, lists.upper, lists.v, lists.w)
    windows = lists.windows
    return problem if windows is None else problem._replace(earliest=windows.earliest, latest=windows.latest)


class Workspace:
    """The arrays that the kernels fill; they hold the last solution of each list, from which the next one starts.

    Parameters
    ----------
    lists : PreparedLists
        The lists that this workspace belongs to. Their bounds may be exchanged (assign to `lists`), their items not.
    keep_rankings : bool
        False where only `weight` is wanted: the kernel for one and two groups then writes no rankings.
    """

    def __init__(self, lists: PreparedLists, *, keep_rankings: bool = True) -> None:
        n_lists, n_rankings = len(lists), lists.max_rankings
        self.lists = lists
        self.rankings = np.zeros((n_rankings, lists.n_items), dtype=np.int32)
        self.probabilities = np.zeros((n_lists, n_rankings))
        self.counts = np.zeros(n_lists, dtype=np.int32)
        self.multipliers = np.zeros((n_lists, lists.sizes.shape[1]))
        self.weight = np.zeros(lists.n_items)
        self.bound = np.zeros(n_lists)
        self.status = np.zeros(n_lists, dtype=np.int8)
        self._answer = Answer(
            self.rankings, self.probabilities, self.counts, self.multipliers, self.weight, self.bound, self.status
        )
        self._rankings_of_few = self.rankings if keep_rankings else self.rankings[:0]
        self._many = lists.n_present > 2
        self._all = (np.flatnonzero(~self._many), np.flatnonzero(self._many))

    def start_from(self, solution: Solution) -> None:
        """Take over an earlier solution of the same lists; one of another size (a fallback's) is left aside."""
        same_items = solution.rankings.shape[1:] == self.rankings.shape[1:]
        if same_items and solution.probabilities.shape == self.probabilities.shape:
            self.rankings[:] = solution.rankings
            self.probabilities[:] = solution.probabilities
            self.counts[:] = solution.counts

    def run(self, scores: FloatArray, seed: int, queries: IntArray | None = None) -> IntArray:
        """Solve the lists, or those named in `queries`, for `scores` (flat, over all lists).

        Returns
        -------
        array of int
            Lists that were not solved to tolerance; their entries must not be used.
        """
        if queries is None:
            few, many = self._all
        else:
            is_many = self._many[queries]
            few, many = queries[~is_many], queries[is_many]
        if len(few):
            self._call(two_groups.solve, scores, few, seed, self._rankings_of_few, enough=1_000)
        if len(many):
            self._call(many_groups.solve, scores, many, seed, self.rankings, enough=100)
        if queries is None:
            return np.flatnonzero(self.status)
        return np.asarray(queries[self.status[queries] != 0])

    def _call(
        self,
        kernel: Callable[..., None],
        scores: FloatArray,
        queries: IntArray,
        seed: int,
        rankings: npt.NDArray[np.int32],
        *,
        enough: int,
    ) -> None:
        lists = self.lists
        work = 0 if len(queries) == 1 else len(queries) * len(lists.v)
        with threads_for(work, enough=enough):
            problem = problem_of(lists, scores)
            answer = self._answer._replace(rankings=rankings)
            kernel(problem, queries, seed, answer, warm=True)  # a list with a count of 0 starts cold

    def solution(self) -> Solution:
        """What the arrays hold, without copying: run no more on a workspace whose solution is kept."""
        return Solution(self.rankings, self.probabilities, self.counts, self.multipliers, self.bound, solver="exact")


class ExactSolver:
    """The default solver.

    Parameters
    ----------
    fallback : GlopSolver, optional
        Solves what the kernels do not: vectors that increase somewhere, and lists not solved to tolerance.
    """

    def __init__(self, fallback: GlopSolver | None = None) -> None:
        self._given = fallback

    @cached_property
    def _fallback(self) -> GlopSolver:
        from spofr_core.policy.solvers.glop import GlopSolver  # takes half a second to import and is hardly ever needed

        return self._given or GlopSolver(after_exact=True)

    def solve(self, programme: Programme, warm: Solution | None = None) -> Solution:
        """Solve every list, starting from `warm` where it is given."""
        lists = programme.lists
        if programme.constraints:
            raise ConfigError(
                "The exact solver takes bounds on groups only; use solver='glop' for constraints of your own."
            )
        if lists.increasing:
            return replace(self._fallback.solve(programme), notes=(why_glop(lists),))
        workspace = Workspace(lists)
        if warm is not None:
            workspace.start_from(warm)
        unsolved = workspace.run(programme.scores, programme.seed)
        solution = workspace.solution()
        unsolved = np.union1d(unsolved, unproved(programme, solution))
        if len(unsolved):
            solution = _merged(solution, self._fallback.solve_some(programme, unsolved), programme, unsolved)
        require_proof(programme, solution)
        return solution


def unproved(programme: Programme, solution: Solution) -> IntArray:
    """Lists whose lottery, looked at from outside, breaks a bound or a quota, or does not reach its own dual bound.

    Costs little beside solving, and keeps a numerical accident from passing as an optimum.
    """
    lists, scores = programme.lists, programme.scores
    if not len(lists):
        return np.zeros(0, dtype=np.int64)
    lottery = (solution.rankings, solution.probabilities, solution.counts, lists.offsets)
    exposure, weight = expectation(*lottery, lists.v), expectation(*lottery, lists.w)
    lengths = np.diff(lists.offsets)
    composition = lists.terms.composition
    totals = composition.group_totals(exposure, lists.codes, lists.offsets)
    lower, upper = (bounds[:, : totals.shape[1]] for bounds in (lists.lower, lists.upper))
    beyond = np.where(composition.present, np.maximum(lower - totals, totals - upper), -np.inf)
    outside = beyond.max(axis=1, initial=-np.inf)

    starts = lists.offsets[:-1]
    utility = np.add.reduceat(scores * weight, starts)
    greatest, least = np.maximum.reduceat(scores, starts), np.minimum.reduceat(scores, starts)
    rounding = 1e-13 * np.maximum(np.abs(greatest), np.abs(least))
    distance = np.abs(solution.bound - utility) / np.cumsum(lists.w)[lengths - 1].clip(min=np.finfo(float).tiny)
    held = outside <= 1e-11 * np.cumsum(lists.v)[lengths - 1]
    if lists.windows is not None:
        limits = (lists.offsets, lists.windows.earliest, lists.windows.latest)
        codes = lists.sizes.shape[1]
        held &= rankings_within(solution.rankings, solution.counts, lists.codes, codes, *limits).all(axis=1)
    return np.flatnonzero(~(held & (distance <= 1e-9 * (greatest - least) + rounding)))


def why_glop(lists: PreparedLists) -> str:
    """The note on a batch that the exact solver had to pass on."""
    return (
        f"Solved by GLOP: the {' and the '.join(lists.increasing)} increases at some position, "
        "and the exact solver needs vectors that never increase."
    )


def _merged(exact: Solution, other: Solution, programme: Programme, queries: IntArray) -> Solution:
    """The exact solution with these lists taken from another one."""
    lists = programme.lists
    height = max(exact.rankings.shape[0], other.rankings.shape[0])
    rankings = np.zeros((height, lists.n_items), dtype=np.int32)
    probabilities = np.zeros((len(lists), height))
    rankings[: exact.rankings.shape[0]] = exact.rankings
    probabilities[:, : exact.rankings.shape[0]] = exact.probabilities
    for q in queries.tolist():
        rows = slice(lists.offsets[q], lists.offsets[q + 1])
        rankings[: other.rankings.shape[0], rows] = other.rankings[:, rows]
        probabilities[q] = 0.0
        probabilities[q, : other.rankings.shape[0]] = other.probabilities[q]
    for mine, theirs in (
        (exact.counts, other.counts),
        (exact.multipliers, other.multipliers),
        (exact.bound, other.bound),
    ):
        mine[queries] = theirs[queries]
    first = ", ".join(repr(lists.query_name(q)) for q in queries[:5].tolist())
    note = (
        f"{len(queries)} of {len(lists)} lists were solved by GLOP because the exact solver did not reach "
        f"its tolerance: {first}{', ...' if len(queries) > 5 else ''}."
    )
    return replace(exact, rankings=rankings, probabilities=probabilities, notes=(note,))
