"""Without a mouse: where one is can be seen, the menu comes first, and a row is chosen with Enter."""

from __future__ import annotations

import pytest
from playwright.sync_api import FloatRect, Page, expect

from tests.browser.pages import no_error, opened, settled

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

_FOCUSED = """() => {
    let shown = document.activeElement;
    if (!shown || shown === document.body) return null;
    const named = shown.getAttribute('aria-label') || shown.innerText || shown.tagName;
    // What stands for a control may be drawn around it: the control itself is hidden then.
    const tiny = ({width, height}) => width < 8 || height < 8;
    while (tiny(shown.getBoundingClientRect())) shown = shown.parentElement;
    const box = shown.getBoundingClientRect();
    const x = Math.max(0, box.x - 8), y = Math.max(0, box.y - 8);
    const width = Math.min(box.width + 16, innerWidth - x), height = Math.min(box.height + 16, innerHeight - y);
    return {name: named.trim().slice(0, 40), clip: {x, y, width, height}};
}"""


def drawn(page: Page) -> None:
    """Wait until what was pressed can be seen: a picture that was begun before is of what was before."""
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def tabbed(page: Page, times: int) -> list[tuple[str, bool]]:
    """Where Tab goes: what each stop is called, and whether it looks different with the focus on it."""
    stops = []
    for _ in range(times):
        page.keyboard.press("Tab")
        drawn(page)
        stop = page.evaluate(_FOCUSED)
        if stop is None:
            break
        clip: FloatRect = stop["clip"]
        focused = page.screenshot(clip=clip, animations="disabled")
        here = page.evaluate_handle("() => document.activeElement")
        here.evaluate("control => control.blur()")
        drawn(page)
        stops.append((stop["name"], focused != page.screenshot(clip=clip, animations="disabled")))
        here.evaluate("control => control.focus()")
    return stops


@pytest.mark.parametrize("name", ["", "data"])
def test_where_one_is_can_be_seen(page, address, name):
    opened(page, f"{address}/{name}")
    stops = tabbed(page, 30)
    names = [stop.rpartition("\n")[2] for stop, _ in stops]  # without the icon
    menu = [names.index(title) for title in ("Data", "Audit", "Report") if title in names]
    assert menu == sorted(menu)
    assert len(menu) == 3
    assert "delta, in %" in names
    assert [stop for stop, seen in stops if not seen] == []


def test_a_row_is_chosen_with_enter(page, address):
    opened(page, address)
    row = page.locator('[class*="st-key-worst-queries"] button').first
    query = row.locator("strong").inner_text()
    row.focus()
    page.keyboard.press("Enter")
    expect(page.locator("h1").first).to_contain_text(query)
    settled(page)
    no_error(page)
