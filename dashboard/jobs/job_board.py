"""Sweeps in the background: started, found again, cancelled and resumed by anybody who finds their directory.

A job is a directory below `<home>/jobs`::

    job.json      what was asked for, and by whom; never changes
    state.json    how far it is, written by its process
    log.txt       what its process said; details.txt has the traceback of an error that nobody expected
    cancel        there once it is to stop
    lock          held by its process

The models themselves are in a run store. A page holds nothing of a job: it reads these files, and so does the next
page, another tab, or the next server. A process of its own works on the job (`dashboard.jobs.job_process`) and goes on
whatever happens to the server. This file knows nothing of learning, so that every page can afford to look at it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Thread
from typing import Any, Literal

from spofr_core.errors import ConfigError
from spofr_core.experiments import FileLock, Owner
from spofr_core.files import read_json, write_json

Status = Literal["queued", "starting", "running", "stopping", "done", "failed", "cancelled", "interrupted"]

ACTIVE: tuple[Status, ...] = ("queued", "starting", "running", "stopping")
WAITING: tuple[Status, ...] = ("queued", "starting")
"""Not at work yet: "queued" while every slot is taken, "starting" where one is free."""
STARTING = 60.0
"""Seconds that a process is given to say its first word."""
MOST_WAITING = 20
ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Job:
    """A job as its directory tells it.

    `done`, `failed` and `before` count its runs (`before`: those that were there already); `running` maps the
    runs at work to the share of their steps; `seconds_left` is an estimate, None while there is none.
    """

    job: str
    visitor: str
    title: str
    spec: dict[str, Any]
    store: Path
    created: float
    status: Status
    runs: tuple[str, ...] = ()
    done: int = 0
    failed: int = 0
    before: int = 0
    running: dict[str, float] = field(default_factory=dict)
    seconds_left: float | None = None
    reason: str = ""

    @property
    def total(self) -> int:
        """Runs in all."""
        return len(self.runs)

    @property
    def active(self) -> bool:
        """Whether a process works on it, or waits to."""
        return self.status in ACTIVE

    @property
    def ended(self) -> int:
        """Runs that need no more work."""
        return self.before + self.done + self.failed

    @property
    def share(self) -> float:
        """How much of it is done, from 0 to 1."""
        if self.status == "done":
            return 1.0
        return min(1.0, (self.ended + sum(self.running.values())) / max(self.total, 1))

    @property
    def resumable(self) -> bool:
        """Whether there is something left to do and nobody doing it."""
        return not self.active and (self.status != "done" or self.failed > 0)


class JobBoard:
    """The jobs below one directory.

    Parameters
    ----------
    home : path
        See `spofr_core.experiments.runs.home`.
    """

    def __init__(self, home: Path) -> None:
        self.home = home
        self.folder = home / "jobs"

    def start(self, spec: dict[str, Any], *, title: str, visitor: str, store: Path, runs: list[str]) -> Job:
        """Begin a job; it waits for a free slot by itself.

        Raises
        ------
        ConfigError
            When too many jobs wait already.
        """
        waiting = sum(job.status in WAITING for job in self.jobs())
        if waiting >= MOST_WAITING:
            raise ConfigError(f"{waiting} jobs are waiting already: let some of them end, or cancel one.")
        job = uuid.uuid4().hex[:12]
        asked = {"job": job, "visitor": visitor, "title": title, "spec": spec, "runs": runs}
        write_json(self.folder / job / "job.json", {**asked, "store": str(store), "created": time.time()})
        self._launch(job)
        return self.get(job, visitor)

    def jobs(self, visitor: str | None = None) -> list[Job]:
        """The jobs of a visitor, or of everybody, the latest first."""
        try:
            names = os.listdir(self.folder)  # noqa: PTH208 - names are all that is needed, on every page
        except FileNotFoundError:
            return []
        found = [job for name in names if (job := _job(self.folder / name)) is not None]
        free = slots() > sum(job.status in ("running", "stopping") for job in found)
        mine = [
            replace(job, status="starting") if free and job.status == "queued" else job
            for job in found
            if visitor in (None, job.visitor)
        ]
        return sorted(mine, key=lambda job: -job.created)

    def get(self, job: str, visitor: str) -> Job:
        """One job of this visitor.

        Raises
        ------
        ConfigError
            When there is none of that name.
        """
        found = next((each for each in self.jobs(visitor) if each.job == job), None)
        if found is None:
            raise ConfigError("This job is no longer here.")
        return found

    def cancel(self, job: Job) -> None:
        """Ask it to stop; what is under way can be resumed."""
        (self.folder / job.job / "cancel").touch()

    def resume(self, job: Job) -> None:
        """Go on where it stopped; runs that failed are tried again."""
        if not job.resumable:
            return
        (self.folder / job.job / "cancel").unlink(missing_ok=True)
        self._launch(job.job, before=job.before + job.done)

    def forget(self, job: Job) -> None:
        """Remove the job from the list, unless it is at work. Its runs stay where they are."""
        if not job.active:
            shutil.rmtree(self.folder / job.job, ignore_errors=True)

    def files(self, visitor: str) -> set[str]:
        """Uploads that jobs of this visitor need."""
        return {str(job.spec["dataset"]["file"]) for job in self.jobs(visitor) if job.spec["dataset"].get("file")}

    def log_tail(self, job: Job, lines: int = 12) -> str:
        """The end of what its process said."""
        try:
            text = (self.folder / job.job / "log.txt").read_text("utf-8", errors="replace")
        except FileNotFoundError:
            return ""
        return "\n".join(text.splitlines()[-lines:])

    def _launch(self, job: str, before: int = 0) -> None:
        folder = self.folder / job
        write_json(folder / "state.json", {"status": "queued", "launched": time.time(), "before": before})
        spawn(folder)


def spawn(folder: Path) -> None:
    """Start the process of a job."""
    with (folder / "log.txt").open("ab") as log, (folder / "details.txt").open("ab") as details:
        process = subprocess.Popen(
            [sys.executable, "-m", "dashboard.jobs.job_process", str(folder)],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=details,
            # A session of its own: neither Ctrl-C in the server's terminal nor its end reaches the job.
            start_new_session=True,
        )
    # A process that nobody waits for stays in the table of processes and looks alive.
    Thread(target=process.wait, name=f"job-{folder.name}", daemon=True).start()


def _job(folder: Path) -> Job | None:
    asked, state = read_json(folder / "job.json"), read_json(folder / "state.json")
    if asked is None:
        return None
    state = state or {"status": "interrupted"}
    return Job(
        job=asked["job"],
        visitor=asked["visitor"],
        title=asked["title"],
        spec=asked["spec"],
        store=Path(asked["store"]),
        created=float(asked["created"]),
        status=_status(state, (folder / "cancel").exists()),
        runs=tuple(asked["runs"]),
        done=int(state.get("done", 0)),
        failed=int(state.get("failed", 0)),
        before=int(state.get("before", 0)),
        running=state.get("running") or {},
        seconds_left=state.get("seconds_left"),
        reason=str(state.get("reason", "")),
    )


def _status(state: dict[str, Any], cancelled: bool) -> Status:
    """What the state says, unless the process that wrote it is no more."""
    status: Status = state["status"]
    if status not in ACTIVE:
        return status
    if "owner" in state:
        alive = Owner.from_dict(state["owner"]).alive
    else:
        # A clock that was set back must not keep a process that never spoke "starting" for as long.
        alive = abs(time.time() - float(state.get("launched", 0.0))) < STARTING
    if not alive:
        return "cancelled" if cancelled else "interrupted"
    return "stopping" if cancelled else status


def slots() -> int:
    """Jobs that work at the same time; SPOFR_JOB_SLOTS changes it."""
    named = os.environ.get("SPOFR_JOB_SLOTS", "")
    return max(1, int(named)) if named.isdecimal() else 2


def workers() -> int:
    """Processes of one job: the slots share the cores."""
    return max(1, (os.cpu_count() or 1) // slots())


def slot_lock(home: Path) -> FileLock | None:
    """A free slot, or None. It is let go with the process at the latest."""
    tried = (FileLock.acquire(home / "slots" / str(number)) for number in range(slots()))
    return next((lock for lock in tried if lock is not None), None)


def first_in_line(board: JobBoard, job: str) -> bool:
    """Whether no job that waits was there before this one."""
    waiting = [(each.created, each.job) for each in board.jobs() if each.status in WAITING]
    return not waiting or min(waiting)[1] == job


def recent(jobs: Iterable[Job], most: int) -> list[Job]:
    """The jobs at work, then the latest others, `most` in all."""
    ordered = sorted(jobs, key=lambda job: (not job.active, -job.created))
    return ordered[:most]
