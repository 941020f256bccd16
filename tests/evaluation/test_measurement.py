"""A measurement knows no delta; judging it at one is the audit at that delta."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spofr_core.data import load_hiring
from spofr_core.errors import ConfigError
from spofr_core.evaluation import Measurement, QueryTable, audit, intervals, measure_exposure, repair
from spofr_core.fairness import Fairness, group_merits
from tests.evaluation.lists import random_dataset


def same(one, other) -> None:
    """Equal to the last bit, whatever the field holds."""
    assert one.summary == other.summary
    for field in fields(other.table):
        ours, theirs = getattr(one.table, field.name), getattr(other.table, field.name)
        for a, b in zip(ours.values(), theirs.values(), strict=True) if isinstance(ours, dict) else [(ours, theirs)]:
            np.testing.assert_array_equal(a, b)
    assert one.queries.equals(other.queries)
    assert one.fairness == other.fairness


@pytest.mark.parametrize("notion", ["exposure", "merit", "gap"])
@pytest.mark.parametrize("delta", [0.0, 0.01, 0.2])
def test_it_is_the_audit_at_that_delta(notion, delta):
    data = load_hiring()
    merits = group_merits(data) if notion == "merit" else None
    asked = Fairness(delta=0.05, notion=notion, merits=merits)
    moved, direct = audit(data, asked).measurement.judge(delta), audit(data, asked.with_delta(delta))
    assert moved.summary["queries"]["fair"] != audit(data, asked).summary["queries"]["fair"]
    same(moved, direct)


def test_policies_stay_as_they_are():
    data = load_hiring()
    asked = Fairness(delta=0.05)
    policies = repair(data, asked).policies
    moved = audit(data, asked, policies=policies).measurement.judge(0.01)
    assert moved.summary == audit(data, asked.with_delta(0.01), policies=policies).summary
    assert not moved.ok


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10_000), notion=st.sampled_from(["exposure", "merit"]), per_group=st.booleans())
def test_twenty_judgements_are_twenty_audits(seed, notion, per_group):
    data = random_dataset(seed, n_queries=8)
    merits = {"a": 1.0, "b": 0.5, "c": 2.0} if notion == "merit" else None
    first = Fairness(delta=0.7, notion=notion, merits=merits)
    measurement = measure_exposure(data, first)
    for delta in np.linspace(0.0, 0.3, 20).tolist():
        asked = first.with_delta({"a": delta, "b": 0.1, "c": 2 * delta} if per_group else delta)
        same(measurement.judge(asked), audit(data, asked))


def test_a_measurement_holds_no_delta(monkeypatch):
    data = load_hiring()[:30]
    one, other = (measure_exposure(data, Fairness(delta=delta)) for delta in (0.01, 0.4))
    names = [field.name for kind in (Measurement, QueryTable) for field in fields(kind)]
    assert [name for name in names if "delta" in name] == ["smallest_delta", "largest_delta"]
    assert one.summary == other.summary
    assert not {"delta", "queries", "infeasible"} & set(one.summary)
    assert one.judge(0.1).summary == other.judge(0.1).summary


def test_judging_draws_no_interval_again(monkeypatch):
    measurement = measure_exposure(load_hiring(), Fairness(delta=0.05))
    known = measurement.summary
    monkeypatch.setattr(intervals, "_resampled_sums", None)
    for delta in (0.0, 0.1):
        assert measurement.judge(delta).summary["violation"] is known["violation"]


def test_another_question_needs_another_measurement():
    measurement = measure_exposure(load_hiring()[:5], Fairness(delta=0.05))
    with pytest.raises(ConfigError, match="'notion' is 'gap' but 'exposure' was measured"):
        measurement.judge(Fairness(delta=0.05, notion="gap"))
    with pytest.raises(ConfigError, match="position_bias"):
        measurement.judge(Fairness(delta=0.05, position_bias=[1.0] * 50))
