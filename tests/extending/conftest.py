"""Plug-ins in this process (for pages) and in one of their own (for the shell), as their authors would use them."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import streamlit as st

from spofr_core.registry import Registry

ROOT = Path(__file__).resolve().parents[2]
Shell = Callable[..., str]


@pytest.fixture
def plugged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[[str, Registry, str], None]]:
    """Import a recipe of this folder; what it registers is taken out again after the test."""
    monkeypatch.setenv("SPOFR_HOME", str(tmp_path / "home"))
    taken: list[tuple[str, Registry, str]] = []
    st.cache_resource.clear()  # pages of other tests have measured without it

    def plug(recipe: str, registry: Registry, name: str) -> None:
        module = f"tests.extending.{recipe}"
        importlib.import_module(module)
        taken.append((module, registry, name))
        # For the processes that a page starts.
        monkeypatch.setenv("SPOFR_PLUGINS", ",".join(module for module, *_ in taken))

    yield plug
    for module, registry, name in taken:
        registry.unregister(name)
        sys.modules.pop(module, None)
    st.cache_resource.clear()


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """`spofr` in a process of its own, in an empty folder, with recipes of this folder named in SPOFR_PLUGINS."""
    folder = tmp_path / "shell"
    folder.mkdir()

    def run(recipes: str, *arguments: str, code: int = 0) -> str:
        plugins = ",".join(f"tests.extending.{recipe}" for recipe in recipes.split())
        environment = {**os.environ, "SPOFR_PLUGINS": plugins, "PYTHONPATH": str(ROOT)}
        environment |= {"SPOFR_HOME": str(tmp_path / "home"), "COLUMNS": "200", "NO_COLOR": "1"}
        command = [sys.executable, "-c", "from spofr_core.cli import main; main()", *arguments]
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, encoding="utf-8", check=False
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    return run
