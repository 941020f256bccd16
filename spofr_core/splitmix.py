"""splitmix64: numbers that look random and depend on nothing but their inputs, whichever thread computes them.

A generator is a state to which `GOLDEN` is added at each step; `splitmix64` of the state is the random number. Kernels
that numba caches do not notice when a function of another module that they call is edited: after a change here, delete
the ``*.nbi`` files in their ``__pycache__`` folders.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


@njit(cache=True, nogil=True)
def splitmix64(x: Any) -> Any:  # pragma: no cover
    """The finaliser for one uint64: neighbouring inputs give unrelated outputs."""
    x = (x ^ (x >> np.uint64(30))) * _FIRST
    x = (x ^ (x >> np.uint64(27))) * _SECOND
    return x ^ (x >> np.uint64(31))


def splitmix64_in_place(x: npt.NDArray[np.uint64]) -> None:
    """The same for every entry of an array, written over it."""
    x ^= x >> np.uint64(30)
    x *= _FIRST
    x ^= x >> np.uint64(27)
    x *= _SECOND
    x ^= x >> np.uint64(31)
