"""Columns that seem to be about the query: proposed to whoever maps columns, and never used unless named."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pandas as pd

from spofr_core.data.formats.tables import Table
from spofr_core.data.reading.columns import plain_name

_LOOKED_ROWS = 5000
_FEWEST_QUERIES = 3
_TIME = re.compile(r"(.*_)?(date|time|datetime|timestamp|day|ts|created|created_at|searched_at)(_utc)?")


def time_like(table: Table) -> tuple[str, ...]:
    """Columns that are called as times are."""
    features = set(table.feature_names)
    return tuple(name for name in table.names if name not in features and _TIME.fullmatch(plain_name(name)))


def slice_like(table: Table, mapping: Mapping[str, str]) -> tuple[str, ...]:
    """Columns without a role that are the same all over each query and shared by several, in the first rows."""
    head = table.head(_LOOKED_ROWS)
    head.columns = pd.Index(table.names)
    head = head.loc[:, ~head.columns.duplicated()]
    query = mapping.get("query")
    if query not in head.columns or head[query].nunique() < _FEWEST_QUERIES:
        return ()
    taken = {*mapping.values(), *table.feature_names, *time_like(table)}
    others = [name for name in head.columns if name and name not in taken]
    return tuple(str(name) for name in others if _of_query(head[query], head[name]))


def _of_query(queries: pd.Series, values: pd.Series) -> bool:
    pairs = pd.DataFrame({"query": queries, "value": values}).dropna(subset="query").drop_duplicates()
    return len(pairs) == pairs["query"].nunique() and 1 < pairs["value"].nunique(dropna=False) < len(pairs)
