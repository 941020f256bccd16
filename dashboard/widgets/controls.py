"""What stands beside every page: delta and what it means, the words, the jobs of the visitor."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dashboard.session.sources import loaded
from dashboard.session.visitor import remember_visitor
from dashboard.widgets.accounts.login_door import way_out
from dashboard.widgets.elements import explain_errors
from dashboard.widgets.job_tray import tray
from dashboard.widgets.sidebar import settle, sidebar
from dashboard.widgets.words_used import words_used

_WAITING = "controls-waiting"


def with_controls(page: Callable[[], None], *, leads: bool) -> None:
    """Draw a page and the sidebar beside it; a page that `leads` says itself when the sidebar is drawn."""
    st.session_state[_WAITING] = True
    if not leads:
        controls()
    page()
    controls()


def controls() -> None:
    """The sidebar, once in a run: a page that has something to show before it calls this when that has been sent."""
    if not st.session_state.pop(_WAITING, False):
        return
    # Streamlit knows a widget again by its key and by the page that draws it. The sidebar belongs to all pages: drawn
    # in the name of one of them, it would be another slider than the one that the reader holds.
    run = get_script_run_ctx()
    with run.run_with_active_hash(run.pages_manager.main_script_hash) if run else nullcontext():
        _controls()


@explain_errors
def _controls() -> None:
    """The choices are brought in line with the data first."""
    source = loaded()
    settle(source)
    sidebar(source)
    with st.sidebar:
        words_used()
        tray()
        remember_visitor()
        way_out()
