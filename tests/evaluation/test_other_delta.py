"""An audit moved to another delta is the audit at that delta."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from spofr_core.data import load_hiring
from spofr_core.evaluation import audit, audit_at_delta
from spofr_core.fairness import Fairness, group_merits
from spofr_core.policy import fair_policies


@pytest.mark.parametrize("notion", ["exposure", "merit", "gap"])
@pytest.mark.parametrize("delta", [0.0, 0.01, 0.2])
def test_it_is_the_audit_at_that_delta(notion, delta):
    data = load_hiring()
    merits = group_merits(data) if notion == "merit" else None
    asked = Fairness(delta=0.05, notion=notion, merits=merits)
    moved, direct = audit_at_delta(audit(data, asked), delta), audit(data, asked.with_delta(delta))
    assert moved.summary == direct.summary
    assert moved.summary["queries"]["fair"] != audit(data, asked).summary["queries"]["fair"]
    for field in fields(direct.table):
        np.testing.assert_array_equal(getattr(moved.table, field.name), getattr(direct.table, field.name))
    assert moved.queries.equals(direct.queries)
    assert moved.fairness == direct.fairness


def test_policies_stay_as_they_are():
    data = load_hiring()
    asked = Fairness(delta=0.05)
    policies = fair_policies(data, asked)
    moved = audit_at_delta(audit(data, asked, policies=policies), 0.01)
    assert moved.summary == audit(data, asked.with_delta(0.01), policies=policies).summary
    assert not moved.ok
