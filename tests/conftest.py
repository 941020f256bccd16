"""What every test relies on."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

# A thread of the solver or of torch that has nothing to do keeps its core busy for a while in case work comes: the two
# workers of `make test` would take the cores from each other. Set before anything reads it; the processes that tests
# start have it from here.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# pytest makes errors of warnings in its own process, threads of pages included; servers, jobs and workers have it from
# here. Of numbers that overflow and of what pandas will read otherwise one day: what libraries deprecate among
# themselves changes no result.
os.environ.setdefault("PYTHONWARNINGS", "error::RuntimeWarning,error::FutureWarning")

import pytest
from hypothesis import settings

# A loaded machine takes its time; what is tested is the answer. `make test` tries the same examples each time, so that
# it passes or fails by what was changed; `make test-long` draws others, and more where a test names no number.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.register_profile("random", deadline=None, max_examples=500, print_blob=True)
settings.load_profile("repeatable")


MAIN = sys.modules["__main__"]


@pytest.fixture(autouse=True)
def main_module() -> Iterator[None]:
    """Give the main module back: Streamlit puts its script there, and spawned processes would run that script again.

    Before a test too: what a whole file shares may have opened a page before its first one.
    """
    sys.modules["__main__"] = MAIN
    yield
    sys.modules["__main__"] = MAIN


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """One thread for torch, numba and the linear algebra, here and in the processes that are started from here.

    What compares trained weights or scores bit by bit needs it: on several threads a sum is added up in parts, as many
    as there are threads, and its last bit is theirs. One thread of one machine repeats itself.
    """
    import numba
    import threadpoolctl
    import torch

    from spofr_core.experiments import limit_threads

    before = torch.get_num_threads(), numba.get_num_threads()
    with pytest.MonkeyPatch.context() as patch, threadpoolctl.threadpool_limits():
        patch.setenv("OMP_NUM_THREADS", "")  # given back at the end, whatever is set below
        limit_threads(1)
        yield
    torch.set_num_threads(before[0])
    numba.set_num_threads(before[1])
