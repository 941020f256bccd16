"""Quotas and delta together: which lists can have both, and which rankings keep within their quotas."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from numba import njit, prange

from spofr_core.errors import InfeasibleFairness, SpofrError
from spofr_core.fairness import Composition, Fairness, Quota, Terms, Windows, format_delta
from spofr_core.policy.compiled_threads import threads_for
from spofr_core.policy.lotteries import Lotteries

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
OnInfeasible = Literal["raise", "relax"]

_SURE = 1e-10
"""Tolerance of the linear programme that looks for the smallest delta."""
_NOTHING = 1e-12
"""A delta that lacks no more than this, in units of the exposures, is taken as it is."""
_HAIR = 1e-11
"""What is added to that delta, so that a policy within it can be found to the last digits."""


def permitted_windows(
    fairness: Fairness, composition: Composition, on_infeasible: OnInfeasible, name_of: Callable[[int], Any]
) -> tuple[Windows | None, dict[int, int]]:
    """The windows of every list, and the lists whose quota no ranking can meet, with the first prefix that fails.

    Such a list raises `InfeasibleFairness`, or has no quota at all.
    """
    quota = fairness.every_ranking
    if quota is None:
        return None, {}
    windows = quota.windows(composition)
    impossible = np.flatnonzero(windows.impossible)
    if not len(impossible):
        return windows, {}
    if on_infeasible == "raise":
        q = int(impossible[0])
        prefix = int(windows.impossible[q])
        others = f" ({len(impossible)} of {len(composition)} lists are like this)" if len(composition) > 1 else ""
        raise InfeasibleFairness(
            f"No ranking of query {name_of(q)!r} can meet the quota ({quota.text}) in its first {prefix} positions: "
            f"{_counts(composition, q)}{others}. Ask for less, or use on_infeasible='relax' to leave those lists "
            "without a quota.",
            query=name_of(q),
            prefix=prefix,
        )
    return windows.lifted(impossible), {int(q): int(windows.impossible[q]) for q in impossible}


def lack_within(
    terms: Terms, windows: Windows, v: FloatArray, delta: FloatArray, queries: IntArray | None = None
) -> FloatArray:
    """(Q,): by how much the deltas of all groups would have to rise so that a lottery within the windows holds them.

    0 for lists that are not among `queries`.

    Only how many of each group stand in each prefix matters to their exposures. The mean counts of a lottery are any
    numbers that rise by shares of one item a position and keep within the limits of each prefix: positions and prefixes
    of each group are two laminar families, so whatever satisfies the linear conditions is a mixture of rankings.
    """
    found = np.zeros(len(terms.composition))
    units = _units(terms, v)
    known: dict[bytes, float] = {}
    asked_for = np.flatnonzero(terms.constrained.any(axis=1))
    for q in (asked_for if queries is None else np.intersect1d(asked_for, queries)).tolist():
        part = windows.part(q)
        blocks = terms.composition.blocks[q]
        sizes, named = blocks[blocks > 0], np.flatnonzero(terms.composition.present[q])
        # The tolerances of a linear programme are absolute, exposures may be of any size.
        numbers = np.full((3, len(sizes)), np.nan)  # items without a group come last
        numbers[:, : len(named)] = np.array([terms.scale[q], terms.target[q], delta[q]])[:, named] / units[q]
        asked = np.isfinite(numbers).all(axis=0)
        asked[: len(named)] &= terms.constrained[q, named]
        key = b"".join(a.tobytes() for a in (sizes, numbers, asked, part.earliest, part.latest))
        if key not in known:
            known[key] = _least_raise(sizes, numbers, asked, part, v[: int(sizes.sum())])
        found[q] = known[key] * units[q]
    return found


def _units(terms: Terms, v: FloatArray) -> FloatArray:
    """(Q,): the largest that the notion makes of an exposure in each list; 1 where that is nothing."""
    largest = np.where(terms.constrained, terms.scale, 0.0).max(axis=1, initial=0.0) * v.max(initial=0.0)
    return np.where(largest > 0, largest, 1.0)


def feasible_delta(
    fairness: Fairness,
    terms: Terms,
    windows: Windows,
    on_infeasible: OnInfeasible,
    name_of: Callable[[int], Any],
    relaxed: Collection[int] = (),
) -> dict[int, float]:
    """Lists that no lottery within the windows lets hold their delta, with the smallest that one could hold.

    Those that were `relaxed` without a quota are among them: where a group has a larger delta of its own, what was
    enough without the quota may be enough with it, and is still not the smallest delta for all groups that is.

    Raises
    ------
    InfeasibleFairness
        When there is such a list and `on_infeasible` is "raise"; it names the smallest slack that would do, too.
    """
    quota = fairness.every_ranking
    if quota is None or (fairness.rule.always_feasible and quota.always_possible):
        return {}
    from spofr_core.policy.solvers.reachable import surely_feasible  # solves what is made from this

    v = fairness.position_bias.vector(int(terms.composition.lengths.max(initial=0)))
    unsure = np.flatnonzero(~surely_feasible(fairness, terms, windows))
    lacking = lack_within(terms, windows, v, np.asarray(terms.delta), unsure)
    units = _units(terms, v)
    impossible = np.union1d(np.flatnonzero(lacking > _NOTHING * units), np.array(list(relaxed), dtype=np.int64))
    if not len(impossible):
        return {}
    named = impossible[:1] if on_infeasible == "raise" else impossible
    smallest = lack_within(terms, windows, v, np.zeros(terms.scale.shape), named) + _HAIR * units
    if on_infeasible == "raise":
        q = int(impossible[0])
        least = format_delta(smallest[q], fairness.unit)
        asked = fairness.terms(terms.composition)  # those given may have been raised already
        slack = _smallest_slack(fairness, quota, asked, q, v)
        others = f" ({len(impossible)} of {len(terms.composition)} lists are like this)" if len(terms.scale) > 1 else ""
        enough = "" if slack is None else f", and with a slack of {slack} this delta would do"
        raise InfeasibleFairness(
            f"No policy of query {name_of(q)!r} satisfies delta = {fairness.delta_text} under the {fairness.notion!r} "
            f"notion with every ranking within the quota ({quota.text}); with this quota its smallest feasible delta "
            f"is {least}{enough}{others}. Ask for less, or use on_infeasible='relax' to let those lists have their "
            "smallest delta.",
            query=name_of(q),
            min_delta=float(smallest[q]),
            min_slack=slack,
        )
    return {int(q): float(smallest[q]) for q in impossible}


def _smallest_slack(fairness: Fairness, quota: Quota, terms: Terms, q: int, v: FloatArray) -> int | None:
    """The smallest slack with which the list can hold its delta; None where no slack helps or there is none."""
    if quota.slack is None:
        return None
    one = slice(q, q + 1)
    composition = terms.composition[one]
    part = Terms(composition, terms.scale[one], terms.target[one], terms.delta[one], terms.mean_exposure[one])

    def enough(slack: int) -> bool:
        windows = quota.with_slack(slack).windows(composition)
        return bool(lack_within(part, windows, v, np.asarray(part.delta))[0] <= _NOTHING * _units(part, v)[0])

    low, high = quota.slack, int(composition.lengths[0])
    if not enough(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _least_raise(
    sizes: IntArray, numbers: FloatArray, asked: npt.NDArray[np.bool_], windows: Windows, v: FloatArray
) -> float:
    """min t >= 0 with abs(scale_g e_g - target_g) <= delta_g + t, over mean counts c_g(k) of lotteries in the windows.

    With c_g(n) = n_g, E_g = v_n n_g + sum over k < n of (v_k - v_{k+1}) c_g(k).
    """
    from scipy.optimize import linprog  # slow to import, and only needed where a demand may be impossible
    from scipy.sparse import coo_array

    n, n_groups = len(v), len(sizes)
    if n < 2:
        return 0.0
    inner = n - 1  # prefixes of 1 .. n - 1 items
    ends = np.cumsum(sizes)
    prefixes = np.arange(1, n)
    lower, upper = (
        np.array(
            [
                np.searchsorted(limit[end - size : end], prefixes, side="left")
                for size, end in zip(sizes, ends, strict=True)
            ]
        )
        for limit in (windows.latest, windows.earliest)
    )
    steps = v[:-1] - v[1:]
    t = n_groups * inner
    entries: list[tuple[int, int, float]] = []
    limits: list[float] = []
    for g in np.flatnonzero(asked).tolist():
        scale, target, delta = numbers[:, g]
        for sign in (1.0, -1.0):
            row = len(limits)
            factor = sign * scale / sizes[g]
            entries += [(row, g * inner + k, factor * step) for k, step in enumerate(steps.tolist()) if step != 0.0]
            entries.append((row, t, -1.0))
            limits.append(delta + sign * target - factor * sizes[g] * v[-1])
    for g in range(n_groups):  # c_g(k) <= c_g(k + 1) <= n_g
        for k in range(inner - 1):
            entries += [(len(limits), g * inner + k, 1.0), (len(limits), g * inner + k + 1, -1.0)]
            limits.append(0.0)
    rows, columns, values = (np.array(part) for part in zip(*entries, strict=True))
    shape = (len(limits), t + 1)
    whole = coo_array(
        (np.ones(t), (np.tile(np.arange(inner), n_groups), np.arange(t))),
        shape=(inner, t + 1),
    )
    solved = linprog(  # type: ignore[call-overload]  # the stubs know no sparse matrices
        np.append(np.zeros(t), 1.0),
        A_ub=coo_array((values, (rows, columns)), shape=shape).tocsr(),
        b_ub=np.array(limits),
        A_eq=whole.tocsr(),
        b_eq=prefixes.astype(np.float64),
        bounds=[*zip(lower.ravel().tolist(), upper.ravel().tolist(), strict=True), (0.0, None)],
        method="highs",
        options={"primal_feasibility_tolerance": _SURE, "dual_feasibility_tolerance": _SURE},
    )
    if solved.status != 0:
        raise SpofrError(f"The smallest feasible delta under a quota was not found: {solved.message}")
    return float(solved.x[-1])


def _counts(composition: Composition, q: int) -> str:
    sizes = composition.sizes[q]
    named = [f"{sizes[g]} of {composition.group_names[g]}" for g in np.flatnonzero(sizes)]
    return f"it has {composition.lengths[q]} items, {', '.join(named)}"


def draws_within(
    drawn: Lotteries, codes: npt.NDArray[np.int32], sizes: IntArray, windows: Windows
) -> npt.NDArray[np.bool_]:
    """(R,): whether each ranking of some lotteries keeps every prefix of its list within the quota."""
    with threads_for(len(drawn.rows), enough=5_000):
        kept = _draws_within(
            drawn.rows,
            np.require(drawn.starts, np.int64, ["C", "W"]),
            np.require(drawn.first, np.int64, ["C", "W"]),
            np.require(codes, np.int32, ["C", "W"]),
            sizes,
            _first_members(sizes, windows),
            windows.earliest,
            windows.latest,
        )
    return np.asarray(kept)


def sorts_within(
    scores: FloatArray, codes: npt.NDArray[np.int32], sizes: IntArray, windows: Windows
) -> npt.NDArray[np.bool_]:
    """(Q,): lists whose items may be sorted by score, however their ties are broken."""
    with threads_for(len(scores), enough=5_000):
        kept = _all_sorts_within(
            np.require(scores, np.float64, ["C", "W"]),
            np.require(codes, np.int32, ["C", "W"]),
            _first_members(sizes, windows),
            windows.offsets,
            windows.earliest,
            windows.latest,
        )
    return np.asarray(kept)


def _first_members(sizes: IntArray, windows: Windows) -> IntArray:
    """(Q, G): the row of each group's best item among the windows of its list."""
    return np.asarray(windows.offsets[:-1, None] + np.cumsum(sizes, axis=1) - sizes)


@njit(parallel=True, cache=True)
def _draws_within(
    rows: npt.NDArray[np.int32],
    starts: IntArray,
    first: IntArray,
    codes: npt.NDArray[np.int32],
    sizes: IntArray,
    members: IntArray,
    earliest: npt.NDArray[np.int32],
    latest: npt.NDArray[np.int32],
) -> npt.NDArray[np.bool_]:  # pragma: no cover
    """A ranking that shows an item twice, as a table from elsewhere may have, has a group with too many."""
    kept = np.ones(len(starts) - 1, dtype=np.bool_)
    for q in prange(len(first) - 1):
        for r in range(first[q], first[q + 1]):
            member = members[q].copy()
            for j in range(starts[r + 1] - starts[r]):
                g = codes[rows[starts[r] + j]]
                k = member[g]
                if k - members[q, g] >= sizes[q, g] or not earliest[k] <= j <= latest[k]:
                    kept[r] = False
                    break
                member[g] += 1
    return kept


@njit(parallel=True, cache=True)
def _all_sorts_within(
    scores: FloatArray,
    codes: npt.NDArray[np.int32],
    members: IntArray,
    offsets: IntArray,
    earliest: npt.NDArray[np.int32],
    latest: npt.NDArray[np.int32],
) -> npt.NDArray[np.bool_]:  # pragma: no cover
    """Of a block of ties from place `top` to `end` with m members of a group, the k-th of them may come to stand at any
    place from top + k to end - m + k."""
    kept = np.ones(len(members), dtype=np.bool_)
    for q in prange(len(members)):
        start, n = offsets[q], offsets[q + 1] - offsets[q]
        member = members[q].copy()
        tied = np.zeros(members.shape[1], dtype=np.int64)
        order = start + np.argsort(-scores[start : start + n], kind="mergesort")
        top = 0
        while top < n:
            end = top
            while end < n and scores[order[end]] == scores[order[top]]:
                tied[codes[order[end]]] += 1
                end += 1
            for place in range(top, end):
                g = codes[order[place]]
                for k in range(tied[g]):  # those of a group at its first item, then none are left to look at
                    if earliest[member[g]] > top + k or latest[member[g]] < end - tied[g] + k:
                        kept[q] = False
                    member[g] += 1
                tied[g] = 0
            top = end
    return kept


@njit(parallel=True, cache=True)
def rankings_within(
    rankings: npt.NDArray[np.int32],
    counts: npt.NDArray[np.int32],
    codes: npt.NDArray[np.int32],
    n_codes: int,
    offsets: IntArray,
    earliest: npt.NDArray[np.int32],
    latest: npt.NDArray[np.int32],
) -> npt.NDArray[np.bool_]:  # pragma: no cover
    """(Q, R): whether each ranking keeps every prefix of its list within the quota; True where there is none."""
    kept = np.ones((len(counts), rankings.shape[0]), dtype=np.bool_)
    for q in prange(len(counts)):
        start, stop = offsets[q], offsets[q + 1]
        first = np.zeros(n_codes + 1, dtype=np.int64)
        for i in range(start, stop):
            first[codes[i] + 1] += 1
        for g in range(n_codes):
            first[g + 1] += first[g]
        member = np.empty(n_codes, dtype=np.int64)
        for r in range(counts[q]):
            member[:] = first[:-1]
            for j in range(stop - start):
                g = codes[start + rankings[r, start + j]]
                k = start + member[g]
                member[g] += 1
                if not earliest[k] <= j <= latest[k]:
                    kept[q, r] = False
                    break
    return kept
