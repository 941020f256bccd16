"""The picture of a schedule beside draws carries the numbers of its table, and they are those of the policy."""

from __future__ import annotations

import numpy as np
import pytest

from dashboard.charts.served_chart import served_violations
from spofr_core.fairness import Fairness
from spofr_core.policy import fair_policy, schedule_bound, shown_violations
from spofr_core.reporting import served_frame
from tests.dashboard.apps import charts, shown

SCORES, GROUPS = [0.9, 0.8, 0.7, 0.2, 0.1], list("aaabb")


@pytest.mark.parametrize("unit", ["absolute", "share"])
def test_the_frame_is_the_schedule_the_bound_and_the_draws_of_the_policy(unit):
    fairness = Fairness(delta=0.03, unit=unit)
    policy = fair_policy(SCORES, GROUPS, fairness)
    frame = served_frame(policy, fairness, 0.03)
    at = frame["impressions"].to_numpy()
    assert (at[0], at[-1]) == (1, 1000)
    assert np.array_equal(frame["schedule"], shown_violations(policy, fairness, policy.schedule(1000))[at - 1])
    assert np.all(frame["schedule"] <= frame["bound"] + 1e-12)
    assert frame["bound"].to_numpy() == pytest.approx(0.03 + schedule_bound(policy, fairness) / at)
    assert np.all((frame["draws from"] <= frame["draws"]) & (frame["draws"] <= frame["to"]))
    likely = np.array([policy.probabilities.argmax()])  # of two rankings, the bound of one half lets no other go first
    assert frame["schedule"][0] == pytest.approx(shown_violations(policy, fairness, likely)[0])
    late = frame.iloc[-1]
    assert late["to"] - late["draws from"] > 5 * abs(late["schedule"] - 0.03)


@pytest.mark.parametrize("unit", ["absolute", "share"])
def test_the_chart_draws_the_columns_of_its_table(unit):
    fairness = Fairness(delta=0.03, unit=unit)
    frame = served_frame(fair_policy(SCORES, GROUPS, fairness), fairness, 0.03)
    traces = {trace.name: trace for trace in served_violations(frame, 0.03, unit).checked().data}
    columns = {
        "schedule": "schedule",
        "its bound": "bound",
        "dice, 9 of 10": "draws from",
        None: "to",
    }
    for name, column in columns.items():
        assert np.array_equal(traces[name].y, frame[column])
    assert list(traces["delta"].y) == [0.03, 0.03]


def test_the_policy_page_shows_it_where_there_is_a_lottery():
    app = shown("policy", delta=0.02)
    names = [{trace.get("name") for trace in chart["data"]} for chart in charts(app)]
    assert sum({"schedule", "dice, 9 of 10", "its bound", "delta"} <= found for found in names) == 1
    assert any("shows each ranking as often" in caption.value for caption in app.caption)
    free = shown("policy", delta=50.0)
    assert not any("schedule" in {trace.get("name") for trace in chart["data"]} for chart in charts(free))
