"""A login with a provider of OpenID Connect on loopback: nobody is let in without one, and files follow the account."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser import server
from tests.browser.pages import no_error, opened, settled
from tests.browser.test_own_files import audited

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]

SETTINGS = """[auth]
redirect_uri = "{dashboard}/oauth2callback"
cookie_secret = "a secret of this test, long enough to sign cookies with"
client_id = "spofr"
client_secret = "known to both"
server_metadata_url = "{provider}/.well-known/openid-configuration"
"""


@pytest.fixture
def behind_a_door(tmp_path) -> Iterator[str]:
    """The address of a dashboard that asks a provider who is there."""
    door, id_port = server.free_port(), server.free_port()
    address, provider = f"http://localhost:{door}", f"http://localhost:{id_port}"
    login = tmp_path / "login.toml"
    login.write_text(SETTINGS.format(dashboard=address, provider=provider))
    login.chmod(0o600)
    people = [f'{{"sub": "{number}", "name": "{name}"}}' for number, name in ((17, "Ann Lee"), (18, "Bo Day"))]
    known = [word for person in people for word in ("--user-claims", person)]
    asked = [str(Path(sys.executable).with_name("oidc-provider-mock")), "--port", str(id_port), *known]
    spofr = [str(Path(sys.executable).with_name("spofr")), "dashboard", "--headless", "--port", str(door)]
    with (
        running(asked, f"{provider}/.well-known/openid-configuration", tmp_path / "provider.log"),
        running([*spofr, "--login", str(login)], f"{address}/_stcore/health", tmp_path / "log"),
    ):
        yield address


@contextmanager
def running(command: list[str], health: str, log: Path) -> Iterator[None]:
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    try:
        server.wait_until_healthy(health, process, log)
        yield
    finally:
        process.terminate()
        process.wait(timeout=30)


def log_in(page: Page, address: str, subject: int) -> None:
    """As this person: the provider's own page asks who it is."""
    page.goto(address)
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("button", name=str(subject), exact=True).click()
    page.wait_for_url(f"{address}/**")


def test_files_follow_the_account_and_nobody_else(page, stranger, behind_a_door):
    for each in (page, stranger):  # the provider's page asks a network for its style
        each.route(lambda url: not url.startswith("http://localhost:"), lambda route: route.abort())
    opened(page, f"{behind_a_door}/data")
    expect(page.get_by_role("button", name="Log in")).to_be_visible()
    assert page.locator('[data-testid="stSidebar"], input[type="file"]').count() == 0

    log_in(page, behind_a_door, 17)
    expect(page.get_by_text("Ann Lee")).to_be_visible()
    link = audited(page, behind_a_door)

    log_in(stranger, behind_a_door, 17)
    opened(stranger, f"{behind_a_door}/data")
    expect(stranger.get_by_text("twelve.csv").first).to_be_visible()
    stranger.get_by_role("button", name="Log out").click()
    stranger.get_by_role("button", name="End session").click()  # at the provider, which leads back
    expect(stranger.get_by_role("button", name="Log in")).to_be_visible()

    log_in(stranger, behind_a_door, 18)
    opened(stranger, f"{behind_a_door}/data?data={link}")
    expect(stranger.get_by_text("Bo Day")).to_be_visible()
    assert "twelve" not in settled(stranger).content()
    for each in (page, stranger):
        no_error(each)
        each.unroute_all()
