"""A process that works for another ends with it, also where the other was killed and could not say so."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Callable

PARENT_VARIABLE = "SPOFR_PARENT"
"""The id of the process to end with, for one that is started as a command of its own."""
EVERY = 0.5
"""Seconds between two looks at a parent that is only known by its id."""


def end_with_parent(end: Callable[[], object]) -> None:
    """Call `end` once the parent is gone, from a thread of its own; never where nobody said who the parent is.

    A worker of `multiprocessing` knows its parent. To any other process its parent says its own id in the environment,
    because it may be gone before the first look. Children in turn do not inherit the word: a job is to outlive the
    dashboard that it was started from.
    """
    parent = os.environ.pop(PARENT_VARIABLE, "")
    threading.Thread(target=_watch, args=(end, int(parent) if parent.isdecimal() else None), daemon=True).start()


def _watch(end: Callable[[], object], parent: int | None) -> None:
    worker_of = multiprocessing.parent_process()
    if worker_of is not None:
        worker_of.join()
    elif parent is not None:
        while _is_there(parent):
            time.sleep(EVERY)
    else:
        return
    end()


def _is_there(parent: int) -> bool:
    """Whether this process is still the child of that one: a system adopts children that are left behind."""
    if os.name == "nt":  # where nobody adopts them
        import psutil

        return psutil.pid_exists(parent)
    return os.getppid() == parent
