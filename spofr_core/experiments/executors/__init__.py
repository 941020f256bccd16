"""Where work is done: in this process, in processes of this machine, or on a Dask cluster. Nothing else knows which."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from spofr_core.config import MOST_WORKERS, checked_count
from spofr_core.experiments.executors.in_process import InlineExecutor
from spofr_core.experiments.executors.process_pool import PoolExecutor
from spofr_core.experiments.executors.protocol import Cancelled, Emit, Executor, Failure, Order, Outcome, Task, Work
from spofr_core.registry import Registry

__all__ = [
    "EXECUTORS",
    "Cancelled",
    "Emit",
    "Executor",
    "ExecutorKind",
    "Failure",
    "InlineExecutor",
    "Order",
    "Outcome",
    "PoolExecutor",
    "Task",
    "Work",
    "make_executor",
]


@dataclass(frozen=True)
class ExecutorKind:
    """A kind of executor that `--scheduler` can name.

    Parameters
    ----------
    name : str
        What its addresses begin with, before a colon.
    start : callable
        From an address and a number of workers to an executor.
    about : str
        How an address is written and what it stands for, for the help of `--scheduler`.
    """

    name: str
    start: Callable[[str, int], Executor]
    about: str


def _dask(address: str, workers: int) -> Executor:
    # Dask takes a second to import; whoever does not use it does not wait for it.
    from spofr_core.experiments.executors.dask_cluster import DaskExecutor

    return DaskExecutor(None if address == "local" else address, workers=workers)


EXECUTORS: Registry[ExecutorKind] = Registry("executor", {})
EXECUTORS.register(
    ExecutorKind("dask", _dask, "Dask scheduler such as tcp://host:8786, or 'local' for a Dask cluster here")
)


def make_executor(*, workers: int = 1, scheduler: str | None = None) -> Executor:
    """The executor that two settings ask for.

    Parameters
    ----------
    workers : int, default 1
        1 works in this process, more are processes of this machine.
    scheduler : str, optional
        Address of a Dask scheduler such as "tcp://host:8786", or "local" for a Dask cluster of `workers` processes on
        this machine; or an address that begins with the name of another kind in `EXECUTORS`.
    """
    checked_count(workers, "workers", MOST_WORKERS)
    if scheduler is None:
        return InlineExecutor() if workers == 1 else PoolExecutor(workers)
    kind = scheduler.partition(":")[0]
    # Dask has many kinds of addresses (tcp, tls, ucx, a bare host), and says itself which it does not know.
    return EXECUTORS[kind if kind in EXECUTORS else "dask"].start(scheduler, workers)
