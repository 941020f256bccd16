"""One numeric thread for all of these tests, and workers that are started once: both cost more than what they do."""

from __future__ import annotations

from collections.abc import Iterator

import numba
import pytest
import torch

from spofr_core.experiments import Executor, PoolExecutor, limit_threads, make_executor


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads(), numba.get_num_threads()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "")  # given back at the end, whatever is set below
        limit_threads(1)
        yield
    torch.set_num_threads(before[0])
    numba.set_num_threads(before[1])


@pytest.fixture(scope="session")
def pool() -> Iterator[Executor]:
    """Two processes."""
    with PoolExecutor(2) as executor:
        yield executor


@pytest.fixture(scope="session")
def dask() -> Iterator[Executor]:
    """A Dask cluster of two processes on this machine."""
    with make_executor(workers=2, scheduler="local") as executor:
        yield executor
