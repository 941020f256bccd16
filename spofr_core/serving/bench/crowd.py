"""Many readers at once, on one thread: each asks, waits for its answer, and asks again."""

from __future__ import annotations

import selectors
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

Hear = Callable[[int, int, bytes], None]
"""What becomes of an answer: the place of its request among all, its status, and its body."""
_PIECE = 1 << 16
_PAUSE = 0.02


def rank_request(body: bytes, **headers: str) -> bytes:
    """POST /rank as it goes over the wire."""
    told = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    head = f"POST /rank HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n{told}"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


@dataclass
class Asked:
    """What became of a crowd's requests.

    Attributes
    ----------
    seconds : list of float
        From asking to the end of the answer, of each request that was answered.
    cut_off : int
        Requests whose connection ended before their answer did; they were asked again.
    refused : int
        Answers of another status than 200.
    """

    seconds: list[float] = field(default_factory=list)
    cut_off: int = 0
    refused: int = 0


def ask_all(
    port: int, requests: Iterable[bytes], *, readers: int, hear: Hear | None = None, patience: float = 60.0
) -> Asked:
    """Let so many readers, a connection each, ask a service of this machine for all of the requests.

    Whoever is cut off connects again and asks again, as a reader would.

    Raises
    ------
    TimeoutError
        When nothing was answered for so many seconds.
    """
    found, waiting = Asked(), iter(enumerate(requests))
    chooser = selectors.DefaultSelector()
    crowd = [_Reader(port, chooser, waiting, found, hear) for _ in range(readers)]
    last = time.monotonic()
    try:
        for reader in crowd:
            reader.ask_next()
        while any(reader.asked is not None for reader in crowd):
            for key, _ in chooser.select(timeout=1.0):
                key.data.listen()
                last = time.monotonic()
            if time.monotonic() - last > patience:
                raise TimeoutError(f"Port {port} has answered nothing for {patience:g} seconds.")
    finally:
        for reader in crowd:
            reader.hang_up()
        chooser.close()
    return found


class _Reader:
    """One connection."""

    def __init__(
        self,
        port: int,
        chooser: selectors.BaseSelector,
        waiting: Iterator[tuple[int, bytes]],
        found: Asked,
        hear: Hear | None,
    ) -> None:
        self._port, self._chooser, self._waiting = port, chooser, waiting
        self._found, self._hear = found, hear
        self._socket: socket.socket | None = None
        self._heard = b""
        self._since = 0.0
        self.asked: tuple[int, bytes] | None = None

    def ask_next(self) -> None:
        """Send the next request, if one is left."""
        self.asked = next(self._waiting, None)
        if self.asked is not None:
            self._since = time.perf_counter()
            self._send(self.asked[1])

    def listen(self) -> None:
        """Take in what has come; a whole answer is handed on."""
        if self._socket is None or self.asked is None:
            return
        try:
            piece = self._socket.recv(_PIECE)
        except OSError:
            piece = b""
        if not piece:
            self._again(self.asked[1])
            return
        self._heard += piece
        head, sep, body = self._heard.partition(b"\r\n\r\n")
        if sep and len(body) >= _length(head):
            self._found.seconds.append(time.perf_counter() - self._since)
            status, self._heard = int(head[9:12]), b""
            self._found.refused += status != 200
            if self._hear is not None:
                self._hear(self.asked[0], status, body)
            self.ask_next()

    def hang_up(self) -> None:
        """Close the connection."""
        if self._socket is not None:
            self._chooser.unregister(self._socket)
            self._socket.close()
        self._socket, self._heard = None, b""

    def _again(self, request: bytes) -> None:
        self._found.cut_off += 1
        self.hang_up()
        self._send(request)

    def _send(self, request: bytes) -> None:
        while True:
            try:
                if self._socket is None:
                    self._socket = socket.create_connection(("127.0.0.1", self._port), timeout=60)
                    self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    self._chooser.register(self._socket, selectors.EVENT_READ, self)
                self._socket.sendall(request)
            except OSError:
                self.hang_up()
                if time.perf_counter() - self._since > 60:
                    raise
                time.sleep(_PAUSE)
            else:
                return


def _length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0
