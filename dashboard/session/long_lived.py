"""What stays in memory for good, so that nobody waits while it is looked through."""

from __future__ import annotations

import gc
import sys

import streamlit as st


def spare_modules() -> None:
    """Take all that was imported so far out of what garbage collection looks through.

    Streamlit collects garbage after every run of a page, before the end of that run is told to the browser. With torch
    and numba imported, that looks through a million objects which live as long as the server does: the reader would
    wait a third of a second for it.
    """
    _spared(len(sys.modules))


@st.cache_resource(show_spinner=False)
def _spared(modules: int) -> None:
    """Once for each number of modules: pages import what they need when somebody first goes there."""
    gc.freeze()
