"""The programme as a dense linear programme, solved by HiGHS: slow, general, and independent of the kernels."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog
from scipy.sparse import csr_array, eye_array, kron, vstack

_TOLERANCE = 1e-10


def reference_optimum(
    scores: ArrayLike, codes: ArrayLike, lower: ArrayLike, upper: ArrayLike, v: ArrayLike, w: ArrayLike
) -> float:
    """Greatest utility ``scores' Pi w`` over doubly stochastic ``Pi`` whose groups hold their bounds.

    Group ``g`` (a code that occurs in `codes`) must have ``lower[g] <= sum of its (Pi v)_i <= upper[g]``;
    infinite bounds are no bounds. Only the first ``n`` entries of `v` and `w` are used.

    The scores are mapped to [0, 1] first, because the tolerances of HiGHS are absolute. The programme is
    equivariant under that map, ``utility(a + b y) = a sum(w) + b utility(y)``, so the value is mapped back exactly.
    """
    y = np.asarray(scores, dtype=float)
    group = np.asarray(codes)
    low, high = np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)
    n = len(y)
    exposure, discount = np.asarray(v, dtype=float)[:n], np.asarray(w, dtype=float)[:n]
    least, spread = float(y.min()), float(np.ptp(y))
    unit = (y - least) / spread if spread > 0 else np.zeros(n)

    # Pi is flattened by rows: entry i * n + j is the probability that item i stands at position j.
    item_rows = kron(eye_array(n), np.ones((1, n)))
    position_rows = kron(np.ones((1, n)), eye_array(n))
    equal_rows, equal_to, rows, limits = [item_rows, position_rows], [np.ones(2 * n)], [], []
    for g in np.unique(group):
        row = np.kron((group == g).astype(float), exposure)[None, :]
        if high[g] - low[g] < _TOLERANCE:  # as two inequalities, HiGHS can call a window this narrow infeasible
            equal_rows.append(row)
            equal_to.append(np.array([(low[g] + high[g]) / 2]))
            continue
        if np.isfinite(high[g]):
            rows.append(row)
            limits.append(high[g])
        if np.isfinite(low[g]):
            rows.append(-row)
            limits.append(-low[g])
    solution = linprog(
        -np.kron(unit, discount),
        A_ub=csr_array(np.concatenate(rows)) if rows else None,
        b_ub=np.array(limits) if rows else None,
        A_eq=csr_array(vstack([csr_array(block) for block in equal_rows])),
        b_eq=np.concatenate(equal_to),
        bounds=(0, None),
        method="highs",
        options={"primal_feasibility_tolerance": _TOLERANCE, "dual_feasibility_tolerance": _TOLERANCE},
    )
    if solution.status != 0:
        raise AssertionError(f"HiGHS found no optimum: {solution.message}")
    return least * float(discount.sum()) + spread * float(-solution.fun)
