"""`Schedule`: which ranking of a lottery to serve next, so that what was shown keeps to the lottery after every T.

Independent draws from probabilities p leave counts that differ from p_i T by the order of sqrt(T). Tijdeman's rule for
the chairman assignment problem (Discrete Mathematics 32, 1980) keeps, with k rankings,

    abs(count_i - p_i T) <= c = 1 - 1 / (2 k - 2)    for every i and after EVERY T,

and no rule does better for all lotteries. At step T, with counts x before it, those i may be served that are due,
p_i T - x_i >= 1 / (2 k - 2), and the one is served that would be the first to break the bound: least
(c - (p_i T - x_i)) / p_i. This is "earliest deadline first", hence a choice of another i that is due is as good if,
with everybody else one step later until the turn of i, nobody breaks the bound: that is what makes a random start.

Deviations sum to 0, so at most k / 2 of c can move from rankings with less to rankings with more of a group's
exposure: realised and expected exposure of a group differ by at most (k / 2) c range_g / T.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from spofr_core.config import checked_seed
from spofr_core.errors import ConfigError, DataError

_ONE = 1 << 80
"""A probability of 1. Shares are whole numbers of 2^-80, so that no rounding adds up over any number of steps."""
_WORD = (1 << 64) - 1


class Schedule:
    """Serves the rankings of a lottery one after the other, each as often as its probability says.

    The state is `counts`, one number a ranking: `Schedule(probabilities, seed=seed, counts=counts)` goes on exactly
    where the schedule that had those counts stood.

    Parameters
    ----------
    probabilities : (k,) float, or Policy
        Of the rankings; not negative, summing to 1. A ranking of probability 0 is never served.
    seed : int
        Of the random start and of the order of ties. The first k rankings are drawn, according to their
        probabilities, among those with which the bound can be kept: there may be only one.
    counts : (k,) int, optional
        How often each ranking was served by an earlier schedule of the same probabilities and settings.
    plain_first : bool
        Draw the first ranking from the lottery as it is, and begin the rule with the second. Then what is served once
        has the expectation of the lottery, which a schedule that begins with the most probable ranking has not; the
        bound grows by 1.

    Examples
    --------
    >>> schedule = Schedule([0.5, 0.3, 0.2])
    >>> [schedule.next() for _ in range(10)]
    [1, 0, 0, 2, 0, 1, 0, 2, 1, 0]
    >>> schedule.counts.tolist(), schedule.bound()
    ([5, 3, 2], 0.75)
    """

    def __init__(
        self,
        probabilities: Any,
        *,
        seed: int = 0,
        counts: npt.ArrayLike | None = None,
        plain_first: bool = False,
    ) -> None:
        given = getattr(probabilities, "probabilities", probabilities)
        self._shares = shares_of(given)
        self._k = sum(1 for share in self._shares if share > 0)
        self._seed = checked_seed(seed)
        self.plain_first = plain_first
        self._first = plain_draw(self._shares, self._seed) if plain_first else None
        self._counts = _checked_counts(counts, len(self._shares))
        if counts is not None:
            self._check_bound()

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """(k,): how often each ranking was served."""
        return np.array(self._counts, dtype=np.int64)

    @property
    def impressions(self) -> int:
        """T, the number of rankings served."""
        return sum(self._counts)

    def bound(self) -> float:
        """What abs(count_i - p_i T) never exceeds: c = 1 - 1 / (2 k - 2), and 1 more with `plain_first`."""
        return count_bound(self._k) + (self._k > 1 and self.plain_first)

    def exposure_bound(self, spread: float, impressions: int | None = None) -> float:
        """The most by which realised and expected exposure of a group differ: (k / 2) c spread / T.

        Parameters
        ----------
        spread : float
            Largest minus smallest mean exposure of the group over the rankings.
        impressions : int, optional
            T; those served until now by default. Infinite before the first.

        Notes
        -----
        With `plain_first`, that ranking moves at most another spread / T.
        """
        shown = self.impressions if impressions is None else impressions
        if shown < 1:
            return float("inf") if spread > 0 else 0.0
        return moved_at_most(self._k, plain_first=self.plain_first) * spread / shown

    def next(self) -> int:
        """Serve: the index of the next ranking, which is counted."""
        chosen = self.following(self._counts)
        self._counts[chosen] += 1
        return chosen

    def following(self, counts: Sequence[int]) -> int:
        """The ranking that comes after these counts, which are not checked; nothing is counted here.

        For counts that are kept elsewhere, such as in a database that several processes share.
        """
        step = sum(counts)
        if self._first is not None:
            if step == 0:
                return self._first
            counts = [*counts]
            counts[self._first] -= 1
            step -= 1
        owed = [share * (step + 1) - (count * _ONE) for share, count in zip(self._shares, counts, strict=True)]
        if step >= self._k:
            return self._most_urgent(owed)
        return self._drawn(self._permitted(owed), step=step + 1)

    def take(self, impressions: int) -> npt.NDArray[np.int64]:
        """Serve so many rankings one after the other; their indices."""
        return np.array([self.next() for _ in range(impressions)], dtype=np.int64)

    def _most_urgent(self, owed: Sequence[int]) -> int:
        """Tijdeman's choice, `owed` being (p_i T - x_i) 2^80; ties go by the seeded order."""
        best, best_room = -1, 0
        double = 2 * self._k - 2
        for i, (share, due) in enumerate(zip(self._shares, owed, strict=True)):
            if share == 0 or due * double < _ONE:
                continue
            room = _ONE * (double - 1) - due * double
            if best >= 0:
                mine, least = room * self._shares[best], best_room * share
                if mine > least or (mine == least and _hash(self._seed, i) > _hash(self._seed, best)):
                    continue
            best, best_room = i, room
        # With one ranking nothing has to be due; with more, deviations that sum to 1 have one of 1 / k or more.
        return best if best >= 0 else max(range(len(owed)), key=owed.__getitem__)

    def _permitted(self, owed: Sequence[int]) -> list[int]:
        """Whoever is due and can be served now without anybody breaking the bound before the rule has caught up.

        The rule is run ahead for as many steps as an ordinary schedule needs to come round; whose turn is later than
        that has to wait for it.
        """
        double = 2 * self._k - 2
        due = [i for i, (s, o) in enumerate(zip(self._shares, owed, strict=True)) if s and o * double >= _ONE]
        if len(due) < 2:
            return due or [self._most_urgent(owed)]
        ahead, waiting, found = list(owed), set(due), []
        for _ in range(4 * self._k):
            turn = self._most_urgent(ahead)
            if turn in waiting:
                waiting.discard(turn)
                found.append(turn)
            # If another goes first, whoever has this turn is served a step later: too late, and none is permitted.
            if not waiting or ahead[turn] * double > _ONE * (double - 1):
                break
            ahead[turn] -= _ONE
            ahead = [o + s for o, s in zip(ahead, self._shares, strict=True)]
        return found

    def _drawn(self, among: Sequence[int], *, step: int) -> int:
        """One of these, drawn according to the probabilities; the same for the same seed and step."""
        return among[plain_draw([self._shares[i] for i in among], self._seed, step)]

    def _check_bound(self) -> None:
        shown = sum(self._counts)
        if self._first is not None and shown > 0 and self._counts[self._first] == 0:
            raise ConfigError(
                f"'counts' says that ranking {self._first} was never served, but this seed begins with it; "
                "give the seed with which the counts were made."
            )
        for i, (share, count) in enumerate(zip(self._shares, self._counts, strict=True)):
            if abs(count - share / _ONE * shown) > self.bound() + 1e-6 + 1e-12 * shown:
                raise ConfigError(
                    f"'counts' says that ranking {i} was served {count} times of {shown}, which no schedule with its "
                    f"probability of {share / _ONE:.6g} does; start with counts of 0 when the policy has changed."
                )


def count_bound(k: int) -> float:
    """c = 1 - 1 / (2 k - 2), which no count leaves its share by; nothing to leave with one ranking."""
    return 1 - 1 / (2 * k - 2) if k > 1 else 0.0


def moved_at_most(k: int, *, plain_first: bool) -> float:
    """Impressions by which rankings with less of something can be short, in all: (k / 2) c, and 1 for a first draw."""
    return k / 2 * count_bound(k) + (k > 1 and plain_first)


def plain_draw(shares: Sequence[int], seed: int, step: int = 0) -> int:
    """A place drawn according to `shares`, the same for the same seed and step: with step 0 what `plain_first` is."""
    place = _hash(seed, -1 - step) * sum(shares) >> 64
    for i, share in enumerate(shares):
        place -= share
        if place < 0:
            return i
    return len(shares) - 1


def shares_of(probabilities: npt.ArrayLike) -> list[int]:
    """Probabilities as whole numbers of 2^-80 that sum to 1 exactly; none that is positive becomes 0.

    Raises
    ------
    DataError
        When they are not probabilities.
    """
    if isinstance(probabilities, tuple) and probabilities and set(map(type, probabilities)) == {float}:
        values = list(probabilities)  # a service has no time for arrays
    else:
        given = np.asarray(probabilities, dtype=np.float64)
        if given.ndim != 1 or not given.size:
            raise DataError(
                f"'probabilities' has shape {given.shape}; give one for each ranking.", column="probabilities"
            )
        values = given.tolist()
    for i, value in enumerate(values):
        if not (math.isfinite(value) and value >= 0):
            raise DataError(
                f"The probability of ranking {i} is {value}; give numbers from 0 to 1.", column="probabilities"
            )
    if abs(sum(values) - 1) > 1e-6:
        raise DataError(
            f"The probabilities sum to {sum(values):.9g}; divide them by their sum, so that it is 1.",
            column="probabilities",
        )
    shares = [max(int(value * _ONE), 1) if value > 0 else 0 for value in values]
    shares[values.index(max(values))] += _ONE - sum(shares)
    return shares


def _checked_counts(counts: npt.ArrayLike | None, k: int) -> list[int]:
    if counts is None:
        return [0] * k
    given = np.asarray(counts)
    if given.shape != (k,) or given.dtype.kind not in "iu" or (given < 0).any():
        raise ConfigError(f"'counts' is {np.asarray(counts).tolist()!r}; give {k} whole numbers of 0 or more.")
    return [int(count) for count in given.tolist()]


def _hash(seed: int, place: int) -> int:
    """splitmix64 of a seed and a place: 64 bits that look random."""
    x = (seed * 0x9E3779B97F4A7C15 + place * 0xD1342543DE82EF95 + 0x2545F4914F6CDD1D) & _WORD
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _WORD
    return x ^ (x >> 31)
