"""What was shown over time: each window adds up by itself, and a drift is noticed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from spofr_core.errors import DataError
from spofr_core.fairness import Fairness
from spofr_core.serving import audit_shown, read_shown
from tests.serving.test_shown_audit import V, rows


def drifting(days: int = 4, queries: int = 12, *, turn: int = 2) -> pd.DataFrame:
    """Two impressions of every query a day: in turns at first, and from one day on always the same group on top."""
    found = []
    for day in range(days):
        for q in range(queries):
            for k in range(2):
                groups = "abab" if k == 0 or day >= turn else "baba"
                time = f"2024-03-{day + 1:02d}T10:{q:02d}:0{k}Z"
                found += [{**row, "time": time} for row in rows(f"q{q}", f"{day}-{k}", groups)]
    return pd.DataFrame(found)


def test_every_window_has_what_its_own_impressions_add_up_to():
    result = audit_shown(read_shown(drifting()), Fairness(delta=0.02))
    found = result.over_time("day")
    assert found.impressions.tolist() == [24] * 4
    of_a = found.courses[0].table
    gap = (V[0] + V[2]) / 2 - V[:4].mean()
    assert of_a["mean"].to_numpy() == pytest.approx([0.0, 0.0, gap, gap])
    assert of_a["n"].tolist() == [12] * 4
    held = found.courses[-1].table
    assert held["mean"].tolist() == [1.0, 1.0, 0.0, 0.0]


def test_a_drift_is_a_change_and_chance_is_none():
    drifted = audit_shown(read_shown(drifting()), Fairness(delta=0.02)).over_time("day").summary
    assert drifted["measures"][0]["change"]["changed"]
    assert drifted["impressions"] == [24] * 4
    level = audit_shown(read_shown(drifting(turn=9)), Fairness(delta=0.02)).over_time("day").summary
    assert not level["measures"][0]["change"]["changed"]


def test_impressions_without_a_time_are_in_no_window_and_short_logs_are_cut_into_parts():
    frame = drifting()
    frame.loc[frame["impression"] == "3-1", "time"] = None
    found = audit_shown(read_shown(frame), Fairness(delta=0.02)).over_time("day")
    assert found.without_time == 12
    assert found.impressions.tolist() == [24, 24, 24, 12]
    short = audit_shown(read_shown(drifting(days=1)), Fairness(delta=0.02)).over_time()
    assert short.windows.kind == "6 equal parts"
    assert short.impressions.sum() == 24


def test_a_log_without_times_says_so():
    result = audit_shown(read_shown(drifting().drop(columns="time")), Fairness(delta=0.02))
    with pytest.raises(DataError, match="No impression of the log has a time"):
        result.over_time()


def test_windows_of_a_schedule_have_twice_the_bound(tmp_path):
    from tests.serving.test_shown_audit import served

    fairness = Fairness(delta=0.02)
    found = served(tmp_path, fairness, 40)
    result = audit_shown(read_shown(tmp_path / "log"), fairness)
    first = np.arange(40) < 10
    cells = result.each.together(np.where(first, 0, 1), 2)
    added = found[-1].bound * 40
    assert cells.bounds[:, 0] == pytest.approx([added / 10, 2 * added / 30])
