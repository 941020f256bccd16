"""Who can reach an address, and what is asked of whoever opens one to others."""

from __future__ import annotations

import ipaddress
from typing import Annotated

import typer

from spofr_core.errors import ConfigError

KnowsOption = Annotated[
    bool, typer.Option("--i-know", help="Listen beyond this machine although nobody is asked who they are.")
]


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
