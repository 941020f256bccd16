"""Jobs and runs of the tests are kept in a directory of their own."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def bundled_home(tmp_path_factory):
    """A home that all tests share which start no job: the bundled runs are unpacked into it once."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(autouse=True)
def _home(bundled_home, monkeypatch):
    monkeypatch.setenv("SPOFR_HOME", str(bundled_home))


@pytest.fixture
def own_home(tmp_path, monkeypatch):
    """A home without jobs or runs."""
    monkeypatch.setenv("SPOFR_HOME", str(tmp_path))
    return tmp_path
