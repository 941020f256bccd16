"""Rivals as people write them: what differs from the first ranking, as ``score=new_score`` or ``repair,delta=5%``."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from spofr_core.config import StrictModel
from spofr_core.errors import ConfigError
from spofr_core.fairness import NOTIONS, format_delta, parse_delta

REPAIR, GROUP = "repair", "group"
EXAMPLE = "score=new_score or repair,delta=5%"


class Rival(StrictModel):
    """What a ranking is compared with, by what differs from it; at least one thing does.

    Parameters
    ----------
    score, rank : str, optional
        Another column of scores, or of ranks.
    file : str, optional
        Another file, read as the first is.
    sheet : str, optional
        Another sheet of a workbook (or key of a JSON document), of the other file where there is one.
    repair : bool
        The exact fair re-ranking.
    model : str, optional
        A trained model: its directory, or the name of a run.
    delta : str, optional
        Another delta, such as "5%".
    notion : str, optional
        Another notion.
    group : tuple of str
        Other groups: columns (several are crossed), or the name of a grouping of a bundled dataset.
    name : str, optional
        What sentences call it.
    """

    score: str | None = None
    rank: str | None = None
    file: str | None = None
    sheet: str | None = None
    repair: bool = False
    model: str | None = None
    delta: str | None = None
    notion: str | None = None
    group: Annotated[tuple[str, ...], Field()] = ()
    name: str | None = None

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if self.score is not None and self.rank is not None:
            raise ValueError(f"a rival has a score or a rank, not both: got score={self.score} and rank={self.rank}.")
        if self.model is not None and (self.score is not None or self.rank is not None):
            raise ValueError(f"a rival is ranked by the model {self.model!r} or by a column, not by both.")
        if self.notion is not None and self.notion not in NOTIONS:
            raise ValueError(NOTIONS.refusal(self.notion))
        if self.delta is not None:
            parse_delta(self.delta)
        if not self.model_fields_set - {"name"}:
            raise ValueError(f"a rival must differ in something: write {EXAMPLE}.")
        return self

    @property
    def title(self) -> str:
        """What it is called: its name, or what differs."""
        if self.name:
            return self.name
        said = [words(value) for key, words in _TITLES.items() if (value := getattr(self, key))]
        return ", ".join(said)


def parse_rival(text: str, what: str = "a rival") -> Rival:
    """Read a rival: ``key=value`` pairs with commas between them, and ``repair`` on its own.

    Keys are score, rank, file, sheet, repair, model, delta, notion, group (repeated to cross columns) and name. A value
    with a comma stands in double quotes: ``score="new, improved"``.

    Parameters
    ----------
    text : str
    what : str
        How a message calls it, such as "--with".

    Raises
    ------
    ConfigError
        When it is not of that form, or does not make sense.

    Examples
    --------
    >>> parse_rival("repair,delta=5%").title
    'repair, delta 5 %'
    """
    found: dict[str, Any] = {}
    for part in _parts(text, what):
        key, sign, value = (piece.strip() for piece in part.partition("="))
        if key == REPAIR and not sign:
            found[REPAIR] = True
            continue
        if key not in Rival.model_fields or key == REPAIR:
            known = ", ".join(f"{name}=..." if name != REPAIR else name for name in Rival.model_fields)
            raise ConfigError(f"{what} is {text!r}, in which {part.strip()!r} is not known; write {known}.")
        if not value:
            raise ConfigError(f"{what} is {text!r}, in which {key!r} has no value; write {key}=....")
        if key == GROUP:
            found[GROUP] = (*found.get(GROUP, ()), value)
        elif key in found:
            raise ConfigError(f"{what} is {text!r}, which names {key!r} twice; name it once, or give two rivals.")
        else:
            found[key] = value
    return Rival(**found)


def _parts(text: str, what: str) -> list[str]:
    """The text cut at its commas; between double quotes they are part of a value."""
    reader = shlex.shlex(text, posix=True)
    reader.whitespace, reader.whitespace_split = ",", True
    reader.quotes, reader.escape, reader.commenters = '"', "", ""
    try:
        parts = [part for part in reader if part.strip()]
    except ValueError as error:
        raise ConfigError(f"{what} is {text!r}, in which a double quote is not closed; close it.") from error
    if not parts:
        raise ConfigError(f"{what} is empty; write {EXAMPLE}.")
    return parts


def _told_delta(delta: str) -> str:
    return f"delta {format_delta(*parse_delta(delta))}"


def _told_file(file: str) -> str:
    return file.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]


_TITLES: dict[str, Callable[[Any], str]] = {
    "file": _told_file,
    "sheet": lambda sheet: f"sheet {sheet}",
    "score": str,
    "rank": str,
    "model": lambda model: f"model {_told_file(model)}",
    "group": lambda columns: f"by {' and '.join(columns)}",
    "notion": lambda notion: f"notion {notion}",
    "repair": lambda _: "repair",
    "delta": _told_delta,
}
