"""`Reranker`: one list now, ranked within delta, and shown so that what is seen over time keeps to its lottery."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from hashlib import blake2b
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from spofr_core.config import checked_seed
from spofr_core.data.groups.labels import MissingLabels
from spofr_core.data.score_array import refuse_unlike_indexes, score_array
from spofr_core.errors import ConfigError, DataError, SpofrError
from spofr_core.fairness import Discount, Fairness
from spofr_core.policy import Schedule, plain_draw, shares_of
from spofr_core.policy.programme import group_codes
from spofr_core.policy.solvers.score_sizes import checked_scores
from spofr_core.serving.counters import Counters, MemoryCounters, Record, Served
from spofr_core.serving.lottery import (
    FloatArray,
    Lottery,
    OnFailure,
    PreparedGroups,
    no_policy,
    settings_digest,
    sorted_lottery,
)
from spofr_core.serving.recent import Recent, size_of


class Ranked(NamedTuple):
    """One impression.

    Attributes
    ----------
    ranking : (n,) int
        Indices of the items as they were given, from the top down.
    index, probability
        Which ranking of the lottery it is, and how likely.
    policy : str
        Id of the lottery. Other items, groups, scores or settings make another.
    impressions : int
        Of this query under this policy, with this one; 1 without a query.
    delta : float
        In force; more than was asked for where the list was relaxed.
    bound : float
        What counting whole rankings can add to delta after so many impressions: what was shown of this query violates
        the notion by at most delta + bound. Infinite without a schedule, and for a list sorted by score.
    how : {"fair", "relaxed", "sorted"}
        Whether delta holds as asked, with the smallest delta that the list can hold, or the list is sorted by score.
    reason : str
        Why it is sorted by score; else empty.
    anew : bool
        The query was shown before under another policy; its counters began anew.
    """

    ranking: npt.NDArray[np.int64]
    index: int  # type: ignore[assignment]  # nobody looks for a value in an impression
    probability: float
    policy: str
    impressions: int
    delta: float
    bound: float
    how: str
    reason: str = ""
    anew: bool = False


class Reranker:
    """Ranks one list at a time within the bounds of `fairness`: the optimum of `fair_policy`, many times faster.

    Queries that are named are served by a schedule (see `Schedule`): the first ranking of a query is drawn from its
    lottery, so that queries seen once are fair together; from the second on each ranking is shown as often as its
    probability says. May be used by several threads.

    Parameters
    ----------
    fairness : Fairness
    discount : Discount or vector, optional
        DCG by default.
    schedule : bool
        False: every ranking is an independent draw.
    on_infeasible : {"raise", "relax", "sort"}
        Where no policy holds delta: raise, use the smallest feasible delta, or sort by score. "sort" also covers
        groups that the notion knows nothing about, such as one without a merit.
    seed : int
        Of ties, first draws and starts.
    counters : Counters, optional
        Where counts are kept; in memory by default.
    keep : int
        Compositions of groups and solved lists, together, that are remembered at most.
    cache : Recent, optional
        Where they are remembered instead, for several rerankers that share its bytes; by default 256 MB of its own.
    missing : {"error", "keep"}
        As for `fair_policy`: with "keep", items whose group is None, NaN or NA keep their places, without a bound.

    Examples
    --------
    >>> reranker = Reranker(Fairness(delta=0.05))
    >>> shown = [reranker.rank([0.9, 0.8, 0.4, 0.1], ["a", "a", "b", "b"], query="q") for _ in range(12)]
    >>> [each.index for each in shown].count(1), shown[-1].impressions, round(shown[-1].bound, 4)
    (2, 12, 0.0031)
    """

    def __init__(
        self,
        fairness: Fairness,
        *,
        discount: Discount | Sequence[float] | None = None,
        schedule: bool = True,
        on_infeasible: OnFailure = "raise",
        seed: int = 0,
        counters: Counters | None = None,
        keep: int = 10_000,
        cache: Recent | None = None,
        missing: MissingLabels = "error",
    ) -> None:
        Fairness.require(fairness)
        if on_infeasible not in ("raise", "relax", "sort"):
            raise ConfigError(f"'on_infeasible' must be one of ['raise', 'relax', 'sort'], got {on_infeasible!r}.")
        self.fairness = fairness
        self.discount = Discount() if discount is None else Discount.coerce(discount)
        self.schedule = schedule
        self._on_infeasible = on_infeasible
        self._seed = checked_seed(seed)
        self._counters: Counters = MemoryCounters() if counters is None else counters
        self._cache = Recent(most=keep) if cache is None else cache
        self._missing: MissingLabels = missing
        self._settings = settings_digest(fairness, self.discount, self._seed)
        self._own = f"{self._settings.hexdigest()} {on_infeasible}"
        self._draws = np.random.default_rng(self._seed)
        self._lock = Lock()

    def rank(
        self, scores: npt.ArrayLike, groups: Sequence[Any] | None, query: Any = None, items: Sequence[Any] | None = None
    ) -> Ranked:
        """The ranking to show now.

        Parameters
        ----------
        scores : (n,) float
        groups : (n,) labels, or None
            None: each item is on its own, a group of one.
        query : optional
            Id; compared as text. Without it the ranking is a plain draw, and nothing is counted.
        items : (n,) ids, optional
            With them the order in which the items are given makes no difference to the policy.
        """
        return self.rank_and_record(scores, groups, query, items, None)

    def rank_and_record(
        self,
        scores: npt.ArrayLike,
        groups: Sequence[Any] | None,
        query: Any,
        items: Sequence[Any] | None,
        record: Callable[[Ranked], str] | None,
    ) -> Ranked:
        """As `rank`; what `record` makes of the impression is kept by the counters in the moment they count it."""
        if groups is None:
            self.fairness.check_items()
        refuse_unlike_indexes(scores=scores, groups=groups, items=items)
        values, labels = _checked(scores, _alone(scores) if groups is None else groups, self._missing)
        order: list[int] | None = None
        if items is not None:
            names = _checked_items(items, len(values))
            order = sorted(range(len(names)), key=names.__getitem__)
            values, labels = values[order], labels if groups is None else [labels[i] for i in order]
            names.sort()
        with self._lock:
            lottery = self._lottery(values, labels, _joined(names) if items is not None else b"")
        if query is None:
            served = Served(self._draw(lottery), 1, anew=False)
            return self._ranked(lottery, order, served, counted=len(lottery.rankings) == 1)
        note: Record | None = None
        if record is not None:
            made = record  # as of here; a closure over `record` could be None again

            def note(served: Served) -> str:
                return made(self._ranked(lottery, order, served, counted=self.schedule))

        name = str(query)
        served = self._counters.serve(
            name, lottery.policy, len(lottery.rankings), lambda counts: self._following(lottery, name, counts), note
        )
        return self._ranked(lottery, order, served, counted=self.schedule)

    def _ranked(self, lottery: Lottery, order: list[int] | None, served: Served, *, counted: bool = True) -> Ranked:
        place, impressions, anew = served
        ranking = lottery.rankings[place]
        return Ranked(
            ranking.astype(np.int64) if order is None else np.array(order)[ranking],
            place,
            lottery.probabilities[place],
            lottery.policy,
            impressions,
            lottery.delta,
            lottery.added / impressions if counted and lottery.how != "sorted" else math.inf,
            lottery.how,
            lottery.reason,
            anew,
        )

    def _following(self, lottery: Lottery, query: str, counts: Sequence[int]) -> int:
        """The ranking of a query that comes after these counts."""
        if len(counts) == 1:
            return 0
        if not self.schedule:
            return self._draw(lottery)
        # The same seed for the same query and policy, so that counts are all that has to be kept.
        own = blake2b(f"{self._seed}\0{query}\0{lottery.policy}".encode(errors="surrogatepass"), digest_size=8)
        seed = int.from_bytes(own.digest(), "little")
        if not any(counts):
            return plain_draw(shares_of(lottery.probabilities), seed)
        return Schedule(lottery.probabilities, seed=seed, plain_first=True).following(counts)

    def _draw(self, lottery: Lottery) -> int:
        if len(lottery.probabilities) == 1:
            return 0
        with self._lock:
            place = self._draws.random()
        for i, probability in enumerate(lottery.probabilities):
            place -= probability
            if place < 0:
                return i
        return len(lottery.probabilities) - 1

    def _lottery(self, scores: FloatArray, labels: Sequence[str | None], items: bytes) -> Lottery:
        blocks = {*labels}
        names = tuple(sorted(name for name in blocks if name is not None))
        places: dict[str | None, int] = {name: code for code, name in enumerate(names)}
        places[None] = len(names)  # the items without a group
        codes = np.array([places[label] for label in labels], np.int32) if len(blocks) > 256 else None
        coded = bytes(map(places.__getitem__, labels)) if codes is None else codes.tobytes()
        identity = self._settings.copy()
        named = _joined(names)
        identity.update(b"%d,%d,%d;" % (len(labels), len(named), len(items)) + scores.tobytes() + coded + named + items)
        policy: str = identity.hexdigest()
        known: Lottery | None = self._cache.get((self._own, policy))
        if known is not None:
            return known
        if codes is None:
            codes = np.frombuffer(coded, np.uint8)
            sizes = tuple(map(coded.count, range(len(blocks))))
        else:
            sizes = tuple(np.bincount(codes).tolist())
        prepared = self._groups(names, sizes)
        if isinstance(prepared, SpofrError):
            found = sorted_lottery(policy, checked_scores(scores, np.array([0, len(labels)])), no_policy(prepared))
        else:
            found = self._solve(prepared, policy, scores, codes)
        self._cache.put((self._own, policy), found, found.size)
        return found

    def _solve(self, prepared: PreparedGroups, policy: str, scores: FloatArray, codes: npt.NDArray[Any]) -> Lottery:
        """With "sort", a list whose policy cannot be proved is sorted; one with bad scores is refused all the same."""
        try:
            return prepared.solve(policy, scores, codes, self._seed)
        except SpofrError as error:
            if self._on_infeasible != "sort" or isinstance(error, DataError):
                raise
            return sorted_lottery(policy, scores, no_policy(error))

    def _groups(self, names: tuple[str, ...], sizes: tuple[int, ...]) -> PreparedGroups | SpofrError:
        """What is known of lists with so many items of these groups; with "sort", why nothing can be."""
        known: PreparedGroups | SpofrError | None = self._cache.get((self._own, names, sizes))
        if known is None:
            try:
                known = PreparedGroups(
                    names,
                    sizes,
                    self.fairness,
                    discount=self.discount,
                    on_infeasible="relax" if self._on_infeasible == "relax" else "raise",
                )
            except SpofrError as error:
                if self._on_infeasible != "sort":
                    raise
                known = error
            self._cache.put(
                (self._own, names, sizes), known, size_of((names, known), shared=(self.fairness, self.discount))
            )
        return known


def _joined(names: Sequence[str]) -> bytes:
    """Names as bytes that no other names have, whatever letters are in them."""
    joined = "\0".join(names)
    if joined.count("\0") < len(names):
        return joined.encode(errors="surrogatepass")
    return b"\xff" + repr(names).encode()  # no text begins with this byte


def _checked(
    scores: npt.ArrayLike, groups: Sequence[Any], missing: MissingLabels
) -> tuple[FloatArray, Sequence[str | None]]:
    """Scores and the names of the groups, one for each item; None where it has none."""
    labels = groups.tolist() if isinstance(groups, np.ndarray) else list(groups)
    n = len(labels)
    if not n:
        raise DataError("The list has no items; give at least one.", column="groups")
    values = score_array(scores)
    if values.dtype != np.float64 or values.shape != (n,):  # whoever solves looks at the values
        values = checked_scores(scores, np.array([0, n]))
    if set(map(type, labels)) != {str}:
        codes, names = group_codes(groups, missing=missing)
        labels = [names[code] if code >= 0 else None for code in codes]
    return values, labels


def _alone(scores: npt.ArrayLike) -> list[str]:
    """A label for each place of a list; as texts they are in the order of the places, whatever the items are."""
    return [f"item {place:06}" for place in range(1, len(np.atleast_1d(score_array(scores))) + 1)]


def _checked_items(items: Sequence[Any], n: int) -> list[str]:
    names = [str(item) for item in items]
    if len(names) != n:
        raise DataError(f"There are {len(names)} item ids for {n} items; give one per item.", column="items")
    if len(set(names)) < n:
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(
            f"The item id {twice!r} occurs twice in the list; give each item an id of its own.", column="items"
        )
    return names
