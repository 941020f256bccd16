"""Numbers as people write them: which sign begins the fraction, and which ones group the thousands."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

import pandas as pd

_GROUPING = " \u00a0\u2009\u202f'\u2019"
_WHOLE = re.compile(r"[+-]?\d+")
_UNSAID = {"inf", "infinity", "nan"}


@cache
def _written_with(sign: str) -> re.Pattern[str]:
    """Numbers whose fraction begins with this sign."""
    grouping = re.escape(_GROUPING + ("," if sign == "." else "."))
    grouped = rf"[1-9]\d{{0,2}}([{grouping}])\d{{3}}(?:\1\d{{3}})*"
    fraction = rf"{re.escape(sign)}"
    return re.compile(
        rf"[+-]?(?:{grouped}(?:{fraction}\d*)?|\d+(?:{fraction}\d*)?|{fraction}\d+)(?:[eE][+-]?\d+)?", re.ASCII
    )


def fits(text: str, sign: str) -> bool:
    """Whether this is a number with that decimal sign."""
    return bool(_written_with(sign).fullmatch(text)) or text.lstrip("+-").lower() in _UNSAID


def plain_number(text: str, sign: str) -> str:
    """The number as every programme reads it, with a point and no signs between thousands; other text as it is."""
    found = _written_with(sign).fullmatch(text)
    if found is None:
        return text
    return (text.replace(found[1], "") if found[1] else text).replace(sign, ".")


def telling(texts: Iterable[str]) -> dict[str, str]:
    """Of many texts those few that say as much as all: ones that are a number with neither sign, with a comma alone,
    with a point alone, and with both but another one (with a comma in it, or with a point)."""
    found: dict[str, str] = {}
    for text in texts:
        if _WHOLE.fullmatch(text):
            continue
        comma, point = fits(text, ","), fits(text, ".")
        if comma and point:
            kind = "open comma" if "," in text else "open point" if "." in text else "either"
        else:
            kind = "comma" if comma else "point" if point else "neither"
        found.setdefault(kind, text)
    return found


def sign_of(found: dict[str, str]) -> str | None:
    """The decimal sign that texts with these telling ones have; None where they do not decide it."""
    if "comma" in found and "point" not in found:
        return ","
    return "." if "point" in found and "comma" not in found else None


def sign_of_columns(head: pd.DataFrame, missing: frozenset[str]) -> str | None:
    """The decimal sign of a table, by its columns that hold nothing but numbers as text; None where they differ."""
    signs = set()
    for _, column in head.items():
        if column.dtype != object and not isinstance(column.dtype, pd.StringDtype | pd.CategoricalDtype):
            continue
        texts = dict.fromkeys(text.strip() for text in column if isinstance(text, str))
        found = telling(text for text in texts if text.lower() not in missing)
        if "neither" not in found:
            signs.add(sign_of(found))
    signs.discard(None)
    return signs.pop() if len(signs) == 1 else None
