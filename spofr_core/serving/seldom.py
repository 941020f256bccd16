"""`Seldom`: what goes wrong a thousand times a second is told once a minute, with its number."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from threading import Lock

EVERY = 60.0
"""Seconds between two lines of a kind."""


class Seldom(logging.Filter):
    """Lets one line of a kind through a minute: what was logged at one place of the code about one kind of error.

    Parameters
    ----------
    clock : callable
        Seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._lock = Lock()
        self._said: dict[object, float] = {}
        self._held: dict[object, tuple[int, logging.LogRecord]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to say it now; what was held back until now is counted in it."""
        kind = record.pathname, record.lineno, record.exc_info[0] if record.exc_info else None
        with self._lock:
            count, held = self._held.pop(kind, (0, None))
            now = self._clock()
            if now - self._said.get(kind, -EVERY) < EVERY:
                self._held[kind] = count + 1, record
                return False
            self._said[kind] = now
        count -= held is record  # told later by `tell`, and one of those that were held back
        if count:
            record.msg, record.args = f"{record.getMessage()} ({count:,} more such lines were left out.)", ()
        return True

    def tell(self) -> None:
        """Say what was held back for a minute; for when nothing more goes wrong."""
        with self._lock:
            now = self._clock()
            late = [held for kind, (_, held) in self._held.items() if now - self._said[kind] >= EVERY]
        for record in late:
            logging.getLogger(record.name).handle(record)
