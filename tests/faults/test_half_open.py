"""Connections that nobody finishes: whoever sends a whole request is answered, and the log stays short."""

from __future__ import annotations

import asyncio
import json
import resource
import select
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager

import psutil
import pytest
from uvicorn import Config
from uvicorn.server import ServerState

from spofr_core.serving.connections import Connection, Listener
from tests.serving.running import PATIENCE, Reader, get, running, workers_of
from tests.waiting import wait_until

LIST = {"query": "q", "items": [{"id": 1, "group": "a", "score": 0.9}, {"id": 2, "group": "b", "score": 0.1}]}
HEAD = b"POST /rank HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
HALVES = {"nothing": b"", "header": HEAD, "body": HEAD + b"content-length: 100\r\n\r\n{"}


@contextmanager
def half_open(port: int, begun: bytes, number: int) -> Iterator[list[socket.socket]]:
    """So many connections that have sent this, and send no more."""
    with ExitStack() as stack:
        sockets = []
        for _ in range(number):
            one = stack.enter_context(closing(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)))
            one.sendall(begun)
            sockets.append(one)
        yield sockets


def closed(port: int) -> dict[str, float]:
    """How many connections the service has closed, by what they waited for."""
    lines = [
        line for line in get(port, "/metrics")[1].splitlines() if line.startswith("spofr_connections_closed_total")
    ]
    return {line.split('"')[1]: float(line.split()[-1]) for line in lines}


@pytest.mark.parametrize("workers", [1, 2])
def test_a_crowd_of_half_open_connections_keeps_nobody_from_being_answered(tmp_path, workers):
    """Few descriptors, and more connections than they allow for; asyncio wrote a traceback for each of 2,048 tries."""
    with running(tmp_path, "--delta", "5%", "--workers", str(workers), files=96) as (port, _), ExitStack() as crowd:
        for begun in HALVES.values():
            crowd.enter_context(half_open(port, begun, 200))
            for k in range(20):
                with closing(Reader(port)) as reader:
                    assert reader.ask({**LIST, "query": f"{len(begun)} {k}"})[1]["how"] == "fair"
                    assert reader.cut_off == 0
            assert get(port, "/health")[0] == 200
        assert sum(closed(port).values()) > 300
    output = (tmp_path / "output").read_text("utf-8")
    assert "connections are taken" in output
    assert "Traceback" not in output
    assert len(output) < 2000


async def _ok(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body"})


def test_a_whole_request_behind_a_crowd_of_half_open_ones_waits_for_no_pause(monkeypatch):
    """Few places, and pauses that never end: newcomers who have not arrived yet are no reason for one."""
    monkeypatch.setattr("spofr_core.serving.connections._PAUSE", 1e6)
    config = Config(_ok, http=Connection, lifespan="off", log_config=None)
    config.load()

    async def heard() -> bytes:
        loop = asyncio.get_running_loop()
        with socket.create_server(("127.0.0.1", 0), backlog=128) as listening, ExitStack() as crowd:
            listening.setblocking(False)
            crowd.enter_context(half_open(listening.getsockname()[1], HALVES["header"], 100))
            (last,) = crowd.enter_context(half_open(listening.getsockname()[1], HEAD + b"\r\n", 1))
            last.setblocking(False)
            listener = Listener(
                loop, lambda: Connection(config, ServerState(), {}), listening, most=18, seconds=PATIENCE
            )
            try:
                return await asyncio.wait_for(loop.sock_recv(last, 15), PATIENCE)
            finally:
                listener.close()

    with ThreadPoolExecutor(1) as elsewhere:  # a browser's test may have left a loop in this thread
        assert elsewhere.submit(lambda: asyncio.run(heard())).result() == b"HTTP/1.1 200 OK"


@pytest.mark.parametrize("begun", HALVES)
def test_a_request_that_does_not_arrive_in_time_is_ended(tmp_path, begun):
    """Also one that arrives letter by letter."""
    with (
        running(tmp_path, "--delta", "5%", "--request-seconds", "0.5") as (port, _),
        half_open(port, HALVES[begun], 1) as (slow,),
    ):
        heard, deadline = b"", time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if select.select([slow], [], [], 0.1)[0]:
                heard = slow.recv(1000)
                break
            if begun != "nothing":
                slow.sendall({"header": b"x: y\r\n", "body": b" "}[begun])
        assert heard.startswith(b"HTTP/1.1 408 Request Timeout" if begun != "nothing" else b"")
        assert time.monotonic() < deadline
        assert closed(port) == {"body" if begun == "body" else "header": 1.0}
        with closing(Reader(port)) as reader:
            assert reader.ask(LIST)[0] == 200
    assert "Traceback" not in (tmp_path / "output").read_text("utf-8")


def test_who_does_not_read_the_answers_is_cut_off(tmp_path):
    body = json.dumps({**LIST, "items": [{"id": f"{k:0500}", "group": "a", "score": k} for k in range(900)]}).encode()
    request = HEAD + b"content-length: %d\r\n\r\n" % len(body) + body
    with running(tmp_path, "--delta", "5%", "--request-seconds", "0.5") as (port, _), closing(socket.socket()) as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.connect(("127.0.0.1", port))
        deaf.settimeout(PATIENCE)
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            deaf.sendall(100 * request)
        assert closed(port) == {"reading": 1.0}


def settled(process, workers):
    """The processes that answer, once all are there and neither open anything nor compute any more."""
    looks = []

    def quiet():
        answering = workers_of(process) if workers > 1 else [psutil.Process(process.pid)]
        looks.append({each: (each.num_fds(), each.cpu_times()[:2]) for each in answering})
        select.select([], [], [], 0.3)
        return len(answering) == workers and len(looks) > 3 and looks[-1] == looks[-2] == looks[-3]

    wait_until(quiet)
    return list(looks[-1])


@pytest.mark.parametrize("workers", [1, 2])
def test_no_descriptors_left_is_one_line_and_passes(tmp_path, workers):
    with running(tmp_path, "--delta", "5%", "--workers", str(workers)) as (port, process):
        answering = settled(process, workers)
        before = [each.rlimit(resource.RLIMIT_NOFILE) for each in answering]
        for each in answering:
            each.rlimit(resource.RLIMIT_NOFILE, (each.num_fds(), before[0][1]))
        with half_open(port, b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n", 50) as sockets:
            output, deadline = tmp_path / "output", time.monotonic() + PATIENCE
            while "No connection can be accepted" not in output.read_text("utf-8") and time.monotonic() < deadline:
                select.select([], [], [], 0.05)
            for each, limits in zip(answering, before, strict=True):
                each.rlimit(resource.RLIMIT_NOFILE, limits)
            assert {one.recv(15) for one in sockets} == {b"HTTP/1.1 200 OK"}
    text = output.read_text("utf-8")
    assert text.count("No connection can be accepted") <= workers
    assert "Traceback" not in text


def test_a_reader_who_hangs_up_in_the_middle_is_no_error(tmp_path):
    with running(tmp_path, "--delta", "5%") as (port, _):
        for _ in range(5):
            with half_open(port, HALVES["body"], 10):
                pass
        with closing(Reader(port)) as reader:
            assert reader.ask(LIST)[0] == 200
    assert (tmp_path / "output").read_text("utf-8").count("\n") == 1
