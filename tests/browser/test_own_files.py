"""A file of one's own stays: after a refresh, in a second tab, when the server was killed; for its visitor alone, and
until it is forgotten."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser import server
from tests.browser.pages import element, headline, no_error, opened, settled
from tests.browser.test_journeys import FIXTURES

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]

TWELVE = FIXTURES / "twelve.csv"


def taken_in(page: Page, path: Path) -> None:
    page.locator('input[type="file"]').set_input_files(path)
    expect(page.get_by_role("heading", name=f"Reading {path.name}")).to_be_visible()
    settled(page)


def audited(page: Page, address: str) -> str:
    """Upload the file, have it audited, and give the part of the address that leads back to it."""
    opened(page, f"{address}/data")
    taken_in(page, TWELVE)
    page.get_by_role("button", name="Audit this data").click()
    expect(page.locator("h1").first).to_contain_text("40 queries")
    link = parse_qs(urlsplit(settled(page).url).query)["data"][0]
    assert link.startswith("upload-")
    return link


def own_button(page: Page, what: str) -> Locator:
    """A button of the one file in the list, by its key: "Open" is also the beginning of other names."""
    return page.locator(f'[class*="st-key-{what}-"]').get_by_role("button")


def kept(home: Path) -> list[Path]:
    """Files below the server's home whose name or content tells of the upload."""
    return [
        path
        for path in home.rglob("*")
        if path.is_file() and any(word in path.name.encode() + path.read_bytes() for word in (b"Northern", b"twelve"))
    ]


def test_an_upload_outlives_tabs_and_servers_until_it_is_forgotten(page, context, stranger, tmp_path):
    home, log, port = tmp_path / "home", tmp_path / "log", server.free_port()
    address = f"http://127.0.0.1:{port}"
    process = server.start(port, log, home=home)
    try:
        link = audited(page, address)
        said = headline(page)

        page.reload()
        expect(page.locator("h1").first).to_have_text(said)
        second = opened(context.new_page(), f"{address}/data")
        expect(second.get_by_text("twelve.csv").first).to_be_visible()
        own_button(second, "open").click()
        expect(second.locator("h1").first).to_have_text(said)
        second.close()

        process.kill()
        process.wait(timeout=20)
        process = server.start(port, log, home=home)
        opened(page, f"{address}/data?data={link}")
        expect(page.get_by_role("heading", name="What is in it: twelve.csv")).to_be_visible()

        opened(stranger, f"{address}/data?data={link}")
        assert "twelve" not in stranger.content()
        stranger.goto("about:blank")

        assert kept(home)
        own_button(page, "forget-file").click()
        own_button(page, "forget-sure").click()
        expect(page.get_by_role("heading", name="Your files")).to_have_count(0)
        settled(page)
        assert kept(home) == []
        no_error(page)
    finally:
        process.kill()
        process.wait(timeout=20)


def test_a_project_is_saved_and_opened_again(page, stranger, address, tmp_path):
    link = audited(page, address)
    said = headline(page)
    opened(page, f"{address}/data?data={link}&delta=0.3&unit=share")
    page.get_by_text("Save this audit as a project").click()
    notes = page.get_by_label("Notes of the auditor")
    notes.click()  # waits until what was opened has come to rest
    notes.fill("Ask the harbour office.")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Project (JSON)").click()
    project = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(project)

    opened(stranger, f"{address}/data")
    stranger.locator('input[type="file"]').set_input_files(project)
    expect(stranger.get_by_text("which is not here: upload it above")).to_be_visible()
    stranger.reload()
    expect(stranger.get_by_text("which is not here: upload it above")).to_be_visible()
    settled(stranger)
    stranger.locator('input[type="file"]').set_input_files(TWELVE)
    expect(stranger.locator("h1").first).to_contain_text("the tolerance of 30 %")
    settled(stranger)
    assert headline(stranger) != said
    opened(stranger, f"{address}/data?data={link}")
    stranger.get_by_text("Save this audit as a project").click()
    expect(stranger.get_by_label("Notes of the auditor")).to_have_value("Ask the harbour office.")
    expect(element(stranger, "stException")).to_have_count(0)
