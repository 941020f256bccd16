"""Where a usable Chrome or Chromium is, and how it is started: for static figures, benchmarks and tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
MAC_APPS = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

_ASK = """
from playwright.sync_api import sync_playwright
with sync_playwright() as playwright:
    print(playwright.chromium.executable_path)
"""


def find_browser() -> str | None:
    """Path of a browser that runs, or None."""
    return next((path for path in _candidates() if path and browser_version(path) is not None), None)


def _candidates() -> Iterator[str | None]:
    """The one that was named, those on the PATH, then Playwright's own, which is asked for only if it comes to that."""
    yield os.environ.get("SPOFR_CHROMIUM")
    yield from (shutil.which(name) for name in NAMES)
    yield from MAC_APPS
    yield _of_playwright()


def browser_version(path: str) -> str | None:
    """What the browser at `path` calls itself; None when it does not run (a stub that asks for a snap, for example)."""
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    words = done.stdout.strip()
    return words if done.returncode == 0 and any(letter.isdigit() for letter in words) else None


def _of_playwright() -> str | None:
    """The Chromium that `python -m playwright install chromium` puts into its cache.

    Playwright is asked in a process of its own: it does not answer inside an event loop, and it may not be installed.
    """
    try:
        asked = subprocess.run([sys.executable, "-c", _ASK], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    path = asked.stdout.strip()
    return path if asked.returncode == 0 and path and Path(path).exists() else None
