"""Uploads that a job needs: written into the visitor's own store, and deleted with the last job that needs them."""

from __future__ import annotations

import io
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st

from dashboard.session.sources import Loaded
from spofr_core.data import RankingDataset
from spofr_core.errors import DataError
from spofr_core.experiments import RunStore, collect, private_runs
from spofr_core.files import write_whole

MOST_CELLS = 50_000_000
"""Items times features of an upload that is trained on here; the shell takes more."""
_ROLES = {"query": "query_id", "item": "item_id", "group": "group", "relevance": "relevance"}
_OTHERS = ("score", "click", "position", "propensity")


def learnable(source: Loaded) -> RankingDataset:
    """An upload with what a scorer learns from.

    Raises
    ------
    DataError
        When there is nothing to learn from, or too much for a page.
    """
    if source.learnable is None:
        raise DataError("Only a bundled sample, or an upload of this session, can be trained on.")
    data = _read(source, source.learnable)
    if data.relevance is None:
        raise DataError(
            f"{source.title!r} has no relevance to learn from: map a relevance column on the Data page.",
            column="relevance",
        )
    if not data.feature_names:
        raise DataError(
            f"{source.title!r} has no features to learn from: it needs columns with numbers besides those that are "
            "mapped.",
            column="features",
        )
    cells = data.n_items * len(data.feature_names)
    if cells > MOST_CELLS:
        raise DataError(
            f"{data.n_items:,} items with {len(data.feature_names):,} features are too many to train on here; "
            "`spofr sweep --file` in a shell takes more."
        )
    return data


def _read(source: Loaded, read: Callable[[], RankingDataset]) -> RankingDataset:
    """Read once in a session: the Train page is drawn again at every touch."""
    kept = st.session_state.get("learnable")
    if kept is None or kept[0] is not source:
        kept = st.session_state["learnable"] = (source, read())
    data: RankingDataset = kept[1]
    return data


def dataset_of_upload(source: Loaded, root: Path, visitor: str) -> tuple[dict[str, Any], Path]:
    """The dataset for a sweep on an upload, and the visitor's own store; nothing is written yet.

    Raises
    ------
    DataError
        See `learnable`.
    """
    data = learnable(source)
    store = private_runs(root, visitor)
    features = [f"feature:{name}" if name in (*_ROLES.values(), *_OTHERS) else name for name in data.feature_names]
    columns = {**_ROLES, "features": features, "guess": False}
    return {"file": str(_place(source, data, store)), "columns": columns}, store


def write_upload(source: Loaded, store: Path) -> None:
    """Write an upload where a job of its sweep looks for it; a bundled sample needs no writing."""
    if source.learnable is None:
        return
    data = learnable(source)
    path = _place(source, data, store)
    if not path.exists():
        frame = data.to_frame()
        frame["group"] = frame["group"].astype(str)
        buffer = io.BytesIO()
        frame.to_parquet(buffer, index=False)
        write_whole(path, buffer.getvalue())


def _place(source: Loaded, data: RankingDataset, store: Path) -> Path:
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", source.title.split(".")[0]).strip("_")[:60] or "upload"
    return store / "data" / data.fingerprint[:16] / f"{name}.parquet"


def forget_uploads(root: Path, visitor: str, needed: set[str]) -> None:
    """Delete what this visitor uploaded, and all that was learned from it, except for the files that are needed."""
    place = private_runs(root, visitor)
    for folder in (place / "data").glob("*"):
        if not any(str(file) in needed for file in folder.iterdir()):
            shutil.rmtree(folder, ignore_errors=True)
    if not (place / "store.json").exists():
        return
    store = RunStore(place, create=False)
    store.remove(record.run for record in store.records() if record.settings["dataset"]["file"] not in needed)
    for sweep in store.sweeps():
        if sweep["spec"]["dataset"]["file"] not in needed:
            (place / "sweeps" / f"{sweep['sweep']}.json").unlink(missing_ok=True)
    collect(store)
