"""A page of one's own: which list is the longest."""

import streamlit as st

from dashboard.navigation import PAGES, Page
from dashboard.session.sources import loaded
from dashboard.widgets.elements import explain_errors


@explain_errors
def page() -> None:
    """What is wrong with the data is one sentence on the page."""
    lengths = loaded().data.list_lengths
    st.title("Longest list", anchor=False)
    st.metric("Items", int(lengths.max()))


PAGES.register(Page("longest", "Longest list", ":material/straighten:", module=__name__))
