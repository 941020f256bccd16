"""Strings from the data as they may stand in Markdown and in Plotly: as text, never as markup."""

from __future__ import annotations

import html
import re

from spofr_core.reporting import name_text, unbroken

_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
_ADDRESS = re.compile(r"https?:(?=//)|www(?=\.)|@(?=[-\w]+\.)", re.IGNORECASE)
JOINER = "\u2060"
"""A sign without width, at which no line breaks."""


def markdown(text: object, longest: int = 400) -> str:
    """The text with every punctuation mark escaped, so that Markdown shows it as it is.

    Addresses become links after the escapes are gone, so that a sign without width stands in each: a link on this
    screen leads where this house says, never where a file does.
    """
    return _PUNCTUATION.sub(r"\\\1", _ADDRESS.sub(rf"\g<0>{JOINER}", unbroken(name_text(text, longest))))


def bold(text: object, longest: int = 400) -> str:
    """The same in bold; a space at either end, which names may have, would leave the asterisks on the screen."""
    return f"**{markdown(name_text(text, longest).strip() or '…', longest)}**"


def plot(text: object, longest: int = 32) -> str:
    """The text with the signs escaped that Plotly reads as markup."""
    return html.escape(name_text(text, longest), quote=False)
