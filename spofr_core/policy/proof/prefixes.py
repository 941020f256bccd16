"""Quotas checked from first principles: counts in prefixes, and what they leave to each item.

Written from the definition of a quota, not from the windows that the solvers use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spofr_core.errors import SpofrError
from spofr_core.fairness import Quota

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PrefixLimits:
    """How many items of each group the first k positions of a list must and may hold.

    Attributes
    ----------
    names : list of str or None
        Groups of the list, sorted; None, the last, stands for items without one, of which nothing is asked.
    sizes : (G,)
        Items of each.
    least, most : (G, n + 1)
        By group and prefix, from 0 to all n items.
    """

    names: list[str | None]
    sizes: IntArray
    least: IntArray
    most: IntArray

    @property
    def first_impossible(self) -> int:
        """The first prefix in which no ranking can be within the limits; 0 if there is none.

        Positions go to the group that must have its next item soonest, among those that may have one: if that fails,
        nothing else can succeed.
        """
        n = self.least.shape[1] - 1
        held = np.zeros(len(self.sizes), dtype=np.int64)
        for k in range(1, n + 1):
            may = np.flatnonzero((held < self.most[:, k]) & (held < self.sizes))
            if not len(may):
                return k
            due = [int(np.argmax(self.least[g] > held[g])) or n + 1 for g in may]
            held[may[int(np.argmin(due))]] += 1
            if np.any(held < self.least[:, k]):
                return k
        return 0

    def faults(self, groups: npt.NDArray[np.object_], rankings: npt.NDArray[np.int64]) -> list[str]:
        """Where a ranking is outside the limits: the first such prefix of each ranking."""
        found = []
        for r, ranking in enumerate(rankings, start=1):
            shown = groups[ranking]
            counts = np.array([np.concatenate([[0], np.cumsum(shown == name)]) for name in self.names])
            broken = (counts < self.least) | (counts > self.most)
            if broken.any():
                k = int(np.argmax(broken.any(axis=0)))
                g = int(np.argmax(broken[:, k]))
                found.append(
                    f"ranking {r} has {counts[g, k]} of group {self.names[g]!r} among its first {k}, "
                    f"the quota asks for {self.least[g, k]} to {self.most[g, k]}"
                )
        return found

    def windows(self) -> tuple[IntArray, IntArray]:
        """First and last position, from 0, of the items of each group in the order of their scores, group by group."""
        first, last = [], []
        for g, size in enumerate(self.sizes.tolist()):
            wanted = np.arange(1, size + 1)
            may, must = self.most[g, 1:], np.maximum.accumulate(self.least[g, 1:])
            first.append(np.argmax(may[None, :] >= wanted[:, None], axis=1))
            due = must[None, :] >= wanted[:, None]
            last.append(np.where(due.any(axis=1), np.argmax(due, axis=1), len(may) - 1))
        return np.concatenate(first), np.concatenate(last)

    def smallest_delta(
        self, v: FloatArray, asked: Mapping[str, tuple[float, float]], tolerance: float = 1e-10
    ) -> float:
        """min d such that some lottery within the limits has abs(scale_g e_g - target_g) <= d for every group asked.

        Over the probabilities that a position goes to a group: any that add up to one at each position and to counts
        within the limits in each prefix are a mixture of rankings.
        """
        from scipy.optimize import linprog

        n, n_groups = len(v), len(self.names)
        cells = n_groups * n
        # The programme's tolerances are absolute: exposures are given to it as parts of the largest.
        unit = max((scale for scale, _ in asked.values()), default=0.0) * float(v.max()) or 1.0
        same = np.zeros((n, cells + 1))
        for j in range(n):
            same[j, j:cells:n] = 1.0
        rows, limits = [], []
        for g, size in enumerate(self.sizes.tolist()):
            for k in range(1, n + 1):
                row = np.zeros(cells + 1)
                row[g * n : g * n + k] = 1.0
                rows += [row, -row]
                limits += [float(self.most[g, k] if k < n else size), -float(self.least[g, k] if k < n else size)]
            name = self.names[g]
            if name is not None and name in asked:
                scale, target = asked[name]
                row = np.zeros(cells + 1)
                row[g * n : (g + 1) * n] = scale * v / (size * unit)
                away = np.zeros(cells + 1)
                away[-1] = 1.0
                rows += [row - away, -row - away]
                limits += [target / unit, -target / unit]
        solved = linprog(
            np.append(np.zeros(cells), 1.0),
            A_ub=np.array(rows),
            b_ub=np.array(limits),
            A_eq=same,
            b_eq=np.ones(n),
            bounds=(0, None),
            method="highs",
            options={"primal_feasibility_tolerance": tolerance, "dual_feasibility_tolerance": tolerance},
        )
        if solved.status != 0 or solved.x is None:
            raise SpofrError(f"The smallest feasible delta under a quota was not found: {solved.message}")
        return float(solved.x[-1]) * unit


def prefix_limits(quota: Quota, groups: Sequence[str | None] | npt.NDArray[np.object_]) -> PrefixLimits | None:
    """The limits of one list; None where it has a single group."""
    counted, n = Counter(groups), len(groups)
    free = counted.pop(None, 0)
    if len(counted) < 2:
        return None
    names = sorted(str(name) for name in counted)
    sizes = np.array([counted[name] for name in names])
    k = np.arange(n + 1)
    least = np.zeros((len(names), n + 1), dtype=np.int64)
    most = np.broadcast_to(sizes[:, None], least.shape).astype(np.int64)
    if quota.slack is not None:
        share = k[None, :] * sizes[:, None]
        judged = k <= (n if quota.top is None else quota.top)
        least = np.where(judged, np.maximum(share // n - quota.slack, 0), least)
        most = np.where(judged, np.minimum(-(-share // n) + quota.slack, most), most)
    for name, depths in (quota.minimum or {}).items():
        for g in np.flatnonzero(np.array(names) == name):
            for depth, count in depths.items():
                least[g, min(depth, n)] = max(least[g, min(depth, n)], count)
    if free:
        anything = np.vstack([np.zeros(n + 1, dtype=np.int64), np.full(n + 1, free)])
        least, most = np.vstack([least, anything[:1]]), np.vstack([most, anything[1:]])
        return PrefixLimits([*names, None], np.append(sizes, free), least, most)
    return PrefixLimits([*names], sizes, least, most)
