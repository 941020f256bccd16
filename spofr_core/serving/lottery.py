"""One list solved at once: what depends on the groups alone is prepared before, what is left is a call of the kernel.

`fair_policy` checks any labels, counts groups and writes out the bounds of a notion for batches of any shape; for one
list of twenty that takes a hundred times what solving it does. Lists with the same number of items in each group have
the same bounds, so a service meets few of them: they are written out once for each such composition.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from hashlib import blake2b
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from spofr_core.data import UNKNOWN
from spofr_core.errors import InfeasibleFairness
from spofr_core.fairness import Discount, Fairness
from spofr_core.policy import Policies, Programme, make_solver, moved_at_most, prepare
from spofr_core.policy.solvers.kernels.one_list import solve_one
from spofr_core.policy.solvers.provable import provable_price
from spofr_core.policy.solvers.score_sizes import score_range

FloatArray = npt.NDArray[np.float64]
How = Literal["fair", "relaxed", "sorted"]
"""Whether delta holds as asked, with the smallest delta that the list can hold, or the list is sorted by score."""
OnFailure = Literal["raise", "relax", "sort"]
"""What to do with a list for which no policy holds delta: refuse it, let it have its smallest feasible delta, or sort
it by score."""
_LOTTERY = 350
"""Bytes of a lottery beside its rankings and probabilities."""


class Lottery(NamedTuple):
    """What is served of one list.

    Attributes
    ----------
    policy : str
        Id: the same list, groups, scores and settings have the same.
    rankings : (m, n) int
        Indices of items, from the top down.
    probabilities : (m,) floats
    added : float
        What a schedule that begins with a plain draw can add to the violation after T impressions, times T:
        (m / 2 c + 1) times the largest over the groups of scale_g range_g. See `Schedule`.
    delta : float
        The largest delta in force over the groups; more than was asked for where the list was relaxed.
    how : How
    reason : str
        Why it is sorted by score; else empty.
    """

    policy: str
    rankings: npt.NDArray[np.int32]
    probabilities: tuple[float, ...]
    added: float
    delta: float
    how: How
    reason: str = ""

    @property
    def size(self) -> int:
        """Bytes, near enough: `size_of` would take as long as solving the list does."""
        rankings = self.rankings if self.rankings.base is None else self.rankings.base
        return int(rankings.nbytes) + 32 * len(self.probabilities) + sys.getsizeof(self.reason) + _LOTTERY


class PreparedGroups:
    """Everything about lists of one composition but the order of their items and their scores.

    Parameters
    ----------
    names : tuple of str
        Groups of the list, sorted.
    sizes : tuple of int
        Items of each, and behind them those without a group, where there are some.
    on_infeasible : {"raise", "relax"}
        As for `fair_policy`.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        sizes: tuple[int, ...],
        fairness: Fairness,
        *,
        discount: Discount,
        on_infeasible: Literal["raise", "relax"] = "raise",
    ) -> None:
        quota = fairness.every_ranking
        if quota is not None:
            fairness = fairness.with_quota(quota.among(names))
        codes = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
        codes[codes == len(names)] = UNKNOWN
        ends = np.array([0, len(codes)])
        lists = prepare(codes, ends, fairness, discount=discount, group_names=names, on_infeasible=on_infeasible)
        self._lists = lists
        self._vectors = np.ascontiguousarray([lists.v, lists.w])
        per_item = np.zeros(len(sizes))
        per_item[: len(names)] = lists.terms.scale[0] / sizes[: len(names)]
        self._limits = np.ascontiguousarray([lists.lower[0], lists.upper[0], per_item])
        self._slack = 1e-11 * float(lists.v.sum())
        self._least, self._most = score_range(lists.v, lists.w)
        self._provable = float(provable_price(lists.w)[-1])
        self.delta = float(lists.terms.delta[0].max(initial=0.0))
        self.how: How = "relaxed" if lists.relaxed or lists.lifted else "fair"
        windows = lists.windows
        limits = [] if windows is None else [windows.earliest, windows.latest]
        self._windows = np.array(limits, dtype=np.int32).reshape(2, -1)
        self._direct = len(sizes) <= 2 and not lists.increasing

    def solve(self, policy: str, scores: FloatArray, codes: npt.NDArray[Any], seed: int) -> Lottery:
        """The optimal lottery for these scores; the same as that of `fair_policy`."""
        if self._direct:
            rankings = np.empty((2, len(scores)), np.int32)
            found = solve_one(scores, codes, self._vectors, self._limits, self._windows, seed, rankings)
            sure = found.largest == 0.0 or self._least <= found.largest <= self._most
            sure &= found.price <= self._provable * found.largest
            if sure and found.rankings and found.outside <= self._slack and found.short <= 1:
                first = found.probability
                probabilities = (1.0,) if found.rankings == 1 else (first, 1.0 - first)
                added = moved_at_most(found.rankings, plain_first=True) * found.spread
                return Lottery(policy, rankings[: found.rankings], probabilities, added, self.delta, self.how)
        return self._in_full(policy, scores, codes, seed)

    def _in_full(self, policy: str, scores: FloatArray, codes: npt.NDArray[Any], seed: int) -> Lottery:
        """What the kernel for one list leaves: more groups, vectors that increase, and what has to be refused."""
        lists = replace(self._lists, codes=codes.astype(np.int32))
        programme = Programme(lists, scores, seed)
        found = Policies(lists, programme.scores, make_solver("exact").solve(programme))[0]
        rankings = np.array(found.rankings)
        totals = np.array([np.bincount(codes[r], weights=lists.v, minlength=len(self._limits[2])) for r in rankings])
        spread = float((self._limits[2] * np.ptp(totals, axis=0)).max())
        added = moved_at_most(len(rankings), plain_first=True) * spread
        return Lottery(policy, rankings, tuple(found.probabilities.tolist()), added, self.delta, self.how)


def sorted_lottery(policy: str, scores: FloatArray, reason: str) -> Lottery:
    """The list sorted by score, equal scores in the order that they came in."""
    order = np.argsort(-scores, kind="stable").astype(np.int32)
    return Lottery(policy, order[None, :], (1.0,), 0.0, 0.0, "sorted", reason)


def no_policy(error: Exception) -> str:
    """Why a list is sorted by score, in one sentence."""
    if isinstance(error, InfeasibleFairness) and error.min_delta is not None:
        return f"no policy holds delta here; the smallest that one could hold is {error.min_delta:.6g}"
    return str(error)


def settings_digest(fairness: Fairness, discount: Discount, seed: int) -> Any:
    """A hash of the settings of a policy, to go on from: policies of other settings have other ids."""
    settings: dict[str, Any] = {"fairness": fairness.to_dict(), "discount": discount.to_dict(), "seed": seed}
    return blake2b(repr(settings).encode(errors="surrogatepass"), digest_size=12)
