"""When a claim holds: one rule for every claim, which knows no result.

A claim is about one number or several: one for each dataset, notion, delta or method that it speaks of. Each number is

- **as claimed** where it is shown to lie in the range that is claimed;
- **against it** where it is shown to lie outside the wider or equal range that agrees with the claim;
- **open** otherwise, and always with fewer than `SEEDS_NEEDED` seeds.

"Shown" is a one-sided t test over the seeds at 2.5 %, that is where the 95 % interval lies on that side, with Holm's
correction over the numbers of the claim. A number without chance, a count or a ratio of one run, is where it is. The
claim is "as claimed" if all its numbers are, "partly" if some are, "not as claimed" if none is and one is against it,
and "cannot be told" else.

Two things are the same where they differ by less than `MARGIN` of their mean DCG: "no effect" is claimed of the range
-m to m and must be shown like any other, "more" is contradicted by a difference that is shown to be below m.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from spofr_core.evaluation.intervals import CONFIDENCE
from spofr_core.evaluation.seeds import SEEDS_NEEDED, mean_interval
from spofr_core.fairness import TOLERANCE

Verdict = Literal["same", "different", "partly", "open"]
Range = tuple[float, float]
MARGIN = 0.05
"""Share of the mean DCG below which a difference counts as none."""
_EACH_SIDE = (1 - CONFIDENCE) / 2


@dataclass(frozen=True)
class Measured:
    """A number that a claim is about.

    Attributes
    ----------
    value : float
        Mean over the seeds.
    claimed : (float, float)
        The open range that the claim says it lies in.
    agreeing : (float, float), optional
        Outside of it the number speaks against the claim; `claimed` by default.
    error : float
        Standard error of the mean; 0 of a number without chance.
    n : int or None
        Seeds; None of a number without chance.
    """

    value: float
    claimed: Range
    agreeing: Range | None = None
    error: float = 0.0
    n: int | None = None

    def p_claimed(self) -> float:
        """Of the hypothesis that the number is not in the claimed range."""
        low, high = self.claimed
        return max(self._p_above(low), self._p_below(high))

    def p_against(self) -> float:
        """Of the hypothesis that it is in the range that agrees with the claim."""
        low, high = self.agreeing or self.claimed
        return min(self._p_below(low), self._p_above(high))

    def _p_above(self, bound: float) -> float:
        return self._p(self.value - bound)

    def _p_below(self, bound: float) -> float:
        return self._p(bound - self.value)

    def _p(self, beyond: float) -> float:
        """One-sided, of a number that is so far on the side of a bound that is to be shown."""
        if math.isnan(beyond) or (self.n is not None and self.n < SEEDS_NEEDED):
            return 1.0
        if math.isinf(beyond) or not self.error > TOLERANCE:  # equal runs differ by rounding at most
            return 0.0 if beyond > TOLERANCE else 1.0
        return float(stats.t.sf(beyond / self.error, (self.n or 2) - 1))


def verdict(numbers: Sequence[Measured]) -> Verdict:
    """What the numbers come to, by the rule above."""
    shown = _held([number.p_claimed() for number in numbers])
    against = _held([number.p_against() for number in numbers])
    if shown and all(shown):
        return "same"
    return "partly" if any(shown) else "different" if any(against) else "open"


def _held(p: Sequence[float]) -> list[bool]:
    """Which hypotheses fall, by Holm: the smallest p against 2.5 % / m, the next against 2.5 % / (m - 1), and so on."""
    fallen = [False] * len(p)
    for done, place in enumerate(sorted(range(len(p)), key=lambda k: p[k])):
        if p[place] > _EACH_SIDE / (len(p) - done):
            break
        fallen[place] = True
    return fallen


def of_seeds(values: NDArray[np.float64] | pd.Series, claimed: Range, agreeing: Range | None = None) -> Measured:
    """The mean of a number that each seed has once."""
    known = np.asarray(values, dtype=np.float64)
    known = known[~np.isnan(known)]
    mean, lower, upper = mean_interval(known)
    return _with_interval(mean, lower, upper, len(known), claimed, agreeing)


def more(pairs: Mapping[Any, Any] | pd.Series, level: float) -> Measured:
    """A row of `paired_difference` claimed to be above 0; `level` is the mean DCG of what is compared."""
    return _of_pairs(pairs, (0.0, math.inf), (MARGIN * level, math.inf))


def less(pairs: Mapping[Any, Any] | pd.Series, level: float) -> Measured:
    """Claimed to be below 0."""
    return _of_pairs(pairs, (-math.inf, 0.0), (-math.inf, -MARGIN * level))


def substantially_more(pairs: Mapping[Any, Any] | pd.Series, level: float) -> Measured:
    """Claimed to be above the margin."""
    return _of_pairs(pairs, (MARGIN * level, math.inf), None)


def no_effect(pairs: Mapping[Any, Any] | pd.Series, level: float) -> Measured:
    """Claimed to be within the margin."""
    return _of_pairs(pairs, (-MARGIN * level, MARGIN * level), None)


def _of_pairs(pairs: Mapping[Any, Any] | pd.Series, claimed: Range, agreeing: Range | None) -> Measured:
    return _with_interval(pairs["difference"], pairs["lower"], pairs["upper"], int(pairs["n"]), claimed, agreeing)


def _with_interval(mean: float, lower: float, upper: float, n: int, claimed: Range, agreeing: Range | None) -> Measured:
    error = (upper - lower) / 2 / float(stats.t.ppf(1 - _EACH_SIDE, n - 1)) if n > 1 else 0.0
    return Measured(float(mean), claimed, agreeing, float(error), n)
