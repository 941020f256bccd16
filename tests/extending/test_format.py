"""A format registered from outside: known by its content and by its ending, in Python, the shell and the uploader."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from spofr_core.data import FORMATS, read_dataset
from tests.dashboard.apps import rerun, shown

ROWS = [
    {"query": q, "item": f"{q}{i}", "group": "ab"[i % 2], "score": float(10 - i), "relevance": i % 3}
    for q in range(4)
    for i in range(6)
]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "shown.feather"
    pd.DataFrame(ROWS).to_feather(path)
    return path


def test_the_shell_reads_it(shell, file):
    summary = json.loads(shell("format", "audit", str(file), "--delta", "0.02", "--json", "-"))
    assert summary["queries"]["total"] == 4


def test_it_is_known_by_its_content(plugged, file):
    plugged("format", FORMATS, "feather")
    data = read_dataset(file.read_bytes())
    assert (len(data), data.group_names) == (4, ("a", "b"))


def test_the_uploader_takes_it(plugged, file):
    plugged("format", FORMATS, "feather")
    app = shown("data")
    app.file_uploader(key="data-upload-0").upload(file.name, file.read_bytes())
    rerun(app)
    next(button for button in app.button if button.label == "Audit this data").click()
    assert rerun(app).session_state["uploaded"].data.fingerprint == read_dataset(file).fingerprint
