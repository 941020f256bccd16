"""The examples in docstrings, run as they stand."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
WITH_EXAMPLES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in (ROOT / "spofr_core").rglob("*.py")
    if ">>> " in path.read_text("utf-8")
)
SHOULD_HAVE = {
    "spofr_core.evaluation.audit",
    "spofr_core.policy.decomposition",
    "spofr_core.policy.optimal",
    "spofr_core.learning.methods.spofr",
}
"""Where most readers begin."""


@pytest.mark.parametrize("module", WITH_EXAMPLES)
def test_examples_say_the_truth(module, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # an example may write files
    result = doctest.testmod(importlib.import_module(module), optionflags=doctest.ELLIPSIS)
    assert result.attempted > 0
    assert result.failed == 0


def test_the_most_used_functions_have_examples():
    assert set(WITH_EXAMPLES) >= SHOULD_HAVE


def test_no_example_is_skipped():
    mark = "doctest: " + "+SKIP"
    skipped = [
        path.name
        for top in ("spofr_core", "dashboard")
        for path in (ROOT / top).rglob("*.py")
        if mark in path.read_text("utf-8")
    ]
    assert skipped == []
