"""One server, one browser and two visitors per worker; to every test they come as if for the first time.

To read the scripts of Streamlit takes a browser seconds of work, and it forgets them with the context that it read them
in. So the two contexts last, and what tells a visitor apart, cookies and stored data, is taken away after each test.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect

from tests.browser import pages, server

_NO_NUMBER = re.compile(r"\b(NaN|Infinity)\b|Error: <\w+> attribute")
_WARNING = re.compile(r"\b(?:Runtime|Future)Warning: .*")

expect.set_options(timeout=60_000)  # milliseconds: a loaded machine takes its time


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the dashboard answers."""
    log = tmp_path_factory.mktemp("dashboard") / "log"
    with server.dashboard(log) as url:
        yield url
    assert _WARNING.findall(log.read_text(errors="replace")) == []


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    with pages.browser() as started:
        yield started


@pytest.fixture(scope="session")
def first_window(chromium: Browser) -> Iterator[BrowserContext]:
    with _window(chromium) as made:
        yield made


@pytest.fixture(scope="session")
def second_window(chromium: Browser) -> Iterator[BrowserContext]:
    with _window(chromium) as made:
        yield made


@contextmanager
def _window(chromium: Browser) -> Iterator[BrowserContext]:
    made = chromium.new_context(viewport={"width": 1440, "height": 1000}, accept_downloads=True)
    made.set_default_timeout(pages.CLICK)
    yield made
    made.close()


@pytest.fixture
def context(first_window: BrowserContext) -> Iterator[BrowserContext]:
    """The browser of a new visitor."""
    with forgotten_afterwards(first_window):
        yield first_window


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()


@pytest.fixture
def stranger(second_window: BrowserContext) -> Iterator[Page]:
    """A page of somebody else, who shares nothing with the visitor of `page`."""
    with forgotten_afterwards(second_window):
        yield second_window.new_page()


@contextmanager
def forgotten_afterwards(window: BrowserContext) -> Iterator[None]:
    """Nothing is left of a visit but an empty page, whose process keeps what it has compiled.

    A chart with a place that is no number is drawn all the same, with a line missing, and only the console tells.
    """
    before, drawn_wrong = window.pages, []

    def listen(message: ConsoleMessage) -> None:
        if _NO_NUMBER.search(message.text):
            drawn_wrong.append(message.text)

    window.on("console", listen)
    yield
    window.remove_listener("console", listen)
    for old in before:
        old.close()
    for number, seen in enumerate(window.pages):
        parts = urlsplit(seen.url)
        seen.goto("about:blank")
        if parts.netloc:
            session = window.new_cdp_session(seen)
            origin = f"{parts.scheme}://{parts.netloc}"
            session.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "local_storage,indexeddb"})
            session.detach()
        if number:
            seen.close()
    window.clear_cookies()
    assert drawn_wrong == []
