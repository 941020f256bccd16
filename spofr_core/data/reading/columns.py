"""Which column is what: roles, their usual names, and an honest guess."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence

from spofr_core.data.formats.tables import Table
from spofr_core.errors import DataError

_COMPARED = 5000
"""Names that a mistyped one is compared with: comparing takes time."""

_ID_WORDS = re.compile(r"(^|_)(ids?|nr|no|num|number|index|idx|row|line|key|code|year|age|count)($|_)")

_CUT = "In Python: group='133', group_quantiles=2, or item_groups=..."

ROLES: tuple[str, ...] = (
    "query", "item", "group", "relevance", "score", "rank", "click", "position", "propensity",
)  # fmt: skip

# The first name found wins; the more specific come first.
ALIASES: Mapping[str, tuple[str, ...]] = {
    "query": (
        "query_id", "qid", "query", "q_id", "queryid", "topic_id", "topic", "search_id", "searchid", "srch_id",
        "session_id", "request_id", "impression_id", "list_id", "search",
    ),
    "item": (
        "item_id", "docno", "doc_id", "docid", "document_id", "candidate_id", "product_id", "prop_id", "person_id",
        "user_id", "itemid", "doc", "item", "document", "candidate", "product", "url",
    ),
    "group": (
        "group", "group_id", "group_name", "protected_group", "protected_attribute", "protected", "sensitive",
        "gender", "sex", "race", "ethnicity",
    ),
    "relevance": (
        "relevance", "rel", "label", "judgment", "judgement", "relevance_label", "grade", "relevance_score", "target",
    ),
    "score": ("score", "model_score", "prediction", "predicted_score", "pred", "predicted", "yhat", "y_pred"),
    "rank": (
        "rank", "ranking", "position", "pos", "rank_position", "place", "placement", "standing", "platz", "rang",
        "platzierung", "puesto", "posicion", "classement",
    ),
    "click": ("click", "clicked", "clicks", "is_click"),
    "position": ("position", "pos", "shown_position", "display_position", "rank"),
    "propensity": ("propensity", "propensities", "examination_probability", "examination"),
}  # fmt: skip


def guess_columns(names: Sequence[str], given: Mapping[str, str] | None = None) -> tuple[dict[str, str], list[str]]:
    """Guess the role of columns by their usual names.

    Parameters
    ----------
    names : sequence of str
        The columns of the table.
    given : mapping of role to column, optional
        What the caller said; it is taken as it is and its columns are not guessed again.

    Returns
    -------
    mapping : dict
        Role to column, with the given roles first.
    notes : list of str
        One sentence per guess, for the reader of the result.
    """
    mapping = dict(given or {})
    plain: dict[str, str] = {}
    for name in names:
        plain.setdefault(plain_name(name), name)
    notes: list[str] = []
    for role in _guessed_roles(mapping, plain):
        taken = set(mapping.values())
        found = [plain[alias] for alias in ALIASES[role] if alias in plain and plain[alias] not in taken]
        if found:
            mapping[role] = found[0]
            others = f" ({', '.join(map(repr, found[1:]))} could also have been meant)" if len(found) > 1 else ""
            notes.append(f"Column {found[0]!r} was taken as the {role}{others}.")
    return mapping, notes


def _guessed_roles(mapping: Mapping[str, str], plain: Mapping[str, str]) -> list[str]:
    """Roles worth guessing: a log with clicks has positions, a table without scores may have ranks."""
    wanted = [role for role in ("query", "item", "group", "relevance") if role not in mapping]
    if "score" not in mapping and "rank" not in mapping:
        has_score = any(alias in plain and plain[alias] not in mapping.values() for alias in ALIASES["score"])
        has_click = "click" in mapping or any(alias in plain for alias in ALIASES["click"])
        if has_score:
            wanted.append("score")
        elif not has_click:
            wanted.append("rank")
    if "click" not in mapping:
        wanted.append("click")
    if "click" in mapping or any(alias in plain for alias in ALIASES["click"]):
        wanted.extend(role for role in ("position", "propensity") if role not in mapping)
    return wanted


def missing_column(column: str, names: Sequence[str], role: str, source: str) -> DataError:
    """The error for a column that is not there, with the nearest name that is."""
    close = difflib.get_close_matches(column, names[:_COMPARED], n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return DataError(
        f"{source} has no column {column!r} (asked for as the {role}); it has {_listed(names)}.{hint}", column=column
    )


def unknown_role(role: str, table: Table, question: str = "") -> DataError:
    """The error for a needed role that no column could be guessed for; what the table says about it comes first."""
    if question and role not in table.absent:
        return DataError(
            question, column=role, fields=(role,), mend=f"Name it: {role}='...'.", on_page=f"Choose the {role} column."
        )
    return unknown_roles([role], table)


def unknown_roles(roles: Sequence[str], table: Table) -> DataError:
    """The error that names all needed roles at once for which no column could be guessed."""
    known_absent = [table.absent[role] for role in roles if role in table.absent]
    open_ones = [role for role in roles if role not in table.absent]
    if not open_ones:
        return DataError(" ".join(known_absent), column=roles[0], fields=roles, mend=_CUT if "group" in roles else "")
    which = (
        f"Which column of {table.name} is the {open_ones[0]}?"
        if len(open_ones) == 1
        else f"Which columns of {table.name} are the {' and the '.join(open_ones)}?"
    )
    usual = "; ".join(", ".join(ALIASES[role][:4]) + ", ..." for role in open_ones)
    question = f"{which} None has a usual name ({usual}); it has {_listed(table.names)}."
    pronoun = "it" if len(open_ones) == 1 else "them"
    return DataError(
        " ".join([question, *known_absent]),
        column=roles[0],
        fields=roles,
        mend=f"Name {pronoun}: {', '.join(f'{role}={chr(39)}...{chr(39)}' for role in open_ones)}.",
        on_page=f"Choose a column for {' and for '.join(repr(role.capitalize()) for role in open_ones)}.",
    )


def check_mapped_twice(mapping: Mapping[str, str | Sequence[str]]) -> list[str]:
    """Remarks about columns that have two roles.

    Parameters
    ----------
    mapping : mapping of role to column
        The columns of the group may be several.

    Raises
    ------
    DataError
        Where it makes no sense: a query column that is the item, the group or what ranks is the same all over a list.
    """
    roles: dict[str, list[str]] = {}
    for role, columns in mapping.items():
        for column in (columns,) if isinstance(columns, str) else columns:
            roles.setdefault(column, []).append(role)
    whole = {role: columns if isinstance(columns, str) else " & ".join(columns) for role, columns in mapping.items()}
    for role in ("item", "group", "score", "rank", "relevance"):
        if role in whole and whole[role] == whole.get("query"):
            raise DataError(
                f"Column {whole[role]!r} is named as the query and as the {role}: then the {role} is the same all over "
                "a list, and nothing can be compared within it. Choose another column for one of them.",
                column=whole[role],
                fields=("query", role),
            )
    return [
        f"Column {column!r} has more than one role here: it is the {' and the '.join(found)}. Is that meant?"
        for column, found in roles.items()
        if len(found) > 1
    ]


def doubtful_header(table: Table) -> DataError:
    """The question whether the first row holds names or data."""
    return DataError(
        f"The first row of {table.name} looks like a row of data, not like column names: it has {table.header_doubt}.",
        fields=("header",),
        mend="Say which it is: header=False reads every row and calls the columns 'column 1', 'column 2', ...; "
        "header=True takes the row as names.",
        on_page="Say whether it holds column names.",
        question="header",
    )


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:20])
    return f"the columns {shown}" + (f" and {len(names) - 20} more" if len(names) > 20 else "")


def is_id_name(name: str) -> bool:
    """Whether a name says that its column counts or numbers something, rather than ranking it."""
    return _ID_WORDS.search(plain_name(name)) is not None


def plain_name(name: str) -> str:
    """Lower case, words joined by one underscore; camelCase is split."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[^0-9a-z]+", "_", spaced.casefold()).strip("_")
