"""How objects of the upper rooms show themselves in a notebook.

Words, colours and templates live in the room `reporting`, of which the rooms above it know nothing. The face of the
package, which knows all rooms, says here who draws what; it is imported when something is first drawn.
"""

from __future__ import annotations

import importlib

_DRAWN_BY: dict[str, str] = {}


def draws(kind: str, function: str) -> None:
    """Say that `function`, written "module:name", draws objects of this kind."""
    _DRAWN_BY[kind] = function


def drawn(kind: str, thing: object) -> str:
    """The object as a piece of HTML."""
    module, _, name = _DRAWN_BY[kind].partition(":")
    return str(getattr(importlib.import_module(module), name)(thing))
