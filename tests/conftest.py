"""What every test relies on."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

# A thread of the solver or of torch that has nothing to do keeps its core busy for a while in case work comes: the two
# workers of `make test` would take the cores from each other. Set before anything reads it; the processes that tests
# start have it from here.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import pytest
from hypothesis import settings

# A loaded machine takes its time; what is tested is the answer.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


MAIN = sys.modules["__main__"]


@pytest.fixture(autouse=True)
def main_module() -> Iterator[None]:
    """Give the main module back: Streamlit puts its script there, and spawned processes would run that script again.

    Before a test too: what a whole file shares may have opened a page before its first one.
    """
    sys.modules["__main__"] = MAIN
    yield
    sys.modules["__main__"] = MAIN
