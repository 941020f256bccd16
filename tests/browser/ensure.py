"""Make sure that a real browser is there for the tests: find one, or install one. Run by `make test`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from spofr_core import browser as chromium


def main() -> int:
    """Print the browser found; 1 when there is none and none could be installed."""
    for attempt in (None, _with_apt, _with_playwright):
        if attempt is not None:
            attempt()
        path = chromium.find_browser()
        if path is not None:
            print(f"Browser for the tests: {chromium.browser_version(path)} ({path})")
            return 0
    print(
        "The browser tests need Chrome or Chromium and none could be installed here: "
        "install one (Debian and Ubuntu: `apt-get install chromium`), or name it in SPOFR_CHROMIUM.",
        file=sys.stderr,
    )
    return 1


def _with_apt() -> None:
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        return
    print("No Chrome or Chromium found; installing the one of this distribution.", flush=True)
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    _try(["apt-get", "update", "-qq"], quiet)
    _try(["apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium"], quiet)


def _with_playwright() -> None:
    print("Asking Playwright for its own Chromium.", flush=True)
    _try([sys.executable, "-m", "playwright", "install", "chromium"], dict(os.environ))


def _try(command: list[str], environment: dict[str, str]) -> None:
    """Run a step; a failure is told, and the search afterwards decides whether it mattered."""
    try:
        done = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, timeout=600, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"`{' '.join(command)}` did not finish: {error}", file=sys.stderr)
        return
    if done.returncode != 0:
        print(f"`{' '.join(command)}` ended with code {done.returncode}.", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
