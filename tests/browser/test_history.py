"""Back and Forward of the browser bring back what was chosen, a press for each view."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.pages import go, headline, no_error, opened, says, settled

pytestmark = pytest.mark.browser


def delta(page: Page):
    return page.locator(".st-key-sidebar-delta").get_by_role("slider")


def at(page: Page, *, address: str, said: str, value: str) -> None:
    """The address, the headline and the slider say the same."""
    page.wait_for_url(f"**/{address}")
    expect(page.locator("h1")).to_contain_text(said)
    expect(delta(page)).to_have_value(value)
    settled(page)
    no_error(page)


def test_back_and_forward_bring_back_the_choices(page, address):
    opened(page, f"{address}/?data=hiring&delta=0.05")
    delta(page).focus()
    delta(page).press("ArrowRight")
    at(page, address="?data=hiring&delta=0.051", said="tolerance of 0.051.", value="0.051")
    exposure = headline(page)
    page.locator(".st-key-sidebar-notion").get_by_text("Gap").click()
    expect(page.locator("h1").first).not_to_have_text(exposure)
    at(page, address="?data=hiring&delta=0.051&notion=gap", said="tolerance of 0.051.", value="0.051")
    gap = headline(page)
    go(page, "Data")
    page.get_by_text("German Credit").first.click()
    at(page, address="data?data=german-credit&delta=0.051&notion=gap", said="Which rankings", value="0.051")

    page.go_back()
    at(page, address="data?data=hiring&delta=0.051&notion=gap", said="Which rankings", value="0.051")
    expect(page.get_by_text("What is in it: Hiring searches")).to_be_visible()
    page.go_back()
    at(page, address="?data=hiring&delta=0.051&notion=gap", said="tolerance of 0.051.", value="0.051")
    says(page, gap)
    page.go_back()
    at(page, address="?data=hiring&delta=0.051", said="tolerance of 0.051.", value="0.051")
    says(page, exposure)
    page.go_back()
    at(page, address="?data=hiring&delta=0.05", said="tolerance of 0.05.", value="0.05")
    page.go_forward()
    at(page, address="?data=hiring&delta=0.051", said="tolerance of 0.051.", value="0.051")


def test_a_change_of_range_keeps_the_slider_at_delta(page, address):
    opened(page, f"{address}/?delta=0.07")
    page.locator(".st-key-sidebar-notion").get_by_text("Merit").click()
    page.wait_for_url("**notion=merit")
    settled(page)
    expect(delta(page)).to_have_value("0.07")
