"""How a test or a script looks at the dashboard: open a page, and wait until Streamlit has finished drawing it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from spofr_core import browser as chromium

PATIENCE = 120_000
"""Milliseconds until a page is drawn; the first one of an installation compiles the solver."""
CLICK = 40_000


@contextmanager
def browser() -> Iterator[Browser]:
    """A headless Chromium."""
    path = chromium.find_browser()
    if path is None:
        raise RuntimeError("No Chrome or Chromium was found; run `python tests/browser/ensure.py`.")
    with sync_playwright() as playwright:
        # Pages of one visitor share a process, and in it the scripts that were read and compiled for the first of them.
        arguments = [*chromium.ARGUMENTS, "--process-per-site"]
        started = playwright.chromium.launch(executable_path=path, args=arguments)
        try:
            yield started
        finally:
            started.close()


def settled(page: Page) -> Page:
    """Wait until the script has run, the solver is there, and nothing is marked as stale."""
    page.wait_for_selector('[data-testid="stApp"]', timeout=PATIENCE)
    page.wait_for_function(
        """() => {
            const app = document.querySelector('[data-testid="stApp"]');
            return app && app.getAttribute('data-test-script-state') === 'notRunning'
                && !document.querySelector('[data-stale="true"]')
                && !document.querySelector('[data-testid="stSkeleton"]')
                && !document.body.innerText.includes('The solver is being compiled');
        }""",
        timeout=PATIENCE,
    )
    return page


def opened(page: Page, address: str) -> Page:
    """Go to an address and wait until it is drawn."""
    page.goto(address, timeout=PATIENCE)
    page.wait_for_selector("h1", timeout=PATIENCE)
    return settled(page)


def sized(page: Page, width: int, height: int = 860, *, scheme: Literal["light", "dark"] = "light") -> Page:
    """As on a screen of this size, in light or dark."""
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=scheme)
    return page


def headline(page: Page) -> str:
    """The largest text of the page."""
    return page.locator("h1").first.inner_text().replace("\N{NO-BREAK SPACE}", " ").strip()


def says(page: Page, text: str) -> None:
    """The headline is, or becomes, this."""
    expect(page.locator("h1").first).to_have_text(text)


def go(page: Page, name: str) -> Page:
    """Follow a link of the menu."""
    link = page.get_by_role("link", name=name, exact=True).first
    link.click()
    expect(link).to_have_attribute("aria-current", "page")
    page.wait_for_timeout(300)
    return settled(page)


def no_error(page: Page) -> None:
    """No traceback, and no message of Streamlit's own about one."""
    expect(page.locator('[data-testid="stException"]')).to_have_count(0)
    expect(page.get_by_text("Traceback")).to_have_count(0)


def element(page: Page, kind: str) -> Locator:
    """Elements of one of Streamlit's kinds, such as "stPlotlyChart"."""
    return page.locator(f'[data-testid="{kind}"]')
