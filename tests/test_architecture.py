"""The house rules that a reader relies on: who may import whom, and what no file may contain."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOUNDATIONS = (
    "errors",
    "config",
    "files",
    "lazy",
    "browser",
    "notebook",
    "parent",
    "read_only",
    "registry",
    "sizes",
    "splitmix",
    "unfinished",
)
ROOMS = (
    "data",
    "fairness",
    "policy",
    "measures",
    "learning",
    "reporting",
    "evaluation",
    "experiments",
    "serving",
    "cli",
)
DASHBOARD = ("first_visits", "escaping", "navigation", "charts", "jobs", "session", "widgets", "views", "app", "server")
"""Each may import from those before it, and from itself."""
MODULE = re.compile(r"(spofr_core|dashboard)(\.[a-z_]\w*)+")
MOST_MODULES = 14
MOST_LINES = 500


def imports(source: str) -> Iterator[str]:
    """Full dotted names that a module imports, wherever in the module it does, names in strings included."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                yield "relative import"
            yield node.module or ""
        elif isinstance(node, ast.Constant) and MODULE.fullmatch(str(node.value)):  # in a registry, for one
            yield str(node.value)


def complaints(path: str, source: str) -> list[str]:
    """What a file of spofr_core or dashboard imports that it may not."""
    top, *inner = Path(path).with_suffix("").parts
    room = inner[0]
    if room != "__init__" and room not in (*FOUNDATIONS, *ROOMS, *DASHBOARD):
        return [f"{path}: no room is called {room!r}; DESIGN.md and this test say which there are"]
    check = _complaint_of_dashboard if top == "dashboard" else _complaint_of_core
    found = (check(room, name) for name in imports(source))
    return [f"{path}: {complaint}" for complaint in found if complaint]


def _complaint_of_core(room: str, name: str) -> str | None:
    package, _, rest = name.partition(".")
    target = rest.partition(".")[0]
    if name == "relative import":
        return f"{name}; write the full name"
    if package in ("streamlit", "dashboard", "tests"):
        return f"the core imports {name}"
    if package != "spofr_core" or room == "__init__":  # the face of the package hands out what the rooms publish
        return None
    if not target:
        return "imports the whole package; import from the room"
    if target in FOUNDATIONS:
        return None
    if target not in ROOMS:
        return f"{name} is in no room"
    if room in FOUNDATIONS:
        return f"a foundation imports {name}"
    if ROOMS.index(target) > ROOMS.index(room):
        return f"{name} lies below {room}"
    return None


def _complaint_of_dashboard(room: str, name: str) -> str | None:
    package, *rest = name.split(".")
    if name == "relative import":
        return f"{name}; write the full name"
    if package == "tests":
        return f"the dashboard imports {name}"
    if package == "spofr_core" and len(rest) > 1:
        return f"{name} is inside a room; import what spofr_core.{rest[0]} publishes"
    if package == "dashboard" and rest and DASHBOARD.index(rest[0]) > DASHBOARD.index(room):
        return f"{name} lies below {room}"
    return None


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
        ("spofr_core/policy/x.py", "import_module('spofr_core.learning.methods.spofr')"),
        ("spofr_core/reporting/x.py", "from spofr_core.evaluation import audit"),
        ("spofr_core/evaluation/x.py", "from spofr_core import audit"),
        ("spofr_core/fairness/x.py", "from . import exposure"),
        ("spofr_core/errors.py", "from spofr_core.data import RankingDataset"),
        ("spofr_core/cli/doctor.py", "import dashboard"),
        ("spofr_core/cli/doctor.py", "from spofr_core.attic import old"),
        ("spofr_core/attic/x.py", ""),
        ("spofr_core/x.py", ""),
        ("dashboard/attic/x.py", ""),
        ("dashboard/views/x.py", "from spofr_core.policy.solvers.exact import solve"),
        ("dashboard/session/x.py", "from dashboard.views.audit_page import page"),
    ],
)
def test_the_check_can_fail(path, source):
    assert complaints(path, source)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("spofr_core/policy/x.py", "from spofr_core.fairness.fairness import Fairness"),
        ("spofr_core/policy/x.py", "from spofr_core.errors import DataError"),
        ("spofr_core/cli/x.py", "from spofr_core.reporting import verdict"),
        ("spofr_core/__init__.py", "from spofr_core.reporting import verdict"),
        ("dashboard/views/x.py", "import streamlit\nfrom spofr_core.policy import fair_policy\nimport spofr_core"),
    ],
)
def test_what_is_allowed_passes(path, source):
    assert complaints(path, source) == []


def test_every_room_that_is_named_exists():
    here = {path.stem if path.is_file() else path.name for path in (ROOT / "spofr_core").iterdir()}
    assert {*ROOMS, *FOUNDATIONS} <= here
    assert set(DASHBOARD) <= {path.stem for path in (ROOT / "dashboard").iterdir()}


def test_no_module_name_occurs_twice():
    names = Counter(path.stem for path in sources() if path.stem != "__init__")
    assert [name for name, times in names.items() if times > 1] == []


def test_no_folder_has_more_modules_than_one_takes_in_at_a_glance():
    folders = Counter(path.parent.relative_to(ROOT).as_posix() for path in sources() if path.stem != "__init__")
    assert {folder: count for folder, count in folders.items() if count > MOST_MODULES} == {}


def test_files_are_of_one_idea():
    lines = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8").count("\n") for path in sources()}
    assert {path for path, count in lines.items() if count > MOST_LINES} == set()


def test_every_package_says_what_lives_in_it():
    for top in ("spofr_core", "dashboard"):
        for path in (ROOT / top).rglob("__init__.py"):
            assert ast.get_docstring(ast.parse(path.read_text("utf-8"))), path


def test_nothing_waits_for_a_time_where_it_could_wait_for_a_condition():
    """Others sleep to be slow themselves, so that there is somebody to kill, or between two tries to connect."""
    slow = {"test_gone.py", "test_sweep.py", "works.py", "running.py"}
    asleep = {
        path.name for path in (ROOT / "tests").rglob("*.py") if re.search(r"\bsleep\(\d", path.read_text("utf-8"))
    }
    assert asleep - slow == {"waiting.py"}
