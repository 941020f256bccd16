"""The pages and their addresses."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from importlib import import_module

import streamlit as st

from spofr_core.registry import Registry

FIRST = "audit"
"""The page that a newcomer sees."""


@dataclass(frozen=True)
class Page:
    """One page of the dashboard.

    Parameters
    ----------
    name : str
        Its address.
    title : str
        Its name in the menu.
    icon : str
        Beside the title, such as ":material/balance:".
    module : str
        Full name of the module whose function `page` draws it.
    leads : bool
        Whether it has something to show before what stands beside it, once it is open: its code then calls `controls`
        of `dashboard.widgets.controls` itself.
    """

    name: str
    title: str
    icon: str
    module: str
    leads: bool = False

    def open(self) -> None:
        """Draw it; its code is loaded when somebody first goes there."""
        # Pages about learning load torch, which takes seconds.
        patience: AbstractContextManager[object] = (
            nullcontext() if self.module in sys.modules else st.spinner("Opening the page")
        )
        with patience:
            module = import_module(self.module)
        module.page()


PAGES: Registry[Page] = Registry("page", {})
"""In the order of the menu."""
for _name, _title, _icon in (
    ("data", "Data", ":material/table_view:"),
    ("audit", "Audit", ":material/balance:"),
    ("compare", "Compare", ":material/compare_arrows:"),
    ("policy", "Policy", ":material/casino:"),
    ("report", "Report", ":material/description:"),
    ("train", "Train", ":material/model_training:"),
    ("tradeoffs", "Tradeoffs", ":material/show_chart:"),
    ("guarantees", "Guarantees", ":material/verified_user:"),
):
    PAGES.register(Page(_name, _title, _icon, f"dashboard.views.{_name}_page", leads=_name == "audit"))


def page_named(name: str) -> st.Page:
    """The page at this address, for the menu and for links."""
    page = PAGES[name]
    return st.Page(
        page.open, title=page.title, icon=page.icon, url_path="" if name == FIRST else name, default=name == FIRST
    )


def pages() -> list[st.Page]:
    """All pages, in the order of the menu, and the name of the first one, which Streamlit knows as "/" alone."""
    typed = st.Page(_to_the_first, title=PAGES[FIRST].title, url_path=FIRST, visibility="hidden")
    return [*(page_named(name) for name in PAGES), typed]


def _to_the_first() -> None:
    """Whoever types the name of the first page gets there, with everything else that the address says."""
    st.switch_page(page_named(FIRST), query_params=st.query_params.to_dict())
