"""How often each ranking of a policy was shown for a query: what a schedule goes on from."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from threading import Lock
from typing import NamedTuple, Protocol

from spofr_core.serving.recent import MOST_BYTES, Recent

_COUNT = 40
"""Bytes of one number in a list of them."""


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


Choose = Callable[[Sequence[int]], int]
"""Which ranking comes after these counts."""
Record = Callable[[Served], str | None]
"""What is to be written into the log about an impression; None for nothing."""


class Counters(Protocol):
    """Counts of every (query, policy), each impression counted once whoever asks for it at the same time."""

    def serve(self, query: str, policy: str, rankings: int, choose: Choose, record: Record | None = None) -> Served:
        """Let `choose` say which ranking comes after the counts until now, count it, and keep what `record` says.

        An impression is counted and recorded, or neither.
        """
        ...


class MemoryCounters:
    """Counters of one process, gone with it; they keep no records.

    Parameters
    ----------
    most : int
        Policies of queries that are remembered; the one that was not asked for the longest is forgotten first, and
        starts anew.
    most_bytes : int
        That they may have together.
    """

    def __init__(self, *, most: int = 100_000, most_bytes: int = MOST_BYTES) -> None:
        self._lock = Lock()
        self._counts = Recent(most_bytes, most=most, forgotten=self._forget)
        self._policies: dict[str, int] = {}

    def serve(self, query: str, policy: str, rankings: int, choose: Choose, record: Record | None = None) -> Served:
        """Let `choose` say which ranking comes after the counts until now, and count it."""
        key = (query, policy)
        with self._lock:
            counts = self._counts.get(key)
            anew = counts is None and query in self._policies
            if counts is None:
                counts = [0] * rankings
                self._policies[query] = self._policies.get(query, 0) + 1
                self._counts.put(key, counts, sys.getsizeof(query) + _COUNT * rankings)
            place = choose(counts)
            counts[place] += 1
            return Served(place, sum(counts), anew)

    def _forget(self, key: tuple[str, str]) -> None:
        query, _ = key
        self._policies[query] -= 1
        if not self._policies[query]:
            del self._policies[query]
