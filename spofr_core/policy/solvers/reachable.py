"""Which lists have a policy at all within their bounds and quotas: the kernels asked with scores that are all equal."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from spofr_core.fairness import Discount, Fairness, Terms, Windows, is_nonincreasing
from spofr_core.policy.programme import PreparedLists, Programme
from spofr_core.policy.solvers.exact import Workspace, unproved


def surely_feasible(fairness: Fairness, terms: Terms, windows: Windows) -> npt.NDArray[np.bool_]:
    """(Q,): lists of which a lottery within bounds and windows was found; one of the others may have one all the same.

    Takes a small part of what a linear programme for each list would.
    """
    composition = terms.composition
    v = fairness.position_bias.vector(int(composition.lengths.max(initial=0)))
    fixed = terms.constrained & (terms.scale <= 0) & (np.abs(terms.target) > terms.delta)
    if not is_nonincreasing(v):
        return np.zeros(len(composition), dtype=np.bool_)
    groups = np.tile(np.arange(composition.blocks.shape[1], dtype=np.int32), len(composition))
    lower, upper = terms.block_bounds()
    lists = PreparedLists(
        codes=np.repeat(groups, composition.blocks.ravel()),
        group_names=composition.group_names,
        offsets=windows.offsets,
        fairness=fairness,
        discount=Discount(),
        terms=terms,
        lower=lower,
        upper=upper,
        v=v,
        w=v,
        windows=windows,
    )
    programme = Programme(lists, np.zeros(lists.n_items))
    workspace = Workspace(lists)
    left = workspace.run(programme.scores, 0)
    found = np.array(~fixed.any(axis=1), dtype=np.bool_)
    found[np.union1d(left, unproved(programme, workspace.solution()))] = False
    return found
