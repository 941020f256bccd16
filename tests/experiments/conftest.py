"""One numeric thread for all of these tests: many small fits only wait for each other's threads."""

from __future__ import annotations

from collections.abc import Iterator

import numba
import pytest
import torch

from spofr_core.experiments import limit_threads


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads(), numba.get_num_threads()
    limit_threads(1)
    yield
    torch.set_num_threads(before[0])
    numba.set_num_threads(before[1])
