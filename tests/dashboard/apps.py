"""A page run by Streamlit's own test harness, without a browser."""

from __future__ import annotations

import base64
import gzip
import json
import re
from functools import cache
from typing import Any

from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

from dashboard.escaping import JOINER
from dashboard.session.choices import Choices
from dashboard.session.solver_warmup import solver

PATIENCE = 120

# Whenever a page is opened, the harness looks through all installed packages for components: that takes longer than the
# page does, and finds the same.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)


def _script(name: str) -> None:
    """What `dashboard/app.py` does for one page, without the menu."""
    import streamlit as st

    from dashboard.navigation import PAGES, pages
    from dashboard.session.choices import write_address
    from dashboard.widgets.controls import with_controls

    st.navigation(pages(), position="hidden")  # so that a page may send the reader to another one
    with_controls(PAGES[name].open, leads=PAGES[name].leads)
    write_address()


def shown(
    name: str, *, state: dict[str, Any] | None = None, user: dict[str, Any] | None = None, **choices: Any
) -> AppTest:
    """The page after its first run, with these choices made, for this account."""
    solver().join()
    app = AppTest.from_function(_script, args=(name,), default_timeout=PATIENCE)
    if user:
        app.user = user
    if choices:
        app.session_state["choices"] = Choices(**choices)
    for key, value in (state or {}).items():
        app.session_state[key] = value
    return rerun(app)


def rerun(app: AppTest) -> AppTest:
    """Run, and fail on anything that a page did not mean to show."""
    app.run()
    assert [error.value for error in app.exception] == []
    return app


def titles(app: AppTest) -> list[str]:
    """Headlines as text, without the escapes of Markdown."""
    return [plain(title.value) for title in app.title]


def plain(text: str) -> str:
    """Markdown of escaped text, read back."""
    return re.sub(r"\\(.)", r"\1", text).replace(JOINER, "").replace("\N{NO-BREAK SPACE}", " ")


def charts(app: AppTest) -> list[dict[str, Any]]:
    """The figures of the page."""
    return [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]


def saved(app: AppTest) -> dict[str, bytes]:
    """Files that the page hands to the browser, by their names."""
    found = {}
    for element in app.get("html"):
        told = re.search(r"\}\)\((\{.*\})\)</script>$", element.proto.body, re.DOTALL)
        if told:
            file = json.loads(told[1])
            found[file["name"]] = gzip.decompress(base64.b64decode(file["content"]))
    return found
