"""The benchmark of the dashboard: that it measures what it says; the seconds themselves are not tested."""

from __future__ import annotations

import pytest

from spofr_core.experiments.bench import bench_dashboard as dashboard
from spofr_core.experiments.bench.bench_dashboard import LIMITS, bench_dashboard


def test_the_summary_holds_what_was_measured_against_its_limits():
    seconds = {
        "bare_cold_chart": 1.0,
        "cold_verdict": 2.9,
        "bare_new_chart": 1.0,
        "new_verdict": 3.1,
        "new_chart": 3.2,
        "bare_delta_chart": 0.5,
        "delta_chart": 0.75,
        "bare_switch": 0.2,
        "switch_audit": 0.3,
        "switch_policy": 0.5,
        "bare_sample": 0.4,
        "sample_hiring": 0.6,
        "sample_german credit": 0.7,
        "bare_upload_chart": 2.0,
        "upload_verdict": 5.0,
    }
    bytes_ = {"first_opening": {"Audit": 100}, "with_lists": {"Audit": 6_000_000}}
    found = dashboard._summary(seconds, bytes_, rounds=1)
    assert found["ratios"]["page_switch"] == pytest.approx(2.5)
    assert found["ratios"]["delta_move"] == pytest.approx(1.5)
    assert found["ratios"]["sample_change"] == pytest.approx(1.75)
    assert found["sample_changes"]["sample_hiring"] == pytest.approx(1.5)
    assert found["ratios"]["upload"] == pytest.approx(2.5)
    assert found["ratios"]["page_bytes"] == pytest.approx(1.2)
    assert found["held"] == {
        "cold_start": True,
        "first_verdict": False,
        "delta_move": False,
        "page_switch": False,
        "sample_change": True,
        "page_bytes": False,
    }


def test_rounds_take_turns_and_the_warm_up_does_not_count():
    order: list[str] = []
    times = {"a": iter([100.0, 1.0, 3.0, 2.0]), "b": iter([100.0, 5.0, 5.0, 9.0])}

    def case(name):
        def run():
            order.append(name)
            return {"": next(times[name])}

        return run

    assert dashboard._medians({"a": case("a"), "b": case("b")}, rounds=3) == {"a": 2.0, "b": 5.0}
    assert order == ["a", "b"] * 4


def test_bare_steps_come_before_every_step_and_take_turns():
    order: list[str] = []

    def step(name, seconds):
        def run():
            order.append(name)
            return seconds

        return run

    steps = {"One": step("one", 3.0), "Two": step("two", 4.0)}
    found = dashboard._in_turn("switch", steps, [step("a", 1.0), step("b", 2.0)], rounds=1)
    assert found == {"bare_switch": 1.5, "switch_one": 3.0, "switch_two": 4.0}
    assert order == ["a", "one", "b", "two"] * 2


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.timeout(900)
def test_every_ratio_is_measured_in_a_real_browser():
    found = bench_dashboard(rounds=1, lists=60, rows=2_000)
    assert set(found["held"]) == set(LIMITS)
    assert all(value > 0 for value in found["seconds"].values())
    assert set(found["bytes"]["first_opening"]) == set(found["bytes"]["with_lists"])
    assert {name.removeprefix("switch_") for name in found["page_switches"]} == {
        name.lower() for name in found["bytes"]["first_opening"]
    }
    assert len(found["sample_changes"]) > 1
    # Streamlit itself is megabytes of files; what our pages send is counted apart and is never nothing.
    assert found["bytes"]["streamlit_files"] > 1_000_000
    assert all(sent > 1_000 for sent in found["bytes"]["first_opening"].values())
