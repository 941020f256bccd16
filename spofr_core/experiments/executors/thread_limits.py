"""How many threads the numeric libraries of a worker may use."""

from __future__ import annotations

import os
import sys

from spofr_core.errors import ConfigError


def limit_threads(count: int) -> None:
    """Let torch, numba and the linear algebra under numpy use `count` threads each in this process.

    Workers get one: several processes with as many threads as there are cores would only wait for each other, and a fit
    on one thread repeats itself to the last bit.
    """
    if count < 1:
        raise ConfigError(f"A worker cannot have {count} threads; give 1 or more.")
    import numba
    import threadpoolctl  # type: ignore[import-untyped]

    # Workers that audit or repair never load torch, which takes longer than many a task; where it comes later, it reads
    # this.
    os.environ["OMP_NUM_THREADS"] = str(count)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(count)
    numba.set_num_threads(min(count, numba.get_num_threads()))
    threadpoolctl.threadpool_limits(count)
