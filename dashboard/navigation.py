"""The pages and their addresses."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module

import streamlit as st

PAGES = {
    "data": ("Data", ":material/table_view:"),
    "audit": ("Audit", ":material/balance:"),
    "train": ("Train", ":material/model_training:"),
    "tradeoffs": ("Tradeoffs", ":material/show_chart:"),
    "guarantees": ("Guarantees", ":material/verified_user:"),
    "policy": ("Policy", ":material/casino:"),
    "report": ("Report", ":material/description:"),
}
FIRST = "audit"
"""The page that a newcomer sees."""


def page_named(name: str) -> st.Page:
    """The page in `dashboard/views/<name>_page.py`; its code is loaded when somebody goes there."""
    title, icon = PAGES[name]
    return st.Page(_opener(name), title=title, icon=icon, url_path=name, default=name == FIRST)


def pages() -> list[st.Page]:
    """All pages, in the order of the menu."""
    return [page_named(name) for name in PAGES]


def _opener(name: str) -> Callable[[], None]:
    module = f"dashboard.views.{name}_page"

    def run() -> None:
        if module not in sys.modules:
            # Pages about learning load torch, which takes seconds.
            with st.spinner("Opening the page"):
                import_module(module)
        sys.modules[module].page()

    return run
