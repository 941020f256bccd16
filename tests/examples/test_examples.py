"""The examples run with the real libraries, and print what their last lines say."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.test_document_blocks import says

FOLDER = Path(__file__).resolve().parents[2] / "examples"
NEEDS = {
    "audit_a_frame": "pandas",
    "repair_and_verify": "numpy",
    "lightgbm_made_fair": "lightgbm",
    "audit_xgboost_ranker": "xgboost",
    "compare_in_ci": "pandas",
    "serve_and_audit": "uvicorn",
    "repair_any_model": "sklearn",
}
RUN_THEM = """
import contextlib, io, json, runpy, sys
for path in sys.argv[1:]:
    with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.suppress(SystemExit):
        runpy.run_path(path)
    print(json.dumps([path, said.getvalue()]))
"""


@pytest.fixture(scope="module")
def printed(tmp_path_factory) -> dict[str, str]:
    """What each example whose library is installed prints, all in one process of their own, warnings being errors."""
    there = [str(FOLDER / f"{name}.py") for name, library in NEEDS.items() if find_spec(library)]
    command = [sys.executable, "-W", "error", "-c", RUN_THEM, *there]
    done = subprocess.run(
        command, cwd=tmp_path_factory.mktemp("elsewhere"), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return {Path(path).stem: said for path, said in map(json.loads, done.stdout.splitlines())}


def test_every_example_is_run():
    assert {path.stem for path in FOLDER.glob("*.py")} == set(NEEDS)


@pytest.mark.parametrize("name", NEEDS)
def test_an_example_prints_what_it_says(name, printed):
    if name not in printed:
        pytest.skip(f"{NEEDS[name]} is not installed")
    source = (FOLDER / f"{name}.py").read_text("utf-8")
    said = source.split("# Prints:\n")[1].replace("# ", "").split("\n")
    words = [" ".join(lines).strip() for lines in (said, printed[name].split("\n"))]
    assert words[0] == words[1] or (NEEDS[name] in ("lightgbm", "xgboost") and says(*words, trees=True))


@pytest.mark.parametrize("name", NEEDS)
def test_an_example_is_short(name):
    assert (FOLDER / f"{name}.py").read_text("utf-8").count("\n") < 40
