"""What a solver is, and which ones there are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from spofr_core.errors import ConfigError
from spofr_core.policy.programme import FloatArray, Programme

SOLVERS = ("exact", "glop")


@dataclass(frozen=True, eq=False)
class Solution:
    """An optimal lottery over rankings for every list of a programme, with its dual.

    Attributes
    ----------
    rankings : (R, N) int32
        Ranking r of list q is `rankings[r, offsets[q]:offsets[q + 1]]`: item indices in the list, from the top down.
    probabilities : (Q, R) float
        Those of the first `counts[q]` rankings are positive and sum to 1, the others are 0.
    counts : (Q,) int32
        Rankings of each lottery.
    multipliers : (Q, G) float
        Lagrange multiplier of each group's total exposure: what the programme pays per unit of it. Positive where the
        lower bound is active, negative where the upper one is, 0 where neither binds.
    bound : (Q,) float
        Dual bound: no policy within the bounds has a higher utility.
    solver : str
        The solver that did the work.
    notes : tuple of str
        What the caller should know, such as a change of solver.
    constraint_multipliers : (K,) float
        Multipliers of the constraints of one's own.
    """

    rankings: npt.NDArray[np.int32]
    probabilities: FloatArray
    counts: npt.NDArray[np.int32]
    multipliers: FloatArray
    bound: FloatArray
    solver: str
    notes: tuple[str, ...] = ()
    constraint_multipliers: FloatArray = field(default_factory=lambda: np.zeros(0))


class Solver(Protocol):
    """Solves programmes. An instance may keep state that makes the next call faster; answers do not depend on it."""

    def solve(self, programme: Programme, warm: Solution | None = None) -> Solution:
        """Solve every list of the programme.

        Parameters
        ----------
        programme : Programme
        warm : Solution, optional
            Solution of the same lists for other scores, to start from.
        """
        ...


def make_solver(name: str) -> Solver:
    """The solver of this name, with fresh state.

    Raises
    ------
    ConfigError
        When there is no such solver.
    """
    if name == "exact":
        from spofr_core.policy.solvers.exact import ExactSolver

        return ExactSolver()
    if name == "glop":
        from spofr_core.policy.solvers.glop import GlopSolver

        return GlopSolver()
    raise ConfigError(f"'solver' must be one of {list(SOLVERS)}, got {name!r}.")
