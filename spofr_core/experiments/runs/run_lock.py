"""Who works on a run: a lock that dies with its process, and a record of the process for others to read."""

from __future__ import annotations

import os
import socket
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import filelock
import psutil


@dataclass(frozen=True)
class Owner:
    """A process, told apart from later ones with the same number by its start time."""

    host: str
    pid: int
    started: float

    @classmethod
    def me(cls) -> Owner:
        """This process."""
        return cls(socket.gethostname(), os.getpid(), psutil.Process().create_time())

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Owner:
        """Read back what `to_dict` gave."""
        return cls(str(content["host"]), int(content["pid"]), float(content["started"]))

    def to_dict(self) -> dict[str, Any]:
        """Plain dict for JSON."""
        return asdict(self)

    @property
    def alive(self) -> bool:
        """Whether the process still runs; one of another machine is believed to."""
        if self.host != socket.gethostname():
            return True
        try:
            process = psutil.Process(self.pid)
            # A zombie has ended; only its parent has not asked how yet.
            return process.status() != psutil.STATUS_ZOMBIE and abs(process.create_time() - self.started) < 1.0
        except psutil.NoSuchProcess:
            return False
        except psutil.AccessDenied:
            return True


class FileLock:
    """An exclusive lock on a file. The system releases it when the process ends, however it ends."""

    def __init__(self, lock: filelock.BaseFileLock) -> None:
        self._lock = lock

    @classmethod
    def acquire(cls, path: Path, *, patience: float = 0.0) -> FileLock | None:
        """The lock, or None when another process has it and does not let go within `patience` seconds."""
        path.parent.mkdir(parents=True, exist_ok=True)
        # Whichever thread ends the work lets go, not only the one that began it.
        lock = filelock.FileLock(path, timeout=patience, mode=0o644, thread_local=False)
        try:
            lock.acquire(poll_interval=0.02)
        except filelock.Timeout:
            return None
        return cls(lock)

    def release(self) -> None:
        """Let go; a second time does nothing."""
        self._lock.release()
