"""A page registered from outside: in the menu, and drawn by the application with the sidebar beside it."""

from __future__ import annotations

import streamlit as st
from streamlit.testing.v1 import AppTest

from dashboard.navigation import PAGES
from spofr_core.data import SAMPLES, load_sample
from tests.dashboard.apps import PATIENCE, rerun, shown
from tests.extending.conftest import ROOT


def test_the_application_has_it_in_the_menu_and_draws_it(plugged, monkeypatch):
    plugged("page", PAGES, "longest")
    monkeypatch.setattr("dashboard.navigation.FIRST", "longest")
    menu = []
    real = st.navigation

    def navigation(pages, **how):
        menu.extend(page.title for page in pages if page.visibility == "visible")
        return real(pages, **how)

    monkeypatch.setattr(st, "navigation", navigation)
    app = rerun(AppTest.from_file(str(ROOT / "dashboard" / "app.py"), default_timeout=PATIENCE))
    assert menu[-2:] == ["Guarantees", "Longest list"]
    assert app.title[0].value == "Longest list"
    assert app.sidebar.get("button_group")  # the notions: what stands beside every page stands beside this one


def test_it_reads_what_the_visitor_has_chosen(plugged):
    plugged("page", PAGES, "longest")
    plugged("sample", SAMPLES, "bakeries")
    assert shown("longest", data="bakeries").metric[0].value == str(load_sample("bakeries").test.list_lengths.max())
