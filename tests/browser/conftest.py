"""One server and one browser per worker; a fresh context, as a new visitor, for every test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser import pages, server

expect.set_options(timeout=60_000)  # milliseconds: a loaded machine takes its time


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the dashboard answers."""
    with server.dashboard(tmp_path_factory.mktemp("dashboard") / "log") as url:
        yield url


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    with pages.browser() as started:
        yield started


@pytest.fixture
def context(chromium: Browser) -> Iterator[BrowserContext]:
    made = chromium.new_context(viewport={"width": 1440, "height": 1000}, accept_downloads=True)
    made.set_default_timeout(pages.CLICK)
    yield made
    made.close()


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()
