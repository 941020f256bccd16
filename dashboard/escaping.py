"""Strings from the data as they may stand in Markdown and in Plotly: as text, never as markup."""

from __future__ import annotations

import html
import re

from spofr_core.reporting import name_text

_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")


def markdown(text: object, longest: int = 400) -> str:
    """The text with every punctuation mark escaped, so that Markdown shows it as it is."""
    return _PUNCTUATION.sub(r"\\\1", name_text(text, longest))


def plot(text: object, longest: int = 32) -> str:
    """The text with the signs escaped that Plotly reads as markup."""
    return html.escape(name_text(text, longest), quote=False)
