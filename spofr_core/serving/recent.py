"""`Recent`: what was used last, up to a number of entries."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Generic, TypeVar

Kept = TypeVar("Kept")


class Recent(Generic[Kept]):
    """The entries that were used last, up to a number of them."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._entries: OrderedDict[Any, Kept] = OrderedDict()

    def get(self, key: Any) -> Kept | None:
        """The entry of a key, which becomes the latest."""
        found = self._entries.get(key)
        if found is not None:
            self._entries.move_to_end(key)
        return found

    def put(self, key: Any, value: Kept) -> None:
        """Keep an entry; the one that was not used for the longest may go."""
        self._entries[key] = value
        if len(self._entries) > self._most:
            self._entries.popitem(last=False)
