"""The house rules that a reader relies on: who may import whom, and what no file may contain."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("data", "fairness", "policy", "measures", "learning", "evaluation", "reporting", "experiments", "cli")
FOUNDATIONS = {"errors", "config", "files", "lazy", "browser", "registry"}
UPWARD = {("spofr_core/evaluation/audit.py", "reporting")}
"""AuditResult.to_html hands itself to reporting when it is called."""


def imports(source: str) -> Iterator[str]:
    """Full dotted names that a module imports, wherever in the module it does."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                yield "relative import"
            yield node.module or ""


def complaints(path: str, source: str) -> list[str]:
    """What a file of spofr_core or dashboard imports that it may not."""
    parts = Path(path).with_suffix("").parts
    room = parts[1] if len(parts) > 1 else ""
    found = []
    for name in imports(source):
        package, *rest = name.split(".")
        target = rest[0] if rest else ""
        if name == "relative import":
            found.append(f"{path}: {name}; write the full name")
        elif parts[0] == "dashboard":
            if package == "spofr_core" and len(rest) > 1:
                found.append(f"{path}: {name} is inside a room; import what spofr_core.{target} publishes")
        elif package in ("streamlit", "dashboard", "tests"):
            found.append(f"{path}: the core imports {name}")
        elif package == "spofr_core" and room in FOUNDATIONS and target not in FOUNDATIONS:
            found.append(f"{path}: a foundation imports {name}")
        elif package == "spofr_core" and room in ROOMS:
            if not target:
                found.append(f"{path}: imports the whole package; import from the room")
            elif target in ROOMS and ROOMS.index(target) > ROOMS.index(room) and (path, target) not in UPWARD:
                found.append(f"{path}: {name} lies below {room}")
    return found


def sources() -> list[Path]:
    return [p for top in ("spofr_core", "dashboard") for p in sorted((ROOT / top).rglob("*.py"))]


def test_every_import_goes_one_way():
    found = [c for path in sources() for c in complaints(path.relative_to(ROOT).as_posix(), path.read_text("utf-8"))]
    assert found == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("spofr_core/data/x.py", "import streamlit as st"),
        ("spofr_core/data/x.py", "from spofr_core.policy import fair_policy"),
        ("spofr_core/policy/x.py", "def f():\n    from spofr_core.learning.methods.spofr import SPOFR"),
        ("spofr_core/evaluation/x.py", "from spofr_core import audit"),
        ("spofr_core/fairness/x.py", "from . import exposure"),
        ("spofr_core/errors.py", "from spofr_core.data import RankingDataset"),
        ("dashboard/views/x.py", "from spofr_core.policy.solvers.exact import solve"),
    ],
)
def test_the_check_can_fail(path, source):
    assert complaints(path, source)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("spofr_core/policy/x.py", "from spofr_core.fairness.fairness import Fairness"),
        ("spofr_core/policy/x.py", "from spofr_core.errors import DataError"),
        ("spofr_core/cli.py", "from spofr_core.reporting import verdict"),
        ("dashboard/views/x.py", "import streamlit\nfrom spofr_core.policy import fair_policy\nimport spofr_core"),
    ],
)
def test_what_is_allowed_passes(path, source):
    assert complaints(path, source) == []


def test_every_package_says_what_lives_in_it():
    for top in ("spofr_core", "dashboard"):
        for path in (ROOT / top).rglob("__init__.py"):
            assert ast.get_docstring(ast.parse(path.read_text("utf-8"))), path
