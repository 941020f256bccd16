"""Whoever comes first comes alone: code that a page loads on its first visit is loaded by one visitor at a time.

Modules of this house and of the libraries below it import each other in rings. Python locks each module by itself: two
threads that enter a ring at two places meet half-made modules. So the first visit to a page, which imports what the
page needs wherever it happens to be needed, is one visitor's; the others wait for its end, and never again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

_ONE_AT_A_TIME = RLock()
_VISITED: set[str] = set()


@contextmanager
def alone_at_first(place: str) -> Iterator[None]:
    """Nobody else is at any place for the first time as long as this lasts; at once where somebody was before."""
    if place in _VISITED:
        yield
        return
    with _ONE_AT_A_TIME:
        try:
            yield
        finally:  # a page may end early, to be drawn again or to wait: what it needs is loaded all the same
            _VISITED.add(place)
