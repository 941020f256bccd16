"""Connections that nobody finishes: how long a request may take to arrive, and how many connections there are at most.

uvicorn waits for the rest of a request for ever, and asyncio, when it has no file descriptors left, tries a thousand
times in a row to accept the next connection and writes a traceback for each. `new_loop` and `Connection` are what a
worker of the service hands to uvicorn instead. Where there are too many connections, those that have waited longest for
their reader go first, so that whoever sends a whole request is answered, whoever else holds connections open.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
import time
from collections.abc import Callable
from heapq import nsmallest
from typing import TYPE_CHECKING, Any, Literal

import psutil
from uvicorn.protocols.http.h11_impl import H11Protocol

from spofr_core.serving.service_settings import ServiceSettings

if TYPE_CHECKING:
    from prometheus_client import Counter

UVICORN = {"loop": f"{__name__}:new_loop", "http": f"{__name__}:Connection"}
"""What uvicorn is told, so that it uses what is here."""
CLOSED = "closed connections"
"""Where the application leaves its counter of connections that were closed, in the state of its lifespan."""

_LOGGER = logging.getLogger("uvicorn.error")
_SPARE_FILES = 32
"""File descriptors that are left to the counters, the log and imports."""
_AT_ONCE = 16
"""Connections accepted in one go; between two, readers are answered and what was closed is given back."""
_PAUSE = 0.2
"""Seconds until a connection is accepted again when the system had nothing left for one."""

Stage = Literal["header", "body", "answer", "reading"]


class Connection(H11Protocol):
    """A connection that knows what it waits for, and since when."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a header."""
        super().connection_made(transport)
        self.since, self._begun = time.monotonic(), False

    def data_received(self, data: bytes) -> None:
        """Take in a piece of a request; pieces that do not complete anything give it no more time."""
        before = self.stage
        self._begun = True
        super().data_received(data)
        if self.stage != before:
            self.since = time.monotonic()

    def on_response_complete(self) -> None:
        """Begin to wait for the next header."""
        super().on_response_complete()
        self.since, self._begun = time.monotonic(), False

    @property
    def stage(self) -> Stage:
        """What it waits for."""
        answered = self.cycle is None or self.cycle.response_complete
        if not answered and self.cycle.more_body:
            return "body"
        if self.transport.get_write_buffer_size():
            return "reading"
        return "header" if answered else "answer"

    def end(self, status: bytes) -> None:
        """Hang up, with a word to whoever has begun a request; at once on whoever does not read."""
        stage = self.stage
        counter: Counter | None = self.app_state.get(CLOSED)
        if counter is not None:
            counter.labels(stage).inc()
        if stage == "reading" or self.transport.is_closing():
            self.transport.abort()
            return
        if self._begun:
            self.transport.write(b"HTTP/1.1 %s\r\nconnection: close\r\ncontent-length: 0\r\n\r\n" % status)
        self.transport.close()


class Listener:
    """Accepts connections on a socket, up to so many, and ends those that take too long.

    Parameters
    ----------
    loop : asyncio.AbstractEventLoop
    factory : callable
        Makes a `Connection`.
    listening : socket
    most : int
        Connections at a time.
    seconds : float
        That a header may take to arrive, a body, and an answer to be read.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        factory: Callable[[], Connection],
        listening: socket.socket,
        *,
        most: int,
        seconds: float,
    ) -> None:
        self._loop, self._factory, self._socket = loop, factory, listening
        self._most, self._seconds = most, seconds
        self._connections: set[Connection] = set()
        self._coming: set[asyncio.Task[None]] = set()
        self._closed = False
        self._accept()
        self._look()

    def close(self) -> None:
        """Accept no more; what takes too long is ended still."""
        self._closed = True
        self._loop.remove_reader(self._socket)

    async def wait_closed(self) -> None:
        """Nothing to wait for: uvicorn waits for its connections itself."""

    def _accept(self) -> None:
        if not self._closed:
            # What has arrived is read first: a whole request must not be taken for one that nobody finishes.
            self._loop.add_reader(self._socket, self._loop.call_soon, self._take)

    def _pause(self) -> None:
        """Leave who comes to the system's queue for a moment; it would say again and again that there is somebody."""
        self._loop.remove_reader(self._socket)
        self._loop.call_later(_PAUSE, self._accept)

    def _take(self) -> None:
        if self._closed or self._coming:  # it is said again that there is somebody
            return
        for _ in range(_AT_ONCE):
            if len(self._connections) + len(self._coming) >= self._most and not self._make_room():
                if not self._coming:
                    self._pause()
                return
            try:
                taken, _ = self._socket.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:  # no descriptors or no memory left
                _LOGGER.warning("No connection can be accepted (%s); it is tried again.", error.strerror)
                self._make_room()
                self._pause()
                return
            taken.setblocking(False)
            task = self._loop.create_task(self._come(taken))
            self._coming.add(task)
            task.add_done_callback(self._coming.discard)

    async def _come(self, taken: socket.socket) -> None:
        connection = self._factory()
        try:
            await self._loop.connect_accepted_socket(lambda: connection, taken)
        except OSError:  # gone already
            taken.close()
        else:
            self._connections.add(connection)

    def _open(self) -> list[Connection]:
        self._connections = {each for each in self._connections if each in each.connections}
        return list(self._connections)

    def _make_room(self) -> bool:
        """End some of those that have waited longest for their reader; whether there is room now."""
        waiting = [each for each in self._open() if each.stage != "answer" and not each.transport.is_closing()]
        # A few more than needed, so that not every newcomer makes this look at all of them.
        for each in nsmallest(max(self._most // 32, 1), waiting, key=lambda each: each.since):
            each.end(b"503 Service Unavailable")
            self._connections.discard(each)
            _LOGGER.warning("All %d connections are taken; one that waited for its reader was closed.", self._most)
        return len(self._connections) + len(self._coming) < self._most

    def _look(self) -> None:
        late = time.monotonic() - self._seconds
        for each in self._open():
            if each.since < late and each.stage != "answer":
                _LOGGER.warning("A connection was closed; for %g s it waited for its reader.", self._seconds)
                each.end(b"408 Request Timeout")
        if self._connections or not self._closed:
            self._loop.call_later(min(self._seconds / 4, 1.0), self._look)


class Loop(asyncio.SelectorEventLoop):
    """An event loop whose servers are `Listener`."""

    async def create_server(self, protocol_factory: Any, *_: Any, **options: Any) -> Any:
        """Listen on a socket that is bound already."""
        settings = ServiceSettings.from_environment()
        listening: socket.socket = options["sock"]
        listening.setblocking(False)
        listening.listen(options.get("backlog", 128))
        most = min(settings.most_connections, _files_left() - _SPARE_FILES)
        return Listener(self, protocol_factory, listening, most=max(most, 1), seconds=settings.request_seconds)


def new_loop() -> asyncio.AbstractEventLoop:
    """The event loop of a worker."""
    return Loop()


def _files_left() -> int:
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1 << 30 if allowed == resource.RLIM_INFINITY else allowed - psutil.Process().num_fds()
