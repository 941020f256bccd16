"""Waiting for what another process or thread does: for a condition, never for a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
PATIENCE = 200.0
"""Seconds after which it will not come any more, however loaded the machine is."""


def wait_until(condition: Callable[[], T], seconds: float = PATIENCE, *, otherwise: Callable[[], object] = str) -> T:
    """What the condition answers as soon as that is true; what `otherwise` says is shown where it never is."""
    deadline = time.monotonic() + seconds
    while not (answer := condition()):
        assert time.monotonic() < deadline, f"waited {seconds:g} s in vain {otherwise()}"
        time.sleep(0.02)
    return answer
