"""A quota as an address carries it: ``1@10`` is its slack and top, ``women@10:2,men@5:1`` are its minima."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from urllib.parse import unquote

from spofr_core.errors import ConfigError
from spofr_core.fairness import Quota

_SHARE = re.compile(r"(\d{1,6})(?:@(\d{1,6}))?")
_MINIMUM = re.compile(r"([^@:,]+)@(\d{1,6}):(\d{1,6})")
_SIGNS = re.compile(r"[%@:,]")

Minima = dict[str, dict[int, int]]
"""Group to depth to count."""


def share_text(slack: int | None, top: int | None) -> str:
    """Slack and top; "" where there is no slack."""
    if slack is None:
        return ""
    return str(slack) if top is None else f"{slack}@{top}"


def minima_text(minima: Mapping[str, Mapping[int, int]]) -> str:
    """Minima; within names the signs that the text is made with are written as %40, %3A, %2C and %25."""
    return ",".join(
        f"{_written(name)}@{depth}:{count}" for name, depths in minima.items() for depth, count in depths.items()
    )


def read_quota(share: str, minima: str) -> Quota | None:
    """The quota of both texts, None where both are empty; `share_text` and `minima_text` of it are the texts again.

    Raises
    ------
    ConfigError
        For a text that is none, or one that no list can have.
    """
    if not share and not minima:
        return None
    given = _SHARE.fullmatch(share)
    if share and given is None:
        raise ConfigError(f"{share!r} is no quota: it is written as 1@10, at most 1 from its share in the top 10.")
    slack, top = (None, None) if given is None else given.groups()
    return Quota(
        slack=None if slack is None else int(slack),
        top=None if top is None else int(top),
        minimum=read_minima(minima) or None,
    )


def read_minima(text: str) -> Minima:
    """Group to depth to count.

    Raises
    ------
    ConfigError
        For a text that is none.
    """
    found: Minima = {}
    for part in text.split(",") if text else []:
        given = _MINIMUM.fullmatch(part)
        if given is None:
            raise ConfigError(f"{part!r} is no minimum: it is written as women@10:2, at least 2 of the first 10.")
        name, depth, count = given.groups()
        found.setdefault(unquote(name), {})[int(depth)] = int(count)
    return found


def quota_for(share: str, minima: str, groups: Collection[str]) -> Quota | None:
    """The quota of both texts without minima of groups that are not there; None where nothing is left."""
    return read_quota(share, minima_text(_of(read_minima(minima), groups)))


def _of(minima: Minima, groups: Collection[str]) -> Minima:
    return {name: depths for name, depths in minima.items() if name in groups}


def _written(text: str) -> str:
    return _SIGNS.sub(lambda sign: f"%{ord(sign[0]):02X}", text)
