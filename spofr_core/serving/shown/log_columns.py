"""Which column of a log of impressions is what: the usual names, and what is asked for where there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spofr_core.data.formats.tables import Table
from spofr_core.data.reading.columns import ALIASES, missing_column, plain_name
from spofr_core.data.reading.query_proposals import time_like
from spofr_core.errors import DataError

ROLES = ("query", "impression", "position", "item", "group", "time")
REQUIRED = ("query", "impression", "position", "group")
_IMPRESSION = (
    "impression", "impression_id", "imp_id", "impr_id", "serp_id", "page_view_id", "pageview_id", "view_id",
    "request_id", "session", "session_id", "visit_id", "user_session",
)  # fmt: skip
_NAMES: Mapping[str, Sequence[str]] = {
    "query": (
        *(name for name in ALIASES["query"] if name not in _IMPRESSION), "keyword", "search_term", "term", "q"
    ),
    "impression": _IMPRESSION,
    "position": (*ALIASES["position"], *ALIASES["rank"], "slot"),
    "item": (*ALIASES["item"], "ad", "ad_id", "sku", "listing_id", "id"),
    "group": ALIASES["group"],
}  # fmt: skip


def guess_log_columns(names: Sequence[str], given: Mapping[str, str] | None = None) -> dict[str, str]:
    """Roles of a log to columns: those that are given, and others by their usual names; without a time."""
    found = dict(given or {})
    plain: dict[str, str] = {}
    for name in names:
        plain.setdefault(plain_name(name), name)
    for role, usual in _NAMES.items():
        if role in found:
            continue
        here = (plain[alias] for alias in usual if alias in plain and plain[alias] not in found.values())
        column = next(here, None)
        if column is not None:
            found[role] = column
    return found


def looks_like_a_log(names: Sequence[str]) -> bool:
    """Whether columns with usual names make a log of impressions: a query, an impression or session, and positions."""
    found = guess_log_columns(names)
    return {"query", "impression", "position"} <= {*found}


def log_columns(table: Table, given: Mapping[str, str], *, guess: bool = True) -> tuple[dict[str, str], list[str]]:
    """Roles to columns, and a note about each guess.

    Raises
    ------
    DataError
        When a column that is named is not there, or one that is needed cannot be guessed.
    """
    for role, column in given.items():
        if column not in table.names:
            raise missing_column(column, table.names, role, table.name)
    mapping = guess_log_columns(table.names, given) if guess else dict(given)
    if guess and "time" not in mapping:
        times = time_like(table)
        if times:
            mapping["time"] = times[0]
    lacking = [role for role in REQUIRED if role not in mapping]
    if lacking:
        raise DataError(
            f"A log of impressions needs a column for the {' and the '.join(lacking)}, and none of {table.name} has a "
            f"usual name for {'it' if len(lacking) == 1 else 'them'}; it has the columns "
            f"{', '.join(map(repr, table.names[:20]))}.",
            column=lacking[0],
            fields=lacking,
            mend=f"Name {'it' if len(lacking) == 1 else 'them'}: {', '.join(f'{role}=...' for role in lacking)}.",
            on_page=f"Choose a column for {' and for '.join(repr(role.capitalize()) for role in lacking)}.",
        )
    guessed = [f"Column {mapping[role]!r} was taken as the {role}." for role in mapping if role not in given]
    return mapping, guessed
