"""Lists to learn from and to judge by, and networks on one thread, whose sums have one order."""

import pytest
import torch

from tests.learning.toy import toy_data


@pytest.fixture
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def train():
    return toy_data(40, n_groups=3)


@pytest.fixture(scope="module")
def validation():
    return toy_data(20, n_groups=3, seed=1)
