"""Navigation and shared state; the pages are in `dashboard/views`."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from dashboard.first_visits import alone_at_first

with alone_at_first("the house itself"):
    from dashboard.navigation import FIRST, PAGES, pages
    from dashboard.session.accounts.own_page import refused
    from dashboard.session.choices import read_address, write_address
    from dashboard.session.long_lived import spare_long_lived
    from dashboard.session.solver_warmup import solver
    from dashboard.session.stored_uploads import sweep_uploads
    from dashboard.widgets.accounts.login_door import let_in
    from dashboard.widgets.controls import with_controls
    from dashboard.widgets.downloads import forget_downloads
    from dashboard.widgets.elements import opening
    from spofr_core.experiments import home

ASSETS = Path(__file__).parent / "assets"


def main() -> None:
    """Draw the page that was asked for, with delta beside it."""
    # A picture of our own: an icon by name would be fetched from the network.
    st.set_page_config(page_title="spofr: fair exposure in rankings", page_icon=str(ASSETS / "icon.svg"), layout="wide")
    st.html(ASSETS / "style.css")
    if refused() or not let_in():
        return
    solver()
    sweep_uploads(home())
    page = st.navigation(pages(), position="top")
    if page.url_path == FIRST:
        page.run()  # its name was typed: it sends the reader to where it is
    said = read_address()
    opened = opening(page.url_path)
    if opened:
        forget_downloads()
    with alone_at_first(page.url_path or FIRST):
        with_controls(page.run, leads=PAGES[page.url_path or FIRST].leads and not opened)
    if opened:
        # On a narrow screen the menu lies over the page. Streamlit takes it away from telephones only, not from a
        # narrow window or a page that is zoomed in. Named after the page, for what stays the same is not run again.
        st.html(
            f"<script>/* {page.url_path} */ if (innerWidth < 768) document.querySelector("
            "'[data-testid=stSidebar][data-collapsed=false] [data-testid=stSidebarCollapseButton] button')?.click()"
            "</script>",
            unsafe_allow_javascript=True,
        )
    if said or opened:
        write_address()
    else:
        # Back from the first view of a page to the empty address before it: that is no view, so go on to the last one.
        # A slow browser may get there on its own before this arrives, hence the condition.
        st.html("<script>if (!location.search) history.back()</script>", unsafe_allow_javascript=True)
    spare_long_lived()


main()
