"""One query in two rankings: what is on the screen, and what it is compared with."""

from __future__ import annotations

import streamlit as st

from dashboard.escaping import markdown
from dashboard.session.choices import choices, choose
from dashboard.session.comparing.both_rankings import MOST_POSITIONS, side_by_side
from dashboard.session.comparing.rivals import NOW, chosen_rival, rival_title
from dashboard.session.sources import Loaded
from dashboard.widgets.elements import show_table
from spofr_core.errors import SpofrError


def both_rankings(source: Loaded) -> None:
    """The chosen query as it is ranked now and by the rival of the Compare page, position by position."""
    try:
        rival = chosen_rival()
        title = rival_title(source, rival)
        frame = side_by_side(source, rival, choices().query, title)
    except SpofrError as error:
        st.info(markdown(error.plain, 1000), icon=":material/info:")
        return
    st.header(f"{NOW.capitalize()} and {markdown(title, 80)}, side by side", anchor=False)
    if frame is None:
        st.caption(f"Only one of the two has the query {markdown(choices().query, 60)}.")
    else:
        show_table(frame, f"The same query as it is ranked now and by {title}")
        cut = f"The first {MOST_POSITIONS} positions. " if len(frame) == MOST_POSITIONS else ""
        st.caption(f"{cut}Of a lottery its most probable ranking is shown. Moved: how many places up or down.")
    st.button("Leave the comparison", icon=":material/close:", on_click=lambda: choose(rival=""))
