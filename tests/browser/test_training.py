"""Jobs as people meet them: trained to the end, cancelled, found again after a refresh, in a second tab, and after the
server was killed."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from dashboard.jobs.job_board import JobBoard
from tests.browser import server
from tests.browser.pages import PATIENCE, element, go, no_error, opened, settled
from tests.waiting import wait_until

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]

JOB = 300_000
"""Milliseconds until a small job has ended, on a machine that runs other tests meanwhile."""


@dataclass
class Server:
    """A dashboard that a test may kill and start again."""

    port: int
    log: Path
    home: Path
    process: subprocess.Popen[bytes]

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(timeout=20)

    def start_again(self) -> None:
        self.process = server.start(self.port, self.log, home=self.home)


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Iterator[Server]:
    place = tmp_path_factory.mktemp("training")
    port = server.free_port()
    made = Server(port, place / "log", place / "home", server.start(port, place / "log", home=place / "home"))
    try:
        yield made
    finally:
        made.kill()
        board = JobBoard(made.home)
        for job in board.jobs():
            board.cancel(job)
        wait_until(lambda: not any(job.active for job in board.jobs()))


def fill(page: Page, label: str, value: str) -> None:
    box = page.get_by_label(label, exact=True).first
    box.fill(value)
    box.press("Enter")
    settled(page)


def plan(page: Page, address: str, *, deltas: str, steps: int) -> None:
    """SPOFR alone on a few lists of German Credit."""
    opened(page, f"{address}/train?data=german-credit")
    spofr_alone(page, deltas=deltas, steps=steps)
    fill(page, "Lists drawn per part", "40")


def uploaded(page: Page, address: str, name: str, seed: int) -> None:
    """Make a small file, with two features to learn from, the data of this visitor."""
    rng = np.random.default_rng(seed)
    rows = [
        f"{name}{q},d{k},{'xy'[k % 2]},{rng.random():.4f},{rng.integers(0, 3)},{rng.random():.4f},{rng.random():.4f}"
        for q in range(40)
        for k in range(6)
    ]
    table = "\n".join(["query_id,item_id,group,score,relevance,taste,size", *rows])
    opened(page, f"{address}/data")
    file = {"name": f"{name}.csv", "mimeType": "text/csv", "buffer": table.encode()}
    page.locator('input[type="file"]').set_input_files(file)
    page.get_by_role("button", name="Audit this data").click()
    expect(page.locator("h1")).to_contain_text("of 40 queries")
    settled(page)


def spofr_alone(page: Page, *, deltas: str, steps: int) -> None:
    """The form of the Train page filled in for one method."""
    page.get_by_role("button", name="predict-then-optimise").click()
    settled(page)
    page.locator("label").filter(has_text="Also the plain sort").click()
    settled(page)
    fill(page, "deltas", deltas)
    page.get_by_text("Training settings").click()
    fill(page, "Steps per stage", str(steps))


def tray(page: Page):
    return page.locator(".st-key-job-tray")


def test_a_model_is_trained_to_the_end_and_found_on_every_page(page, stranger, site):
    plan(page, site.address, deltas="0.05", steps=40)
    expect(page.get_by_text("1 run", exact=False).first).to_be_visible()
    page.get_by_role("button", name="Start", exact=True).click()
    expect(tray(page).get_by_text("done, 1 of 1 runs done")).to_be_visible(timeout=JOB)
    settled(page)
    expect(element(page, "stPlotlyChart").first).to_contain_text("SPOFR, delta 0.05, seed 0")
    no_error(page)

    page.get_by_role("button", name="See its models").click()
    expect(page.locator("h1")).to_contain_text("SPOFR is the only method in these runs", timeout=PATIENCE)
    settled(page)
    mark = page.locator(".st-key-chart-DCG-against-violation .scatterlayer .point").last
    mark.click(force=True)
    page.wait_for_url(re.compile(r"[?&]model=[0-9a-f]{16}"), timeout=PATIENCE)
    expect(page.get_by_text("without training again").first).to_be_visible(timeout=PATIENCE)
    settled(page)
    no_error(page)
    link = page.url

    go(page, "Audit")
    expect(page.get_by_test_id("stSidebar").get_by_text("SPOFR, delta 0.05, seed 0")).to_be_visible()
    expect(page.locator("h1").first).to_contain_text("ll 40 queries stay within")

    opened(stranger, link)
    expect(stranger.get_by_text("without training again").first).to_be_visible(timeout=PATIENCE)
    expect(stranger.get_by_test_id("stSidebar").get_by_text("SPOFR, delta 0.05, seed 0")).to_be_visible()
    expect(tray(stranger)).to_have_count(0)


def test_a_job_is_found_again_cancelled_and_resumed(page, context, site):
    plan(page, site.address, deltas="0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09, 0.1, 0.2", steps=3000)
    fill(page, "Seeds", "20")
    page.get_by_role("button", name="Start", exact=True).click()
    expect(tray(page).get_by_text("at work, ")).to_be_visible(timeout=JOB)

    page.reload()
    expect(tray(page).get_by_text("at work, ")).to_be_visible(timeout=PATIENCE)
    second = opened(context.new_page(), site.address)
    expect(tray(second).get_by_text("at work, ")).to_be_visible(timeout=PATIENCE)
    second.close()

    site.kill()
    site.start_again()
    page.goto(f"{site.address}/train", timeout=PATIENCE)
    expect(tray(page).get_by_text("at work, ")).to_be_visible(timeout=PATIENCE)

    tray(page).get_by_role("button", name="Cancel").click()
    expect(tray(page).get_by_text("cancelled, ")).to_be_visible(timeout=JOB)
    settled(page)
    tray(page).get_by_role("button", name="Resume").first.click()
    expect(tray(page).get_by_text("at work, ")).to_be_visible(timeout=JOB)
    tray(page).get_by_role("button", name="Cancel").click()
    expect(tray(page).get_by_text("cancelled, ")).to_be_visible(timeout=JOB)
    no_error(page)


def test_two_visitors_train_on_their_own_files_and_see_no_others(page, stranger, site):
    visitors = {"apples": page, "pears": stranger}
    for seed, (name, who) in enumerate(visitors.items()):
        uploaded(who, site.address, name, seed)
        go(who, "Train")
        expect(who.get_by_text(f"On {name}.csv")).to_be_visible()
        spofr_alone(who, deltas="5%", steps=20)
        who.get_by_role("button", name="Start", exact=True).click()
    for (name, who), absent in zip(visitors.items(), reversed(visitors), strict=True):
        expect(tray(who).get_by_text("done, 1 of 1 runs done")).to_be_visible(timeout=JOB)
        settled(who)
        for title in ("Train", "Tradeoffs", "Guarantees", "Audit"):
            go(who, title)
            expect(who.get_by_text(name).first).to_be_attached()
            assert absent not in who.content()
            no_error(who)
