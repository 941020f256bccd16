"""Which column is what in a table without column names: proposed from what the columns hold."""

from __future__ import annotations

import numpy as np
import pandas as pd

_MOST_GROUPS = 12
_LEAST_ROWS = 6


def propose_roles(head: pd.DataFrame) -> tuple[dict[str, str], list[str]]:
    """Roles for columns that have no name, and a sentence for each; nothing where two columns could be meant.

    - The query is the first column whose values stand in blocks, each value in one block.
    - The item is the first column that holds no value twice in a query, and no fractions.
    - The score is the one column with fractions.
    - The group is the one column of text with a few values that come back in several queries.

    Parameters
    ----------
    head : DataFrame
        The first rows.
    """
    head = head.loc[:, ~head.columns.duplicated()]  # two columns of one name: the first speaks for both
    if len(head) < _LEAST_ROWS:
        return {}, []
    columns = {str(name): head[name] for name in head.columns if not head[name].isna().any()}
    query = next((name for name, column in columns.items() if _in_blocks(column)), None)
    if query is None:
        return {}, []
    lists = head[query]
    others = {name: column for name, column in columns.items() if name != query}
    items = [name for name, column in others.items() if not _fractions(column) and _distinct(column, lists)]
    scores = [name for name, column in others.items() if _fractions(column)]
    groups = [name for name, column in others.items() if _few_texts(column, lists)]
    seen = {
        "query": (query, "its values stand in blocks"),
        "item": (items[0] if items else "", "no value comes twice in a query"),
        "score": (scores[0] if len(scores) == 1 else "", "no other holds fractions"),
        "group": (groups[0] if len(groups) == 1 else "", "no other holds a few words that come back"),
    }
    mapping = {role: column for role, (column, _) in seen.items() if column}
    return mapping, [f"{seen[role][0].capitalize()} was taken as the {role}: {seen[role][1]}." for role in mapping]


def _in_blocks(column: pd.Series) -> bool:
    """Whether equal values stand together, two or more, and there are several of them."""
    if _fractions(column):
        return False
    codes = pd.factorize(column)[0]
    blocks = 1 + int((np.diff(codes) != 0).sum())
    values = int(codes.max()) + 1
    return 1 < values == blocks <= len(column) / 2


def _distinct(column: pd.Series, lists: pd.Series) -> bool:
    return not pd.DataFrame({"value": column, "list": lists}).duplicated().any()


def _fractions(column: pd.Series) -> bool:
    return pd.api.types.is_float_dtype(column) and bool((column % 1 != 0).any())


def _few_texts(column: pd.Series, lists: pd.Series) -> bool:
    if pd.api.types.is_numeric_dtype(column):
        return False
    values = column.nunique()
    several = lists.groupby(column).nunique()
    return 1 < values <= _MOST_GROUPS and bool((several > 1).any())
