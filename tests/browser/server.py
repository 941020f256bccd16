"""The real dashboard as a process of its own, on a free loopback port."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
APP = ROOT / "dashboard" / "server.py"


@contextmanager
def dashboard(log: Path, app: Path = APP, *, home: Path | None = None) -> Iterator[str]:
    """Start `streamlit run`, wait until it answers, give its address; end that process, and no other, afterwards.

    `home` is where it keeps jobs and runs; beside the log if it is not given.
    """
    port = free_port()
    process = start(port, log, app, home=home)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(timeout=20)


def start(port: int, log: Path, app: Path = APP, *, home: Path | None = None) -> subprocess.Popen[bytes]:
    """Start the dashboard on this port and wait until it answers."""
    command = [sys.executable, "-m", "streamlit", "run", str(app), "--server.address", "127.0.0.1"]
    command += ["--server.port", str(port), "--server.headless", "true", "--browser.gatherUsageStats", "false"]
    environment = {**os.environ, "SPOFR_HOME": str(home or log.parent / "home")}
    with log.open("ab") as output:
        process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT, env=environment)
    try:
        wait_until_healthy(f"http://127.0.0.1:{port}/_stcore/health", process, log)
    except BaseException:
        process.kill()
        raise
    return process


def free_port() -> int:
    """A port that nobody listens on; two workers that ask at the same time get different ones."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until_healthy(address: str, process: subprocess.Popen[bytes], log: Path, patience: float = 90.0) -> None:
    def healthy() -> bool:
        assert process.poll() is None, output()
        with contextlib.suppress(urllib.error.URLError, OSError), urllib.request.urlopen(address, timeout=5) as answer:
            return answer.status == 200
        return False

    def output() -> str:
        return f"The dashboard did not start:\n{log.read_text(errors='replace')[-3000:]}"

    wait_until(healthy, patience, otherwise=output)
