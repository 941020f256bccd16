"""What stands beside every page: delta and what it means, the jobs of the visitor."""

from __future__ import annotations

import streamlit as st

from dashboard.session.sources import loaded
from dashboard.session.visitor import remember_visitor
from dashboard.widgets.elements import explain_errors
from dashboard.widgets.job_tray import tray
from dashboard.widgets.sidebar import settle, sidebar


@explain_errors
def controls() -> None:
    """The sidebar, after the choices have been brought in line with the data."""
    source = loaded()
    settle(source)
    sidebar(source)
    with st.sidebar:
        tray()
        remember_visitor()
