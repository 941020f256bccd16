"""Whether a request was meant for this service, or was led here under a foreign name.

A page of `evil.example` may let its name point to 127.0.0.1 (DNS rebinding): for the browser both are one place then,
and the page could read whatever is answered. The browser still says which name it asked for. A number is no name, so
nobody can make it point elsewhere; a program that names no host is no browser.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
_MOST_SHOWN = 100


def is_own_host(host: str, names: Sequence[str]) -> bool:
    """Whether a Host header, with or without a port, is a number or a name of ours; "*.example.org" is all below it."""
    try:
        parts = urlsplit(f"//{host}")
        hostname, _ = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return False
    if parts.netloc != host or "@" in host:
        return False
    return _is_number(hostname) or any(_fits(hostname, name.lower().rstrip(".")) for name in names)


def _is_number(hostname: str) -> bool:
    try:
        ipaddress.ip_address(hostname)
    except ValueError:
        return False
    return True


def _fits(hostname: str, name: str) -> bool:
    return hostname.endswith(name[1:]) if name.startswith("*.") else hostname == name


class OwnHosts:
    """Answers requests that were led here under a foreign name with 421 and a sentence, and nothing else."""

    def __init__(self, app: ASGIApp, names: Sequence[str]) -> None:
        self._app = app
        # Nearly all requests name the same host; strangers may name as many as they like.
        self._is_own = lru_cache(maxsize=64)(lambda host: is_own_host(host.decode("latin-1"), names))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            for header, value in scope["headers"]:
                if header == b"host" and not self._is_own(value):
                    await _refuse(value.decode("latin-1"), send)
                    return
        await self._app(scope, receive, send)


async def _refuse(host: str, send: Send) -> None:
    message = f"This service does not answer to {host[:_MOST_SHOWN]!r}; start it with --host-name and that name."
    body = json.dumps({"detail": [{"field": "host", "message": message}]}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 421, "headers": headers})
    await send({"type": "http.response.body", "body": body})
