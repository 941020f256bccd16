"""Is the first row of a text file its column names, or data already?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from spofr_core.data.formats.tables import MISSING_TEXT

SEEN_ROWS = 300
_SEEN_CELLS = 50_000
_MOSTLY = 0.9
_REPEATED = 3
_FRACTION = 2
_NAMES = frozenset({
    "query", "qid", "topic", "search", "session", "request", "impression", "list", "item", "doc", "docno", "docid",
    "document", "candidate", "product", "person", "user", "url", "id", "ids", "name", "number", "group", "gender",
    "sex", "race", "ethnicity", "age", "protected", "sensitive", "attribute", "relevance", "label", "rel", "grade",
    "judgment", "target", "score", "model", "prediction", "predicted", "pred", "rank", "ranking", "position", "pos",
    "click", "clicks", "clicked", "propensity", "value", "feature", "features",
})  # fmt: skip
"""Words that columns are called by: a cell of such words alone, which its column never holds again, is a name."""


def header_doubt(first: Sequence[str], below: Sequence[Sequence[str]]) -> str:
    """What makes the first row look like data, for the end of a sentence; empty where it may well be names.

    Each column has a voice: a first cell that is a number over numbers, or a text that the column holds again, speaks
    for data; a text over numbers, a number over text, or a text that a column of few repeated values never holds, for
    names. Data needs the majority, and a fraction counts more. Numbers in even steps (2019, 2020, 2021) beside other
    columns are names, and one usual name of a column ("query_id") settles it.

    Parameters
    ----------
    first : sequence of str
        The cells of the first row.
    below : sequence of sequence of str
        Some rows that follow it.
    """
    width = len(first)
    rows = [row for row in below if len(row) == width][: max(5, _SEEN_CELLS // width)]
    cells = [cell.strip() for cell in first]
    numbers: list[str] = []
    repeated: list[str] = []
    names = 0
    for k, cell in enumerate(cells):
        column = [value for row in rows if not _missing(value := row[k].strip())]
        if not column or _missing(cell):
            continue
        if cell not in column and _usual_name(cell):
            return ""
        numeric = sum(map(is_number, column)) >= _MOSTLY * len(column)
        if numeric != is_number(cell):
            names += 1
        elif numeric:
            numbers.append(cell)
        elif cell in column:
            repeated.append(cell)
        elif len(column) >= _REPEATED * len(set(column)):
            names += 1
    if len(numbers) < width and _even_steps(numbers):
        numbers = []
    fractions = sum(not number.isdecimal() for number in numbers)  # columns are called 2019, but hardly ever 0.442
    if len(numbers) + _FRACTION * fractions + len(repeated) <= names:
        return ""
    seen = [f"{_quoted(numbers)} above numbers"] if numbers else []
    if repeated:
        seen.append(f"{_quoted(repeated)} above the same again")
    return " and ".join(seen)


def is_number(text: str) -> bool:
    """Whether a cell holds a number, be it with a decimal comma."""
    try:
        float(text.strip().replace(",", "."))
    except ValueError:
        return False
    return True


def _missing(text: str) -> bool:
    return text.lower() in MISSING_TEXT


def _usual_name(cell: str) -> bool:
    """Whether all words of a cell are such as columns are called by: "query_id", "Query ID", "queryId"."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|[\W_]+", " ", cell)
    words = spaced.casefold().split()
    return bool(words) and all(word in _NAMES for word in words)


def _even_steps(numbers: Sequence[str]) -> bool:
    """Numbers that rise by the same step: years, columns that were counted, or quantiles; of two, by one."""
    values = [float(number.replace(",", ".")) for number in numbers]
    steps = {round(high - low, 9) for low, high in pairwise(values)}
    return steps == {1.0} or (len(values) > 2 and len(steps) == 1 and steps.pop() > 0)


def _quoted(cells: Sequence[str]) -> str:
    shown = [repr(cell if len(cell) <= 24 else cell[:21] + "...") for cell in cells[:3]]
    return ", ".join(shown) + (f" and {len(cells) - 3} more" if len(cells) > 3 else "")
