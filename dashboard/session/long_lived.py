"""What stays in memory for good, so that nobody waits while it is looked through."""

from __future__ import annotations

import gc
import sys
import time

import streamlit as st

PERIOD = 3600.0
"""Seconds after which all of the memory is looked through again."""


def spare_long_lived() -> None:
    """Leave what lives long out of garbage collection; to be called at the end of a run.

    Streamlit collects garbage after every run of a page, before the browser hears of the end of that run. With torch
    and numba imported, that looks through a million objects which live as long as the server does: the reader would
    wait a third of a second for it.
    """
    _spared(len(sys.modules), int(time.monotonic() // PERIOD))


@st.cache_resource(max_entries=1, show_spinner=False)
def _spared(modules: int, period: int) -> None:
    """Once for each number of modules, for pages import what they need when somebody first goes there; and now and
    then, for what has become garbage since, such as the data of visitors who have left."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()
