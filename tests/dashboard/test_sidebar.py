"""delta beside every page: in its unit, typed or slid."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.session.remembered import fairness_of, measured
from dashboard.session.sources import load_bundled
from dashboard.widgets.sidebar import DeltaScale
from spofr_core.reporting import TERMS
from tests.dashboard.apps import plain, rerun, shown


def chosen(app):
    return app.session_state["choices"]


def held(app):
    """Share of lists within the chosen delta."""
    data = load_bundled(chosen(app).data, next(iter(["gender"]))).data
    return float(measured(data, fairness_of(chosen(app), data)).share_at(np.array([chosen(app).delta]))[0])


def test_the_dashboard_opens_with_ten_per_cent():
    app = shown("audit")
    assert (chosen(app).delta, chosen(app).unit) == (0.1, "share")
    assert app.sidebar.number_input(key="sidebar-delta-typed").value == 10.0
    assert app.sidebar.slider(key="sidebar-delta").value == 10.0
    assert app.query_params["unit"] == "share"


def test_delta_is_typed_in_per_cent():
    app = shown("audit")
    app.sidebar.number_input(key="sidebar-delta-typed").set_value(7.25)
    rerun(app)
    assert chosen(app).delta == 0.0725
    assert app.sidebar.slider(key="sidebar-delta").value == 7.25
    app.sidebar.slider(key="sidebar-delta").set_value(3.0)
    rerun(app)
    assert chosen(app).delta == 0.03
    assert app.sidebar.number_input(key="sidebar-delta-typed").value == 3.0


def test_the_other_unit_is_held_by_as_many_lists_and_so_is_the_way_back():
    app = shown("audit", delta=0.1, unit="share")
    before = held(app)
    assert 0 < before < 1
    for unit in ("absolute", "share"):
        app.sidebar.radio(key="sidebar-unit").set_value(unit)
        rerun(app)
        assert chosen(app).unit == unit
        assert held(app) == pytest.approx(before)
    assert chosen(app).delta == pytest.approx(0.1, rel=0.05)


def test_other_data_is_asked_in_its_own_unit():
    app = shown("data", delta=0.04, unit="share")
    app.radio(key="data-sample").set_value("german-credit")
    rerun(app)
    assert (chosen(app).delta, chosen(app).unit) == (0.05, "absolute")
    app.sidebar.number_input(key="sidebar-delta-typed").set_value(0.02)
    rerun(app)
    app.radio(key="data-sample").set_value("mslr")
    rerun(app)
    assert (chosen(app).delta, chosen(app).unit) == (0.02, "absolute")
    app.radio(key="data-sample").set_value("hiring")
    rerun(app)
    assert (chosen(app).delta, chosen(app).unit) == (0.1, "share")


def test_a_delta_beyond_the_slider_stays_what_it_is():
    app = shown("audit", delta=99.0)
    assert chosen(app).delta == 99.0
    assert app.sidebar.number_input(key="sidebar-delta-typed").value == 99.0
    slider = app.sidebar.slider(key="sidebar-delta")
    assert slider.value == slider.max < 1


@given(largest=st.floats(1e-9, 5.0), unit=st.sampled_from(["share", "absolute"]), delta=st.floats(0.0, 5.0))
def test_a_scale_reaches_the_largest_delta_and_reads_back(largest, unit, delta):
    scale = DeltaScale.reaching(largest, unit)
    assert scale.delta(scale.end) >= largest - 1e-9
    assert 90 <= scale.end / scale.step <= 1001
    assert scale.delta(scale.shown(delta)) == pytest.approx(delta, abs=1e-11)


def test_the_words_are_explained_on_every_page_by_one_button():
    app = shown("report")
    app.sidebar.button(key="words-used").click()
    rerun(app)
    said = " ".join(plain(text.value) for text in app.markdown)
    for term in TERMS:
        assert f"**{term.name}**" in said
    assert "The men get 19 % too much and the women get 28 % too little." in said
