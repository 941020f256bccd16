"""A sample registered from outside: in the shell, on the Data page, in the sidebar, on the Train page, in a report."""

from __future__ import annotations

import json

from spofr_core.data import SAMPLES, load_sample
from tests.dashboard.apps import charts, shown


def test_the_shell_knows_it(shell):
    summary = json.loads(shell("sample", "audit", "--sample", "bakeries", "--delta", "0.02", "--json", "-"))
    assert summary["queries"]["total"] == 18
    assert set(summary["groups"]) == {"chain", "family"}


def test_a_model_is_trained_on_it(shell):
    short = ["--set", "max_steps=20", "--set", "validate_every=10"]
    said = shell("sample", "train", "--sample", "bakeries", "--delta", "0.05", "--out", "model", *short)
    assert "within the tolerance of 0.05" in said


def test_the_pages_show_it(plugged):
    plugged("sample", SAMPLES, "bakeries")
    assert len(load_sample("bakeries").test) == 18
    data = shown("data", data="bakeries")
    assert "Bakeries (a toy)" in data.radio(key="data-sample").options
    assert any("Bakeries" in caption.value for caption in data.sidebar.caption)
    audit = shown("audit", data="bakeries")
    assert audit.error == []
    assert any("chain" in json.dumps(chart) for chart in charts(audit))
    train = shown("train", data="bakeries")
    assert any("Bakeries" in head.value for head in train.header)
    report = shown("report", data="bakeries")
    assert any('load_sample("bakeries"' in code.value for code in report.code)
