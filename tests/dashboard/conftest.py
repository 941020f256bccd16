"""Jobs and runs of the tests are kept in a directory of their own."""

from __future__ import annotations

import pytest

from spofr_core.experiments import unpacked


@pytest.fixture(scope="session")
def bundled_home(tmp_path_factory):
    """A home that all tests share which start no job: the bundled runs are unpacked into it once."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(autouse=True)
def _home(bundled_home, monkeypatch):
    monkeypatch.setenv("SPOFR_HOME", str(bundled_home))


@pytest.fixture
def own_home(bundled_home, tmp_path, monkeypatch):
    """A home without jobs or runs but for the bundled ones, which nobody changes: they are those of the shared home."""
    unpacked(bundled_home).mkdir(parents=True, exist_ok=True)
    unpacked(tmp_path).symlink_to(unpacked(bundled_home), target_is_directory=True)
    monkeypatch.setenv("SPOFR_HOME", str(tmp_path))
    return tmp_path
