"""How many threads a batch is worth."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from numba import get_num_threads, set_num_threads


@contextmanager
def threads_for(work: int, *, enough: int) -> Iterator[None]:
    """Run compiled loops on one thread unless there is enough work to share.

    Waking the other threads costs microseconds on a free machine and milliseconds on a busy one, far more than a
    single list takes.
    """
    before = get_num_threads()
    if work >= enough or before == 1:
        yield
        return
    set_num_threads(1)
    try:
        yield
    finally:
        set_num_threads(before)
