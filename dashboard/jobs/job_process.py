"""The process that works on one job: `python -m dashboard.jobs.job_process DIRECTORY`."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from dashboard.jobs.job_board import JobBoard, first_in_line, slot_lock, workers
from spofr_core.errors import SpofrError
from spofr_core.experiments import FileLock, Owner
from spofr_core.files import DiskFull, explain_full_disk, read_json, write_json

NICE = 5
"""Pages answer first."""
PATIENCE = 0.5
"""Seconds between two looks at the line, and between two words about the progress."""
LETTING_GO = 10.0
"""Seconds that a process which was killed may take to let go of its job: the first of its threads to end looks like the
end of it, and all its threads hold the lock."""


def main(folder: Path) -> int:
    """Wait for a slot, do the runs, say how it ended. 0 unless something failed."""
    lock = FileLock.acquire(folder / "lock", patience=LETTING_GO)
    if lock is None:
        return 0  # Resumed twice at the same moment; the other process does it.
    if hasattr(os, "nice"):  # not on Windows
        os.nice(NICE)
    report, stop = _Report(folder), _Stop(folder / "cancel")
    report.write("queued")
    slot = _wait_for_slot(folder, stop)
    if slot is None:
        report.write(stop.why)
        return 0
    try:
        return _work(folder, report, stop)
    finally:
        slot.release()


class _Stop:
    """Whether the job is to stop: somebody cancelled it, or the machine is shutting down."""

    def __init__(self, marker: Path) -> None:
        self._marker, self._ended = marker, False
        signal.signal(signal.SIGTERM, self._end)

    def _end(self, *_: object) -> None:
        self._ended = True

    def __call__(self) -> bool:
        return self._ended or self._marker.exists()

    @property
    def why(self) -> str:
        return "cancelled" if self._marker.exists() else "interrupted"


class _Report:
    """Writes `state.json`, not more often than a page looks at it."""

    def __init__(self, folder: Path) -> None:
        self._path, self._owner = folder / "state.json", Owner.me().to_dict()
        # Until the store has been read, a job that goes on has done what it had done when it stopped.
        self._counts: dict[str, Any] = {"before": (read_json(self._path) or {}).get("before", 0)}
        self._written = 0.0

    def __call__(self, state: Any) -> None:
        self._counts = {
            "done": state.done,
            "failed": state.failed,
            "before": state.skipped,
            "running": dict(state.running),
            "seconds_left": state.eta_seconds,
        }
        if time.monotonic() - self._written >= PATIENCE:
            self.write("running")

    def write(self, status: str, **more: Any) -> None:
        left: dict[str, Any] = {} if status in ("queued", "running") else {"running": {}, "seconds_left": None}
        content = {"status": status, "owner": self._owner, "updated": time.time(), **self._counts, **left, **more}
        with explain_full_disk(self._path.parents[2]):
            write_json(self._path, content)
        self._written = time.monotonic()


def _wait_for_slot(folder: Path, stop: Callable[[], bool]) -> FileLock | None:
    board = JobBoard(folder.parent.parent)
    while not stop():
        if first_in_line(board, folder.name):
            slot = slot_lock(board.home)
            if slot is not None:
                return slot
        time.sleep(PATIENCE)
    return None


def _work(folder: Path, report: _Report, stop: _Stop) -> int:
    asked = read_json(folder / "job.json") or {}
    report.write("running")
    _say(f"Process {os.getpid()} begins: {asked['title']}.")
    # Learning takes seconds to import; a job that only waits goes without.
    from spofr_core.experiments import RunStore, SweepSpec, limit_threads, make_executor, run_sweep

    try:
        limit_threads(1)
        with make_executor(workers=workers()) as executor:
            outcome = run_sweep(
                SweepSpec.from_dict(asked["spec"]), RunStore(asked["store"]), executor, on_progress=report, stop=stop
            )
    except Exception as error:
        unexpected = f"{type(error).__name__}: {error} (more is in details.txt of the job)"
        reason = str(error) if isinstance(error, SpofrError) else unexpected
        _say(reason)
        with suppress(DiskFull):  # then it is found interrupted, and goes on when there is room
            report.write("failed", reason=reason)
        if isinstance(error, SpofrError):
            return 1
        raise
    _say(str(outcome))
    for run, reason in outcome.failures.items():
        _say(f"Run {run} failed: {reason}")
    report.write(stop.why if outcome.stopped else "done", reason=next(iter(outcome.failures.values()), ""))
    return 0


def _say(text: str) -> None:
    with suppress(OSError):  # a log that cannot be written ends no work
        print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
