"""How often each ranking of a policy was shown for a query: what a schedule goes on from."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from threading import Lock
from typing import NamedTuple, Protocol


class Served(NamedTuple):
    """One impression.

    Attributes
    ----------
    place : int
        The ranking that was shown.
    impressions : int
        Of this query under this policy, with this one.
    anew : bool
        Whether counting began with this impression although the query was shown before: its policy has changed.
    """

    place: int
    impressions: int
    anew: bool


class Counters(Protocol):
    """Counts of every (query, policy), each impression counted once whoever asks for it at the same time."""

    def serve(self, query: str, policy: str, rankings: int, choose: Callable[[Sequence[int]], int]) -> Served:
        """Let `choose` say which ranking comes after the counts until now, and count it."""
        ...


class MemoryCounters:
    """Counters of one process, gone with it.

    Parameters
    ----------
    most : int
        Queries that are remembered; the one that was not asked for the longest is forgotten first, and starts anew.
    """

    def __init__(self, *, most: int = 100_000) -> None:
        self._most = most
        self._lock = Lock()
        self._counts: OrderedDict[str, tuple[str, list[int]]] = OrderedDict()

    def serve(self, query: str, policy: str, rankings: int, choose: Callable[[Sequence[int]], int]) -> Served:
        """Let `choose` say which ranking comes after the counts until now, and count it."""
        with self._lock:
            before, counts = self._counts.get(query, (None, []))
            if before != policy:
                counts = [0] * rankings
                self._counts[query] = (policy, counts)
            place = choose(counts)
            counts[place] += 1
            self._counts.move_to_end(query)
            if len(self._counts) > self._most:
                self._counts.popitem(last=False)
            return Served(place, sum(counts), before is not None and before != policy)
