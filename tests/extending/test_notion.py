"""A notion registered from outside: in the shell, the sidebar, the Train page, the summary, the report, and proved."""

from __future__ import annotations

import json

import numpy as np
import pytest

from spofr_core import Fairness, audit, fair_policies, load_sample, verify
from spofr_core.data import SAMPLES
from spofr_core.fairness import NOTIONS
from tests.dashboard.apps import plain, shown

DEFINITION = "differs from the list's by at most this share of it"


def test_the_shell_audits_repairs_and_verifies_it(shell, tmp_path):
    asked = ["--sample", "bakeries", "--notion", "relative", "--delta", "0.1"]
    summary = json.loads(shell("sample notion", "audit", *asked, "--json", "-", "--html", "report.html"))
    assert (summary["notion"], summary["queries"]["share"] < 1) == ("relative", True)
    page = (tmp_path / "shell" / "report.html").read_text("utf-8")
    assert "at most this share of it" in page
    assert "says nothing about who deserves it" in page
    repaired = json.loads(shell("sample notion", "rerank", *asked, "--out", "policies.parquet", "--json", "-"))
    assert repaired["after"]["share"] == 1.0


def test_its_policies_hold_delta_and_are_proved(plugged):
    plugged("sample", SAMPLES, "bakeries")
    plugged("notion", NOTIONS, "relative")
    data, asked = load_sample("bakeries").test, Fairness(delta=0.1, notion="relative")
    policies = fair_policies(data, asked)
    assert audit(data, asked, policies=policies).summary["queries"]["share"] == 1.0
    for query, policy in enumerate(policies):
        items = slice(*data.offsets[query : query + 2])
        groups = np.array(data.group_names)[data.groups[items]]
        assert verify(policy, data.score[items], groups, asked).ok
        mean = policy.exposure.mean()
        for group in set(groups):
            assert abs(policy.exposure[groups == group].mean() / mean - 1) <= 0.1 + 1e-9


@pytest.mark.parametrize("view", ["audit", "policy", "report"])
def test_the_sidebar_offers_it(plugged, view):
    plugged("sample", SAMPLES, "bakeries")
    plugged("notion", NOTIONS, "relative")
    app = shown(view, data="bakeries", notion="relative", delta=0.1)
    assert app.error == []
    assert "Relative" in app.sidebar.get("button_group")[0].options
    assert any(DEFINITION in plain(caption.value) for caption in app.sidebar.caption)


def test_the_train_page_offers_it(plugged):
    plugged("notion", NOTIONS, "relative")
    assert "Relative" in shown("train", data="hiring").multiselect(key="train-notions").options
