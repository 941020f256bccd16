"""A place that is no number fails the test whose page has it; every page over files at the edges has none."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from dashboard.navigation import PAGES
from tests.browser.conftest import forgotten_afterwards
from tests.browser.pages import no_error, opened, settled
from tests.browser.test_own_files import taken_in
from tests.dashboard.test_extreme_pages import files

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]


@pytest.mark.parametrize("kind", ["two scores", "one list", "one group", "constant scores"])
def test_charts_of_files_at_the_edges_have_a_number_for_every_place(page, address, tmp_path, kind):
    path = tmp_path / "edge.csv"
    files()[kind].to_csv(path, index=False)
    opened(page, f"{address}/data")
    taken_in(page, path)
    page.get_by_role("button", name="Audit this data").click()
    expect(page).to_have_url(re.compile("data=upload-"))
    link = parse_qs(urlsplit(settled(page).url).query)["data"][0]
    for view in PAGES:
        opened(page, f"{address}/{view}?data={link}")
        page.evaluate("document.querySelectorAll('details:not([open]) > summary').forEach(closed => closed.click())")
        page.wait_for_timeout(500)
        no_error(settled(page))
        assert page.locator("svg :is([d*=NaN], [d*=Infinity], [transform*=NaN], [transform*=Infinity])").count() == 0


def test_the_console_is_listened_to(first_window):
    def visit() -> None:
        with forgotten_afterwards(first_window):
            page = first_window.new_page()
            with page.expect_console_message(lambda message: "Infinity" in message.text):
                page.set_content("<svg><path d='M0,-Infinity'/></svg>")

    with pytest.raises(AssertionError, match="Infinity"):
        visit()
