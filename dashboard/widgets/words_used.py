"""The words of the pages, each explained once, on one list of five items."""

from __future__ import annotations

import streamlit as st

from dashboard.escaping import markdown
from dashboard.session.solver_warmup import solver
from spofr_core.reporting import TERMS, WorkedList, unbroken


def words_used() -> None:
    """A button that opens the glossary over whatever page there is."""
    if st.button("Words used here", icon=":material/menu_book:", key="words-used", type="tertiary"):
        _glossary()


@st.dialog("Words used here", width="large")
def _glossary() -> None:
    worked = WorkedList()
    st.markdown(unbroken("Each word is worked out on this list. It is asked for a delta of 10 % of its mean exposure."))
    st.table(worked.frame().style.format({"score": "{:g}", "exposure": "{:.3f}"}).hide(axis="index"))
    with st.spinner("Working the example out"):
        solver().join()
        worked_out = [(term.name, markdown(term.meaning, 400), markdown(term.example(worked), 400)) for term in TERMS]
    st.markdown("\n".join(f"- **{name}**: {meant} *{example}*" for name, meant, example in worked_out))
