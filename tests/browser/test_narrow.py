"""Narrow screens: nothing lies on anything else or hangs out sideways, and the menu leaves when it has been used."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from tests.browser.layout import faults, overprinted, scrolls_sideways
from tests.browser.pages import element, opened, settled, sized
from tests.browser.test_accessibility import PAGES, complaints
from tests.browser.test_journeys import FIXTURES
from tests.browser.test_own_files import taken_in

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]

OWN = ("data", "", "policy", "report")


def test_every_page_fits_the_narrowest_screen(page, address):
    """What is 420 wide is looked at where axe walks over the pages."""
    sized(page, 280)
    found = {name: faults(opened(page, f"{address}/{name}")) for name in PAGES}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_the_form_of_the_train_page_has_room_beside_the_sidebar_of_a_small_window(page, address):
    found = {}
    for width in (1300, 1024, 800):
        sized(page, width)
        opened(page, f"{address}/train?data=adult")
        found[width] = faults(page)
    assert {width: lines for width, lines in found.items() if lines} == {}


def test_twelve_long_names_fit(page, address):
    opened(page, f"{address}/data")
    taken_in(page, FIXTURES / "twelve.csv")
    page.get_by_role("button", name="Audit this data").click()
    expect(page.locator("h1").first).to_contain_text("40 queries")
    link = urlsplit(settled(page).url).query
    assert link.startswith("data=upload-")
    found = {}
    for width in (1440, 420, 280):
        page.set_viewport_size({"width": width, "height": 900})
        for name in OWN:
            found[width, name] = faults(opened(page, f"{address}/{name}?{link}"))
    assert {place: lines for place, lines in found.items() if lines} == {}


def test_the_menu_leaves_when_it_has_been_used(page, address):
    opened(sized(page, 420), address)
    menu = page.get_by_test_id("stSidebar")
    element(page, "stExpandSidebarButton").click()
    expect(menu).to_have_attribute("data-collapsed", "false")
    menu.get_by_role("link", name="Report").click()
    expect(page).to_have_url(f"{address}/report?data=hiring&delta=0.1&unit=share")
    settled(page)
    expect(menu).to_have_attribute("data-collapsed", "true")


def test_a_lottery_wider_than_the_screen_is_moved_with_the_keyboard(page, address):
    opened(sized(page, 280), f"{address}/policy")
    frame = page.locator(".st-key-wide-lottery-0")
    assert frame.evaluate("e => e.scrollWidth > e.clientWidth && e.scrollLeft === 0")
    assert complaints(page) == []
    frame.locator("summary").focus()
    for _ in range(10):
        page.keyboard.press("ArrowRight")
    page.wait_for_function("() => document.querySelector('.st-key-wide-lottery-0').scrollLeft > 50")


def test_the_check_can_fail(page):
    page.set_content(
        "<p style='position: absolute; top: 0'>one</p><p style='position: absolute; top: 4px'>two</p>"
        "<svg width=200 height=200 style='position: absolute; top: 60px'><text x=10 y=40>three</text>"
        "<text x=14 y=44>four</text><text transform='rotate(45 100 100)' x=100 y=100>five</text>"
        "<text transform='rotate(45 100 130)' x=100 y=130>six</text></svg>"
    )
    assert overprinted(page) == ["one | two", "three | four"]
    frame = "<div style='width: 90px; overflow-x: auto'><p style='width: 900px; margin-left: {}px'>one</p></div>"
    beside = "<p style='position: absolute; top: 16px; left: 200px'>two</p>"
    page.set_content(frame.format(195) + beside)  # scrolled out of sight, where the other stands
    assert overprinted(page) == []
    page.set_content(frame.format(0) + beside.replace("200px", "8px"))
    assert overprinted(page) == ["one | two"]
    page.set_content("<div style='width: 3000px'>wide</div>")
    assert scrolls_sideways(page) == ["wide"]
