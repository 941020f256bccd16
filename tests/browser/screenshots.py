"""Pictures of every page, wide and narrow, light and dark, into `screenshots/`. Run by `make screenshots`.

With `docs` as the only argument: those of README, into `docs/`.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.browser.pages import browser, opened  # noqa: E402 - the root has to be on the path first
from tests.browser.server import dashboard  # noqa: E402

PAGES = {
    "audit": "",
    "data": "data",
    "train": "train?data=german-credit",
    "tradeoffs": "tradeoffs",
    "guarantees": "guarantees",
    "policy": "policy",
    "report": "report",
}
WIDTHS = {1440: 900, 420: 860}
README = {"first-screen": "", "policy": "policy", "tradeoffs": "tradeoffs?data=adult&delta=0.1&unit=share"}


def main(wanted: list[str]) -> None:
    """Take the pictures; names of pages as arguments take only those."""
    target = ROOT / "screenshots"
    target.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, dashboard(Path(folder) / "log") as address, browser() as chromium:
        for (width, height), scheme in product(WIDTHS.items(), ("light", "dark")):
            context = chromium.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
            page = context.new_page()
            for name, path in PAGES.items():
                if wanted and name not in wanted:
                    continue
                opened(page, f"{address}/{path}")
                page.wait_for_timeout(800)
                page.screenshot(path=target / f"{name}-{width}-{scheme}.png")
                _stretch(page, width)
                page.screenshot(path=target / f"{name}-{width}-{scheme}-full.png")
                page.set_viewport_size({"width": width, "height": height})
            context.close()
    print(f"{len(list(target.glob('*.png')))} pictures in {target}")


def for_readme() -> None:
    """The pages that README shows, and the beginning of the report that its first walk-through writes."""
    report = Path(tempfile.mkdtemp()) / "report.html"
    command = ["audit", "sample_data/hiring.csv", "--group", "gender", "--delta", "10%", "--html", str(report)]
    spofr = str(Path(sys.executable).with_name("spofr"))
    subprocess.run([spofr, *command], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory() as folder, dashboard(Path(folder) / "log") as address, browser() as chromium:
        page = chromium.new_page(viewport={"width": 1440, "height": 900})
        for name, path in README.items():
            opened(page, f"{address}/{path}")
            page.wait_for_timeout(1500)
            page.screenshot(path=ROOT / "docs" / f"{name}.png")
        page.set_viewport_size({"width": 940, "height": 920})
        page.goto(report.as_uri())
        page.screenshot(path=ROOT / "docs" / "report.png")


def _stretch(page, width: int) -> None:
    """Streamlit scrolls inside its main element: make the window as tall as what is in there."""
    tall = page.evaluate(
        "() => Math.max(...[...document.querySelectorAll('[data-testid=\"stMain\"]')].map(e => e.scrollHeight), 400)"
    )
    page.set_viewport_size({"width": width, "height": min(int(tall) + 60, 6000)})
    page.wait_for_timeout(900)


if __name__ == "__main__":
    for_readme() if sys.argv[1:] == ["docs"] else main(sys.argv[1:])
