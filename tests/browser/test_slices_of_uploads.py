"""A file whose queries can be sliced: its columns named, a slice chosen, and found again by its address."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from tests.browser.pages import element, go, headline, no_error, opened, settled
from tests.browser.test_own_files import taken_in

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

ODD = 'Köln, "a:b" & 100 % <b>=1+1</b> 東京'


def test_a_slice_is_named_chosen_kept_by_its_address_and_left(page, address, tmp_path):
    rows = [
        f"q{q},d{k},{'fm'[k % 2]},{k if q % 2 and k % 2 else 9 - k},{quoted},2024-0{1 + q % 6}-15"
        for q in range(48)
        for k, quoted in ((k, '"' + (ODD if q % 2 else "plain").replace('"', '""') + '"') for k in range(8))
    ]
    file = tmp_path / "sliced.csv"
    file.write_text("\n".join(["qid,doc,sex,score,place,date", *rows]), encoding="utf-8")
    opened(page, f"{address}/data")
    taken_in(page, file)
    expect(page.get_by_text("The first rows suggest place for slices and date for the time.")).to_be_visible()
    page.get_by_role("combobox", name="Slice the queries by").click()
    page.keyboard.type("place")
    expect(page.get_by_role("option")).to_have_count(1)
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    expect(page.locator(".st-key-map-slices [data-tag]")).to_have_text("place")
    settled(page)
    page.get_by_role("button", name="Audit this data").click()
    expect(page.get_by_role("heading", name="By slice", exact=True)).to_be_visible()
    settled(page)
    whole = headline(page)
    page.get_by_text("Look closer").click()
    row = page.locator('[class*="st-key-audit-slices-rows-"]').get_by_role("button").filter(has_text="東京")
    row.click()
    expect(page.get_by_role("button", name="Leave this slice")).to_be_visible()
    sliced = headline(settled(page))
    assert sliced != whole
    assert "24 queries" in sliced
    assert "place:Köln%2C" in parse_qs(urlsplit(page.url).query)["slice"][0]

    page.reload()
    expect(page.locator("h1").first).to_have_text(sliced)
    expect(page.get_by_text("alone: 24 of 48 queries.")).to_be_visible()
    go(page, "Report")
    expect(element(page, "stMain").get_by_text(ODD[:10]).first).to_be_visible()
    page.get_by_role("button", name="Leave this slice").click()
    expect(page.get_by_role("button", name="Leave this slice")).to_have_count(0)
    assert "slice" not in parse_qs(urlsplit(settled(page).url).query)
    no_error(page)
