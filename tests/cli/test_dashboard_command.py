"""`spofr dashboard` as a process: it opens a browser, answers to its own names alone, and leaves nothing behind."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.browser.server import free_port, wait_until_healthy
from tests.waiting import wait_until

pytestmark = pytest.mark.timeout(300)
SPOFR = [sys.executable, "-c", "from spofr_core.cli import main; main()"]


@contextmanager
def running(folder: Path, *options: str, **more: str) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """The command, once its server answers; it and its server are ended afterwards, whatever a test did to them."""
    port = free_port()
    command = [*SPOFR, "dashboard", "--port", str(port), *options]
    with (folder / "log").open("wb") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=output, env={**os.environ, "SPOFR_HOME": str(folder / "home"), **more}
        )
    wait_until_healthy(f"http://127.0.0.1:{port}/_stcore/health", process, folder / "log")
    servers = psutil.Process(process.pid).children(recursive=True)
    try:
        yield port, process
    finally:
        process.terminate()
        process.wait(timeout=60)
        _, alive = psutil.wait_procs(servers, timeout=60)
        for server in alive:
            server.kill()
    assert alive == []


def answer(port: int, host: str, accept: str, path: str = "/") -> tuple[int, str, str]:
    """Status, kind and text of what a browser or a program gets that asks under this name."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers={"Host": host, "Accept": accept})
    try:
        with urllib.request.urlopen(request, timeout=30) as found:
            return found.status, found.headers["content-type"], found.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers["content-type"], error.read().decode()


def test_a_killed_command_takes_its_server_along_and_the_port_is_free_again(tmp_path):
    with running(tmp_path, "--headless") as (port, process):
        servers = psutil.Process(process.pid).children(recursive=True)
        assert servers
        process.kill()
        process.wait()
        _, alive = psutil.wait_procs(servers, timeout=60)
        assert alive == []
        with socket.socket() as free:
            free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            free.bind(("127.0.0.1", port))


def test_under_a_foreign_name_a_browser_is_told_why_there_is_no_page(tmp_path):
    page = "text/html,application/xhtml+xml"
    with running(tmp_path, "--headless", "--host-name", "audits.example.org") as (port, _):
        for own in (f"localhost:{port}", f"127.0.0.1:{port}", "audits.example.org"):
            status, _, text = answer(port, own, page)
            assert status == 200
            assert "<html" in text
        for foreign in ("evil.example", "10.1.2.3", "<b>evil</b>"):
            told = f"This service does not answer to {foreign!r}; start it with --host-name and that name."
            assert answer(port, foreign, page) == (421, "text/plain; charset=utf-8", told)
        assert "to 'evil.example'; start it" in answer(port, f"evil.example:{port}", page)[2]
        status, kind, text = answer(port, "evil.example", "*/*", "/_stcore/health")
        assert (status, kind) == (421, "application/json")
        assert "does not answer to 'evil.example'" in text


@pytest.mark.skipif(os.name == "nt", reason="the browser of this test is a script of a shell")
def test_a_browser_is_opened_on_the_page_unless_it_is_not_wanted(tmp_path):
    seen, script = tmp_path / "seen", tmp_path / "browser"
    script.write_text(f'#!/bin/sh\necho "$1" > "{seen}"\n')
    script.chmod(0o755)
    with running(tmp_path, BROWSER=str(script)) as (port, _):
        wait_until(lambda: seen.exists() and seen.read_text())
        assert seen.read_text() == f"http://127.0.0.1:{port}\n"
