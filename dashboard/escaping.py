"""Strings from the data as they may stand in Markdown and in Plotly: as text, never as markup."""

from __future__ import annotations

import html
import re

from spofr_core.reporting import name_text

_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")

FORMULAS = {
    "exposure": r"|e_g - e| \le \delta",
    "merit": r"|\mu\, e_g - \mu_g\, e| \le \delta",
    "gap": r"|e_0 - e_1| \le \delta",
}


def markdown(text: object, longest: int = 400) -> str:
    """The text with every punctuation mark escaped, so that Markdown shows it as it is."""
    return _PUNCTUATION.sub(r"\\\1", name_text(text, longest))


def plot(text: object, longest: int = 32) -> str:
    """The text with the signs escaped that Plotly reads as markup."""
    return html.escape(name_text(text, longest), quote=False)
