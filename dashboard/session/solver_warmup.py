"""The solver's kernels, compiled on the first start of an installation: in the background, while the reader reads."""

from __future__ import annotations

from itertools import product
from threading import Thread

import numpy as np
import streamlit as st

from spofr_core.fairness import Fairness, Quota
from spofr_core.policy import fair_policies, keep_present_order

PATIENCE = 2.0
"""Seconds that a page waits: enough to load kernels that were compiled before."""


@st.cache_resource(show_spinner=False)
def solver() -> Thread:
    """The thread that loads or compiles the kernels; one per process."""
    thread = Thread(target=_compile, name="solver-warm-up", daemon=True)
    thread.start()
    return thread


def _compile() -> None:
    """Solve a list with two groups, one with three, both with and without a quota, and one with each item on its own:
    that is all the code there is."""
    fair_policies(np.arange(12.0), np.arange(12), np.array([0, 12]), Fairness(delta=0.01))  # each item on its own
    for groups, quota in product((np.array([0, 0, 1, 1]), np.array([0, 1, 2, 0])), (None, Quota(slack=0))):
        asked = Fairness(delta=0.01, every_ranking=quota)
        keep_present_order(fair_policies(np.array([4.0, 3.0, 2.0, 1.0]), groups, np.array([0, 4]), asked))


def solver_ready() -> bool:
    """Whether the solver answers at once; if not, say so here, and draw the page again as soon as it does."""
    solver().join(timeout=PATIENCE)
    if not solver().is_alive():
        return True
    _watch()
    return False


@st.fragment(run_every=1.0)
def _watch() -> None:
    st.info("The solver is being compiled for this machine. This happens once and takes a minute.", icon="spinner")
    if not solver().is_alive():
        st.rerun()
