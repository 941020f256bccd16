"""axe-core over every page, wide and narrow, light and dark: nothing serious, and headings in order.

On a telephone every page fits as well: nothing lies on anything else or hangs out sideways.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.layout import faults
from tests.browser.pages import element, opened, settled, sized

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

PAGES = ("", "data", "train?data=german-credit", "tradeoffs", "guarantees", "policy", "report")
GRAVE = ("serious", "critical")
ALWAYS = ("heading-order",)
"""Rules that count whatever axe thinks of their weight."""


@cache
def axe() -> Axe:
    return Axe()


def complaints(page: Page) -> list[str]:
    """What axe holds against what is on the screen, a line for each element."""
    found: dict[str, Any] = axe().run(page, options={"resultTypes": ["violations"]}).response
    return [
        f"{rule['id']} ({rule['impact']}): {node['html'][:200]} {node['failureSummary']}"
        for rule in found["violations"]
        if rule["impact"] in GRAVE or rule["id"] in ALWAYS
        for node in rule["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 420])
def test_axe_finds_nothing_serious_on_any_page_and_a_telephone_holds_it(page, address, width, scheme):
    sized(page, width, 900, scheme=scheme)
    found = {}
    for name in PAGES:
        opened(page, f"{address}/{name}")
        found[name] = complaints(page) + (faults(page) if width < 800 else [])
    opened(page, address)
    page.get_by_role("button", name="Move delta").click()
    expect(page.locator(".st-key-popover-delta")).to_be_visible()
    settled(page)
    found["a popover"] = complaints(page)
    page.keyboard.press("Escape")
    numbers = element(page, "stMain").get_by_test_id("stExpander").first
    numbers.locator("summary").click()
    expect(numbers.locator("canvas").first).to_be_visible()
    settled(page)
    found["an expander"] = complaints(page)
    if width < 800:
        element(page, "stExpandSidebarButton").click()
        expect(page.locator(".st-key-sidebar-notion")).to_be_visible()
        found["the menu"] = complaints(page)
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_axe_can_find_something(page):
    page.set_content('<html lang="en"><title>t</title><main><h1>a</h1><h3>b</h3><img src="x.png"></main></html>')
    assert {line.split()[0] for line in complaints(page)} == {"heading-order", "image-alt"}
