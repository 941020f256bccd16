"""A slice of the queries as an address carries it: ``country:DE,device:mobile``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import unquote

from spofr_core.errors import ConfigError

LONGEST = 2000
"""Characters of a slice in an address."""
_SIGNS = re.compile(r"[%:,]")


def slice_text(chosen: Mapping[str, str]) -> str:
    """The text of a slice; within names and values the signs that it is made with are written as %3A, %2C and %25."""
    return ",".join(f"{_written(name)}:{_written(value)}" for name, value in chosen.items())


def parse_slice(text: str) -> dict[str, str]:
    """The values of a slice by the names of their attributes; `slice_text` of them is the text again.

    Raises
    ------
    ConfigError
        For a text that is none.
    """
    found: dict[str, str] = {}
    for part in text.split(","):
        name, sign, value = part.partition(":")
        if not sign or not name or unquote(name) in found:
            raise ConfigError(f"{text!r} is no slice of the queries: it is written as country:DE,device:mobile.")
        found[unquote(name)] = unquote(value)
    return found


def _written(text: str) -> str:
    return _SIGNS.sub(lambda sign: f"%{ord(sign[0]):02X}", text)
