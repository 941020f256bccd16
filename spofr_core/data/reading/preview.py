"""What a table looks like before it is read: first rows, kinds of columns, guessed roles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from spofr_core.data.formats import TextOptions
from spofr_core.data.formats.decimal_signs import telling
from spofr_core.data.formats.opening import AnySource, open_table
from spofr_core.data.formats.tables import MISSING_TEXT
from spofr_core.data.limits import Limits
from spofr_core.data.reading.columns import doubtful_header, guess_columns
from spofr_core.data.reading.proposals import propose_rank, ranking_looks
from spofr_core.data.reading.query_proposals import slice_like, time_like
from spofr_core.data.reading.ranks import Look
from spofr_core.data.reading.unnamed import propose_roles

_LOOKED_ROWS = 1000


@dataclass(frozen=True, eq=False)
class TablePreview:
    """What a table looks like, before it is read.

    Attributes
    ----------
    head : DataFrame
        Its first rows. Of columns of one name, or without any, the first alone: none of them can be read.
    mapping : dict
        Guessed roles: role to column (query, item, group, relevance, score, rank, click, position, propensity).
    kinds : dict
        Column to "number", "text", "flag" or "empty".
    notes : tuple of str
        The guesses in words.
    format : str
        One of `FORMATS`, or "frame".
    known : dict
        Those of the roles that the format knows by itself: no guess, and nothing to choose.
    features : tuple of str
        Columns that are features by nature.
    rank_like : dict of str to str
        Columns that look like a rank (1 is the top) by what they hold, whatever they are called, with what was seen:
        "counts 1, 2, 3, ... in each list". `read_dataset` asks before it takes one of them as a score.
    score_like : dict of str to str
        Columns that look like a score (higher is better), with what was seen; asked about where taken as a rank.
    header : bool
        Whether the first row was taken as column names (always so where a format has names of its own). Without them
        the columns are called "column 1", "column 2", ....
    header_doubt : str
        A sentence about a first row that looks like data, where nobody has said what it is: `header` is then False, and
        `read_dataset` wants to be told header=True or header=False. Empty where there is no doubt.
    sheets, sheet
        The sheets of a workbook that hold tables (or the keys of a JSON document), where there are several, and which
        one this is: the first unless one was named. `read_dataset` wants to be told.
    time_like, slice_like : tuple of str
        Columns that may be the time of the query, by their names, and that it may be sliced by, by what they hold:
        to be offered, since neither is used unless it is named.
    """

    head: pd.DataFrame
    mapping: dict[str, str]
    kinds: dict[str, str]
    notes: tuple[str, ...]
    format: str
    known: dict[str, str] = field(default_factory=dict)
    features: tuple[str, ...] = ()
    rank_like: dict[str, str] = field(default_factory=dict)
    score_like: dict[str, str] = field(default_factory=dict)
    header: bool = True
    header_doubt: str = ""
    sheets: tuple[str, ...] = ()
    sheet: str = ""
    time_like: tuple[str, ...] = ()
    slice_like: tuple[str, ...] = ()


def preview_table(
    source: AnySource,
    *,
    rows: int = 100,
    format: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
    sheet: str | None = None,
    limits: Limits | None = None,
) -> TablePreview:
    """The first rows of a table, the kind of each column, and which role each column seems to have."""
    limits = limits or Limits()
    found, table = open_table(
        source, limits, format, TextOptions(delimiter, encoding, decimal, header, sheet), rows=rows
    )
    head = table.head(rows)
    features = set(table.feature_names)
    if header is False or table.header_doubt:
        mapping, notes = propose_roles(table.head(_LOOKED_ROWS))
    else:
        mapping, notes = guess_columns([name for name in table.names if name and name not in features], table.roles)
    looks = ranking_looks(table, mapping)
    notes += _by_content(mapping, looks)
    notes += _named_twice(table.names)
    head = head.loc[:, ~head.columns.duplicated()]
    kinds = {str(name): _kind(head.iloc[:, k]) for k, name in enumerate(head.columns)}
    known = dict(table.roles)
    return TablePreview(
        head,
        mapping,
        kinds,
        (*table.notes, *notes),
        found,
        known=known,
        features=tuple(table.feature_names),
        rank_like={name: look.reason for name, look in looks.items() if look.kind == "rank"},
        score_like={name: look.reason for name, look in looks.items() if look.kind == "score"},
        header=not table.header_doubt and header is not False,
        header_doubt=doubtful_header(table).plain if table.header_doubt else "",
        sheets=tuple(table.sheets),
        sheet=table.sheet,
        time_like=time_like(table),
        slice_like=slice_like(table, mapping),
    )


def _named_twice(names: Sequence[str]) -> list[str]:
    several = [name for name, times in Counter(names).items() if times > 1 and name]
    return [f"Several columns are called {name!r}: to use one of them, rename it." for name in several]


def _by_content(mapping: dict[str, str], looks: Mapping[str, Look]) -> list[str]:
    """Let what columns hold overrule their names: a rank that is called a score is proposed as the rank it is."""
    for role, other in (("score", "rank"), ("rank", "score")):
        look = looks.get(mapping.get(role, ""), Look())
        if look.kind == other and other not in mapping:
            column = mapping[other] = mapping.pop(role)
            return [f"Column {column!r} looks like a {other}, not like a {role}: it {look.reason}."]
    return propose_rank(mapping, looks)


def _kind(column: pd.Series) -> str:
    if column.isna().all():
        return "empty"
    if pd.api.types.is_bool_dtype(column):
        return "flag"
    if pd.api.types.is_numeric_dtype(column):
        return "number"
    texts = [text.strip() for text in column.dropna() if isinstance(text, str)]
    found = telling(text for text in texts if text.lower() not in MISSING_TEXT)
    return "number" if {*found} & {"comma", "point", "open comma"} and "neither" not in found else "text"
