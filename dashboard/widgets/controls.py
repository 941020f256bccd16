"""What stands beside every page: delta and what it means, the words, the jobs of the visitor."""

from __future__ import annotations

import streamlit as st

from dashboard.session.sources import loaded
from dashboard.session.visitor import remember_visitor
from dashboard.widgets.elements import explain_errors
from dashboard.widgets.job_tray import tray
from dashboard.widgets.sidebar import settle, sidebar
from dashboard.widgets.words_used import words_used


@explain_errors
def controls() -> None:
    """The sidebar, after the choices have been brought in line with the data."""
    source = loaded()
    settle(source)
    sidebar(source)
    with st.sidebar:
        words_used()
        tray()
        remember_visitor()
