"""What a rule about selection rates declares: its name, what it asks, what it does not say, small categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SelectionKind = Literal["top", "threshold", "scoring"]
"""Being among the first k, scoring a threshold or more, scoring above the median."""

FOUR_FIFTHS = 0.8


@dataclass(frozen=True, kw_only=True)
class SelectionRule:
    """A rule under its own name.

    The impact ratio of a category is its rate over the highest rate among the categories that count. Under every rule
    an item without a category is unknown: counted and listed, never compared.

    Parameters
    ----------
    name : str
        In summaries and settings.
    title, source : str
        What it is called, and where it is written.
    text : str
        What it asks for, in a sentence or two.
    small : str
        How it treats small categories, in words.
    smallest_share : float
        A category with a smaller share of the items is small: its rate cannot be the highest one, and no mark is set.
    ratio_of_small : bool
        Whether a small category has an impact ratio all the same.
    not_said : tuple of str
        What its numbers do not say.
    kinds : tuple of str
        The kinds of selection that it speaks of.
    """

    name: str
    title: str
    source: str
    text: str
    small: str
    not_said: tuple[str, ...]
    smallest_share: float = 0.02
    ratio_of_small: bool = False
    kinds: tuple[SelectionKind, ...] = ("top", "threshold", "scoring")
