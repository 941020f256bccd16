"""Names that a tracker allows, from names that may be anything."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

Path = tuple[str, ...]
"""A metric as the words that lead to it, such as ("group", "women & north", "items")."""

LONGEST = 40
"""Letters of one part of a name."""


def flat_names(paths: Iterable[Path], prefix: str) -> dict[Path, str]:
    """One allowed name per path, no two alike: "spofr/group/women_north/items".

    Letters, digits, "_" and "-" stay, everything else becomes "_"; a part that comes out like another one beside it
    gets a number. Capitals do not tell names apart, because they do not in every file system.
    """
    taken: dict[str, dict[str, str]] = {}
    names = {}
    for path in paths:
        name = prefix
        for part in path:
            name = f"{name}/{_among(taken.setdefault(name, {}), part)}"
        names[path] = name
    return names


def _among(siblings: dict[str, str], part: str) -> str:
    """The name of a part, unlike those of its siblings."""
    if part not in siblings:
        plain = re.sub(r"[^\w-]+", "_", unicodedata.normalize("NFKC", part)).strip("_")[:LONGEST] or "unnamed"
        others = {name.casefold() for name in siblings.values()}
        number, name = 1, plain
        while name.casefold() in others:
            number += 1
            name = f"{plain}_{number}"
        siblings[part] = name
    return siblings[part]
