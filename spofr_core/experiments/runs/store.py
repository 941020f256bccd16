"""The run store: one directory a run, whole at any instant, shared by any number of processes.

Layout below the root::

    store.json                  what this is, and a number of its own
    results.parquet             one row per run that ended, collected from the runs
    sweeps/<id>.json            specifications of the sweeps that worked here
    runs/<run>/config.json      everything the run depends on; <run> is its hash
    runs/<run>/status.json      state, owner, data hash, versions, results, reason of a failure
    runs/<run>/metrics.jsonl    every validation, a line each, while it runs
    runs/<run>/log.txt          what happened, with the traceback of a failure
    runs/<run>/test.parquet     a row per test query (validation.parquet likewise)
    runs/<run>/model/           the saved model
    runs/<run>/checkpoint/      of an unfinished run
    .locks/<run>                held by the process that works on the run

Files are replaced as a whole and directories renamed into place; a run is done when its status says so, which is
written last. A process that is killed leaves nothing half-written, and its lock is released by the system.
"""

from __future__ import annotations

import os
import shutil
import time
import uuid
import zipfile
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq

from spofr_core.errors import ConfigError, DataError
from spofr_core.experiments.runs.claim import Claim
from spofr_core.experiments.runs.record import RunRecord, is_record, is_run_name
from spofr_core.experiments.runs.run_lock import FileLock, Owner
from spofr_core.experiments.sweep_spec import RunConfig
from spofr_core.files import explain_full_disk, parse_json, read_json, size_of, whole_file, write_json

FORMAT, FORMAT_VERSION = "spofr-runs", 1
ABANDONED = 3600.0
"""Seconds after which a temporary file that no lock protects belongs to nobody."""


class RunStore:
    """Runs below one directory.

    Parameters
    ----------
    root : path
        Created when needed, unless `create` is False.

    Raises
    ------
    ConfigError
        When the directory holds something else, or a store of another version.
    """

    def __init__(self, root: str | Path, *, create: bool = True) -> None:
        self.root = Path(root)
        marker = self.root / "store.json"
        found = read_json(marker)
        if found is None:
            if not create:
                raise ConfigError(f"There are no runs in {str(self.root)!r}: it has no store.json.")
            if self.root.exists() and not self.root.is_dir():
                raise ConfigError(f"{str(self.root)!r} is a file; give a directory for the runs.")
            with explain_full_disk(self.root):
                self._begin(marker)
            found = read_json(marker) or {}
        if found.get("format") != FORMAT or found.get("version") != FORMAT_VERSION:
            raise ConfigError(
                f"{str(marker)!r} describes {found.get('format')!r} version {found.get('version')!r}; this package "
                f"reads {FORMAT!r} version {FORMAT_VERSION}. Give another directory."
            )
        self.number = str(found["number"])

    def _begin(self, marker: Path) -> None:
        """Two processes may begin at once: the first one's marker stays."""
        lock = FileLock.acquire(self.root / ".locks" / "store", patience=10)
        try:
            if not marker.exists():
                write_json(marker, {"format": FORMAT, "version": FORMAT_VERSION, "number": uuid.uuid4().hex})
        finally:
            if lock is not None:
                lock.release()

    # -- looking -------------------------------------------------------------------------------------

    @cached_property
    def _runs(self) -> Path:
        return self.root / "runs"

    def folder(self, run: str) -> Path:
        """Directory of a run.

        Raises
        ------
        ConfigError
            When that is no name of a run: whoever names one reaches nothing outside the store.
        """
        if not is_run_name(run):
            raise ConfigError(f"{run!r} is no name of a run; `spofr runs list` shows them.")
        return self._runs / run

    def names(self) -> list[str]:
        """Names of the runs that were ever begun here, sorted."""
        try:
            names = os.listdir(self._runs)  # noqa: PTH208 - names are all that is needed, for thousands
        except FileNotFoundError:
            return []
        return sorted(name for name in names if not name.startswith("."))

    def records(self) -> list[RunRecord]:
        """Every run that was ever begun here, in the order of their names."""
        folder = str(self._runs)
        contents = (read_json(Path(f"{folder}/{name}/status.json")) for name in self.names())
        return [RunRecord(content) for content in contents if is_record(content)]

    def get(self, run: str) -> RunRecord | None:
        """One run, or None if it was never begun."""
        content = read_json(self.folder(run) / "status.json") if is_run_name(run) else None
        return RunRecord(content) if is_record(content) else None

    def find(self, beginning: str) -> RunRecord:
        """The one run whose name begins like this.

        Raises
        ------
        ConfigError
            When there is none, or more than one.
        """
        exact = self.get(beginning) if beginning else None
        if exact is not None:
            return exact
        found = [record for record in self.records() if record.run.startswith(beginning)]
        if len(found) != 1:
            what = "no run" if not found else f"{len(found)} runs"
            raise ConfigError(f"There is {what} {beginning!r} in {str(self.root)!r}; `spofr runs list` shows them.")
        return found[0]

    def metrics(self, run: str) -> list[dict[str, Any]]:
        """Validations of a run so far; a last line that is just being written is left out."""
        try:
            text = (self.folder(run) / "metrics.jsonl").read_text(encoding="utf-8")
        except FileNotFoundError:
            return []
        return [parse_json(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]

    def log(self, run: str) -> str:
        """The log of a run."""
        try:
            return (self.folder(run) / "log.txt").read_text(encoding="utf-8")
        except FileNotFoundError:
            return ""

    def queries(self, run: str, part: str = "test", columns: list[str] | None = None) -> pd.DataFrame:
        """Per-query results of a run that is done.

        Raises
        ------
        DataError
            When the run has no such results.
        """
        path = self.folder(run) / f"{part}.parquet"
        try:
            frame: pd.DataFrame = pq.read_table(path, columns=columns, partitioning=None).to_pandas()
        except FileNotFoundError:
            raise DataError(
                f"Run {run} has no results of the {part} part; is it done? `spofr runs show {run}`."
            ) from None
        return frame

    def model_folder(self, run: str) -> Path:
        """Where the trained model of a run is, for `load_model`."""
        return self.folder(run) / "model"

    def size(self) -> int:
        """Bytes on the disk."""
        return size_of(self.root)

    # -- working -------------------------------------------------------------------------------------

    def claim(self, config: RunConfig, fingerprint: str) -> Claim | None:
        """The right to work on a run, or None when another process has it or the run is done.

        The claim is a lock that ends with this process at the latest.
        """
        with explain_full_disk(self.root):
            lock = FileLock.acquire(self.root / ".locks" / config.run)
            if lock is None:
                return None
            try:
                record = self.get(config.run)
                if record is not None and record.status == "done":
                    lock.release()
                    return None
                return Claim(self.root, self.folder(config.run), config, fingerprint, lock, Owner.me())
            except BaseException:
                lock.release()
                raise

    def remember_sweep(self, name: str, spec: dict[str, Any], runs: list[str]) -> None:
        """Keep the specification of a sweep."""
        content = {"sweep": name, "spec": spec, "runs": runs, "owner": Owner.me().to_dict(), "started": time.time()}
        with explain_full_disk(self.root):
            write_json(self.root / "sweeps" / f"{name}.json", content)

    def sweeps(self) -> list[dict[str, Any]]:
        """Sweeps that worked here, the latest first: sweep, spec, runs, owner, started."""
        found = [read_json(path) for path in (self.root / "sweeps").glob("*.json")]
        return sorted((c for c in found if c is not None), key=lambda c: -float(c["started"]))

    def remove(self, runs: Iterable[str]) -> list[str]:
        """Remove runs; those at work are left alone. Returns the names of the removed ones."""
        removed = []
        for run in runs:
            lock = FileLock.acquire(self.root / ".locks" / run)
            if lock is None:
                continue
            try:
                folder = self.folder(run)
                if folder.exists():
                    away = self._runs / f".removed-{run}-{uuid.uuid4().hex[:8]}"
                    folder.rename(away)
                    shutil.rmtree(away)
                    removed.append(run)
            finally:
                lock.release()
        return removed

    def sweep_up(self) -> None:
        """Clear away what killed processes left: temporary files, half-removed runs, checkpoints of ended ones."""
        self._clear_checkpoints()
        for pattern in (".removed-*", "*/.new-*", "*/.*.parquet.*", "*/.*.json.*", "*/.*.txt.*", "*/.*.jsonl.*"):
            for left in self._runs.glob(pattern):
                run = left.parent.name if left.parent != self._runs else left.name.split("-")[1]
                lock = FileLock.acquire(self.root / ".locks" / run)
                if lock is None:
                    continue
                try:
                    shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink(missing_ok=True)
                finally:
                    lock.release()
        for left in (*self.root.glob(".*.parquet.*"), *self.root.glob("sweeps/.*.json.*")):
            if time.time() - left.stat().st_mtime > ABANDONED:
                left.unlink(missing_ok=True)

    def _clear_checkpoints(self) -> None:
        """Whoever is killed just after the last word of a run has not deleted its checkpoint."""
        for left in self._runs.glob("*/checkpoint"):
            lock = FileLock.acquire(self.root / ".locks" / left.parent.name)
            if lock is None:
                continue
            try:
                record = self.get(left.parent.name)
                if record is not None and record.status in ("done", "failed"):
                    shutil.rmtree(left, ignore_errors=True)
            finally:
                lock.release()

    def export(self, runs: Iterable[str], path: str | Path) -> Path:
        """Write runs into one zip file: their configs, results, models and logs, without checkpoints."""
        target = Path(path)
        with (
            explain_full_disk(target.parent),
            whole_file(target) as file,
            zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive,
        ):
            for run in runs:
                folder = self.folder(run)
                for part in sorted(f for f in folder.rglob("*") if f.is_file()):
                    inside = part.relative_to(folder)
                    if inside.parts[0] != "checkpoint" and not part.name.startswith("."):
                        archive.write(part, f"{run}/{inside.as_posix()}")
        return target
