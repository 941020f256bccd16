"""Where work is done: in this process, in processes of this machine, or on a Dask cluster. Nothing else knows which."""

from __future__ import annotations

from spofr_core.errors import ConfigError
from spofr_core.experiments.executors.in_process import InlineExecutor
from spofr_core.experiments.executors.process_pool import PoolExecutor
from spofr_core.experiments.executors.protocol import Cancelled, Emit, Executor, Failure, Outcome, Task, Work

__all__ = [
    "Cancelled",
    "Emit",
    "Executor",
    "Failure",
    "InlineExecutor",
    "Outcome",
    "PoolExecutor",
    "Task",
    "Work",
    "make_executor",
]


def make_executor(*, workers: int = 1, scheduler: str | None = None) -> Executor:
    """The executor that two settings ask for.

    Parameters
    ----------
    workers : int, default 1
        1 works in this process, more are processes of this machine.
    scheduler : str, optional
        Address of a Dask scheduler such as "tcp://host:8786", or "local" for a Dask cluster of `workers` processes on
        this machine.
    """
    if workers < 1:
        raise ConfigError(f"workers is {workers}; give 1 (this process) or more.")
    if scheduler is not None:
        # Dask takes a second to import; whoever does not use it does not wait for it.
        from spofr_core.experiments.executors.dask_cluster import DaskExecutor

        return DaskExecutor(None if scheduler == "local" else scheduler, workers=workers)
    return InlineExecutor() if workers == 1 else PoolExecutor(workers)
