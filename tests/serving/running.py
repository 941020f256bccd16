"""The real service as a process of its own on a loopback port, and readers who ask it."""

from __future__ import annotations

import contextlib
import http.client
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from tests.browser.server import free_port
from tests.waiting import wait_until

PATIENCE = 60.0


@contextmanager
def running(folder: Path, *options: str, files: int = 0) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """Start `spofr serve` with its counters in a folder, with so many file descriptors; end it and no other."""
    port = free_port()
    command = [sys.executable, "-c", _MAIN if not files else f"{_FEW_FILES.format(files=files)}; {_MAIN}"]
    command += ["serve", "--port", str(port), "--state", str(folder / "counters.sqlite"), *options]
    with (folder / "output").open("ab") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    try:
        _wait(port, process, folder / "output")
        yield port, process
    finally:
        process.terminate()
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            for child in psutil.Process(process.pid).children(recursive=True):
                child.kill()
            process.kill()
            process.wait(timeout=30)


_FEW_FILES = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({files}, {files}))"
_MAIN = "from spofr_core.cli import main; main()"


def workers_of(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """The processes that answer."""
    children = psutil.Process(process.pid).children()
    return [child for child in children if "spawn_main" in " ".join(child.cmdline())]


class Reader:
    """Asks over one connection, and again over another where it was cut off."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._connection: http.client.HTTPConnection | None = None
        self.cut_off = 0
        self.headers: dict[str, str] = {}

    def ask(self, content: Any, **headers: str) -> tuple[int, dict[str, Any]]:
        """Status and answer of POST /rank; content may be bytes."""
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                if self._connection is None:
                    self._connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE)
                self._connection.request("POST", "/rank", body, {"content-type": "application/json", **headers})
                answer = self._connection.getresponse()
                self.headers = dict(answer.getheaders())
                return answer.status, json.loads(answer.read())
            except (OSError, http.client.HTTPException):
                self.cut_off += 1
                self.close()
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    def close(self) -> None:
        """Hang up."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None


def get(port: int, path: str, **headers: str) -> tuple[int, str]:
    """Status and text of a page."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def _wait(port: int, process: subprocess.Popen[bytes], output: Path) -> None:
    def answers() -> bool:
        assert process.poll() is None, output.read_text("utf-8")
        with contextlib.suppress(OSError):
            return get(port, "/health")[0] == 200
        return False

    wait_until(answers, otherwise=lambda: output.read_text("utf-8"))
