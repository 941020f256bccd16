"""Lists to learn from and to judge by, and one numeric thread: weights and scores are compared bit by bit."""

import pytest

from tests.learning.toy import toy_data


@pytest.fixture(scope="module", autouse=True)
def always_one_thread(one_thread):
    """A file of models is fitted in one process, on one thread."""


@pytest.fixture(scope="module")
def train():
    return toy_data(40, n_groups=3)


@pytest.fixture(scope="module")
def validation():
    return toy_data(20, n_groups=3, seed=1)
