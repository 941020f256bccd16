"""What a newcomer sees, compared with what the core says."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from spofr_core.data import load_hiring
from spofr_core.evaluation import audit
from spofr_core.fairness import Fairness
from spofr_core.reporting import number, verdict
from tests.browser.pages import element, headline, no_error, opened, says, settled, sized

pytestmark = pytest.mark.browser

OPENING = Fairness(delta=0.1, unit="share")
"""What the dashboard begins with on the sample that it opens."""


def test_the_first_screen_is_the_verdict_of_the_core(page, address):
    summary = audit(load_hiring(), OPENING).summary
    opened(page, address)
    says(page, verdict(summary))
    for name in ("Use your own data", "Move delta"):
        expect(page.get_by_role("button", name=name)).to_be_visible()
    chart = element(page, "stPlotlyChart").first
    for group in summary["groups"].values():
        expect(chart).to_contain_text(number(group["exposure_mean"]))
    no_error(page)


def test_the_first_page_can_be_typed_by_its_name(page, address):
    summary = audit(load_hiring(), Fairness(delta=0.03)).summary
    opened(page, f"{address}/audit?data=hiring&delta=0.03")
    says(page, verdict(summary))
    expect(page).to_have_url(re.compile(re.escape(address) + r"/\?data=hiring&delta=0\.03"))
    expect(page.get_by_text("Page not found")).to_have_count(0)


def test_the_verdict_is_the_largest_text(page, address):
    opened(page, address)
    sizes = page.evaluate(
        """() => [...document.querySelectorAll('[data-testid="stMain"] *')]
            .filter(e => [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()) && e.offsetParent)
            .map(e => [parseFloat(getComputedStyle(e).fontSize), e.textContent.trim()])"""
    )
    largest = max(size for size, _ in sizes)
    said = {text.replace("\N{NO-BREAK SPACE}", " ") for size, text in sizes if size == largest}
    assert said == {headline(page)}


def test_nothing_is_asked_of_the_network(page, address):
    outside = []
    page.on("request", lambda request: outside.append(request.url) if address not in request.url else None)
    opened(page, address)
    assert [url for url in outside if not url.startswith(("data:", "blob:", address.replace("http", "ws")))] == []


WATCHED_CHARTS = """() => {
    const shown = () => [...document.querySelectorAll('.js-plotly-plot')].filter(e => e.offsetParent).length;
    window.charts = [shown()];
    const look = () => { window.charts.push(shown()); requestAnimationFrame(look); };
    requestAnimationFrame(look);
}"""
"""How many charts there are on the screen, noted on every frame."""


def test_move_delta_moves_the_verdict(page, address):
    opened(page, address)
    page.get_by_role("button", name="Move delta").click()
    slider = page.locator(".st-key-popover-delta").get_by_role("slider")
    expect(slider).to_be_visible()
    slider.focus()
    page.evaluate(WATCHED_CHARTS)
    slider.press("ArrowRight")
    step = float(slider.input_value())
    assert step > 10
    says(page, verdict(audit(load_hiring(), Fairness(delta=step / 100, unit="share")).summary))
    settled(page)
    page.wait_for_url(re.compile(rf"[?&]delta={step / 100:g}&unit=share(&|$)"))
    assert float(page.locator(".st-key-sidebar-delta").get_by_role("slider").input_value()) == step
    counts = page.evaluate("window.charts")
    assert max(counts) == counts[0] == counts[-1] > 1  # no chart stands beside its old self meanwhile


def test_delta_is_typed_with_the_keyboard_alone(page, address):
    opened(page, address)
    typed = page.locator(".st-key-sidebar-delta-typed input")
    typed.focus()
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.type("25")
    page.keyboard.press("Enter")
    says(page, verdict(audit(load_hiring(), Fairness(delta=0.25, unit="share")).summary))
    page.wait_for_url(re.compile(r"[?&]delta=0\.25&unit=share(&|$)"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_reads_well_on_a_telephone(page, address, scheme):
    opened(sized(page, 420, scheme=scheme), address)
    wide = page.evaluate("() => document.querySelector('[data-testid=\"stMain\"]').scrollWidth")
    assert wide <= 420
    expect(page.get_by_role("button", name="Use your own data")).to_be_visible()
    background = page.evaluate(
        "() => getComputedStyle(document.querySelector('[data-testid=\"stApp\"]')).backgroundColor"
    )
    assert background == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 31)"}[scheme]
