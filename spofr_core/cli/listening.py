"""Who can reach an address, under which names, and what is asked of whoever opens one to others."""

from __future__ import annotations

import errno
import ipaddress
import re
import socket
from collections.abc import Sequence
from typing import Annotated

import typer

from spofr_core.errors import ConfigError

KnowsOption = Annotated[
    bool, typer.Option("--i-know", help="Listen beyond this machine although nobody is asked who they are.")
]

HostNamesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--host-name",
        help="A name that others ask it by, such as audits.example.org behind a proxy; repeat for more. Under any "
        "other name nothing is answered.",
    ),
]
MOST_PORT = 65_535
_WILDCARDS = ("0.0.0.0", "::")
_NAME = re.compile(r"(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?", re.IGNORECASE)


def is_loopback(address: str) -> bool:
    """Whether only this machine can reach an address; of a name other than localhost nobody can know."""
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def require_door(address: str, *, guarded: bool, knows: bool, remedy: str) -> None:
    """See to it that nobody opens a service to others by accident.

    Parameters
    ----------
    address : str
        Where it is to listen.
    guarded : bool
        Whether it asks its callers who they are.
    knows : bool
        Whether `--i-know` was said.
    remedy : str
        How to make it ask them.

    Raises
    ------
    ConfigError
        When others could reach it, nobody would be asked, and that was not said to be wanted.
    """
    if is_loopback(address) or guarded or knows:
        return
    raise ConfigError(
        f"--address is {address!r}: whoever can reach it could use this without being asked who they are; {remedy}, or "
        "say --i-know if something else keeps strangers out."
    )


def bound_socket(address: str, port: int) -> socket.socket:
    """A socket that has the address and the port, before anybody is told that something answers there.

    Raises
    ------
    ConfigError
        When they cannot be had.
    """
    if not 0 <= port <= MOST_PORT:
        raise ConfigError(f"--port is {port}; give a whole number from 0 (any that is free) to {MOST_PORT}.")
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    bound = socket.socket(family)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((address, port))
    except OSError as error:
        bound.close()
        raise ConfigError(_why_not_bound(error, address, port)) from error
    bound.set_inheritable(True)
    return bound


def _why_not_bound(error: OSError, address: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} of {address!r} is in use; end what listens there, or give another --port."
    if isinstance(error, PermissionError):
        return f"Port {port} is only for the administrator of this machine; give a --port from 1024 on."
    return f"--address is {address!r}: this machine cannot listen on it ({error.strerror}); give one of its own."


def shown_address(address: str) -> str:
    """An address as a browser takes it."""
    return f"[{address}]" if ":" in address else address


def own_names(address: str, given: Sequence[str]) -> list[str]:
    """What visitors may write into the address bar: this machine, what it listens on, and the names that are given.

    A page of a stranger can make a name of its own point here, and would be answered as if it were one of ours; a name
    that is not in this list is not.

    Raises
    ------
    ConfigError
        When one that is given is no name of a host.
    """
    from spofr_core.serving.own_hosts import LOOPBACK_NAMES

    for name in given:
        if not _NAME.fullmatch(name) and not _is_number(name):
            raise ConfigError(
                f"--host-name is {name!r}; give a name alone, without https:// and port, such as 'audits.example.org'."
            )
    listened = _addresses_of_this_machine() if address in _WILDCARDS else [address]
    return list(dict.fromkeys([*LOOPBACK_NAMES, *listened, *given]))


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _addresses_of_this_machine() -> list[str]:
    """Its numbers in all the networks that it is in; names are not known to it."""
    import psutil

    kinds = (socket.AF_INET, socket.AF_INET6)
    found = [each for addresses in psutil.net_if_addrs().values() for each in addresses if each.family in kinds]
    return [each.address.partition("%")[0] for each in found]
