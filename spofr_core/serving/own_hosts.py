"""Whether a request was meant for this service, or was led here under a foreign name.

A page of `evil.example` may let its name point to 127.0.0.1 (DNS rebinding): for the browser both are one place then,
and the page could read whatever is answered. The browser still says which name it asked for. A number is no name, so
nobody can make it point elsewhere; a program that names no host is no browser.

A browser also says from which page a request comes (Origin). A page of another host can send forms here without being
able to read the answer, and what it sends would be counted.
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
_MOST_SHOWN = 100


def is_own_host(host: str, names: Sequence[str], *, numbers: bool = True) -> bool:
    """Whether a Host header, with or without a port, is a name of ours; "*.example.org" is all below it.

    A number is ours as well, or, with `numbers=False`, one of the names like any other.
    """
    try:
        parts = urlsplit(f"//{host}")
        hostname, _ = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return False
    if parts.netloc != host or "@" in host:
        return False
    return (numbers and _is_number(hostname)) or any(_fits(hostname, name.lower().rstrip(".")) for name in names)


def _is_number(hostname: str) -> bool:
    try:
        ipaddress.ip_address(hostname)
    except ValueError:
        return False
    return True


def _fits(hostname: str, name: str) -> bool:
    return hostname.endswith(name[1:]) if name.startswith("*.") else hostname == name


def is_own_origin(origin: str, host: str, names: Sequence[str]) -> bool:
    """Whether an Origin header names a page of the host that was asked, or of a name of ours; a port may differ.

    A number is no name here: anybody can have a page under one.
    """
    try:
        page, asked = urlsplit(origin), urlsplit(f"//{host}")
        own = page.hostname == asked.hostname or is_own_host(page.netloc, names, numbers=False)
        return bool(page.hostname) and own
    except ValueError:
        return False


class OwnHosts:
    """Answers requests that were led here under a foreign name with 421 and a sentence, and nothing else.

    Parameters
    ----------
    app : ASGI application
        Who answers the others.
    names : sequence of str
        The names that are ours.
    numbers : bool
        Whether every number is ours too; if not, only those among the names.
    origins : bool
        Whether requests from pages of other hosts are answered with 403, and nothing else.
    """

    def __init__(self, app: ASGIApp, names: Sequence[str], *, numbers: bool = True, origins: bool = False) -> None:
        self._app, self._names, self._origins = app, names, origins
        # Nearly all requests name the same host; strangers may name as many as they like.
        self._is_own = lru_cache(maxsize=64)(lambda host: is_own_host(host.decode("latin-1"), names, numbers=numbers))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            host, origin = b"", None
            for header, value in scope["headers"]:
                if header == b"host":
                    if not self._is_own(value):
                        await _refuse_host(value.decode("latin-1"), scope, send)
                        return
                    host = value
                elif header == b"origin":
                    origin = value.decode("latin-1")
            if self._origins and origin is not None and not is_own_origin(origin, host.decode("latin-1"), self._names):
                message = f"Pages of {origin[:_MOST_SHOWN]!r} are not answered here; --host-name can name their host."
                await _refuse(403, "origin", message, scope, send)
                return
        await self._app(scope, receive, send)


def _is_read_by_people(scope: Scope) -> bool:
    """Whether a browser asks for a page, and not a program for an answer."""
    return any(header == b"accept" and b"text/html" in value for header, value in scope["headers"])


async def _refuse_host(host: str, scope: Scope, send: Send) -> None:
    # Who reads it copies the name to --host-name, which takes none with a port; a program is told what it sent.
    name = re.sub(r":\d+$", "", host) if _is_read_by_people(scope) else host
    message = f"This service does not answer to {name[:_MOST_SHOWN]!r}; start it with --host-name and that name."
    await _refuse(421, "host", message, scope, send)


async def _refuse(status: int, field: str, message: str, scope: Scope, send: Send) -> None:
    people = _is_read_by_people(scope)
    told = message if people else json.dumps({"detail": [{"field": field, "message": message}]})
    kind, body = b"text/plain; charset=utf-8" if people else b"application/json", told.encode()
    headers = [
        (b"content-type", kind),
        (b"content-length", str(len(body)).encode()),
        (b"x-content-type-options", b"nosniff"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
