"""One numeric thread for all of these tests, and workers that are started once: both cost more than what they do."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from spofr_core.experiments import Executor, PoolExecutor, make_executor


@pytest.fixture(scope="module", autouse=True)
def always_one_thread(one_thread: None) -> None:
    """Runs are compared with each other bit by bit."""


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
