"""`spofr bench dashboard`: what a reader waits for, beside bare Streamlit pages with one Plotly chart, in one run."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import count, cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from spofr_core.data import load_sample
from spofr_core.errors import ConfigError
from spofr_core.experiments.bench.bare_pages import write_pages
from spofr_core.experiments.bench.bench_browser import ROOT, SETTLED, Server, Traffic, chromium, seen, visitor

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

LIMITS = {
    "cold_start": 3.0,
    "first_verdict": 3.0,
    "delta_move": 1.4,
    "page_switch": 1.4,
    "sample_change": 2.0,
    "page_bytes": 1.0,
}
MOST_BYTES = 5_000_000
APP = ROOT / "dashboard" / "app.py"

VERDICT = """said => [...document.querySelectorAll('[data-testid="stMain"] h1')]
    .some(e => e.offsetParent && e.innerText.includes(said))"""
AUDITED = """said => document.querySelector('[data-testid="stMain"] h1')?.innerText.includes('queries')
    && document.querySelector('[data-testid="stMain"]').innerText.includes(said)"""
"""The verdict, under the line that says what was audited."""
DRAWN = "() => document.querySelector('.js-plotly-plot .cartesianlayer .mlayer :is(path, image)')"
MOVED = """delta => [...document.querySelectorAll('.js-plotly-plot .annotation-text')].some(e => {
    const said = /delta (?:= )?([0-9.]+)/.exec(e.textContent);
    const place = e.getBoundingClientRect();
    return said && Math.abs(parseFloat(said[1]) - delta) < 1e-9 && place.top < innerHeight && place.bottom > 0;
})"""
"""A chart is marked with this delta, where the reader can see it without scrolling."""
LOOKS = """() => {
    const main = document.querySelector('[data-testid="stMain"]');
    return {headline: main.querySelector('h1')?.innerText ?? '', words: main.innerText.slice(0, 200),
            chart: main.querySelector('.js-plotly-plot')?.textContent ?? ''};
}"""
"""How a page is known again: its headline, and the words in its first chart; without a chart, its first words."""
THERE = """look => {
    const main = document.querySelector('[data-testid="stMain"]');
    if (!look.chart) return main.innerText.startsWith(look.words);
    return [...main.querySelectorAll('h1')].some(e => e.innerText === look.headline)
        && [...main.querySelectorAll('.js-plotly-plot')]
            .some(e => e.textContent === look.chart && !e.closest('[data-stale="true"]'));
}"""
CHOSEN = """name => document.querySelector('[data-testid="stTopNavLink"][aria-current="page"]')
    ?.innerText.endsWith(name)"""
CONTENT = """() => {
    const main = document.querySelector('[data-testid="stMain"]');
    return {title: [...main.querySelectorAll('h2')].find(e => e.innerText.startsWith('What is in it'))?.innerText ?? '',
            chart: main.querySelector('.js-plotly-plot')?.textContent ?? ''};
}"""
"""How a sample is known again: what stands above its numbers, and the words in its first chart."""
SAMPLED = """look => {
    const main = document.querySelector('[data-testid="stMain"]');
    const fresh = e => !e.closest('[data-stale="true"]');
    return [...main.querySelectorAll('h2')].some(e => e.innerText === look.title && fresh(e))
        && [...main.querySelectorAll('.js-plotly-plot')].some(e => e.textContent === look.chart && fresh(e));
}"""
CALM = 1000
"""Milliseconds after which a page that was asked for has begun to change."""

Case = Callable[[], dict[str, float]]
"""A measured step: seconds until each of the things that a reader waits for."""


def bench_dashboard(*, rounds: int = 5, lists: int = 4_000, rows: int = 100_000) -> dict[str, Any]:
    """Seconds that a reader waits, as ratios to bare Streamlit pages that take turns with the dashboard.

    - cold_start: start of the server process to the first verdict, over the bare page's to its first chart.
    - first_verdict: the same for a new visitor of a server that runs.
    - delta_move: a key press on the slider of delta to a chart in the window that is marked with the new delta, on
      `lists` lists of 20, over the same key press on the bare page. The charts further down come after that;
      `delta_settled` in `seconds` is the time to the last of them.
    - page_switch: a click in the menu to the headline and the first chart of the other page (a page without a chart:
      to its end), for the slowest page, over a switch between two bare pages.
    - sample_change: a click on another sample to its name and its first chart, on the Data page, for the slowest
      sample, over a click on a bare page that draws another chart.
    - upload: a CSV of `rows` rows handed over to the verdict on it, over a bare page that reads it with pandas and
      draws the mean.
    - page_bytes: most bytes that a page sends, over 5 MB; Streamlit's own files are counted apart.

    Raises
    ------
    ConfigError
        When there is no checkout with the dashboard, no browser, or no Playwright.
    """
    if not APP.exists():
        raise ConfigError(f"The dashboard is not at {str(APP)!r}; run the benchmark from a checkout of the project.")
    seconds: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="spofr-bench-") as name, chromium() as browser, ExitStack() as stack:
        folder = Path(name)
        bare = write_pages(folder)
        seconds |= _medians(
            {
                "bare_cold": lambda: _cold(browser, bare["slider"], folder, "One chart"),
                "cold": lambda: _cold(browser, APP, folder, "queries"),
            },
            rounds=rounds,
        )
        serve = {**bare, "dashboard": APP}
        at = {key: stack.enter_context(Server(path, folder)).ready().address for key, path in serve.items()}
        seconds |= _medians(
            {
                "bare_new": lambda: _opened(browser, at["slider"], "One chart"),
                "new": lambda: _opened(browser, at["dashboard"], "queries"),
            },
            rounds=rounds,
        )
        seconds |= _uploads(browser, at, folder, rows, rounds)
        bytes_ = _bytes_of_pages(browser, at["dashboard"])
        with visitor(browser) as page:
            traffic = Traffic().watch(page)
            _upload_lists(page, at["dashboard"], folder / "lists.csv", lists)
            seconds |= _moves(browser, at["slider"], page, traffic, bytes_, rounds)
            seconds |= _switches(browser, at["two_pages"], page, traffic, bytes_, rounds)
        seconds |= _samples(browser, at["choice"], at["dashboard"], rounds)
    return _summary(seconds, bytes_, rounds=rounds, lists=lists, rows=rows)


def _summary(seconds: dict[str, float], bytes_: dict[str, Any], **asked: int) -> dict[str, Any]:
    switches = {name: value for name, value in seconds.items() if name.startswith("switch_")}
    slowest = max(switches.values())
    samples = {name: value for name, value in seconds.items() if name.startswith("sample_")}
    largest = max(*bytes_["first_opening"].values(), *bytes_["with_lists"].values())
    ratios = {
        "cold_start": seconds["cold_verdict"] / seconds["bare_cold_chart"],
        "first_verdict": seconds["new_verdict"] / seconds["bare_new_chart"],
        "first_chart": seconds["new_chart"] / seconds["bare_new_chart"],
        "delta_move": seconds["delta_chart"] / seconds["bare_delta_chart"],
        "page_switch": slowest / seconds["bare_switch"],
        "sample_change": max(samples.values()) / seconds["bare_sample"],
        "upload": seconds["upload_verdict"] / seconds["bare_upload_chart"],
        "page_bytes": largest / MOST_BYTES,
    }
    return {
        **asked,
        "cpus": os.cpu_count(),
        "load": os.getloadavg()[0],
        "seconds": seconds,
        "bytes": bytes_,
        "ratios": ratios,
        "page_switches": {name: value / seconds["bare_switch"] for name, value in switches.items()},
        "sample_changes": {name: value / seconds["bare_sample"] for name, value in samples.items()},
        "limits": LIMITS,
        "held": {name: ratios[name] <= limit for name, limit in LIMITS.items()},
    }


def _medians(cases: Mapping[str, Case], *, rounds: int, warmup: int = 1) -> dict[str, float]:
    """Median seconds of everything that each case waits for, over rounds in which every case runs once."""
    found: dict[str, list[float]] = {}
    for turn in range(warmup + rounds):
        for name, case in cases.items():
            for what, value in case().items():
                found.setdefault(f"{name}_{what}" if what else name, []).append(value if turn >= warmup else np.nan)
    return {name: statistics.median(values[warmup:]) for name, values in found.items()}


def _cold(browser: Browser, script: Path, folder: Path, said: str) -> dict[str, float]:
    begun = time.perf_counter()
    with Server(script, folder) as server:
        return _opened(browser, server.ready().address, said, begun)


def _opened(browser: Browser, address: str, said: str, begun: float | None = None) -> dict[str, float]:
    """A new visitor, from the address to the headline with this word in it, and to the first chart."""
    with visitor(browser) as page:
        begun = time.perf_counter() if begun is None else begun
        page.goto(address, wait_until="commit")
        seen(page, VERDICT, said)
        verdict = time.perf_counter() - begun
        seen(page, DRAWN)
        return {"verdict": verdict, "chart": time.perf_counter() - begun}


def _uploads(browser: Browser, at: Mapping[str, str], folder: Path, rows: int, rounds: int) -> dict[str, float]:
    """A file that the server has never seen, each time in a session of its own."""
    seeds = count()

    def bare() -> dict[str, float]:
        path = _write_rows(folder / "rows.csv", rows, next(seeds))
        with visitor(browser) as page:
            page.goto(at["upload"])
            chooser = _chooser(page)
            begun = time.perf_counter()
            chooser.set_input_files(path)
            seen(page, DRAWN)
            return {"chart": time.perf_counter() - begun}

    def audited() -> dict[str, float]:
        path = _write_rows(folder / "rows.csv", rows, next(seeds))
        with visitor(browser) as page:
            page.goto(f"{at['dashboard']}/data")
            return {"verdict": _audit_file(page, path, f"{path.name} · {rows // 20:,} queries")}

    return _medians({"bare_upload": bare, "upload": audited}, rounds=rounds)


def _chooser(page: Page) -> Locator:
    """The file input of a page that has come to rest."""
    chooser = page.locator('input[type="file"]')
    chooser.wait_for(state="attached")
    seen(page, SETTLED)
    return chooser


def _audit_file(page: Page, path: Path, said: str) -> float:
    """Hand over a file on the Data page and accept the columns as guessed; seconds to the verdict."""
    chooser = _chooser(page)
    begun = time.perf_counter()
    chooser.set_input_files(path)
    page.get_by_role("button", name="Audit this data").click()
    seen(page, AUDITED, said)
    return time.perf_counter() - begun


def _upload_lists(page: Page, address: str, path: Path, lists: int) -> None:
    """Make the test part of German Credit, with as many lists as asked for, the data of this session."""
    data = load_sample("german-credit", test_lists=lists, score="logging").test
    data.to_frame().drop(columns=list(data.feature_names or ())).to_csv(path, index=False)
    page.goto(f"{address}/data")
    _audit_file(page, path, f"{path.name} · {len(data):,} queries")
    seen(page, SETTLED)


def _moves(
    browser: Browser, bare: str, page: Page, traffic: Traffic, bytes_: dict[str, Any], rounds: int
) -> dict[str, float]:
    """Every move goes to a delta that has not been seen, so that nothing is remembered."""
    with visitor(browser) as plain:
        plain.goto(bare)
        seen(plain, DRAWN)
        before = traffic.own
        found = _medians(
            {
                "bare_delta": lambda: _moved(plain, plain.get_by_role("slider")),
                "delta": lambda: _moved(page, page.locator(".st-key-sidebar-delta").get_by_role("slider")),
            },
            rounds=rounds,
        )
    bytes_["delta_move"] = (traffic.own - before) // (rounds + 1)
    return found


def _moved(page: Page, slider: Locator) -> dict[str, float]:
    """One step to the right: seconds to the first chart that shows it, and to the end of the page."""
    value, step = slider.evaluate("e => [parseFloat(e.value), parseFloat(e.step)]")
    slider.focus()
    begun = time.perf_counter()
    slider.press("ArrowRight")
    seen(page, MOVED, value + step)
    drawn = time.perf_counter() - begun
    seen(page, SETTLED)
    return {"chart": drawn, "settled": time.perf_counter() - begun}


def _switches(
    browser: Browser, bare: str, page: Page, traffic: Traffic, bytes_: dict[str, Any], rounds: int
) -> dict[str, float]:
    """Around the whole menu, and between the two bare pages as often."""
    with visitor(browser) as plain:
        plain.goto(bare)
        seen(plain, DRAWN)
        # The first way around learns what the pages look like, and what they send.
        looks = dict(_looks(page, traffic, bytes_.setdefault("with_lists", {})))
        plain_looks = dict(_looks(plain, Traffic(), {}))
        return _in_turn(
            "switch",
            {name: partial(_switched, page, name, look) for name, look in looks.items()},
            [partial(_switched, plain, name, look) for name, look in plain_looks.items()],
            rounds,
        )


def _samples(browser: Browser, bare: str, dashboard: str, rounds: int) -> dict[str, float]:
    """Around the bundled samples on the Data page, and between the two values of a bare page as often."""
    with visitor(browser) as page, visitor(browser) as plain:
        page.goto(f"{dashboard}/data")
        plain.goto(bare)
        shown, plainly = (dict(_contents(each)) for each in (page, plain))
        return _in_turn(
            "sample",
            {name: partial(_sampled, page, name, look) for name, look in shown.items()},
            [partial(_sampled, plain, name, look) for name, look in plainly.items()],
            rounds,
        )


def _in_turn(
    what: str, steps: Mapping[str, Callable[[], float]], bare: Sequence[Callable[[], float]], rounds: int
) -> dict[str, float]:
    """Medians of every step, with one of the bare steps before each; the median of those is `bare_<what>`."""
    turns = cycle(bare)

    def timed(step: Callable[[], float]) -> dict[str, float]:
        return {"": step()}

    cases: dict[str, Case] = {}
    for name, step in steps.items():
        cases[f"bare_{what}_before_{name.lower()}"] = lambda: timed(next(turns))
        cases[f"{what}_{name.lower()}"] = partial(timed, step)
    found = _medians(cases, rounds=rounds)
    plain = [found.pop(name) for name in list(found) if name.startswith(f"bare_{what}_before_")]
    return {f"bare_{what}": statistics.median(plain), **found}


def _contents(page: Page) -> Iterator[tuple[str, dict[str, str]]]:
    """Every choice of the first radio of a page, and what it shows; the chosen one last, so that all are clicked."""
    seen(page, DRAWN)
    options = page.get_by_test_id("stMain").get_by_test_id("stRadio").first.get_by_role("radio")
    names = [str(name) for name in options.evaluate_all("all => all.map(e => e.closest('label').innerText)")]
    checked = options.evaluate_all("all => all.findIndex(e => e.checked)")
    for name in [*names[checked + 1 :], *names[: checked + 1]]:
        first_line = name.split("\n")[0]
        _choose(page, first_line)
        page.wait_for_timeout(CALM)
        seen(page, SETTLED)
        yield first_line, page.evaluate(CONTENT)


def _choose(page: Page, name: str) -> None:
    page.get_by_test_id("stMain").get_by_test_id("stRadio").first.get_by_text(name, exact=True).click()


def _sampled(page: Page, name: str, look: dict[str, str]) -> float:
    """Seconds from the click to what is in the other sample, and its first chart."""
    seen(page, SETTLED)
    begun = time.perf_counter()
    _choose(page, name)
    seen(page, SAMPLED, look)
    waited = time.perf_counter() - begun
    seen(page, SETTLED)
    return waited


def _looks(page: Page, traffic: Traffic, sent: dict[str, int]) -> Iterator[tuple[str, dict[str, str]]]:
    for name, _ in _menu(page):
        before = traffic.own
        _click(page, name)
        seen(page, CHOSEN, name)
        page.wait_for_timeout(CALM)
        seen(page, SETTLED)
        sent[name] = traffic.own - before
        yield name, page.evaluate(LOOKS)


def _menu(page: Page) -> list[tuple[str, str]]:
    """Name and address of every page; the text of a link begins with the name of its icon."""
    links = page.get_by_test_id("stTopNavLink")
    links.first.wait_for()
    return [
        (text.split("\n")[-1], link) for text, link in links.evaluate_all("all => all.map(e => [e.innerText, e.href])")
    ]


def _click(page: Page, name: str) -> None:
    page.get_by_role("link", name=name, exact=True).first.click()


def _switched(page: Page, name: str, look: dict[str, str]) -> float:
    """Seconds from the click to the headline and the first chart; a page without charts has to come to its end."""
    seen(page, SETTLED)
    begun = time.perf_counter()
    _click(page, name)
    seen(page, THERE, look)
    if not look["chart"]:
        seen(page, SETTLED)
    waited = time.perf_counter() - begun
    seen(page, SETTLED)  # what is drawn further down would slow down the page that is timed next
    return waited


def _bytes_of_pages(browser: Browser, address: str) -> dict[str, Any]:
    """What each page sends to a new visitor; Streamlit's own files, which are the same everywhere, apart."""
    sent: dict[str, int] = {}
    static = 0
    with visitor(browser) as page:
        page.goto(address)
        seen(page, VERDICT, "")
        links = _menu(page)
    for name, link in links:
        with visitor(browser) as page:
            traffic = Traffic().watch(page)
            page.goto(link, wait_until="networkidle")
            seen(page, SETTLED)
            page.wait_for_timeout(500)
            sent[name] = traffic.own
            static = max(static, traffic.static)
    return {"limit": MOST_BYTES, "streamlit_files": static, "first_opening": sent}


def _write_rows(path: Path, rows: int, seed: int) -> Path:
    """Lists of 20 with two groups; another seed is another file."""
    rng = np.random.default_rng(seed)
    group = rng.choice(np.array(["women", "men"]), rows)
    pd.DataFrame(
        {
            "query_id": np.char.add("q", (np.arange(rows) // 20).astype(str)),
            "item_id": np.char.add("d", np.arange(rows).astype(str)),
            "group": group,
            "score": np.round(rng.normal(size=rows) + 0.3 * (group == "men"), 5),
            "relevance": rng.integers(0, 3, rows),
        }
    ).to_csv(path, index=False)
    return path
