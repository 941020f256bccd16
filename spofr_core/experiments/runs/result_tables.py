"""Tables over many runs: one row per run, one row per run and query."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from spofr_core.data import write_csv
from spofr_core.errors import ConfigError, DataError
from spofr_core.experiments.runs.run_output import RESULT_COLUMNS
from spofr_core.experiments.runs.store import RunStore
from spofr_core.files import explain_full_disk, write_whole
from spofr_core.learning import told_apart

_TEXT = ("run", "dataset", "method", "unit", "notion", "status")
_WHOLE = ("groups", "clicks", "seed")


def results_frame(rows: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """Rows of runs as a frame with the columns and types of `results.parquet`."""
    frame = pd.DataFrame(list(rows), columns=list(RESULT_COLUMNS))
    kinds = {name: "str" if name in _TEXT else "Int64" if name in _WHOLE else "float64" for name in RESULT_COLUMNS}
    return frame.astype(kinds)


def results(store: RunStore, runs: Iterable[str] | None = None) -> pd.DataFrame:
    """One row per run of the store, or of these runs: the columns `RESULT_COLUMNS`; variants of a method told apart."""
    wanted = None if runs is None else set(runs)
    records = [record for record in store.records() if wanted is None or record.run in wanted]
    frame = results_frame(record.row() for record in records)
    settings = [record.settings.get("settings", {}) for record in records]
    names = told_apart(frame["method"].tolist(), settings, frame["dataset"].tolist())
    return frame.assign(method=pd.Series(names, dtype="str"))


def collect(store: RunStore) -> pd.DataFrame:
    """Write `results.parquet` anew from the runs that ended, and return it."""
    frame = results(store)
    frame = frame[frame["status"].isin(["done", "failed"])].reset_index(drop=True)
    _write_parquet(frame, store.root / "results.parquet")
    return frame


def query_results(
    store: RunStore,
    runs: Iterable[str],
    part: str = "test",
    columns: tuple[str, ...] = ("violation", "dcg", "applicable"),
) -> pd.DataFrame:
    """One row per run and query: column "run" and the chosen ones.

    "run" is categorical, in the order of `runs`.
    """
    names = list(runs)
    tables = [_read(store, run, part, list(columns)) for run in names]
    lengths = [len(table) for table in tables]
    merged = pa.concat_tables(tables) if tables else pa.table({name: [] for name in columns})
    codes = np.repeat(np.arange(len(names), dtype=np.int32), lengths)
    frame: pd.DataFrame = merged.to_pandas()
    frame.insert(0, "run", pd.Series(pd.Categorical.from_codes(codes, categories=pd.Index(names))))
    return frame


def _read(store: RunStore, run: str, part: str, columns: list[str]) -> pa.Table:
    path = store.folder(run) / f"{part}.parquet"
    try:
        # One file, read as such: looking for partitions or further files costs more than reading it.
        with pq.ParquetFile(path, memory_map=True) as file:
            return file.read(columns=columns, use_threads=False)
    except FileNotFoundError:
        raise DataError(f"Run {run} has no results of the {part} part: it is not done, or was removed.") from None


def export_results(store: RunStore, runs: Iterable[str], target: str | Path) -> None:
    """Write runs into one file: everything about them (.zip), or the table of results (.csv, .parquet).

    Raises
    ------
    ConfigError
        When the name has another ending.
    """
    path = Path(target)
    names = list(runs)
    if path.suffix == ".zip":
        store.export(names, path)
    elif path.suffix == ".csv":
        write_csv(results(store, names), path)
    elif path.suffix == ".parquet":
        _write_parquet(results(store, names), path)
    else:
        raise ConfigError(f"{path.name!r} has no ending that says what to write: give .zip, .csv or .parquet.")


def _write_parquet(frame: pd.DataFrame, path: Path) -> None:
    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=False)
    with explain_full_disk(path.parent):
        write_whole(path, buffer.getvalue())
