"""`Recent`: what was used last, up to a number of bytes."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable
from threading import Lock
from typing import Any

import numpy as np

MOST_BYTES = 1 << 28
_ENTRY = 250
"""Bytes of an entry beside its value: the key, its place in the table, and what holds value and size together."""


class Recent:
    """The entries that were used last, of any kinds, up to a number of bytes in all. May be used by several threads.

    Parameters
    ----------
    most_bytes : int
        Of all entries together.
    most : int, optional
        Entries; as many as fit by default.
    forgotten : callable, optional
        What is told the key of each entry that had to go.

    Attributes
    ----------
    bytes : int
        Of all entries now, as their sizes were told.
    """

    def __init__(
        self, most_bytes: int = MOST_BYTES, *, most: int | None = None, forgotten: Callable[[Any], None] | None = None
    ) -> None:
        self.most_bytes = most_bytes
        self._most = sys.maxsize if most is None else most
        self._forgotten = forgotten
        self._entries: OrderedDict[Any, tuple[Any, int]] = OrderedDict()
        self._lock = Lock()
        self.bytes = 0

    def get(self, key: Any) -> Any:
        """The value of a key, which becomes the latest; None if it is not there."""
        with self._lock:
            found = self._entries.get(key)
            if found is None:
                return None
            self._entries.move_to_end(key)
            return found[0]

    def put(self, key: Any, value: Any, size: int) -> None:
        """Keep a value of so many bytes; those that were not used for the longest go, itself if it is too large."""
        with self._lock:
            _, before = self._entries.pop(key, (None, 0))
            self._entries[key] = value, size + _ENTRY
            self.bytes += size + _ENTRY - before
            while self.bytes > self.most_bytes or len(self._entries) > self._most:
                gone, (_, less) = self._entries.popitem(last=False)
                self.bytes -= less
                if self._forgotten is not None:
                    self._forgotten(gone)


def size_of(value: Any, *, shared: Iterable[Any] = ()) -> int:
    """Bytes of a value and of all that it holds, without what others hold too; what it holds twice is counted once."""
    total, seen, waiting = 0, set(map(id, shared)), [value]
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, type):
            continue
        seen.add(id(one))
        total += sys.getsizeof(one)
        waiting += _held(one)
    return total


def _held(one: Any) -> Iterable[Any]:
    if isinstance(one, dict):
        return [*one, *one.values()]
    if isinstance(one, tuple | list | set | frozenset):
        return one
    if isinstance(one, np.ndarray):
        return [one.base]
    return [vars(one)] if hasattr(one, "__dict__") else []
