"""A real browser in front of a real Streamlit server: start both, wait for what a reader sees, count what was sent."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from spofr_core.browser import ARGUMENTS, find_browser
from spofr_core.errors import ConfigError

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).resolve().parents[3]
PATIENCE = 90.0
"""Seconds until a server or a page is given up."""
WINDOW = {"width": 1440, "height": 1000}


class Server:
    """`streamlit run` of one file as a process of its own, on a free loopback port; use it in a `with`."""

    def __init__(self, script: Path, folder: Path) -> None:
        self._script = script
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self.address = ""

    def __enter__(self) -> Server:
        port = _free_port()
        self.address = f"http://127.0.0.1:{port}"
        options = {"address": "127.0.0.1", "port": str(port), "headless": "true", "fileWatcherType": "none"}
        command = [sys.executable, "-m", "streamlit", "run", str(self._script), "--browser.gatherUsageStats", "false"]
        command += [word for name, value in options.items() for word in (f"--server.{name}", value)]
        # Runs and uploads of the benchmark are nobody else's, and those of others would change what is measured.
        environment = {**os.environ, "SPOFR_HOME": str(self._folder / "home")}
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log, env=environment)
        return self

    def __exit__(self, *_: object) -> None:
        process = self._process
        if process is None:
            return
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    @property
    def _log(self) -> Path:
        return self._folder / f"{self._script.stem}.log"

    @property
    def pid(self) -> int | None:
        """The process, once it was started."""
        return None if self._process is None else self._process.pid

    def log(self) -> str:
        """Everything that the server has written."""
        return self._log.read_text("utf-8", errors="replace")

    def ready(self) -> Server:
        """Wait until it answers.

        Raises
        ------
        ConfigError
            When the server ends instead, with the last lines that it wrote.
        """
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and self._process is not None and self._process.poll() is None:
            try:
                with urllib.request.urlopen(f"{self.address}/_stcore/health", timeout=5):
                    return self
            except (urllib.error.URLError, OSError):
                time.sleep(0.02)
        raise ConfigError(f"Streamlit did not start {self._script.name}: {self.log()[-2000:]}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def chromium() -> Iterator[Browser]:
    """The headless Chrome or Chromium of this machine.

    Raises
    ------
    ConfigError
        When there is none, or Playwright is not installed.
    """
    path = find_browser()
    if path is None:
        raise ConfigError("No Chrome or Chromium was found: `apt-get install chromium`, or name one in SPOFR_CHROMIUM.")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise ConfigError("Playwright is not installed: `pip install playwright` (it drives the browser).") from None
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        try:
            yield started
        finally:
            started.close()


@contextmanager
def visitor(browser: Browser) -> Iterator[Page]:
    """A new visitor, with nothing in the cache."""
    context = browser.new_context(viewport={"width": WINDOW["width"], "height": WINDOW["height"]})
    context.set_default_timeout(1000 * PATIENCE)
    try:
        yield context.new_page()
    finally:
        context.close()


def seen(page: Page, condition: str, argument: Any = None) -> None:
    """Wait until a condition holds in the page, looked at on every frame; `condition` is a JavaScript function."""
    page.wait_for_function(condition, arg=argument, timeout=1000 * PATIENCE)


SETTLED = """() => {
    const app = document.querySelector('[data-testid="stApp"]');
    return app && app.getAttribute('data-test-script-state') === 'notRunning'
        && !document.querySelector('[data-stale="true"]') && !document.querySelector('[data-testid="stSkeleton"]');
}"""
"""The script has run to its end and everything that it drew is on the screen."""


@dataclass
class Traffic:
    """Bytes that came to a page: Streamlit's own files, and everything else, as answers and as messages.

    Messages count in full, although the socket compresses them.
    """

    static: int = 0
    answers: int = 0
    messages: int = 0
    _urls: dict[str, str] = field(default_factory=dict, repr=False)

    @property
    def own(self) -> int:
        """Bytes without Streamlit's own files."""
        return self.answers + self.messages

    def watch(self, page: Page) -> Traffic:
        """Count what the page receives from now on."""
        session = page.context.new_cdp_session(page)
        session.send("Network.enable")
        session.on("Network.requestWillBeSent", self._asked)
        session.on("Network.loadingFinished", self._answered)
        page.on("websocket", lambda socket: socket.on("framereceived", self._message))
        return self

    def _asked(self, event: dict[str, Any]) -> None:
        self._urls[event["requestId"]] = event["request"]["url"]

    def _answered(self, event: dict[str, Any]) -> None:
        path = urlsplit(self._urls.get(event["requestId"], "")).path
        size = int(event["encodedDataLength"])
        if path.startswith("/static/") or path in ("/", "/index.html"):
            self.static += size
        else:
            self.answers += size

    def _message(self, payload: str | bytes) -> None:
        self.messages += len(payload)
