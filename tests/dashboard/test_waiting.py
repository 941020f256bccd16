"""What a reader waits for comes first."""

from __future__ import annotations

import gc
import sys
import time
import types
import weakref
from pathlib import Path

import pytest
from streamlit.delta_generator import DeltaGenerator
from streamlit.testing.v1 import AppTest

import dashboard
from dashboard.session.long_lived import PERIOD, _spared, spare_long_lived
from dashboard.views import audit_page, data_page, policy_page
from dashboard.widgets import elements
from tests.dashboard.apps import PATIENCE, rerun, shown


@pytest.fixture
def _fresh():
    _spared.clear()
    gc.unfreeze()
    yield
    gc.unfreeze()


class Ring:
    """Refers to itself, so that only garbage collection removes it."""

    def __init__(self) -> None:
        self.itself = self


@pytest.mark.usefixtures("_fresh")
def test_what_was_imported_is_left_out_of_garbage_collection_once_for_each_import(monkeypatch):
    spare_long_lived()
    first = gc.get_freeze_count()
    assert first > 10_000  # pandas, plotly and this project are far more than that
    kept = [[] for _ in range(5_000)]
    spare_long_lived()
    assert gc.get_freeze_count() < first + len(kept) / 2
    monkeypatch.setitem(sys.modules, "imported_later", types.ModuleType("imported_later"))
    spare_long_lived()
    assert gc.get_freeze_count() > first + len(kept) / 2  # a few other things may have become garbage since


@pytest.mark.usefixtures("_fresh")
def test_data_that_nobody_needs_any_more_leaves_the_memory_within_the_hour(monkeypatch):
    now = time.monotonic()
    ring = Ring()
    gone = weakref.ref(ring)
    spare_long_lived()
    del ring
    spare_long_lived()
    assert gone() is not None
    monkeypatch.setattr("time.monotonic", lambda: now + PERIOD)
    spare_long_lived()
    assert gone() is None


def drawn_order(monkeypatch, page) -> list[tuple[str, bool]]:
    """The charts of a page in the order in which they are sent, and whether each goes ahead; filled by its runs."""
    sent: list[tuple[str, bool]] = []

    def watched(figure, title, described, **more):
        sent.append((title, more.get("ahead", False)))
        elements.chart(figure, title, described, **more)

    monkeypatch.setattr(page, "chart", watched)
    return sent


def test_the_lottery_of_a_policy_is_sent_before_what_readers_see(monkeypatch):
    sent = drawn_order(monkeypatch, policy_page)
    shown("policy")
    titles = [title for title, _ in sent]
    assert titles[0].startswith("The lottery at delta")
    assert "What readers see" in titles[1:]


def test_a_move_of_delta_sends_its_curve_ahead_and_the_chart_that_it_does_not_change_later(monkeypatch):
    sent = drawn_order(monkeypatch, audit_page)
    app = shown("audit")
    curve = "How many queries hold delta, whatever delta is"
    assert [title for title, _ in sent][:2] == ["Exposure by group", curve]
    assert not any(ahead for _, ahead in sent)
    sent.clear()
    slider = app.slider(key="sidebar-delta")
    slider.set_value(round(slider.value + slider.step, 12))
    rerun(app)
    assert sent[0] == (curve, True)
    assert "Exposure by group" in [title for title, _ in sent[1:]]


def test_a_move_of_delta_is_answered_before_the_sidebar_which_stays_the_same(monkeypatch):
    sent: list[str] = []
    send = DeltaGenerator._enqueue
    monkeypatch.setattr(
        DeltaGenerator,
        "_enqueue",
        lambda self, kind, *more, **named: (sent.append(kind), send(self, kind, *more, **named))[1],
    )
    # The whole app: only there is a page drawn in its own name, and the sidebar in that of all pages.
    app = rerun(AppTest.from_file(Path(dashboard.__file__).parent / "app.py", default_timeout=PATIENCE))
    assert sent.index("slider") < sent.index("plotly_chart")
    before = {each.key: each.id for each in [*app.sidebar.slider, *app.sidebar.number_input]}
    sent.clear()
    slider = app.slider(key="sidebar-delta")
    slider.set_value(round(slider.value + slider.step, 12))
    rerun(app)
    assert sent.index("heading") < sent.index("plotly_chart") < sent.index("slider")
    assert before == {each.key: each.id for each in [*app.sidebar.slider, *app.sidebar.number_input]}


def test_the_first_chart_of_the_data_is_sent_before_its_cards(monkeypatch):
    sent = drawn_order(monkeypatch, data_page)
    before: list[int] = []

    def watched(shown, places):
        before.append(len(sent))
        elements.cards(shown, places)

    monkeypatch.setattr(data_page, "cards", watched)
    app = shown("data")
    assert before == [1]
    assert [metric.label for metric in app.metric] == ["Queries", "Items", "Groups", "Relevance"]
