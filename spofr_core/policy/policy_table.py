"""Policies as a long table, and back: query_id, ranking, probability, position, item_id."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from spofr_core.data import Limits, RankingDataset
from spofr_core.data.csv_export import original, write_csv
from spofr_core.data.formats.opening import open_table
from spofr_core.data.ids import bare, plain
from spofr_core.errors import DataError, first_line
from spofr_core.fairness import Discount, Fairness
from spofr_core.files import write_whole
from spofr_core.policy.policies import Policies
from spofr_core.policy.policy import Policy
from spofr_core.policy.programme import prepare
from spofr_core.policy.solvers.solver import Solution

COLUMNS = ("query_id", "ranking", "probability", "position", "item_id")
_SAVED_AS = (".xlsx", ".json", ".jsonl", ".ndjson")
MAX_RANKINGS = 1_000_000
MAX_CELLS = 500_000_000
"""Rankings times items; a table that asks for more is refused rather than given memory."""


def to_frame(policies: Policies) -> pd.DataFrame:
    """A row per position of each ranking; rankings and positions count from 1, lists keep their order."""
    lists, solution = policies.lists, policies.solution
    lengths = np.diff(lists.offsets)
    owner = np.repeat(np.arange(len(lists)), lengths)
    position = np.arange(lists.n_items) - np.repeat(lists.offsets[:-1], lengths)
    shown = np.arange(solution.rankings.shape[0])[:, None] < solution.counts[owner][None, :]
    ranking, row = np.nonzero(shown)
    order = np.lexsort((position[row], ranking, owner[row]))
    ranking, row = ranking[order], row[order]
    query = owner[row]
    item = lists.offsets[query] + solution.rankings[ranking, row]
    names = np.arange(len(lists)) if lists.query_ids is None else np.asarray(lists.query_ids)
    return pd.DataFrame(
        {
            "query_id": names[query],
            "ranking": ranking + 1,
            "probability": solution.probabilities[query, ranking],
            "position": position[row] + 1,
            "item_id": policies.item_ids[item],
        }
    )


def from_frame(
    frame: pd.DataFrame, data: RankingDataset, fairness: Fairness, *, discount: Discount | None = None
) -> Policies:
    """Read the long table of policies for the lists of `data`.

    A position that the table leaves out holds item -1, the probability of a ranking that is incomplete or whose rows
    disagree is NaN, and a list that the table leaves out has no rankings, so that `verify` can tell what is wrong with
    each list. Only what cannot be understood is refused.

    Raises
    ------
    DataError
        When a column is missing, or a row names a query or item that is not in the data, or a place that no list has.
    """
    missing = [name for name in COLUMNS if name not in frame.columns]
    if missing:
        raise DataError(
            f"The table of policies has no column {missing[0]!r}; it needs {', '.join(COLUMNS)}.", column=missing[0]
        )
    lists = prepare(
        data.groups,
        data.offsets,
        fairness,
        discount=discount,
        group_names=data.group_names,
        query_ids=data.query_ids,
        on_infeasible="relax",
    )
    query = _places(frame["query_id"], data.query_ids, "query_id")
    ranking = _counted(frame, "ranking", np.full(len(frame), MAX_RANKINGS))
    position = _counted(frame, "position", np.diff(data.offsets)[query])
    probability = _numbers(frame, "probability")
    item = _items(frame["item_id"], query, data)

    height = int(ranking.max(initial=0)) + 1
    if height * data.n_items > MAX_CELLS:
        raise DataError(
            f"The table has up to {height} rankings of a list, which is too much for {data.n_items} items at once; "
            "read the queries with so many rankings apart."
        )
    rankings = np.full((height, data.n_items), -1, dtype=np.int32)
    rankings[ranking, data.offsets[query] + position] = item
    rows = np.zeros((len(lists), height), dtype=np.int64)
    np.add.at(rows, (query, ranking), 1)
    low, high = np.full((len(lists), height), np.inf), np.full((len(lists), height), -np.inf)
    np.minimum.at(low, (query, ranking), probability)
    np.maximum.at(high, (query, ranking), probability)
    named = rows > 0
    counts = np.where(named.any(axis=1), height - np.argmax(named[:, ::-1], axis=1), 0).astype(np.int32)
    whole = _complete(rows, query, ranking, position, item, data)
    probabilities = np.where(named & (low == high) & whole, low, np.where(named, np.nan, 0.0))
    unknown = np.full(lists.sizes.shape, np.nan)
    solution = Solution(rankings, probabilities, counts, unknown, np.full(len(lists), np.nan), solver="table")
    scores = np.zeros(data.n_items) if data.score is None else np.array(data.score)
    return Policies(lists, scores, solution, data.item_ids)


def _complete(
    rows: npt.NDArray[np.int64],
    query: npt.NDArray[np.int64],
    ranking: npt.NDArray[np.int64],
    position: npt.NDArray[np.int64],
    item: npt.NDArray[np.int64],
    data: RankingDataset,
) -> npt.NDArray[np.bool_]:
    """(Q, R): whether the rows of a ranking name each position and each item of the list once."""
    lengths = data.list_lengths[:, None]
    whole: npt.NDArray[np.bool_] = np.asarray(rows == lengths)
    for place in (position, item):
        seen = np.zeros((rows.shape[1], data.n_items), dtype=np.bool_)
        seen[ranking, data.offsets[query] + place] = True
        named = np.add.reduceat(seen, data.offsets[:-1], axis=1, dtype=np.int64).T
        whole &= named == lengths
    return whole


def write_table(table: pd.DataFrame, path: str | Path) -> None:
    """Write the long table; the ending of the path chooses .parquet or .csv."""
    target = Path(path)
    if check_ending(target) == ".parquet":
        write_whole(target, parquet_bytes(table))
    else:
        write_csv(table, target)


def check_ending(target: Path) -> str:
    """`.parquet` or `.csv`, by which a table can be written."""
    kind = target.suffix.lower()
    if kind not in (".parquet", ".csv"):
        raise DataError(f"{target} ends in {target.suffix!r}; policies are written as .parquet or .csv.")
    return kind


def parquet_bytes(table: pd.DataFrame) -> bytes:
    """The content of a Parquet file with this table."""
    content = io.BytesIO()
    table.to_parquet(content, index=False)
    return content.getvalue()


def policy_document(policy: Policy, *, each_item: bool = False) -> dict[str, Any]:
    """The lottery of one list for people and JSON: ids, groups (unless each item is on its own), scores, rankings."""
    ids = [str(name) for name in policy.item_ids.tolist()]
    return {
        "schema": 1,
        "query": str(policy.query),
        "items": [
            {"item": item, **({} if each_item else {"group": group}), "score": float(score)}
            for item, group, score in zip(ids, policy.groups, policy.scores, strict=True)
        ],
        "rankings": [
            {"probability": float(p), "items": [ids[k] for k in ranking]}
            for p, ranking in zip(policy.probabilities, policy.rankings, strict=True)
        ],
    }


def document_table(content: object) -> pd.DataFrame | None:
    """The long table of what `policy_document` gave; None for anything else."""
    if not isinstance(content, dict) or not {"query", "items", "rankings"} <= content.keys():
        return None
    try:
        rows = [
            (content["query"], number, ranking["probability"], position, item)
            for number, ranking in enumerate(content["rankings"], start=1)
            for position, item in enumerate(ranking["items"], start=1)
        ]
    except (LookupError, TypeError) as error:
        raise DataError(f"The rankings of query {content['query']!r} are damaged ({first_line(error)}).") from error
    return pd.DataFrame(rows, columns=list(COLUMNS))


def read_table(path: str | Path) -> pd.DataFrame:
    """Read a table that `write_table` wrote, or a folder of them as Parquet; ids in CSV are text.

    A table that somebody has saved as a workbook or as JSON since is read, too.
    """
    target = Path(path)
    kind = ".parquet" if target.is_dir() else target.suffix.lower()
    if kind not in ("", ".parquet", ".csv", *_SAVED_AS) or (not kind and target.exists()):
        raise DataError(f"{target} ends in {target.suffix!r}; policies are read from .parquet, .csv, .xlsx or .jsonl.")
    if not target.exists():
        raise DataError(f"There is no file {str(target)!r}. Check the path.")
    if target.is_dir() and not any(target.glob("*.parquet")):
        raise DataError(f"The folder {str(target)!r} has no .parquet file; give what `spofr repair` wrote.")
    try:
        if kind == ".parquet":
            return pd.read_parquet(target)
        if kind in _SAVED_AS:
            table = open_table(target, Limits())[1]
            columns = table.read(dict.fromkeys(table.names, "plain"))
            frame = pd.DataFrame({name: column.to_pandas() for name, column in columns.items()})
        else:
            frame = pd.read_csv(target, dtype={"query_id": str, "item_id": str}, keep_default_na=False)
    except (OSError, ValueError) as error:
        raise DataError(
            f"{target} cannot be read as a table of policies ({first_line(error)}); give what `spofr repair` wrote."
        ) from error
    for name in ("query_id", "item_id"):
        if kind in (".csv", ".xlsx") and name in frame.columns:
            frame[name] = [original(cell) if isinstance(cell, str) else cell for cell in frame[name]]
    return frame


def _places(column: pd.Series[Any], ids: npt.NDArray[Any], name: str) -> npt.NDArray[np.int64]:
    """Place of each id among `ids`, compared as text."""
    index = pd.Index([bare(str(value)) for value in ids.tolist()])
    texts = pd.Index([bare(str(value)) for value in column.tolist()])
    if index.has_duplicates:
        raise DataError(f"Two queries of the data have the same id as text ({index[index.duplicated()][0]!r}).")
    places = index.get_indexer(texts)
    if (places < 0).any():
        row = int(np.argmax(places < 0))
        raise DataError(
            f"{name} {texts[row]!r} in row {row + 1} of the table is not in the data.", column=name, row=row + 1
        )
    return np.asarray(places, dtype=np.int64)


def _items(column: pd.Series[Any], query: npt.NDArray[np.int64], data: RankingDataset) -> npt.NDArray[np.int64]:
    """Index of each item within its list; ids are unique within a list only."""
    owners = np.repeat(np.arange(len(data)), data.list_lengths)
    known = pd.MultiIndex.from_arrays([owners, [bare(str(value)) for value in data.item_ids.tolist()]])
    texts = [bare(str(value)) for value in column.tolist()]
    if known.has_duplicates:
        row = int(np.argmax(known.duplicated()))
        raise DataError(
            f"Query {plain(data.query_ids[owners[row]])!r} has two items of the id {plain(data.item_ids[row])!r}; "
            "ids must differ within a list."
        )
    rows = known.get_indexer(pd.MultiIndex.from_arrays([query, texts]))
    if (rows < 0).any():
        row = int(np.argmax(rows < 0))
        raise DataError(
            f"Item {texts[row]!r} in row {row + 1} of the table is not in the list of query "
            f"{plain(data.query_ids[query[row]])!r}.",
            column="item_id",
            row=row + 1,
        )
    return np.asarray(rows - data.offsets[query], dtype=np.int64)


def _numbers(frame: pd.DataFrame, name: str) -> npt.NDArray[np.float64]:
    try:
        return np.asarray(frame[name], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"Column {name!r} of the table holds something that is not a number: {error}", column=name
        ) from error


def _counted(frame: pd.DataFrame, name: str, most: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """A column that counts 1..most, from 0."""
    values = _numbers(frame, name)
    wrong = ~((values >= 1) & (values <= most) & (values == np.floor(values)))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(
            f"{name} is {frame[name].iloc[row]} in row {row + 1} of the table; it counts from 1 to {most[row]} here.",
            column=name,
            row=row + 1,
        )
    return values.astype(np.int64) - 1
