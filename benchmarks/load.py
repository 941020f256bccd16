"""Many readers at once: `python benchmarks/load.py --browsers 10 --minutes 5 --write`.

Each reader is a Chromium context of its own, with nothing in its cache, who opens the dashboard and then does one thing
after the other, chosen by lot: another page, another sample, another delta, a file of their own, a report to keep. The
browsers share the machine with the server, so the seconds are those of a crowd whose laptops are slow. What is counted:
seconds until the thing that was asked for is seen, and until the page is at rest; waits that were given up; error
boxes, errors of scripts, answers of 500 and tracebacks in the server's log; the server's memory from beginning to end.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from playwright.async_api import Browser, Page, async_playwright
from playwright.async_api import Error as BrowserError
from playwright.async_api import TimeoutError as GaveUp

from spofr_core.browser import ARGUMENTS, find_browser
from spofr_core.experiments.bench.bench_browser import ROOT, SETTLED, WINDOW, Server

HERE = Path(__file__).resolve().parent
PATIENCE = 60.0
"""Seconds after which a wait is given up, and counted."""
PAGES = ["Data", "Audit", "Compare", "Train", "Tradeoffs", "Guarantees", "Policy", "Report"]
FILE = ROOT / "tests" / "fixtures" / "twelve.csv"

COUNT_RUNS = """() => {
    window.begun = 0;
    const look = () => {
        const state = document.querySelector('[data-testid="stApp"]')?.getAttribute('data-test-script-state');
        if (state === 'running' && window.lastState !== 'running') window.begun += 1;
        window.lastState = state;
    };
    new MutationObserver(look).observe(document, {subtree: true, childList: true, attributes: true,
        attributeFilter: ['data-test-script-state']});
}"""
"""How often the script of the page has begun, so that the rest before a click is not taken for the one after it."""
AT_REST = f"([before, asked]) => (window.begun > before || performance.now() - asked > 1500) && ({SETTLED})()"
"""A run that is over within a frame is not seen to begin, and a slider at its end begins none."""
HEADLINE = """() => [...document.querySelectorAll('[data-testid="stMain"] h1')]
    .some(e => e.offsetParent && !e.closest('[data-stale="true"]'))"""
AT_PAGE = """name =>
    document.querySelector('[data-testid="stTopNavLink"][aria-current="page"]')?.innerText.endsWith(name)
    && [...document.querySelectorAll('[data-testid="stMain"] h1')]
        .some(e => e.offsetParent && !e.closest('[data-stale="true"]'))"""
FRESH_CONTENT = """before => [...document.querySelectorAll('[data-testid="stMain"] h2')].some(e =>
    e.innerText.startsWith('What is in it') && e.innerText !== before && !e.closest('[data-stale="true"]'))"""
CONTENT = """() => [...document.querySelectorAll('[data-testid="stMain"] h2')]
    .find(e => e.innerText.startsWith('What is in it'))?.innerText ?? ''"""
BROKEN = """() => [...document.querySelectorAll('[data-testid="stException"]')].map(e => e.innerText)
    .concat(document.body.innerText.includes('Connection error') ? ['Connection error'] : [])"""


@dataclass
class Tally:
    """What the readers met: seconds of every wait, by action; waits given up; everything that broke."""

    seen: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    rest: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    given_up: Counter[str] = field(default_factory=Counter)
    broken: Counter[str] = field(default_factory=Counter)
    megabytes: list[tuple[float, float]] = field(default_factory=list)


class Reader:
    """One browser context and what it does, by lot."""

    def __init__(self, page: Page, address: str, tally: Tally, seed: int, pictures: Path | None) -> None:
        self._page = page
        self._pictures = pictures
        self._address = address
        self._tally = tally
        self._lot = random.Random(seed)
        self._actions: dict[str, Callable[[], Awaitable[None]]] = {
            "page": self._another_page,
            "sample": self._another_sample,
            "delta": self._another_delta,
            "open": self._opened,
            "upload": self._own_file,
            "report": self._kept_report,
        }
        page.on("pageerror", lambda error: tally.broken.update([f"script: {str(error)[:120]}"]))
        page.on("response", self._answered)

    async def act(self, until: float, pause: float) -> None:
        """Open the dashboard, then do one thing after the other until the time is over."""
        await self._page.add_init_script(f"({COUNT_RUNS})()")
        await self._timed("open", self._opened)
        while time.monotonic() < until:
            await asyncio.sleep(self._lot.uniform(0.5, 1.5) * pause)
            (name,) = self._lot.choices(list(self._actions), weights=[8, 3, 5, 2, 1, 1])
            await self._timed(name, self._actions[name])

    async def _timed(self, name: str, action: Callable[[], Awaitable[None]]) -> None:
        try:
            await action()
            self._tally.broken.update(f"{name}: {text[:120]}" for text in await self._page.evaluate(BROKEN))
        except GaveUp as error:
            self._tally.given_up[f"{name}: {' '.join(str(error).split())[:400]}"] += 1
            if self._pictures is not None:
                await self._page.screenshot(path=self._pictures / f"{name}-{time.monotonic():.0f}.png")
        except BrowserError as error:
            self._tally.broken[f"{name}: {str(error)[:120]}"] += 1

    def _answered(self, response: Any) -> None:
        if response.status >= 500:
            self._tally.broken[f"{response.status} {response.url[:120]}"] += 1

    async def _wait(self, name: str, do: Callable[[], Awaitable[Any]], sign: str = "", about: Any = None) -> None:
        """Do it, and note how long it takes until its sign is seen, if it has one, and until the page is at rest."""
        before = await self._page.evaluate("() => [window.begun ?? 0, performance.now()]")
        start = time.perf_counter()
        await do()
        if sign:
            await self._page.wait_for_function(sign, arg=about)
            self._tally.seen[name].append(time.perf_counter() - start)
        await self._page.wait_for_function(SETTLED if sign else AT_REST, arg=before)
        self._tally.rest[name].append(time.perf_counter() - start)

    async def _opened(self) -> None:
        start = time.perf_counter()
        await self._page.goto(f"{self._address}/{self._lot.choice(['', 'data', 'policy', 'report'])}")
        await self._page.wait_for_function(HEADLINE)
        self._tally.seen["open"].append(time.perf_counter() - start)
        await self._page.wait_for_function(SETTLED)
        self._tally.rest["open"].append(time.perf_counter() - start)

    async def _go(self, name: str) -> None:
        link = self._page.get_by_role("link", name=name, exact=True).first
        if await link.get_attribute("aria-current") != "page":
            await self._wait("page", link.click, AT_PAGE, name)

    async def _another_page(self) -> None:
        await self._go(self._lot.choice(PAGES))

    async def _another_sample(self) -> None:
        await self._go("Data")
        radios = self._page.get_by_test_id("stMain").get_by_test_id("stRadio").first.locator("label:has(input)")
        others = [k for k in range(await radios.count()) if not await radios.nth(k).locator("input").is_checked()]
        label = radios.nth(self._lot.choice(others))
        await self._wait("sample", label.click, FRESH_CONTENT, await self._page.evaluate(CONTENT))

    async def _another_delta(self) -> None:
        slider = self._page.locator(".st-key-sidebar-delta").get_by_role("slider")
        if not await slider.count():  # a page that has none
            await self._go("Audit")
        await slider.focus()
        key = self._lot.choice(["ArrowRight", "ArrowLeft"])
        await self._wait("delta", lambda: slider.press(key))

    async def _own_file(self) -> None:
        await self._go("Data")
        await self._page.locator('input[type="file"]').set_input_files(FILE)
        button = self._page.get_by_role("button", name="Audit this data")
        await button.wait_for()
        await self._page.wait_for_function(SETTLED)
        await self._wait("upload", button.click, AT_PAGE, "Audit")

    async def _kept_report(self) -> None:
        await self._go("Report")
        start = time.perf_counter()
        async with self._page.expect_download() as download:
            await self._page.get_by_role("button", name="Report (HTML)").click()
        await (await download.value).path()
        self._tally.rest["report"].append(time.perf_counter() - start)


async def crowd(server: Server, tally: Tally, asked: argparse.Namespace) -> None:
    """So many readers for so many minutes, and a look at the server's memory every two seconds."""
    path = find_browser()
    until = time.monotonic() + 60 * asked.minutes
    watch = asyncio.create_task(_watch(server, tally))
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        await asyncio.gather(*(_visit(browser, server.address, tally, k, until, asked) for k in range(asked.browsers)))
        await browser.close()
    watch.cancel()


async def _visit(
    browser: Browser, address: str, tally: Tally, seed: int, until: float, asked: argparse.Namespace
) -> None:
    context = await browser.new_context(viewport={"width": WINDOW["width"], "height": WINDOW["height"]})
    context.set_default_timeout(1000 * PATIENCE)
    await Reader(await context.new_page(), address, tally, seed, asked.pictures).act(until, asked.pause)
    await context.close()


async def _watch(server: Server, tally: Tally) -> None:
    process = psutil.Process(server.pid)
    start = time.monotonic()
    while True:
        tally.megabytes.append((time.monotonic() - start, process.memory_info().rss / 2**20))
        await asyncio.sleep(2.0)


def summary(tally: Tally, log: str, asked: argparse.Namespace) -> dict[str, Any]:
    """Medians, 95th percentiles, errors and memory, as plain values."""
    waits = {
        name: {
            "times": len(rest),
            "seen": _spread(tally.seen[name]) if name in tally.seen else None,
            "rest": _spread(rest),
        }
        for name, rest in sorted(tally.rest.items())
    }
    length = tally.megabytes[-1][0]
    quarters = [
        max(size for at, size in tally.megabytes if k * length / 4 <= at <= (k + 1) * length / 4) for k in range(4)
    ]
    return {
        "browsers": asked.browsers,
        "minutes": asked.minutes,
        "pause": asked.pause,
        "cpus": os.cpu_count(),
        "load": os.getloadavg()[0],
        "waits": waits,
        "given_up": dict(tally.given_up),
        "broken": dict(tally.broken),
        "tracebacks": log.count("Traceback (most recent call last)"),
        "megabytes_by_quarter": quarters,
    }


def _spread(seconds: list[float]) -> dict[str, float]:
    return {"median": float(np.median(seconds)), "p95": float(np.quantile(seconds, 0.95)), "most": max(seconds)}


def table(told: dict[str, Any]) -> str:
    """The summary as it stands in docs/reliability.md."""
    waits = sum(row["times"] for row in told["waits"].values())
    rows = [
        f"`python benchmarks/load.py --browsers {told['browsers']} --minutes {told['minutes']:g}`: {waits:,} waits, "
        f"{sum(told['given_up'].values())} given up after {PATIENCE:.0f} s, {sum(told['broken'].values())} error boxes "
        f"or errors of scripts, {told['tracebacks']} tracebacks in the log. The server's MB by quarter of the time: "
        f"{', '.join(f'{size:,.0f}' for size in told['megabytes_by_quarter'])}. Server and browsers shared "
        f"{told['cpus']} cores (load {told['load']:.0f}).",
        "",
        "| asked for | times | seen: median, 95 % (s) | at rest: median, 95 % (s) |",
        "|---|---|---|---|",
    ]
    for name, row in told["waits"].items():
        cells = [f"{row[key]['median']:.2f}, {row[key]['p95']:.2f}" if row[key] else "" for key in ("seen", "rest")]
        rows.append(f"| {name} | {row['times']} | {' | '.join(cells)} |")
    rows += [f"- {count} x {text}" for text, count in (told["given_up"] | told["broken"]).items()]
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--browsers", type=int, default=10)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--pause", type=float, default=2.0, help="mean seconds that a reader looks at what came")
    parser.add_argument("--json", type=Path, help="the figures, as a file")
    parser.add_argument("--pictures", type=Path, help="a folder for the screen whenever a wait was given up")
    parser.add_argument("--write", action="store_true", help="put the table into docs/reliability.md")
    asked = parser.parse_args()
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="spofr-load-") as name:
        with Server(ROOT / "dashboard" / "app.py", Path(name)) as server:
            asyncio.run(crowd(server.ready(), tally, asked))
        told = summary(tally, server.log(), asked)
    if asked.json:
        asked.json.write_text(json.dumps(told, indent=2), encoding="utf-8")
    print(table(told))
    if asked.write:
        sys.path.insert(0, str(HERE))
        from hostile import write_part

        write_part(f"load-{asked.browsers}", table(told))


if __name__ == "__main__":
    main()
