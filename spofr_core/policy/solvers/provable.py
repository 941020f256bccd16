"""Whether an optimum can be proved: not where exposure is so dear that rounding is worth more than a proof allows.

A delta at the edge of what is feasible, with exposures that fall by ten powers of ten and more, is held by moving items
between positions that hardly anybody sees. What a unit of exposure costs there, times the exposure of the first
position, is a number whose last digit is worth more than the gap that `verify` lets pass.
"""

from __future__ import annotations

import numpy as np

from spofr_core.errors import SpofrError
from spofr_core.fairness import TOLERANCE
from spofr_core.policy.programme import FloatArray, IntArray, Programme
from spofr_core.policy.solvers.solver import Solution

_SEEN = 1e-6
"""Of the largest exposure: positions with less are left without any by the cut-off that a refusal names."""


def require_proof(programme: Programme, solution: Solution) -> None:
    """See to it that `verify` accepts the lists whose prices leave few digits for their proof.

    Raises
    ------
    SpofrError
        When it does not, with the exposures that are too different.
    """
    lists = programme.lists
    for q in _doubtful(programme, solution).tolist():
        if _proved(programme, solution, q):
            continue
        v = lists.v[: lists.offsets[q + 1] - lists.offsets[q]]
        seen = int(np.count_nonzero(v >= _SEEN * v.max()))
        raise SpofrError(
            f"The best policy of query {lists.query_name(q)!r} at this delta cannot be proved: it hangs on exposures "
            f"down to {v[v > 0].min():.3g}, which rounding hides beside {v.max():.3g} at the first position. Cut the "
            f"exposure off where it falls below a millionth of the first (PositionBias(cutoff={seen}), "
            f"--exposure-cutoff {seen}), or ask for a larger delta."
        )


def _doubtful(programme: Programme, solution: Solution) -> IntArray:
    """Lists for which the rounding of a proof may be worth more than its tolerance; hardly ever any."""
    lists = programme.lists
    if not len(lists):
        return np.zeros(0, dtype=np.int64)
    lengths = np.diff(lists.offsets)
    price = np.abs(solution.multipliers).max(axis=1, initial=0.0) * float(lists.v.max(initial=0.0))
    scores = np.maximum.reduceat(np.abs(programme.scores), lists.offsets[:-1])
    return np.flatnonzero(price > scores * provable_price(lists.w)[lengths - 1])


def provable_price(w: FloatArray) -> FloatArray:
    """What the exposure of the first position may cost, in parts of the largest score, in lists of 1, 2, ... items.

    Up to there rounding is worth less than the tolerance of a proof: what `potentials` adds for it is a multiple of
    its largest term, which is at most four times that cost. Beyond, it has to be tried.
    """
    lengths = np.arange(1, len(w) + 1)
    rounding = 4.0 * np.finfo(float).eps * lengths * (4.0 + np.log2(lengths + 1))
    return np.asarray(TOLERANCE * np.cumsum(w) / rounding)


def _proved(programme: Programme, solution: Solution, q: int) -> bool:
    from spofr_core.policy.policies import Policies  # made from what is solved here
    from spofr_core.policy.proof.verification import verify

    policy = Policies(programme.lists, programme.scores, solution)[q]
    return verify(
        policy,
        policy.scores,
        np.array(policy.groups, dtype=object),
        programme.lists.fairness,
        allow_relaxed=True,
        missing="keep",
    ).ok
