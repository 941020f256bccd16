"""What becomes of an upload: the copy that a job learns from, and the end of both.

A file of a visitor (`dashboard.session.upload_store`) is kept until its owner forgets it, or until some days after it
was last opened. A job learns from a copy of it with nothing but the rows and columns that it needs; that copy, and what
was learned from it, is deleted with the last job that needs it, and with the file at the latest.
"""

from __future__ import annotations

import io
import re
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import streamlit as st

from dashboard.jobs.job_board import Job, JobBoard
from dashboard.session.projects.desk import Desk
from dashboard.session.sources import Loaded
from dashboard.session.upload_store import UploadStore, stores
from spofr_core.data import NO_GROUP, UNKNOWN, RankingDataset
from spofr_core.errors import ConfigError, DataError
from spofr_core.experiments import private_runs
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
        raise DataError("Only a bundled sample, or a file of your own, can be trained on.")
    data = _read(source, source.learnable)
    if data.relevance is None:
        raise DataError(
            f"{source.title!r} has no relevance to learn from: choose a relevance column on the Data page.",
            column="relevance",
        )
    if not data.feature_names:
        raise DataError(
            f"{source.title!r} has no features to learn from: it needs columns with numbers besides those that were "
            "chosen for something else.",
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
    columns = {**_ROLES, "features": features, "guess": False, **_without_a_group(data)}
    if source.columns.get("join_alike") is False:
        columns["join_alike"] = False
    return {"file": str(_place(source, data, store)), "columns": columns}, store


def _without_a_group(data: RankingDataset) -> dict[str, Any]:
    """How the copy is read where items have an unknown group, or none: these have a name there that no group has."""
    options: dict[str, Any] = {"missing": "keep"} if (data.groups == UNKNOWN).any() else {}
    if (data.groups == NO_GROUP).any():
        options["leave_out_groups"] = [max(data.group_names, key=len) + " (left out)"]
    return options


def write_upload(source: Loaded, store: Path) -> None:
    """Write an upload where a job of its sweep looks for it; a bundled sample needs no writing."""
    if source.learnable is None:
        return
    data = learnable(source)
    path = _place(source, data, store)
    if not path.exists():
        frame = data.to_frame()
        frame["group"] = frame["group"].astype(str)
        for name in _without_a_group(data).get("leave_out_groups", ()):
            frame.loc[data.groups == NO_GROUP, "group"] = name
        buffer = io.BytesIO()
        frame.to_parquet(buffer, index=False)
        write_whole(path, buffer.getvalue(), mode=0o600)


def _place(source: Loaded, data: RankingDataset, store: Path) -> Path:
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", source.title.split(".")[0]).strip("_")[:60] or "upload"
    return store / "data" / f"{_copies(source.content)}{data.fingerprint[:16]}" / f"{name}.parquet"


def _copies(content: str) -> str:
    """How the directories of all copies of one upload begin."""
    return f"{content}-" if content else ""


def forget_upload(root: Path, visitor: str, content: str) -> None:
    """Delete an upload, the jobs on it, and all that was learned from it.

    Raises
    ------
    ConfigError
        When a job is at work on it.
    """
    board = JobBoard(root)
    jobs = [job for job in board.jobs(visitor) if _is_on(job, content)]
    if any(job.active for job in jobs):
        raise ConfigError("A job is at work on this file: cancel it on the Train page first.")
    for job in jobs:
        board.forget(job)
    UploadStore(root, visitor).remove(content)
    forget_uploads(root, visitor, board.files(visitor))


def _is_on(job: Job, content: str) -> bool:
    return Path(str(job.spec["dataset"].get("file"))).parent.name.startswith(_copies(content))


def forget_expired(root: Path, now: float | None = None) -> None:
    """Forget the uploads of all visitors that nobody has opened for longer than they are kept, and their notes."""
    now = time.time() if now is None else now
    for store in stores(root):
        Desk(root, store.visitor).clear_expired(now)
        for content in store.expired(now):
            with suppress(ConfigError):  # it is next time, when the job has ended
                forget_upload(root, store.visitor, content)


@st.cache_resource(ttl=3600, show_spinner=False)
def sweep_uploads(root: Path) -> None:
    """Look for expired uploads when the server starts, and at visits after that, but not at every touch."""
    with suppress(ConfigError):  # a setting that cannot be read is told where files are uploaded
        forget_expired(root)


def forget_uploads(root: Path, visitor: str, needed: set[str]) -> None:
    """Delete the copies that no job needs, and all that was learned from them."""
    place = private_runs(root, visitor)
    for folder in (place / "data").glob("*"):
        if not any(str(file) in needed for file in folder.iterdir()):
            shutil.rmtree(folder, ignore_errors=True)
    left = _forget_runs(place, needed) if (place / "store.json").exists() else False
    if not (needed or left or UploadStore(root, visitor).folder.exists() or Desk(root, visitor).path.exists()):
        shutil.rmtree(place, ignore_errors=True)


def _forget_runs(place: Path, needed: set[str]) -> bool:
    """Delete what was learned from other files than these; returns whether any run is left."""
    # Runs need torch, which takes seconds to import: only who has trained something waits for it.
    from spofr_core.experiments import RunStore, collect

    store = RunStore(place, create=False)
    store.remove(record.run for record in store.records() if record.settings["dataset"]["file"] not in needed)
    for sweep in store.sweeps():
        if sweep["spec"]["dataset"]["file"] not in needed:
            (store.root / "sweeps" / f"{sweep['sweep']}.json").unlink(missing_ok=True)
    collect(store)
    return bool(store.names())
