"""`Claim`: the right to work on a run, and the only way to write into its directory."""

from __future__ import annotations

import errno
import json
import os
import shutil
import time
import uuid
from pathlib import Path
from typing import Any

from spofr_core.experiments.runs.run_lock import FileLock, Owner
from spofr_core.experiments.runs.run_output import RunOutput
from spofr_core.experiments.sweep_spec import RunConfig
from spofr_core.files import explain_full_disk, write_json, write_whole

LOG_LIMIT = 256 * 1024
"""Bytes of a log; of a longer one the beginning is dropped."""


class Claim:
    """A run that this process works on. It ends in `finish`, `fail` or `release`.

    Parameters
    ----------
    root, folder : Path
        Of the store and of the run.
    config : RunConfig
    fingerprint : str
        Hash of the data.
    lock : FileLock
    owner : Owner
    """

    def __init__(
        self, root: Path, folder: Path, config: RunConfig, fingerprint: str, lock: FileLock, owner: Owner
    ) -> None:
        self._root, self.folder, self.config = root, folder, config
        self._lock, self._owner, self._fingerprint = lock, owner, fingerprint
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / "config.json", config.to_dict())
        self._begun = time.time()
        self._write_status("running")
        self.log(f"begun by process {owner.pid} on {owner.host}")

    def _write_status(self, status: str, **more: Any) -> None:
        content = {
            "run": self.config.run,
            "status": status,
            "config": self.config.to_dict(),
            "data": self._fingerprint,
            "owner": self._owner.to_dict(),
            "begun": self._begun,
            "updated": time.time(),
            **more,
        }
        write_json(self.folder / "status.json", content)

    @property
    def checkpoint(self) -> Path:
        """Where an unfinished fit keeps its state."""
        return self.folder / "checkpoint"

    def metric(self, message: dict[str, Any]) -> None:
        """Append a validation, as one write, so that readers see whole lines; one that fits in part is taken back."""
        line = (json.dumps(message, allow_nan=False) + "\n").encode("utf-8")
        with explain_full_disk(self._root):
            handle = os.open(self.folder / "metrics.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                before = os.fstat(handle).st_size
                if os.write(handle, line) < len(line):
                    os.ftruncate(handle, before)
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.folder / "metrics.jsonl"))
            finally:
                os.close(handle)

    def log(self, text: str) -> None:
        """Add to the log."""
        path = self.folder / "log.txt"
        stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime())
        before = path.read_bytes() if path.exists() else b""
        content = before + f"{stamp} {text}\n".encode()
        with explain_full_disk(self._root):
            write_whole(path, content[-LOG_LIMIT:])

    def restart_metrics(self, history: list[dict[str, Any]]) -> None:
        """Replace what was appended by the record of the fit itself, which a resumed fit has from its beginning."""
        lines = "".join(json.dumps(message, allow_nan=False) + "\n" for message in history)
        write_whole(self.folder / "metrics.jsonl", lines.encode("utf-8"))

    def finish(self, output: RunOutput) -> None:
        """Write everything, the status last, and let go."""
        try:
            with explain_full_disk(self._root):
                for name, content in output.tables.items():
                    write_whole(self.folder / f"{name}.parquet", content)
                self._write_model(output.model)
                self.restart_metrics(output.history)
                self.log(f"done in {output.measured['seconds']:.1f} s of training")
                self._write_status(
                    "done",
                    measured=output.measured,
                    report=output.report,
                    notes=list(output.notes),
                    versions=output.versions,
                )
                shutil.rmtree(self.checkpoint, ignore_errors=True)
        finally:
            self._lock.release()

    def _write_model(self, files: dict[str, bytes]) -> None:
        """The model directory appears as a whole."""
        fresh = self.folder / f".new-{uuid.uuid4().hex[:8]}"
        try:
            for name, content in files.items():
                write_whole(fresh / name, content)
            target = self.folder / "model"
            if target.exists():
                shutil.rmtree(target)
            if fresh.exists():
                fresh.rename(target)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)

    def fail(self, reason: str, details: str = "") -> None:
        """Record why it failed, and let go."""
        try:
            with explain_full_disk(self._root):
                self.log(f"failed: {reason}\n{details}".rstrip())
                self._write_status("failed", reason=reason)
                shutil.rmtree(self.checkpoint, ignore_errors=True)
        finally:
            self._lock.release()

    def release(self) -> None:
        """Let go of an unfinished run; whoever claims it next continues from its checkpoint."""
        try:
            with explain_full_disk(self._root):
                self._write_status("interrupted")
        finally:
            self._lock.release()
